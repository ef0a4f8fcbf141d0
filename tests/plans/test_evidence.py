"""The small tables of the evidence say what its documents say, counted one by one."""

from collections import Counter

import pyarrow as pa
import pytest

from formats import evidence, evidence_schemas
from formats.layout import Layout
from formats.naming import VersionKey
from tests.plans import tiny_corpus


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return tiny_corpus.copy(tmp_path_factory.mktemp("evidence") / "root")


def rows(layout: Layout, key: VersionKey, table: str) -> list[dict]:
    batches = evidence.read(layout.evidence(key), table)
    return pa.Table.from_batches(batches, evidence_schemas.SCHEMAS[table]).to_pylist()


@pytest.mark.parametrize("key", [tiny_corpus.V1, tiny_corpus.V2])
def test_files_count_the_duplicates_among_their_own_documents(layout: Layout, key: VersionKey) -> None:
    """One file a source here, so that a file's documents are its source's."""
    counted = Counter((row["source_id"], row["verdict"]) for row in rows(layout, key, "documents"))
    files = rows(layout, key, "files")
    assert len(files) == 2
    for file in files:
        source = file["source_id"]
        assert file["documents"] - file["unique_documents"] == counted[source, "exact_duplicate"]
        assert file["near_duplicates"] == counted[source, "near_duplicate"]
    assert sum(file["documents"] - file["unique_documents"] for file in files) == 1
    assert sum(file["near_duplicates"] for file in files) == (1 if key == tiny_corpus.V1 else 0)


@pytest.mark.parametrize("key", [tiny_corpus.V1, tiny_corpus.V2])
def test_clusters_are_named_by_their_root_and_count_their_documents(layout: Layout, key: VersionKey) -> None:
    documents = [row for row in rows(layout, key, "documents") if row["cluster"] is not None]
    sizes = Counter(row["cluster"] for row in documents)
    clusters = {row["root"]: row["size"] for row in rows(layout, key, "clusters")}
    assert clusters == {root: n for root, n in sizes.items() if n > 1}
    assert len(clusters) == 1

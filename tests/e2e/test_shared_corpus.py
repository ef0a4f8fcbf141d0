"""Builds over the shared collection: records accounted for, floors held, duplicates and leaks as others found them."""

import json
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import unicodedata2

from formats import raw_set, raw_set_rows
from formats.layout import Layout
from formats.reasons import RULES, Reason
from tests.e2e import shared_corpus
from tests.e2e.shared_corpus import DATA, OPEN_ONLY, SOURCES, V1
from tests.kernels import reference
from tests.shared_data import needs_shared_data

QUICK = ("stories", "wiki", "code")


@dataclass(frozen=True)
class Built:
    """A built version, with its evidence read once."""

    root: Path
    said: str
    documents: dict[str, dict[str, Any]]
    files: list[dict[str, Any]]
    counts: dict[str, Any]

    def of(self, source: str) -> list[dict[str, Any]]:
        """The source's evidence rows in the order of k."""
        return [row for row in self.documents.values() if row["source_id"] == source]

    def by_file(self, source: str) -> list[tuple[str, list[dict[str, Any]]]]:
        """(url, its documents) of each file: they are consecutive, in the order of the files' urls."""
        rows, found = self.of(source), []
        for file in self.files:
            if file["source_id"] == source:
                found.append((file["url"], rows[: file["documents"]]))
                rows = rows[file["documents"] :]
        assert rows == []
        return found


@cache
def _text_parts(root: Path, source: str) -> list[str]:
    (folder,) = [path for path in Layout(root).raw_sets(source).iterdir() if path.is_dir()]
    batches = (
        batch for part in raw_set.open_set(folder).parts for batch in raw_set_rows.read_part(part, columns=["text"])
    )
    return [text for batch in batches for text in batch.column("text").to_pylist()]


def shingles(root: Path, name: str) -> frozenset[tuple[str, ...]]:
    """The five-word shingles of a document, from its raw text, by the slow twin."""
    source, _, k = name.partition(":")
    return shingles_of(_text_parts(root, source)[int(k)])


def shingles_of(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(reference.ngrams(reference.words(unicodedata2.normalize("NFC", text)), 5))


@pytest.fixture(scope="module", params=["quick", pytest.param("full", marks=pytest.mark.slow)])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A few sources, or all of them."""
    root = tmp_path_factory.mktemp(request.param) / "root"
    shared_corpus.make_root(root, QUICK if request.param == "quick" else SOURCES)
    ran = shared_corpus.build(root)
    documents = shared_corpus.table(root, "documents").to_pylist()
    counts = json.loads((Layout(root).evidence(V1) / "counts.json").read_bytes())
    files = shared_corpus.table(root, "files").to_pylist()
    return Built(root, ran.out, {row["id"]: row for row in documents}, files, counts)


@needs_shared_data
def test_the_build_passes_its_checks_and_verify_agrees(built):
    assert "FAILED" not in built.said
    look_at = ("keeper_lengths", "source_survival")  # what real documents may well give a person to look at
    assert not [line for line in built.said.splitlines() if "WARN" in line and not any(one in line for one in look_at)]
    assert shared_corpus.corpus(built.root, "verify", str(V1)).code == 0


@needs_shared_data
def test_each_file_has_the_records_that_other_readers_count(built):
    expected = shared_corpus.expected_warc_records()
    sources = {row["source_id"] for row in built.files}
    counted = {
        (source, f"../{shared_corpus.INPUTS}/{path.relative_to(DATA)}"): shared_corpus.records_in(path, expected)
        for source in sources
        for path in shared_corpus.files_of(source)
    }
    assert {(row["source_id"], row["url"]): row["records"] for row in built.files} == counted


@needs_shared_data
def test_every_record_is_a_row_kept_or_dropped_with_a_reason(built):
    reasons = {*(rule.reason for rule in RULES), *map(str, Reason)}
    shards = sorted(Layout(built.root).version(V1).glob("*.parquet"))
    published = [id_ for shard in shards for id_ in pq.read_table(shard, columns=["id"])["id"].to_pylist()]
    kept = {name for name, row in built.documents.items() if row["verdict"] == "kept"}
    assert (len(published), set(published)) == (len(kept), kept)
    assert published == sorted(published)
    assert {row["verdict"] for row in built.documents.values()} <= reasons
    for file in built.files:
        assert file["records"] == file["documents"] + file["rejects"]
    for source, counts in built.counts["sources"].items():
        verdicts = Counter(row["verdict"] for row in built.of(source))
        files = [file for file in built.files if file["source_id"] == source]
        assert counts["verdicts"] == {**verdicts, "kept": verdicts["kept"]}
        assert counts["documents"] == sum(verdicts.values()) == sum(file["documents"] for file in files)
        assert counts["records"] == sum(file["records"] for file in files)
        assert sum(counts["rejects"].values()) == sum(file["rejects"] for file in files)
        for file, (_, rows) in zip(files, built.by_file(source), strict=True):
            of_file = Counter(row["verdict"] for row in rows)
            assert file["documents"] - file["unique_documents"] == of_file["exact_duplicate"]
            assert file["near_duplicates"] == of_file["near_duplicate"]


@needs_shared_data
def test_each_source_keeps_its_floor(built):
    kept = {source: counts["kept"] for source, counts in built.counts["sources"].items()}
    assert {source: n for source, n in kept.items() if n < SOURCES[source].floor} == {}


@needs_shared_data
def test_decontamination_finds_the_natural_alarms_that_were_measured_and_no_other(built):
    """The collection's README counts 13 documents of one repository and 5 of another, by exact 13-word n-grams."""
    found: Counter[str] = Counter()
    for url, rows in built.by_file("code"):
        hits = [row for row in rows if row["verdict"] == "contaminated"]
        assert {row["eval_set"] for row in hits} <= {"mbpp", "humaneval"}
        found[url.rpartition("/")[2].removesuffix(".jsonl.zst")] += len(hits)
    assert {name: n for name, n in found.items() if n} == {"TheAlgorithms__Python": 13, "TheAlgorithms__Java": 5}
    assert built.counts["dropped"]["contaminated"] == 18


@needs_shared_data
def test_every_dropped_near_duplicate_has_the_jaccard_to_its_keeper_that_the_slow_twin_finds(built):
    dropped = [row for row in built.documents.values() if row["verdict"] == "near_duplicate"]
    assert dropped
    for row in dropped:
        one, keeper = shingles(built.root, row["id"]), shingles(built.root, row["keeper_id"])
        found = len(one & keeper) * 1_000_000 // len(one | keeper)
        assert row["keeper_jaccard"] == found >= 800_000, row["id"]
        assert built.documents[row["keeper_id"]]["verdict"] in ("kept", "contaminated")


@needs_shared_data
@pytest.mark.slow
@pytest.mark.parametrize("built", ["full"], indirect=True)
def test_thirty_thousand_documents_were_read(built):
    assert built.counts["documents"] >= 30_000
    assert len(built.counts["sources"]) >= 6


@needs_shared_data
@pytest.mark.slow
@pytest.mark.parametrize("built", ["full"], indirect=True)
def test_the_same_page_of_two_releases_is_in_one_cluster(built):
    """Recall over the pairs at or above the threshold, of which both reached dedup."""
    rows, texts = {}, {}
    for url, documents in built.by_file("docs"):
        release = Path(url).name.removeprefix("fastapi-").removesuffix(".jsonl.zst")
        lines = list(shared_corpus.lines_of(DATA / "docs-fastapi" / Path(url).name))
        for line, row in zip(lines, documents, strict=True):
            name = f"fastapi/fastapi@{release}:{line['path']}"
            rows[name], texts[name] = row, line["text"]
    met = joined = 0
    for pair in shared_corpus.lines_of(DATA / "dedup-labels" / "version-pairs-fastapi.jsonl.zst"):
        clusters = [rows[pair[side]]["cluster"] for side in "ab"]
        left, right = (shingles_of(texts[pair[side]]) for side in "ab")
        if None not in clusters and 10 * len(left & right) >= 8 * len(left | right):
            met += 1
            joined += clusters[0] == clusters[1]
    assert met > 150
    assert joined / met >= 0.99


@needs_shared_data
def test_a_version_that_does_not_name_the_licence_of_the_web_pages_stops_before_it_fetches_one(tmp_path):
    layout = shared_corpus.make_root(tmp_path / "root", ["stories", "web", "wet"], keys=(OPEN_ONLY,))
    ran = shared_corpus.corpus(layout.root, "build", str(OPEN_ONLY))
    assert ran.code == 1
    said = ran.out + ran.err
    for source in ("web", "wet"):
        assert f"{source}@{OPEN_ONLY}" in said
        assert not layout.raw_sets(source).exists()
    assert shared_corpus.THIRD_PARTY in said
    assert not layout.version(OPEN_ONLY).exists()

"""What checks of a version hold in memory: a part of it at a time, never all of its texts."""

import json
import random
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from corpus_assets.plans import audit_drift, audit_files, audit_text, audit_version
from corpus_assets.plans.audit_finding import Finding
from formats import corpus_manifest, corpus_shard
from formats.layout import Layout
from formats.naming import VersionKey
from tests.plans import tiny_corpus
from tests.plans.tiny_corpus import V1

pytestmark = pytest.mark.slow
DOCUMENTS, ROWS_OF_A_SHARD = 1_500, 50
AUDITS = (
    audit_version.manifest_hashes,
    audit_version.rows_match_ledger,
    audit_version.version_conserved,
    audit_files.evidence_sealed,
    audit_drift.shapes,
    audit_text.no_residual_pii,
    audit_text.no_contamination,
    audit_text.no_leakage,
    audit_text.no_equal_texts,
)


def document(number: int) -> dict[str, str]:
    """Some 20 KB of sentences of English words, no two alike."""
    drawn = random.Random(number)
    words = f"{tiny_corpus.OWL} {tiny_corpus.FERRY} {tiny_corpus.GARDEN}".replace(".", "").lower().split()
    sentences = (" ".join(drawn.choices(words, k=18)).capitalize() + "." for _ in range(200))
    return {"url": f"https://example.org/{number}", "text": "\n".join(sentences)}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """A version of many shards; its texts are some 30 MB."""
    root = tmp_path_factory.mktemp("large") / "root"
    layout = tiny_corpus.write_inputs(root, {"fables": [], "web": map(document, range(DOCUMENTS))})
    path = layout.config(V1)
    path.write_text(json.dumps({**json.loads(path.read_text()), "shard_rows": ROWS_OF_A_SHARD}))
    tiny_corpus.build(layout, V1)
    return layout


def _rows(layout: Layout, shards: list[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    for shard in shards:
        yield from corpus_shard.read_shard(layout.version(V1), shard, columns=["text"])


@pytest.mark.parametrize("find", AUDITS, ids=lambda find: find.__name__)
def test_a_check_holds_a_part_of_the_texts_at_a_time(
    large: Layout, find: Callable[[Layout, VersionKey], Finding]
) -> None:
    shards = corpus_manifest.read(large.version(V1))["shards"]
    num_bytes = sum(pc.sum(pc.binary_length(one.column("text"))).as_py() for one in _rows(large, shards))
    assert num_bytes > 20_000_000
    find(large, V1)  # what is kept for all (kernels, patterns, lists) is loaded
    pool, before = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        assert find(large, V1)
        peak = (pool.max_memory() or 0) + tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)
    assert peak < num_bytes / 3

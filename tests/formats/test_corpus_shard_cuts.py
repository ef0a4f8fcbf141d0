"""Corpus shards of any documents, in any order and any cut: the same bytes on both paths, in groups of bounded text."""

import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats import corpus_manifest, durable, row_groups
from formats.corpus_shard import SCHEMA, Doc, read_shards, shard_name, write_shard, write_shards
from formats.errors import ConfigError
from tests.formats.made_docs import META, SETTINGS, doc, files_of, rows_of

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(["", "\0", "\r\n", "\ufeffx"])
metas = st.fixed_dictionaries(
    {"url": st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9), "license_spdx": st.just("MIT")},
    optional={
        "lang": st.sampled_from(["en", "und"]),
        "minhash_cluster": st.sampled_from(["r:1", "r:2"]),
        "pii": st.dictionaries(st.sampled_from(["email", "phone", "card", "ip", "key"]), st.integers(0, 3)),
    },
)
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
corpora = st.dictionaries(ids, st.tuples(texts, metas), max_size=12).map(
    lambda rows: [Doc(i, text, "s", meta) for i, (text, meta) in rows.items()]
)


@given(corpora, st.integers(1, 5), st.sampled_from([1, 30, 1 << 20]), st.randoms())
@settings(max_examples=40, deadline=None)
def test_documents_come_back_as_they_were_and_their_order_never_shows(tmp_path_factory, docs, shard_rows, group, order):
    folder = tmp_path_factory.mktemp("any")
    shuffled = list(docs)
    order.shuffle(shuffled)
    given_settings = {**SETTINGS, "shard_rows": shard_rows, "row_group_bytes": group}
    manifest = write_shards(docs, folder / "a", **given_settings)
    write_shards(iter(shuffled), folder / "b", **given_settings)
    assert files_of(folder / "a") == files_of(folder / "b")
    assert manifest == corpus_manifest.read(folder / "a")
    expected = sorted(docs, key=lambda d: d.id.encode())
    for found, wanted in zip(read_shards(folder / "a"), expected, strict=True):
        assert (found.id, found.text, found.source_id) == (wanted.id, wanted.text, wanted.source_id)
        assert found.meta["url"] == wanted.meta["url"]
    by_split = [d.id for split in ("train", "val") for d in read_shards(folder / "a", split)]
    assert sorted(by_split) == [d.id for d in expected]


@given(corpora, st.sampled_from([1, 30, 1 << 20]), st.lists(st.integers(0, 12), max_size=5), st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_streaming_path_gives_the_same_bytes_however_the_rows_are_cut(tmp_path_factory, docs, group, cuts, large):
    folder = tmp_path_factory.mktemp("stream")
    write_shards(docs, folder / "a", **{**SETTINGS, "shard_rows": 100, "row_group_bytes": group})
    table = pq.read_table(folder / "a" / shard_name(0, 1))
    if large:
        table = table.cast(
            pa.schema([(f.name, pa.large_string() if f.type == pa.string() else f.type) for f in SCHEMA])
        )
    bounds = sorted({0, len(table), *(min(cut, len(table)) for cut in cuts)})
    batches = [b for a, z in itertools.pairwise(bounds) for b in table.slice(a, z - a).combine_chunks().to_batches()]
    written = write_shard(0, folder / "b.parquet", iter(batches), SCHEMA, row_group_bytes=group)
    assert (folder / "b.parquet").read_bytes() == (folder / "a" / shard_name(0, 1)).read_bytes()
    assert (written.rows, written.sha256) == (len(table), durable.sha256_of(folder / "b.parquet"))


def groups_by_the_spec(sizes: list[int], limit: int) -> list[int]:
    """Rows of each group, the slow and obvious way."""
    groups: list[list[int]] = []
    for size in sizes:
        if groups and sum(groups[-1]) + size <= limit:
            groups[-1].append(size)
        else:
            groups.append([size])
    return [len(group) for group in groups]


@given(st.lists(st.integers(0, 12), max_size=30), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_row_groups_hold_at_most_row_group_bytes_of_text(tmp_path_factory, sizes, limit):
    out = tmp_path_factory.mktemp("groups") / "c"
    docs = [Doc(f"s:{i:03}", "x" * size, "s", {**META, "url": "u" * 50}) for i, size in enumerate(sizes)]
    write_shards(docs, out, **{**SETTINGS, "shard_rows": 100, "row_group_bytes": limit})
    metadata = pq.ParquetFile(out / shard_name(0, 1)).metadata
    found = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert found == groups_by_the_spec(sizes, limit)


def test_a_longer_document_has_a_row_group_of_its_own(tmp_path):
    docs = [doc(i, text) for i, text in enumerate(["ab", "", "abcde", "", "ab"])]
    write_shards(docs, tmp_path / "c", **{**SETTINGS, "shard_rows": 9, "row_group_bytes": 4})
    metadata = pq.ParquetFile(tmp_path / "c" / shard_name(0, 1)).metadata
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [2, 1, 2]


def test_the_streaming_path_holds_one_row_group_not_the_shard(tmp_path):
    pool, before, peak, limit = pa.default_memory_pool(), pa.total_allocated_bytes(), 0, 1 << 20

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal peak
        for i in range(200):
            peak = max(peak, pool.bytes_allocated() - before)
            yield rows_of([f"s:{i:05}"], [str(i) * ((1 << 18) // len(str(i)))])

    written = write_shard(0, tmp_path / "s.parquet", batches(), SCHEMA, row_group_bytes=limit)
    assert written.rows == 200
    assert peak < 8 * limit, "of 50 MiB of text"


def test_text_far_into_a_long_large_string_batch_is_written(tmp_path):
    """Offsets above 2 GiB: pages that are never touched stand for the rows before."""
    far = 3 << 30
    data = np.zeros(far + 4, np.uint8)
    data[far:] = np.frombuffer(b"aacc", np.uint8)
    text = pa.Array.from_buffers(
        pa.large_string(), 3, [None, pa.py_buffer(np.array([0, far, far + 2, far + 4])), pa.py_buffer(data)]
    )
    rows = rows_of(["s:1", "s:2"], ["aa", "cc"])
    batch = rows.set_column(1, pa.field("text", pa.large_string()), text[1:])
    write_shard(0, tmp_path / "far.parquet", [batch], SCHEMA, row_group_bytes=100)
    write_shard(0, tmp_path / "near.parquet", [rows], SCHEMA, row_group_bytes=100)
    assert (tmp_path / "far.parquet").read_bytes() == (tmp_path / "near.parquet").read_bytes()


@pytest.mark.parametrize(("limit", "fits"), [(39, False), (40, True)])
def test_urls_that_no_column_of_a_row_group_holds_are_refused_by_name(tmp_path, monkeypatch, limit, fits):
    """With a lower limit in place of 2 GiB: texts may be empty, so row groups may have any number of rows."""
    monkeypatch.setattr(row_groups, "MAX_STRING_BYTES", limit)
    docs = [doc(i, "", url="u" * 10) for i in range(4)]
    if fits:
        assert write_shards(docs, tmp_path / "c", **{**SETTINGS, "shard_rows": 4})["n_docs"] == 4
    else:
        with pytest.raises(ConfigError, match=r"column url: 4 rows .* 40 bytes, .* 39; make shard_rows smaller"):
            write_shards(docs, tmp_path / "c", **{**SETTINGS, "shard_rows": 4})
        assert list(tmp_path.iterdir()) == []
    write_shards(docs, tmp_path / "d", **SETTINGS)

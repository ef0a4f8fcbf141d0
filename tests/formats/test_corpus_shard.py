"""Corpus shards: the contract's sentences, the same bytes on both paths, and refusal of everything else."""

import hashlib
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats import corpus_manifest, dataset, durable
from formats.corpus_shard import (
    SCHEMA,
    Doc,
    name_pattern,
    permilles,
    read_shard,
    read_shards,
    shard_name,
    split_of,
    write_shard,
    write_shards,
)
from formats.errors import ConfigError, CorruptDataError, NotConvergedError, SchemaMismatchError
from tests import faults
from tests.golden import make_corpus_shard as golden

META = {"url": "u", "license_spdx": "MIT"}
SETTINGS: dict[str, Any] = {"dataset": "toy", "version": "v1", "shard_rows": 2}


def doc(i: int, text: str = "A hen sits.", **meta: Any) -> Doc:
    return Doc(f"farm:{i}", text, "farm", {**META, **meta})


def column(out: Path, name: str) -> list[Any]:
    entries = corpus_manifest.read(out)["shards"]
    return [value for entry in entries for batch in read_shard(out, entry) for value in batch.column(name).to_pylist()]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# The contract


def test_worked_example_of_the_spec(tmp_path):
    manifest = write_shards(golden.DOCS, tmp_path / "toy", **golden.SETTINGS)
    out = tmp_path / "toy"
    assert column(out, "id") == ["books:0", "web:10", "web:2"]
    assert column(out, "minhash_cluster") == [0, 1, 1]
    assert column(out, "split") == ["val", "train", "train"]
    assert column(out, "pii_redactions") == [0, 1, 0]
    assert column(out, "lang") == ["und", "en", "en"]
    assert column(out, "sha256")[0] == hashlib.sha256(b"Mia naps.").digest()
    assert permilles(pa.array(column(out, "sha256"), pa.binary(32))).tolist() == [248, 826, 697]
    assert [shard["rows"] for shard in manifest["shards"]] == [2, 1]
    assert manifest["pii"] == {"emails": 1, "phones": 0, "cards": 0, "ips": 0, "keys": 0}
    assert [d.id for d in read_shards(out, "val")] == ["books:0"]


def test_bytes_of_the_worked_example_are_the_golden_ones(tmp_path):
    expected, found = json.loads(golden.GOLDEN.read_text()), golden.digests(tmp_path / "toy")
    assert found["logical"] == expected["logical"]
    assert found == expected, "pyarrow is another one? then run python -m tests.golden.make_corpus_shard"


@pytest.mark.parametrize(("permille", "split"), [(248, "train"), (249, "val"), (0, "train"), (1000, "val")])
def test_permille_itself_is_train(permille, split):
    assert split_of(hashlib.sha256(b"Mia naps.").digest(), permille) == split


@given(st.lists(st.binary(min_size=32, max_size=32), max_size=20), st.integers(0, 1000), st.integers(0, 5))
def test_permilles_say_what_split_of_says(digests, val_permille, start):
    rows = pa.array(digests, pa.binary(32))[start:]
    expected = [split_of(digest, val_permille) == "val" for digest in digests[start:]]
    assert (permilles(rows) < val_permille).tolist() == expected


def test_a_shard_holds_the_pinned_columns_and_no_metadata(tmp_path):
    write_shards([doc(0)], tmp_path / "c", **SETTINGS)
    file = pq.ParquetFile(tmp_path / "c" / shard_name(0, 1))
    assert file.schema_arrow == SCHEMA
    assert file.schema_arrow.metadata is None
    assert all(field.nullable for field in file.schema_arrow)
    assert {file.metadata.row_group(0).column(i).compression for i in range(len(SCHEMA))} == {"ZSTD"}


def test_an_empty_corpus_has_one_empty_shard(tmp_path):
    manifest = write_shards([], tmp_path / "c", **SETTINGS)
    assert (manifest["n_docs"], manifest["n_shards"], manifest["shards"][0]["rows"]) == (0, 1, 0)
    assert list(read_shards(tmp_path / "c")) == []
    assert pq.read_table(tmp_path / "c" / manifest["shards"][0]["name"]).schema == SCHEMA


@pytest.mark.parametrize(("docs", "rows"), [(1, [1]), (2, [2]), (3, [2, 1]), (4, [2, 2])])
def test_shards_are_cut_every_shard_rows(tmp_path, docs, rows):
    manifest = write_shards([doc(i) for i in range(docs)], tmp_path / "c", **SETTINGS)
    assert [shard["rows"] for shard in manifest["shards"]] == rows


def test_names_of_more_than_99999_shards_stay_whole():
    assert shard_name(123456, 200000) == "shard-123456-of-200000.parquet"
    assert name_pattern(7).format(id=3) == "shard-00003-of-00007.parquet"


def test_ids_sort_as_utf8_bytes(tmp_path):
    ids = ["a:10", "a:2", "\U00010000:0", "\uffff:0", "A:0", "é:0", "a\x00:1"]
    write_shards([Doc(i, "x", "s", META) for i in ids], tmp_path / "c", **SETTINGS)
    assert column(tmp_path / "c", "id") == sorted(ids, key=str.encode)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ({}, [0, 1, 2, 3]),
        ({2: "farm:2", 3: "farm:2"}, [0, 1, 2, 2]),
        ({1: "gone:9", 3: "gone:9"}, [0, 1, 2, 1]),  # the root itself was dropped
        ({0: "farm:3"}, [0, 1, 2, 0]),  # the root names no cluster: it is in its own
        ({0: 7, 2: 7}, [0, 1, 0, 3]),  # as read from other shards
    ],
)
def test_minhash_cluster_is_the_first_row_of_the_cluster(tmp_path, named, expected):
    docs = [doc(i, minhash_cluster=named.get(i)) for i in range(4)]
    write_shards(docs, tmp_path / "c", **SETTINGS)
    assert column(tmp_path / "c", "minhash_cluster") == expected


def test_pii_counts_are_summed_by_kind_and_row(tmp_path):
    docs = [doc(0, pii={"email": 2, "key": 1}), doc(1, pii={"email": 1}, pii_redactions=1), doc(2, pii_redactions=4)]
    manifest = write_shards(docs, tmp_path / "c", **SETTINGS)
    assert manifest["pii"] == {"emails": 3, "phones": 0, "cards": 0, "ips": 0, "keys": 1}
    assert column(tmp_path / "c", "pii_redactions") == [3, 1, 4]


def test_what_was_read_can_be_written_again_as_the_same_shards(tmp_path):
    write_shards([doc(i, minhash_cluster="farm:1") for i in range(3)], tmp_path / "a", **SETTINGS)
    write_shards(read_shards(tmp_path / "a"), tmp_path / "b", **SETTINGS)
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_a_version_may_be_written_from_itself(tmp_path):
    write_shards([doc(i) for i in range(3)], tmp_path / "c", **SETTINGS)
    before = files_of(tmp_path)
    write_shards(read_shards(tmp_path / "c"), tmp_path / "c", **SETTINGS)
    assert files_of(tmp_path) == before


# Any documents, any order, any cut


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


def rows_of(ids: list[str], texts: list[str], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    n = len(ids)
    digests = [hashlib.sha256(text.encode()).digest() for text in texts]
    values = [ids, texts, *(["s"] * n for _ in range(4)), [1] * n, digests, list(range(n)), [0] * n, ["train"] * n]
    return pa.RecordBatch.from_arrays([pa.array(v, f.type) for v, f in zip(values, schema, strict=True)], schema=schema)


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
    monkeypatch.setattr(dataset, "MAX_STRING_BYTES", limit)
    docs = [doc(i, "", url="u" * 10) for i in range(4)]
    if fits:
        assert write_shards(docs, tmp_path / "c", **{**SETTINGS, "shard_rows": 4})["n_docs"] == 4
    else:
        with pytest.raises(ConfigError, match=r"column url: 4 rows .* 40 bytes, .* 39; make shard_rows smaller"):
            write_shards(docs, tmp_path / "c", **{**SETTINGS, "shard_rows": 4})
        assert list(tmp_path.iterdir()) == []
    write_shards(docs, tmp_path / "d", **SETTINGS)


# What is refused


LONE = "x\ud800y"
BAD_DOCS = {
    "no url": [Doc("a:0", "x", "a", {"license_spdx": "MIT"})],
    "empty url": [Doc("a:0", "x", "a", {**META, "url": ""})],
    "no license": [Doc("a:0", "x", "a", {"url": "u"})],
    "null license": [Doc("a:0", "x", "a", {**META, "license_spdx": None})],
    "repeated id": [doc(0), doc(1), doc(0, "Another text.")],
    "empty id": [Doc("", "x", "a", META)],
    "id is no text": [Doc(7, "x", "a", META)],
    "text is bytes": [doc(0, b"x")],
    "text is missing": [doc(0, None)],
    "no source": [Doc("a:0", "x", "", META)],
    "meta is missing": [Doc("a:0", "x", "a", None)],
    "empty lang": [doc(0, lang="")],
    "lone surrogate in text": [doc(0, LONE)],
    "lone surrogate in id": [Doc(LONE, "x", "a", META)],
    "lone surrogate in url": [doc(0, url=LONE)],
    "unknown pii kind": [doc(0, pii={"name": 1})],
    "negative pii": [doc(0, pii={"email": -1})],
    "pii is true": [doc(0, pii={"email": True})],
    "redactions contradict pii": [doc(0, pii={"email": 2}, pii_redactions=1)],
    "redactions beyond int32": [doc(0, pii_redactions=2**31)],
    "redactions are no number": [doc(0, pii_redactions="1")],
    "cluster is a float": [doc(0, minhash_cluster=1.0)],
    "no document": ["A hen sits."],
}


@pytest.mark.parametrize("name", BAD_DOCS)
@pytest.mark.parametrize("old", [False, True])
def test_bad_document_is_a_value_error_with_nothing_written(tmp_path, name, old):
    if old:
        write_shards([doc(5)], tmp_path / "c", **SETTINGS)
    before = files_of(tmp_path)
    with pytest.raises(ValueError, match=r"document|among"):
        write_shards(BAD_DOCS[name], tmp_path / "c", **SETTINGS)
    assert files_of(tmp_path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == (["c"] if old else [])


@pytest.mark.parametrize(
    "bad",
    [
        {"shard_rows": 0},
        {"shard_rows": 1.0},
        {"shard_rows": True},
        {"val_permille": -1},
        {"val_permille": 1001},
        {"val_permille": 0.5},
        {"row_group_bytes": 0},
        {"row_group_bytes": 2**31},
        {"dataset": "Toy"},
        {"dataset": "raw"},
        {"version": "1.0"},
        {"version": None},
        {"filters": {"gopher": -1}},
        {"filters": {"gopher": 1.5}},
        {"filters": {"": 1}},
        {"filters": ["gopher"]},
        {"dedup": {"jaccard": 0.8}},
        {"dedup": {"jaccard_threshold": 1.1}},
        {"dedup": {"jaccard_threshold": float("nan")}},
        {"dedup": {"exact_dropped": None}},
        {"ledger_ref": ""},
        {"config_sha256": "0" * 63},
        {"config_sha256": "A" * 64},
    ],
    ids=str,
)
def test_bad_argument_is_a_value_error_before_a_document_is_asked_for(tmp_path, bad):
    def docs() -> Iterator[Doc]:
        raise AssertionError("asked for a document")
        yield

    with pytest.raises(ValueError, match=next(iter(bad))):
        write_shards(docs(), tmp_path / "c", **{**SETTINGS, **bad})
    assert list(tmp_path.iterdir()) == []


def test_out_must_be_a_folder_or_free(tmp_path):
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", Path("/")):
        with pytest.raises(ValueError, match="out is"):
            write_shards([doc(0)], out, **SETTINGS)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("split", ["test", "", 1])
def test_unknown_split_is_refused_at_once(tmp_path, split):
    write_shards([doc(0)], tmp_path / "c", **SETTINGS)
    with pytest.raises(ValueError, match="split"):
        read_shards(tmp_path / "c", split)


@pytest.mark.parametrize("digest", [b"", b"x" * 31, "x" * 32, None])
def test_split_of_wants_a_digest(digest):
    with pytest.raises(ValueError, match="32 bytes"):
        split_of(digest, 5)


@pytest.mark.parametrize("ids", [["a:2", "a:10"], ["a:1", "a:1"]], ids=["out of order", "repeated"])
@pytest.mark.parametrize("group", [1, 100])
def test_streamed_rows_out_of_order_are_refused(tmp_path, ids, group):
    with pytest.raises(NotConvergedError, match="sort the rows by id"):
        write_shard(0, tmp_path / "s.parquet", [rows_of(ids, ["x", "y"])], SCHEMA, row_group_bytes=group)
    assert list(tmp_path.iterdir()) == []


def test_streamed_rows_of_other_columns_or_with_nulls_are_refused(tmp_path):
    rows = rows_of(["a:1"], ["x"])
    null = rows.set_column(3, SCHEMA.field("url"), pa.array([None], pa.string()))
    long = rows.set_column(6, pa.field("n_chars", pa.int64()), pa.array([2**31]))
    for batch in (
        null,
        long,
        rows.drop_columns(["split"]),
        rows.drop_columns(["text"]),
        rows.select(SCHEMA.names[::-1]),
    ):
        with pytest.raises(SchemaMismatchError):
            write_shard(0, tmp_path / "s.parquet", [batch], SCHEMA, row_group_bytes=9)
    with pytest.raises(SchemaMismatchError, match="schema"):
        write_shard(0, tmp_path / "s.parquet", [rows], SCHEMA.remove(0), row_group_bytes=9)
    assert list(tmp_path.iterdir()) == []


# Failure and damage


def test_a_failed_run_leaves_the_old_output_and_no_scraps(tmp_path, monkeypatch):
    write_shards([doc(0)], tmp_path / "c", **SETTINGS)
    before = files_of(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(corpus_manifest, "write", full)
    with pytest.raises(OSError, match="space"):
        write_shards([doc(i) for i in range(5)], tmp_path / "c", **SETTINGS)
    assert files_of(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


KILLED = """
import os, sys, shutil
from pathlib import Path
from tests.formats.test_corpus_shard import SETTINGS, doc
from formats.corpus_shard import write_shards
left = int(sys.argv[2])
def counted(real):
    def step(*args, **kwargs):
        global left
        if left == 0:
            os._exit(9)
        left -= 1
        return real(*args, **kwargs)
    return step
Path.rename, Path.replace, shutil.rmtree = map(counted, (Path.rename, Path.replace, shutil.rmtree))
write_shards([doc(7), doc(8), doc(9)], sys.argv[1], **SETTINGS)
"""


@pytest.mark.slow
def test_a_kill_before_any_rename_or_deletion_leaves_the_old_or_the_new(tmp_path):
    out = tmp_path / "c"
    seen = set()
    for step in range(20):
        write_shards([doc(0)], out, **SETTINGS)
        old = files_of(out)
        root = Path(__file__).parents[2]
        done = subprocess.run([sys.executable, "-c", KILLED, str(out), str(step)], cwd=root, check=False)
        with pytest.raises(ValueError, match="url"):
            write_shards(BAD_DOCS["no url"], out, **SETTINGS)  # a start that goes no further
        assert [path.name for path in tmp_path.iterdir()] == ["c"]
        ids = [d.id for d in read_shards(out)]
        seen.add(tuple(ids))
        assert files_of(out) == old or ids == ["farm:7", "farm:8", "farm:9"]
        if done.returncode == 0:
            break
    assert done.returncode == 0
    assert seen == {("farm:0",), ("farm:7", "farm:8", "farm:9")}


def test_what_a_killed_run_set_aside_is_put_back_at_the_next_start(tmp_path):
    write_shards([doc(0)], tmp_path / "c", **SETTINGS)
    before = files_of(tmp_path / "c")
    (tmp_path / "c").rename(tmp_path / "c.old")
    (tmp_path / "c.tmp").mkdir()
    (tmp_path / "c.tmp" / "half").write_text("half")
    with pytest.raises(ValueError, match="shard_rows"):
        write_shards([], tmp_path / "c", **{**SETTINGS, "shard_rows": 0})
    assert files_of(tmp_path) == {f"c/{name}": data for name, data in before.items()}


def changes() -> list[str]:
    return list(faults.every_change(b"0123456789"))


@pytest.mark.parametrize("change", changes())
def test_a_changed_shard_is_reported_by_hash_before_a_document_is_given(tmp_path, change):
    write_shards([doc(0), doc(1), doc(2)], tmp_path / "c", **SETTINGS)
    path = tmp_path / "c" / shard_name(1, 2)
    path.write_bytes(faults.every_change(path.read_bytes())[change])
    docs = read_shards(tmp_path / "c")
    assert [next(docs).id, next(docs).id] == ["farm:0", "farm:1"]
    with pytest.raises(CorruptDataError, match="sha256"):
        next(docs)


def test_a_rewritten_shard_is_refused_though_its_rows_are_equal(tmp_path):
    write_shards([doc(0)], tmp_path / "c", **SETTINGS)
    faults.rewrite_parquet(tmp_path / "c" / shard_name(0, 1))
    with pytest.raises(CorruptDataError, match="sha256"):
        list(read_shards(tmp_path / "c"))


def forge(out: Path, table: pa.Table | bytes) -> None:
    """Put other content into the only shard, with its right hash in the manifest."""
    manifest = corpus_manifest.read(out)
    path = out / manifest["shards"][0]["name"]
    if isinstance(table, bytes):
        path.write_bytes(table)
    else:
        pq.write_table(table, path)
    manifest["shards"][0]["sha256"] = durable.sha256_of(path)
    corpus_manifest.write(out, manifest)


def test_a_shard_that_its_hash_vouches_for_is_still_held_to_columns_and_rows(tmp_path):
    out = tmp_path / "c"
    write_shards([doc(0), doc(1)], out, **SETTINGS)
    table = pq.read_table(out / shard_name(0, 1))
    for forged, field in {
        "rows": table.slice(1),
        "columns": table.drop_columns(["lang"]),
        "column n_chars": table.set_column(6, "n_chars", table["n_chars"].cast(pa.int64())),
        "schema metadata": table.replace_schema_metadata({"a": "b"}),
        "content": b"PAR1 not really PAR1",
    }.items():
        forge(out, field)
        with pytest.raises(CorruptDataError, match=forged):
            list(read_shards(out))


def test_a_missing_shard_and_a_missing_manifest_are_named(tmp_path):
    write_shards([doc(0)], tmp_path / "c", **SETTINGS)
    (tmp_path / "c" / shard_name(0, 1)).unlink()
    with pytest.raises(CorruptDataError, match="shard-00000-of-00001"):
        list(read_shards(tmp_path / "c"))
    with pytest.raises(CorruptDataError, match="_MANIFEST"):
        read_shards(tmp_path / "nothing")

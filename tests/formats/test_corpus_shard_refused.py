"""What the writers of corpus shards refuse, before anything is written."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from formats.corpus_shard import SCHEMA, Doc, read_shards, split_of, write_shard, write_shards
from formats.errors import NotConvergedError, SchemaMismatchError
from tests.formats.made_docs import META, SETTINGS, doc, files_of, rows_of

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

"""Exports: read back by a small reader of our own, and by the libraries whose forms they are, where these are there."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.cli import main
from corpus_assets.plans import export_mds, export_megatron
from corpus_assets.plans.export import export
from corpus_assets.stages.pack_tokens import pack
from formats.errors import ConfigError, CorruptDataError
from formats.snapshot import manifest, token_shard
from formats.snapshot.manifest import SPLITS
from formats.snapshot.manifest_rules import dtype_for
from tests import faults
from tests.formats.snapshot.made_snapshots import document_of
from tests.plans import export_readers, streaming_reader_program

SEQ_LEN = 8
BUCKETS = {("train", "books"): (7, 30), ("train", "web"): (25,), ("val", "web"): (2,)}


def snapshot_of(root, packing="concat", vocab_size=60_000, buckets=BUCKETS):
    """A snapshot of random documents of some tokens; and {(split, bucket): [(id, tokens), …]}, shard after shard."""
    draw = np.random.default_rng(5)
    dtype = dtype_for(vocab_size)
    folder, written, documents = root / "snapshots" / "being-made", [], {}
    for (split, bucket), shards in buckets.items():
        for number, num_docs in enumerate(shards):
            lengths = draw.integers(1, 20, num_docs)
            tokens = draw.integers(0, vocab_size, lengths.sum()).astype(dtype)
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            packed = pack(lengths, SEQ_LEN, packing)
            ids = [f"{bucket}:{number}{i:03}" for i in range(num_docs)]
            names = [ids[d] for d in packed.doc.tolist()]
            columns = [packed.start, packed.length, packed.first, names]
            index = pa.table(dict(zip(token_shard.INDEX.names, columns, strict=True)), token_shard.INDEX)
            sequences = packed.fill(tokens, offsets, 1)
            written.append(token_shard.write(folder, split, bucket, number, sequences, index))
            parts = np.split(tokens, offsets[1:-1])
            documents.setdefault((split, bucket), []).extend(zip(ids, (p.tolist() for p in parts), strict=True))
    changes = {"vocab_size": vocab_size, "dtype": dtype, "packing": packing}
    snapshot_id = manifest.write(folder, document_of(written, **changes))
    folder.rename(manifest.folder_of(root, snapshot_id))
    return manifest.read(root, snapshot_id), documents


def sequences_of(snapshot, split, bucket):
    shards = [shard for shard in snapshot.shards(split) if shard.bucket == bucket]
    return np.concatenate([token_shard.open_sequences(snapshot, shard) for shard in shards])


@pytest.mark.parametrize("packing", ["concat", "best_fit"])
@pytest.mark.parametrize("vocab_size", [60_000, 200_000])
def test_megatron_gets_every_document_whole_and_no_padding(tmp_path, packing, vocab_size):
    snapshot, documents = snapshot_of(tmp_path, packing, vocab_size)
    done = export(snapshot, "megatron", tmp_path / "out", SPLITS)
    assert [(one.split, one.bucket) for one in done] == list(BUCKETS)
    for one in done:
        found, borders = export_readers.megatron(tmp_path / "out" / one.path)
        expected = [tokens for _, tokens in documents[one.split, one.bucket]]
        found = [tokens.tolist() for tokens in found]
        assert found == expected if packing == "concat" else sorted(found) == sorted(expected)
        assert borders == list(range(len(found) + 1))
        assert (one.samples, one.tokens) == (len(found), sum(map(len, found)))


@pytest.mark.parametrize("packing", ["concat", "best_fit"])
@pytest.mark.parametrize("vocab_size", [60_000, 200_000])
def test_megatrons_own_reader_reads_it(tmp_path, packing, vocab_size):
    indexed = pytest.importorskip("megatron.core.datasets.indexed_dataset", reason="megatron-core is not installed")
    snapshot, _ = snapshot_of(tmp_path, packing, vocab_size)
    for one in export(snapshot, "megatron", tmp_path / "out", SPLITS):
        expected, borders = export_readers.megatron(tmp_path / "out" / one.path)
        theirs = indexed.IndexedDataset(str(tmp_path / "out" / one.path), mmap=True)
        assert len(theirs) == len(expected)
        assert theirs.document_indices.tolist() == borders
        for document, tokens in zip(theirs, expected, strict=True):
            assert document.dtype == tokens.dtype
            assert document.tolist() == tokens.tolist()


@pytest.mark.parametrize("vocab_size", [60_000, 200_000])
def test_mds_gets_every_sequence(tmp_path, vocab_size, monkeypatch):
    monkeypatch.setattr(export_mds, "SHARD_BYTES", 400)
    snapshot, _ = snapshot_of(tmp_path, vocab_size=vocab_size)
    for one in export(snapshot, "mds", tmp_path / "out", SPLITS):
        folder = tmp_path / "out" / one.path
        found = np.stack([sample["tokens"] for sample in export_readers.mds(folder)])
        assert np.array_equal(found, sequences_of(snapshot, one.split, one.bucket))
        assert found.dtype == snapshot.dtype
        for shard in json.loads((folder / "index.json").read_text())["shards"]:
            data = (folder / shard["raw_data"]["basename"]).read_bytes()
            assert shard["raw_data"]["hashes"]["sha256"] == hashlib.sha256(data).hexdigest()
    assert len(list((tmp_path / "out/train/books").glob("shard.*.mds"))) > 1


def test_mosaics_own_readers_read_it(tmp_path):
    """Ids of both types, both splits; in a program of its own, since the library changes what it is imported into."""
    folders, expected = {}, {}
    for vocab_size in (60_000, 200_000):
        root = tmp_path / str(vocab_size)
        snapshot, _ = snapshot_of(root, vocab_size=vocab_size)
        for one in export(snapshot, "mds", root / "out", SPLITS):
            answer = tmp_path / f"{len(folders)}.npy"
            folders[str(root / "out" / one.path)] = str(answer)
            expected[answer] = sequences_of(snapshot, one.split, one.bucket)
    program = [sys.executable, "-W", "ignore", Path(__file__).with_name("streaming_reader_program.py")]
    ended = subprocess.run(
        program, input=json.dumps(folders), capture_output=True, text=True, timeout=1200, check=False
    )
    if ended.returncode == streaming_reader_program.NOT_INSTALLED:
        pytest.skip("mosaicml-streaming is not installed (.ci/run does)")
    assert ended.returncode == 0, ended.stderr
    for answer, sequences in expected.items():
        local, streamed = np.load(answer)
        assert np.array_equal(local, sequences)
        assert np.array_equal(streamed, sequences)


@settings(max_examples=50)
@given(st.lists(st.integers(1, 30), max_size=30), st.integers(1, 12), st.sampled_from([1, 5, 40]))
def test_pieces_are_gathered_in_the_order_of_documents(lengths, seq_len, at_once):
    lengths = np.array(lengths, np.int64)
    tokens = np.arange(lengths.sum())
    packed = pack(lengths, seq_len, "best_fit")
    flat = packed.fill(tokens, np.concatenate([[0], np.cumsum(lengths)]), -1).reshape(-1)
    order = np.lexsort((packed.first, packed.doc))
    export_megatron._TOKENS_AT_ONCE, before = at_once, export_megatron._TOKENS_AT_ONCE
    try:
        parts = [flat[where] for where in export_megatron._gathered(packed.start[order], packed.length[order])]
    finally:
        export_megatron._TOKENS_AT_ONCE = before
    assert np.concatenate([tokens[:0], *parts]).tolist() == tokens.tolist()


def test_pointers_beyond_two_gigabytes_are_right(tmp_path):
    """Report 52: the second document begins 10 bytes below 2^31, the third above 2^32. The file is sparse."""
    sizes = np.array([2**30 - 5, 5, 2**30 + 7, 3], np.int64)
    prefix = tmp_path / "big"
    (tmp_path / "big.idx").write_bytes(export_megatron.index_bytes(sizes, 8, 2))
    begins = [0, 2**31 - 10, 2**31, 2**32 + 14]
    with open(tmp_path / "big.bin", "wb") as file:
        for begin, value in zip(begins, (1, 2, 3, 4), strict=True):
            file.seek(begin)
            file.write(np.array([value], "<u2").tobytes())
        file.truncate(int(sizes.sum()) * 2)
    index = (tmp_path / "big.idx").read_bytes()
    assert np.frombuffer(index, "<i8", 4, 34 + 16).tolist() == begins
    mapped = np.memmap(tmp_path / "big.bin", "<u2", "r")
    assert [int(mapped[begin // 2]) for begin in begins] == [1, 2, 3, 4]
    with pytest.raises(ConfigError, match="at most 2147483647"):
        export_megatron.index_bytes(np.array([2**31]), 8, 2)
    if indexed := _megatron():
        theirs = indexed.IndexedDataset(str(prefix), mmap=True)
        assert [int(theirs.get(i, 0, 1)[0]) for i in range(4)] == [1, 2, 3, 4]


def _megatron():
    try:
        from megatron.core.datasets import indexed_dataset
    except ImportError:
        return None
    return indexed_dataset


@pytest.mark.parametrize("form", ["megatron", "mds"])
def test_a_damaged_shard_gives_no_export(tmp_path, form):
    snapshot, _ = snapshot_of(tmp_path)
    faults.flip_byte(snapshot.folder / snapshot.shards("train")[1].name, 3)
    with pytest.raises(CorruptDataError, match="sha256"):
        export(snapshot, form, tmp_path / "out", SPLITS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["snapshots"]


@pytest.mark.parametrize("place", ["out", "sub/out", "../snapshots/out", "."])
def test_the_store_of_snapshots_takes_no_export(tmp_path, place):
    snapshot, _ = snapshot_of(tmp_path)
    before = sorted((tmp_path / "snapshots").rglob("*"))
    with pytest.raises(ConfigError, match="is in the store of snapshots"):
        export(snapshot, "mds", tmp_path / "snapshots" / place, SPLITS)
    assert sorted((tmp_path / "snapshots").rglob("*")) == before


def test_an_index_whose_documents_are_not_whole_is_refused(tmp_path):
    snapshot, _ = snapshot_of(tmp_path)
    shard = snapshot.shards("train")[0]
    index = token_shard.read_index(snapshot, shard)
    broken = index.set_column(2, token_shard.INDEX.field("first"), pa.array([1] * len(index)))
    sequences = np.array(token_shard.open_sequences(snapshot, shard))
    written = token_shard.write(tmp_path / "snapshots" / "other", "train", "books", 0, sequences, broken)
    snapshot_id = manifest.write(tmp_path / "snapshots" / "other", document_of([written]))
    (tmp_path / "snapshots" / "other").rename(manifest.folder_of(tmp_path, snapshot_id))
    with pytest.raises(CorruptDataError, match="whole documents"):
        export(manifest.read(tmp_path, snapshot_id), "megatron", tmp_path / "out", ["train"])


def test_the_command_writes_a_new_folder_and_says_what_is_in_it(tmp_path, capsys):
    snapshot, documents = snapshot_of(tmp_path)
    command = ["--root", str(tmp_path), "export", snapshot.snapshot_id, "--to", "megatron", str(tmp_path / "out")]
    assert main([*command, "--split", "val", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == [{"split": "val", "bucket": "web", "path": "val/web", "samples": 2, "tokens": said[0]["tokens"]}]
    about = json.loads((tmp_path / "out" / "export.json").read_text())
    assert about == {"snapshot_id": snapshot.snapshot_id, "form": "megatron", "buckets": said}
    assert main(command) == 2
    assert "is there already" in capsys.readouterr().err
    assert main([*command[:-1], str(tmp_path / "mds")]) == 0
    assert f"{tmp_path / 'mds' / 'train/web'}  25 documents" in capsys.readouterr().out
    assert documents

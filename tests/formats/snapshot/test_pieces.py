"""Any stretch of a shard's tokens gives its documents, as a walk over single tokens finds them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.errors import CorruptDataError
from formats.snapshot import token_shard
from formats.snapshot.manifest import Snapshot, TokenShard
from formats.snapshot.pieces import Piece, Pieces
from tests import faults
from tests.formats.snapshot.made_snapshots import SEQ_LEN, make_snapshot

gaps_and_lengths = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), max_size=12)


def index_of(start, length, first):
    ids = [f"a:{i}" for i in range(len(start))]
    return pa.table(dict(zip(token_shard.INDEX.names, (start, length, first, ids), strict=True)), token_shard.INDEX)


def opened(monkeypatch, index, sequences=40):
    monkeypatch.setattr("formats.snapshot.pieces.read_index", lambda *_: index)
    shard = TokenShard("train", "web", 0, sequences, 0, 0, "", "")
    return Pieces(Snapshot(Path(), "sha256:", {"seq_len": SEQ_LEN}), shard)


@given(gaps_and_lengths, st.integers(0, 150), st.integers(0, 20))
def test_a_stretch_holds_what_a_walk_over_its_tokens_finds(parts, begin, size):
    start, at = [], 0
    for gap, length in parts:
        start.append(at + gap)
        at += gap + length
    length = [length for _, length in parts]
    token_of = {}
    for i, (s, n) in enumerate(zip(start, length, strict=True)):
        token_of |= {s + t: (f"a:{i}", 100 * i + t) for t in range(n)}
    with pytest.MonkeyPatch.context() as patch:
        pieces = opened(patch, index_of(start, length, [100 * i for i in range(len(start))]))
    found = {}
    for piece in pieces.between(begin, begin + size):
        assert 0 <= piece.begin < piece.end <= size
        for t in range(piece.begin, piece.end):
            assert begin + t not in found
            found[begin + t] = (piece.id, piece.first + t - piece.begin)
    assert found == {t: what for t, what in token_of.items() if begin <= t < begin + size}
    for t in range(begin, begin + size):
        whole = pieces.at(t)
        assert (whole and (whole.id, whole.first + t - whole.begin)) == token_of.get(t)
        assert whole is None or (whole.begin in start and whole.end - whole.begin == length[start.index(whole.begin)])


@pytest.mark.parametrize(
    ("start", "length"), [([0, 3], [4, 4]), ([4, 0], [4, 4]), ([-1], [2]), ([318], [3]), ([0, 4], [4, 0])]
)
def test_pieces_that_overlap_fall_back_or_lie_outside_are_refused(monkeypatch, start, length):
    with pytest.raises(CorruptDataError, match="start and length"):
        opened(monkeypatch, index_of(start, length, np.zeros(len(start), np.int64)))


def test_the_pieces_of_a_snapshot_are_those_of_boundaries(tmp_path):
    snapshot = make_snapshot(tmp_path)
    for shard in snapshot.shards("train"):
        pieces, index = Pieces(snapshot, shard), token_shard.read_index(snapshot, shard)
        for row in range(shard.sequences):
            found = pieces.between(row * SEQ_LEN, (row + 1) * SEQ_LEN)
            assert [(p.begin, p.end, p.id) for p in found] == token_shard.boundaries(index, row, SEQ_LEN)
    first = Pieces(snapshot, snapshot.shards("train")[0])
    assert first.between(7, 7) == []  # inside a piece
    assert first.between(6, 8) == [Piece(0, 2, "books:1", 1)]


def test_an_index_that_was_damaged_is_named(tmp_path):
    snapshot = make_snapshot(tmp_path)
    shard = snapshot.shards("train")[0]
    faults.flip_byte(snapshot.folder / shard.index_name, 40)
    with pytest.raises(CorruptDataError, match=r"books/00000.docs.parquet: sha256"):
        Pieces(snapshot, shard)

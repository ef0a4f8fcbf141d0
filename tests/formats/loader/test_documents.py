"""Documents within a batch, told from its tokens: what the index of the snapshot says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.plans.snapshot import make_snapshot
from formats.loader import documents
from formats.snapshot import token_shard
from tests.plans import tiny_corpus
from tests.plans.test_snapshot import build_of, config_of, write_tokenizer

END = 0


@st.composite
def batches(draw):
    """Tokens (n, seq_len), among them many ends."""
    n, seq_len = draw(st.integers(0, 4)), draw(st.integers(1, 12))
    flat = draw(st.lists(st.integers(0, 3), min_size=n * seq_len, max_size=n * seq_len))
    return np.array(flat, np.uint16).reshape(n, seq_len)


def walked(tokens):
    """(number, position, begins a document) of every token, one after the other."""
    for sequence in tokens.tolist():
        number = position = 0
        for token in sequence:
            yield number, position, position == 0
            number, position = (number + 1, 0) if token == END else (number, position + 1)


@given(batches())
def test_numbers_positions_and_lengths_are_those_of_a_walk_over_the_tokens(tokens):
    expected = list(walked(tokens))
    assert documents.numbers(tokens, END).ravel().tolist() == [number for number, _, _ in expected]
    assert documents.positions(tokens, END).ravel().tolist() == [position for _, position, _ in expected]
    begins = [at for at, (_, _, begun) in enumerate(expected) if begun]
    assert documents.cumulative_lengths(tokens, END).tolist() == [*begins, tokens.size]


@pytest.mark.parametrize("packing", ["concat", "best_fit"])
def test_they_are_the_borders_that_the_index_of_a_snapshot_has(tmp_path, packing):
    layout = tiny_corpus.copy(tmp_path / "root")
    config = config_of(write_tokenizer(layout.root), seq_len=16, packing=packing)
    snapshot = make_snapshot(build_of(layout, config))
    end, seen = snapshot.document["eos_id"], 0
    for shard in snapshot.shards("train"):
        tokens, index = token_shard.open_sequences(snapshot, shard), token_shard.read_index(snapshot, shard)
        numbers, positions = documents.numbers(tokens, end), documents.positions(tokens, end)
        for row in range(len(tokens)):
            borders = token_shard.boundaries(index, row, snapshot.seq_len)
            for number, (begin, stop, _) in enumerate(borders):
                assert numbers[row, begin:stop].tolist() == [number] * (stop - begin)
                assert positions[row, begin:stop].tolist() == list(range(stop - begin))
                seen += 1
            assert (numbers[row, borders[-1][1] :] >= len(borders)).all()  # padding
    assert seen > 8

"""Packing: every token in exactly one sequence, documents whole where they fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.kernels.best_fit import best_fit
from corpus_assets.stages.pack_tokens import pack

sizes = st.lists(st.integers(1, 40), max_size=60)
seq_lens = st.sampled_from([1, 2, 7, 16, 64, 130])
PAD = 9


def documents(lengths):
    """(tokens, offsets) of documents whose every token is another number."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.arange(100, 100 + offsets[-1], dtype=np.uint16), offsets


@given(sizes, seq_lens, st.sampled_from(["concat", "best_fit"]))
def test_every_token_is_in_exactly_one_sequence_and_the_rest_is_padding(lengths, seq_len, packing):
    packed = pack(lengths, seq_len, packing)
    tokens, offsets = documents(lengths)
    sequences = packed.fill(tokens, offsets, PAD)
    assert sequences.shape == (packed.num_sequences, seq_len)
    assert sorted(sequences[sequences != PAD].tolist()) == tokens.tolist()
    assert packed.padding == (sequences == PAD).sum()


@given(sizes, seq_lens, st.sampled_from(["concat", "best_fit"]))
def test_pieces_say_where_each_token_of_a_document_went(lengths, seq_len, packing):
    packed = pack(lengths, seq_len, packing)
    tokens, offsets = documents(lengths)
    flat = packed.fill(tokens, offsets, PAD).ravel()
    assert (np.diff(packed.start) > 0).all()
    for doc, first, start, length in zip(packed.doc, packed.first, packed.start, packed.length, strict=True):
        begin = offsets[doc] + first
        assert flat[start : start + length].tolist() == tokens[begin : begin + length].tolist()


@given(sizes, seq_lens)
def test_joined_documents_keep_their_order_and_pad_less_than_one_sequence(lengths, seq_len):
    packed = pack(lengths, seq_len, "concat")
    tokens, offsets = documents(lengths)
    assert packed.fill(tokens, offsets, PAD).ravel()[: tokens.size].tolist() == tokens.tolist()
    assert packed.padding < seq_len


@given(sizes, seq_lens)
def test_best_fit_cuts_only_what_is_longer_than_a_sequence(lengths, seq_len):
    packed = pack(lengths, seq_len, "best_fit")
    assert (packed.start // seq_len == (packed.start + packed.length - 1) // seq_len).all()
    for doc, length in enumerate(lengths):
        assert (packed.doc == doc).sum() == -(-length // seq_len)


@given(sizes, seq_lens)
def test_best_fit_is_the_plain_search_for_the_fullest_bin(lengths, seq_len):
    pieces = [length for length in lengths if length <= seq_len]
    rooms, expected = [], {}
    youngest = {}
    for piece in sorted(range(len(pieces)), key=lambda i: (-pieces[i], i)):
        fitting = [b for b, room in enumerate(rooms) if room >= pieces[piece]]
        if fitting:
            least = min(rooms[b] for b in fitting)
            chosen = max((b for b in fitting if rooms[b] == least), key=lambda b: youngest[b])
        else:
            rooms.append(seq_len)
            chosen = len(rooms) - 1
        expected[piece] = (chosen, seq_len - rooms[chosen])
        rooms[chosen] -= pieces[piece]
        youngest[chosen] = len(youngest) + len(expected)
    bins, offsets, num_bins = best_fit(pieces, seq_len)
    assert num_bins == len(rooms)
    assert dict(enumerate(zip(bins.tolist(), offsets.tolist(), strict=True))) == expected


def test_sequences_stand_in_the_order_of_their_earliest_documents():
    packed = pack([3, 10, 7, 10, 1], 10, "best_fit")
    assert packed.doc.tolist() == [2, 0, 1, 3, 4]


@pytest.mark.parametrize("lengths", [[0], [11], [3, -1]])
def test_pieces_that_fit_no_sequence_are_refused(lengths):
    with pytest.raises(ValueError, match="expected 1 to 10"):
        best_fit(np.array(lengths), 10)


def test_an_unknown_packing_is_refused():
    with pytest.raises(ValueError, match="concat or best_fit"):
        pack([1], 10, "tight")

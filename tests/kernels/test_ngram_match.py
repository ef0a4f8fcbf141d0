import hashlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.ngram_match import EvalIndex, make_index, match
from formats.errors import ConfigError, CorruptDataError
from tests.kernels import reference
from tests.strategies import texts

ITEM = "Which of the four seasons brings the longest nights to the northern half of our planet every year?"


def index_of(*texts, ngram=13, min_words=8):
    entries = [("quiz", f"{i}.question") for i in range(len(texts))]
    return make_index(entries, pa.array(texts, pa.large_string()), ngram=ngram, min_words=min_words)


def hits(index, *texts):
    return list(zip(*(v.tolist() for v in match(pa.array(texts, pa.large_string()), index)), strict=True))


def numbered(start, n):
    return " ".join(f"w{i}" for i in range(start, start + n))


few_words = st.lists(st.sampled_from(["a", "b", "B", "我", "é", ", ", "c "]), max_size=40).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(few_words, max_size=5),
    st.lists(few_words | texts, max_size=4),
    st.sampled_from([(3, 2), (4, 4), (13, 8), (2, 1)]),
)
def test_matches_equal_the_reference(items, documents, how):
    ngram, min_words = how
    items = [item for item in items if len(reference.words(item)) >= min_words]
    index = index_of(*items, ngram=ngram, min_words=min_words)
    expected = [reference.first_hit(text, items, ngram, min_words) for text in documents]
    assert hits(index, *documents) == expected
    assert hits(EvalIndex.from_bytes(index.to_bytes()), *documents) == expected


def test_twelve_words_of_a_longer_item_are_clean_and_thirteen_are_not():
    index = index_of(numbered(0, 20))
    clean, hit = hits(index, f"so {numbered(3, 12)} it", f"so {numbered(3, 13)} it")
    assert clean == (-1, -1, -1)
    assert hit == (0, 3, 3 + len(numbered(3, 13)))


@pytest.mark.parametrize("length", [8, 9, 12])
def test_a_short_item_counts_only_as_a_whole(length):
    index = index_of(numbered(0, length))
    assert hits(index, numbered(0, length))[0][0] == 0
    assert hits(index, numbered(0, length - 1), numbered(1, length - 1)) == [(-1, -1, -1)] * 2


def test_an_item_of_too_few_words_is_refused():
    with pytest.raises(ConfigError, match=r"quiz:1\.question has 7 words"):
        index_of(numbered(0, 8), numbered(0, 7))


def test_the_first_hit_in_the_text_counts_and_at_one_place_the_lowest_item():
    index = index_of(numbered(50, 13), numbered(0, 13), numbered(0, 30), numbered(0, 9))
    both = f"{numbered(0, 13)} and {numbered(50, 13)}"
    assert hits(index, both) == [(1, 0, len(numbered(0, 13)))]
    assert hits(index, f"é {numbered(0, 9)} x") == [(3, 2, 2 + len(numbered(0, 9)))]


def test_spans_are_code_points_in_a_sliced_column():
    index = index_of("我喜欢在春天的早晨喝一杯绿茶")
    column = pa.array(["skipped", "😀é 我喜欢在春天的早晨喝一杯绿茶。"], pa.large_string())[1:]
    assert [values.tolist() for values in match(column, index)] == [[0], [3], [16]]


def test_null_and_empty_texts_and_an_empty_index_match_nothing():
    nothing = [(-1, -1, -1)] * 3
    assert hits(index_of(ITEM), None, "", " . ") == nothing
    assert hits(index_of(), None, "", ITEM) == nothing


def test_words_that_repeat_for_long_are_matched_in_one_pass():
    index = index_of("0 " * 12 + "1", "0 " * 40 + "2")
    assert hits(index, "0 " * 200_000) == [(1, 0, 25)]
    assert hits(index_of("0 " * 12 + "1"), "0 " * 200_000) == [(-1, -1, -1)]


def test_equal_sequences_stand_once_for_the_lowest_item():
    index = index_of(numbered(0, 14), numbered(0, 14), numbered(1, 13))
    assert index.entry.tolist() == [0, 0]


def test_a_shared_key_is_no_hit_without_equal_words():
    index = index_of(numbered(0, 8))
    words = index.words.copy()
    words[3] += np.uint64(1)
    forged = EvalIndex(13, 8, index.entries, words, index.ends, index.keys, index.at, index.entry, index.bits)
    assert hits(forged, numbered(0, 8)) == [(-1, -1, -1)]


def test_the_digest_follows_content_and_settings():
    one, same, other = index_of(ITEM), index_of(ITEM), index_of(ITEM, min_words=9)
    assert one.digest == same.digest == EvalIndex.from_bytes(one.to_bytes()).digest
    assert one.digest != other.digest
    assert one.digest != make_index([("quiz", "7.question")], pa.array([ITEM], pa.large_string())).digest


def test_a_loaded_index_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        EvalIndex.from_bytes(index_of(ITEM).to_bytes()).keys[0] = 1


@pytest.mark.parametrize("at", [0, 31, 32, 40, 100, 300, -1])
def test_a_flipped_byte_is_reported_not_read(at):
    data = bytearray(index_of(ITEM).to_bytes())
    data[at] ^= 0x10
    with pytest.raises(CorruptDataError, match="evals: sha256"):
        EvalIndex.from_bytes(bytes(data), "evals")


@pytest.mark.parametrize("size", [0, 1, 32, 100, -1])
def test_a_truncated_index_is_reported(size):
    with pytest.raises(CorruptDataError, match="evals: sha256"):
        EvalIndex.from_bytes(index_of(ITEM).to_bytes()[:size], "evals")


def test_an_index_of_another_format_is_refused():
    stored = index_of(ITEM).to_bytes()[32:].replace(b"eval-index-1", b"eval-index-9")
    with pytest.raises(CorruptDataError, match="evals: format is eval-index-9"):
        EvalIndex.from_bytes(hashlib.sha256(stored).digest() + stored, "evals")


def test_the_bytes_of_an_index_are_unchanged():
    index = index_of(ITEM, numbered(0, 9))
    assert index.digest == "9547cb86d4713a213a6dfe2001861af099befd0c87afbb70fff580bba595e270"
    assert index.to_bytes()[:32].hex() == index.digest

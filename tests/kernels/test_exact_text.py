import hashlib

import pyarrow as pa
import pytest
import unicodedata2
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.exact_text import EMPTY_DIGEST, exact_digests, folded, nfc, normalize, text_digests
from tests.kernels import reference
from tests.strategies import text_arrays

# Characters of NFC's hard cases: marks out of order, jamo, exclusions, marks that join what stands before them.
HARD = "aeA\u0301\u0308\u0323\u0345\u0338\u1100\u1161\u11a8\uac00\u0958\u0915\u093c"
HARD += "\u09c7\u09be\u09d7\u212b\u2126\ufb1d\u0fb2\u0f71"
hard_texts = st.text(st.sampled_from(HARD + " b\r\n"), max_size=12)


def column(*rows):
    return pa.array(rows, pa.large_string())


def rows_of(batch):
    return [text or "" for text in batch.to_pylist()]


@settings(max_examples=500, deadline=None)
@given(text_arrays() | st.lists(hard_texts, max_size=5).map(lambda rows: column(*rows)))
def test_nfc_is_that_of_the_library(batch):
    assert nfc(batch).to_pylist() == [unicodedata2.normalize("NFC", text) for text in rows_of(batch)]


def test_every_character_is_composed_as_the_library_does():
    chars = [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    decomposed = [unicodedata2.normalize("NFD", char) for char in chars]
    assert nfc(column(*chars)).to_pylist() == [unicodedata2.normalize("NFC", char) for char in chars]
    assert nfc(column(*decomposed)).to_pylist() == [unicodedata2.normalize("NFC", char) for char in decomposed]


def test_a_column_in_nfc_is_given_back_itself():
    batch = column("plain", "déjà vu", "我喜欢", "हिन्दी", "")
    assert nfc(batch) is batch
    assert normalize(batch) is batch


def test_a_column_that_only_might_change_is_given_back_itself():
    batch = column(
        "plain", "a\u0338b", "\u05d0\u05d1\u05b7"
    )  # a mark that composes with other letters, one that never does
    assert nfc(batch) is batch


def test_only_rows_with_a_carriage_return_change():
    batch = column("", "one\ntwo", "", "one\r\ntwo\r", "\r", "three", "\r\r\n")
    assert normalize(batch).to_pylist() == ["", "one\ntwo", "", "one\ntwo\n", "\n", "three", "\n\n"]
    assert normalize(batch.slice(3, 3)).to_pylist() == ["one\ntwo\n", "\n", "three"]


@settings(deadline=None)
@given(text_arrays())
def test_normalized_text_has_no_carriage_return_and_is_stable(batch):
    once = normalize(batch)
    expected = [unicodedata2.normalize("NFC", t).replace("\r\n", "\n").replace("\r", "\n") for t in rows_of(batch)]
    assert once.to_pylist() == normalize(once).to_pylist() == expected


@settings(deadline=None)
@given(text_arrays())
def test_text_digests_are_sha256_of_the_bytes(batch):
    assert text_digests(batch).to_pylist() == [hashlib.sha256(text.encode()).digest() for text in rows_of(batch)]


@settings(deadline=None, max_examples=300)
@given(text_arrays())
def test_folded_bytes_and_digests_equal_the_reference(batch):
    expected = [reference.folded(text).encode() for text in rows_of(batch)]
    assert folded(batch).to_pylist() == expected
    assert exact_digests(batch).to_pylist() == [hashlib.sha256(text).digest() for text in expected]


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("A  b\r\nc", "a b c ", True),
        ("cafe\u0301", "CAFÉ", True),
        ("a\u3000b\u2028c\u00a0d", " a b c d", True),
        ("cat", "dog", False),
        ("a b", "ab", False),
        ("a-b", "a b", False),
        ("a\u200bb", "ab", False),
        ("x\x00y", "xy", False),
    ],
)
def test_what_counts_as_an_exact_duplicate(left, right, equal):
    first, second = exact_digests(column(left, right)).to_pylist()
    assert (first == second) is equal


def test_texts_of_white_space_have_the_digest_that_never_enters_dedup():
    assert exact_digests(column("", " \n\t", "\u2029\u3000", None)).to_pylist() == [EMPTY_DIGEST] * 4


def test_the_longest_lower_case_fits_its_room():
    assert folded(column("Ⱥ" * 1_000)).to_pylist() == ["ⱥ".encode() * 1_000]

"""Text signals: what the quality and repetition rules read, as whole numbers a document. Definitions: text_signals.md.

Cost: two walks over the bytes (characters and words; lines) and the look-ups of `repetition`: linear in the document,
in time and in memory (at most some 100 bytes a word of the longest document).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import string_buffers
from corpus_assets.kernels.repetition import WIDEST, count_repeats, fold_paragraphs, ngram_cover, table_size
from corpus_assets.kernels.unicode_tables import LETTER, NUMBER, SINGLE, SPACE, tables
from corpus_assets.kernels.words import FNV_OFFSET, FNV_PRIME, GOLDEN, decode, word_hashes

NAMES = (
    "n_words", "n_chars", "replacement_char_ratio", "control_char_ratio", "mean_word_chars", "symbol_word_ratio",
    "bullet_line_ratio", "ellipsis_line_ratio", "alphabetic_word_ratio", "stop_words", "duplicate_line_ratio",
    "duplicate_paragraph_ratio", "duplicate_line_char_ratio", "duplicate_paragraph_char_ratio", "top_2gram_char_ratio",
    "top_3gram_char_ratio", "top_4gram_char_ratio", "duplicate_5gram_char_ratio", "duplicate_6gram_char_ratio",
    "duplicate_7gram_char_ratio", "duplicate_8gram_char_ratio", "duplicate_9gram_char_ratio",
    "duplicate_10gram_char_ratio", "single_word_ratio",
)  # fmt: skip
"""The columns, in order: counts, ratios in millionths, and the mean in thousandths of a character."""

(
    _N_WORDS, _N_CHARS, _REPLACEMENT, _CONTROL, _MEAN_WORD, _SYMBOL, _BULLET, _ELLIPSIS, _ALPHABETIC, _STOP_WORDS,
    _LINE, _PARAGRAPH, _LINE_CHAR, _PARAGRAPH_CHAR, _TOP_2GRAM,
) = range(15)  # fmt: skip
_SINGLE = len(NAMES) - 1
_NUM_NGRAM_SIGNALS = WIDEST - 1

STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")
"""Gopher's eight (Rae et al. 2021, A1.1): of a document whose language has no set of its own."""
MAX_WORDS = 8
"""Words in a row that one entry of a set may be."""

BULLETS = np.array([ord(c) for c in "•‣⁃∙▪▫■□●○◦"], np.uint32)
"""A line that begins with one of these is a list item; one that begins with * + - only where white space follows."""

_NEWLINE, _FULL_STOP, _HASH = np.uint32(0x0A), np.uint32(0x2E), np.uint32(0x23)
_HORIZONTAL_ELLIPSIS, _REPLACEMENT_CHARACTER = np.uint32(0x2026), np.uint32(0xFFFD)
_U64 = np.uint64


@dataclass(frozen=True)
class StopWords:
    """Sets of stop words by language, as the kernel reads them: set i is entries first[i] to first[i + 1], and set 0 is
    STOP_WORDS. An entry is the hash of its words, and how many they are; a bit of `masks` for each hash of a first word
    rules most words out.
    """

    number: Mapping[str, int]
    first: np.ndarray
    keys: np.ndarray
    lengths: np.ndarray
    masks: np.ndarray

    @classmethod
    def of(cls, sets: Mapping[str, Iterable[str]]) -> "StopWords":
        """Entries are cut into words as texts are, so one of a script without spaces is several words in a row.

        Raises ValueError for an entry of no word, or of more than MAX_WORDS.
        """
        first, keys, lengths, masks = [0], [], [], []
        for entries in (STOP_WORDS, *sets.values()):
            mask = 0
            for words in map(_hashes, entries):
                mask |= 1 << (words[0] >> 58)
                keys.append(_row_hash(words))
                lengths.append(len(words))
            masks.append(mask)
            first.append(len(keys))
        number = {language: i for i, language in enumerate(sets, 1)}
        return cls(
            number,
            np.array(first, np.int64),
            np.array(keys, np.uint64),
            np.array(lengths, np.int64),
            np.array(masks, np.uint64),
        )


def _hashes(entry: str) -> list[int]:
    data = np.frombuffer(entry.encode("utf-8"), np.uint8)
    out = np.empty(data.size, np.uint64)
    found = [int(word) for word in out[: word_hashes(data, 0, data.size, *tables(), out)]]
    if not 1 <= len(found) <= MAX_WORDS:
        raise ValueError(f"stop word {entry!r}: is {len(found)} words, expected 1 to {MAX_WORDS}")
    return found


def _row_hash(words: Sequence[int]) -> int:
    key = words[0]
    for word in words[1:]:
        key = (key * int(GOLDEN) + word) % 2**64
    return key


@njit(nogil=True, cache=True)
def _is_control(c):
    """C0 but for tab, line feed and carriage return; DEL; C1."""
    return (c < 0x20 and c != 0x09 and c != 0x0A and c != 0x0D) or 0x7F <= c < 0xA0


@njit(nogil=True, cache=True)
def _per_million(part, whole):
    return part * 1_000_000 // whole if whole > 0 else 0


@njit(nogil=True, cache=True)
def _scan_words(data, i, end, kind, lower, words, starts, ends, row):
    """Words as in `words.word_spans`, but with places in characters; and what is counted of characters and words, into
    row. Returns the number of words.
    """
    n, at, word, inside, has_letter = 0, 0, FNV_OFFSET, False, False
    word_chars, alphabetic, singles = 0, 0, 0
    replacement, control, hashes, ellipses, dots = 0, 0, 0, 0, 0
    while i < end:
        c, i = decode(data, i)
        k = kind[c]
        if LETTER <= k <= NUMBER:
            if not inside:
                starts[n] = at
                inside, has_letter, word = True, False, FNV_OFFSET
            word = (word ^ _U64(lower[c])) * FNV_PRIME
            word_chars += 1
            if k == LETTER and not has_letter:
                has_letter = True
                alphabetic += 1
            dots = 0
        else:
            if inside:
                words[n], ends[n] = word, at
                n, inside = n + 1, False
            if k == SINGLE:
                words[n], starts[n], ends[n] = (FNV_OFFSET ^ _U64(lower[c])) * FNV_PRIME, at, at + 1
                n, word_chars, alphabetic, singles = n + 1, word_chars + 1, alphabetic + 1, singles + 1
            replacement += c == _REPLACEMENT_CHARACTER
            control += _is_control(c)
            hashes += c == _HASH
            dots = dots + 1 if c == _FULL_STOP else 0
            if dots == 3 or c == _HORIZONTAL_ELLIPSIS:
                ellipses, dots = ellipses + 1, 0
        at += 1
    if inside:
        words[n], ends[n] = word, at
        n += 1

    row[_N_WORDS], row[_N_CHARS] = n, at
    row[_REPLACEMENT], row[_CONTROL] = _per_million(replacement, at), _per_million(control, at)
    row[_MEAN_WORD] = word_chars * 1_000 // n if n > 0 else 0
    row[_SYMBOL] = _per_million(max(hashes, ellipses), n)
    row[_ALPHABETIC], row[_SINGLE] = _per_million(alphabetic, n), _per_million(singles, n)
    return n


@njit(nogil=True, cache=True)
def _distinct_stop_words(words, starts, ends, n, keys, lengths, mask):
    """How many of a set's entries occur; the words of one stand after each other with nothing between them."""
    seen = np.zeros(keys.size, np.bool_)
    for i in range(n):
        if mask >> (words[i] >> _U64(58)) & _U64(1) == 0:
            continue
        for s in range(keys.size):
            key, j = words[i], i + 1
            while j < i + lengths[s] and j < n and starts[j] == ends[j - 1]:
                key, j = key * GOLDEN + words[j], j + 1
            seen[s] |= key == keys[s] and j == i + lengths[s]
    found = 0
    for s in range(seen.size):  # seen.sum() would make every process load numba's mathematics
        found += seen[s]
    return found


@njit(nogil=True, cache=True)
def _is_bullet(first, second_is_space):
    for bullet in BULLETS:
        if first == bullet:
            return True
    return second_is_space and (first == 0x2A or first == 0x2B or first == 0x2D)


@njit(nogil=True, cache=True)
def _scan_lines(data, i, end, kind, keys, chars, opens, row):
    """Lines that are not empty once white space at their ends is off: a 64-bit key and the characters of each, and
    whether it opens a paragraph; and what is counted of lines, into row. Returns the number of lines.
    """
    n, bullets, ellipses, blank_before = 0, 0, 0, True
    while i < end:
        key, length = FNV_OFFSET, 0
        kept_end, kept_key, kept_length = i, FNV_OFFSET, 0
        first, second_is_space = _NEWLINE, False
        while i < end:
            c, i = decode(data, i)
            if c == _NEWLINE:
                break
            is_space = kind[c] == SPACE
            if length == 1:
                second_is_space = is_space
            if length == 0:
                if is_space:
                    continue
                first = c
            key, length = (key ^ _U64(c)) * FNV_PRIME, length + 1
            if not is_space:
                kept_end, kept_key, kept_length = i, key, length
        if kept_length == 0:
            blank_before = True
            continue
        keys[n], chars[n], opens[n] = kept_key, kept_length, blank_before
        n, blank_before = n + 1, False
        bullets += _is_bullet(first, second_is_space or kept_length == 1)
        ellipses += _ends_in_ellipsis(data, kept_end, kept_length)
    row[_BULLET], row[_ELLIPSIS] = _per_million(bullets, n), _per_million(ellipses, n)
    return n


@njit(nogil=True, cache=True)
def _ends_in_ellipsis(data, end, length):
    """Whether the `length` characters before byte `end` close with three full stops or U+2026."""
    if data[end - 1] == 0x2E:
        return length >= 3 and data[end - 2] == 0x2E and data[end - 3] == 0x2E
    return data[end - 1] == 0xA6 and data[end - 2] == 0x80 and data[end - 3] == 0xE2


@njit(nogil=True, cache=True)
def _measure(data, offsets, kind, lower, which, first, stop_keys, lengths, masks, out):
    longest = 0
    for d in range(offsets.size - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    # A word or line takes a byte and one that ends it, or is the last. Memory is taken as it is first written to.
    room = longest // 2 + 1
    keys, starts, ends = np.empty(room, np.uint64), np.empty(room, np.int64), np.empty(room, np.int64)
    scratch = np.empty((4, room), np.int32)
    opens = scratch[0]
    cover = np.zeros(WIDEST + 1, np.int64)
    table, stamp = np.zeros(2 * table_size(1), np.uint64), _U64(0)
    for d in range(offsets.size - 1):
        begin, end, row = offsets[d], offsets[d + 1], out[d]
        n = _scan_words(data, begin, end, kind, lower, keys, starts, ends, row)
        if 2 * table_size(n) > table.size:
            table, stamp = np.zeros(2 * table_size(n), np.uint64), _U64(0)
        low, high = first[which[d]], first[which[d] + 1]
        row[_STOP_WORDS] = _distinct_stop_words(
            keys, starts, ends, n, stop_keys[low:high], lengths[low:high], masks[which[d]]
        )
        stamp = ngram_cover(keys, starts, ends, n, table, stamp, scratch, cover)
        n_chars = row[_N_CHARS]
        for i in range(_NUM_NGRAM_SIGNALS):
            row[_TOP_2GRAM + i] = _per_million(cover[2 + i], n_chars)

        n = _scan_lines(data, begin, end, kind, keys, starts, opens, row)
        if 2 * table_size(n) > table.size:
            table, stamp = np.zeros(2 * table_size(n), np.uint64), _U64(0)
        repeats, chars = count_repeats(keys, starts, n, table, stamp + _U64(1))
        row[_LINE], row[_LINE_CHAR] = _per_million(repeats, n), _per_million(chars, n_chars)
        n = fold_paragraphs(keys, starts, opens, n)
        repeats, chars = count_repeats(keys, starts, n, table, stamp + _U64(2))
        row[_PARAGRAPH], row[_PARAGRAPH_CHAR] = _per_million(repeats, n), _per_million(chars, n_chars)
        stamp += _U64(2)


ENGLISH = StopWords.of({})


def text_signals(text: pa.Array, lang: pa.Array | None = None, stop_words: StopWords = ENGLISH) -> pa.RecordBatch:
    """One row of int64 `NAMES` a document of a large_string column; a null row is an empty document.

    lang: the language of each row, which says whose stop words are counted: English ones where it has no set.
    A ratio whose denominator is 0 is 0, so a document without words, lines or characters has numbers too.
    """
    offsets, data = string_buffers(text)
    out = np.zeros((len(text), len(NAMES)), np.int64)
    codes = [] if lang is None else lang.to_pylist()
    which = np.array([stop_words.number.get(code, 0) for code in codes] or [0] * len(text), np.int64)
    sets = (stop_words.first, stop_words.keys, stop_words.lengths, stop_words.masks)
    _measure(data, offsets, *tables(), which, *sets, out)
    return pa.RecordBatch.from_arrays([pa.array(np.ascontiguousarray(column)) for column in out.T], list(NAMES))

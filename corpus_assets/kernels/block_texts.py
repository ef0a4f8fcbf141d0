"""What is counted in the text of each block of a page: the first columns of its features. Spec: block_features.md."""

import numpy as np
from numba import njit

from corpus_assets.kernels.html_blocks import BOLD_BYTES, BREAKS, END, LINK_BYTES, LINKS, START
from corpus_assets.kernels.html_names import FNV_OFFSET, FNV_PRIME, hash_table, look_up

NAMES = (
    "bytes", "words", "link_permille", "commas", "ending", "digit_permille", "capital_permille", "bytes_per_word",
    "sentences", "links", "breaks", "bold_permille", "begins_small", "signs", "capital_word_permille",
    "beyond_ascii_permille", "furniture", "furniture_permille", "begins_with_furniture", "trails_off",
)  # fmt: skip
BYTES, WORDS, LINK_PERMILLE, COMMAS, ENDING = (
    NAMES.index(name) for name in ("bytes", "words", "link_permille", "commas", "ending")
)
FURNITURE = (
    "share tweet advertisement subscribe follow copyright photo photos getty related comments comment newsletter "
    "cookie cookies privacy terms click email facebook twitter instagram whatsapp linkedin updated published posted "
    "read by image sponsored recommended trending login contact advertise source credit reuters tags topics reply "
    "report ago jan feb mar apr may jun jul aug sep oct nov dec am pm rights reserved"
)
"""Words of what stands around an article in English pages."""
FURNITURE_TABLE = hash_table(dict.fromkeys(FURNITURE.split(), 1))
SENTENCE, COLON = 2, 1
"""`ending` of a block that ends as a sentence does, and of one that ends in a colon."""
_SIGNS = np.zeros(256, np.bool_)
_SIGNS[[ord(c) for c in "|@#"]] = True
_SPACE = np.uint8(32)
_CLOSING = np.zeros(256, np.bool_)
_CLOSING[[ord('"'), ord(")"), ord("'"), 0x9D, 0x99]] = True
"""May follow the full stop; the last two are the last bytes of curved quotes."""
_BRACKETS = np.zeros(256, np.bool_)
_BRACKETS[[ord(")"), ord("]")]] = True
ELLIPSES = ("…", "..", "&hellip;", "&#8230;")
_ELLIPSES = np.zeros((len(ELLIPSES), 8), np.uint8)
_LENGTHS = np.array([len(one.encode()) for one in ELLIPSES], np.int64)
for _i, _one in enumerate(ELLIPSES):
    _ELLIPSES[_i, : _LENGTHS[_i]] = list(_one.encode())


@njit(nogil=True, inline="always")
def per_mille(part, whole):
    """Rounded down, at most 1000; 0 of nothing."""
    return min(1000, part * 1000 // whole) if whole > 0 else 0


@njit(nogil=True, cache=True)
def _wide_mark(text, i, start):
    """2 where a full stop, 1 where a comma of Chinese, Japanese, Arabic or Hindi ends at byte i; else 0."""
    last = text[i]
    if i - start >= 2 and text[i - 2] == 0xE3 and text[i - 1] == 0x80:
        return 2 if last == 0x82 else (1 if last == 0x81 else 0)
    if i - start >= 2 and text[i - 2] == 0xEF and text[i - 1] == 0xBC:
        return 2 if last == 0x81 or last == 0x9F else (1 if last == 0x8C else 0)
    if i - start >= 2 and text[i - 2] == 0xE0 and text[i - 1] == 0xA5:
        return 2 if last == 0xA4 else 0
    if i - start >= 1 and text[i - 1] == 0xD8:
        return 2 if last == 0x9F else (1 if last == 0x8C else 0)
    return 0


@njit(nogil=True, cache=True)
def _is_stop(text, i, start):
    byte = text[i]
    return byte == 46 or byte == 33 or byte == 63 or (byte >= 128 and _wide_mark(text, i, start) == 2)


@njit(nogil=True, cache=True)
def ending_of(text, start, end):
    """How a block's text ends: SENTENCE, COLON or 0."""
    last = end - 1
    if _is_stop(text, last, start):
        return SENTENCE
    if text[last] == 58:
        return COLON
    if _CLOSING[text[last]]:
        before = last - 3 if text[last] >= 128 else last - 1
        if before >= start and _is_stop(text, before, start):
            return SENTENCE
    return 0


@njit(nogil=True, cache=True)
def trails_off(text, start, end):
    """Whether a block's text ends in one of ELLIPSES, as what is cut short does; one bracket may close behind it."""
    end -= end > start and _BRACKETS[text[end - 1]]
    for i in range(_LENGTHS.size):
        length = _LENGTHS[i]
        if end - start >= length:
            same = 0
            while same < length and text[end - length + same] == _ELLIPSES[i, same]:
                same += 1
            if same == length:
                return True
    return False


@njit(nogil=True, cache=True)
def measure_texts(text, blocks, furniture_keys, furniture_values, out, hashes, word_hashes):
    """Fills the first columns of `out`, a hash of each block's letters and digits, small letters for capitals, and one
    of each word, block after block; returns how many words there are.
    """
    num_words = 0
    for b in range(blocks.shape[0]):
        start, end = blocks[b, START], blocks[b, END]
        num_bytes = words = commas = digits = capitals = sentences = signs = beyond = capital_words = 0
        furniture: int = 0
        begins_with_furniture: int = 0
        word, letters, inside = FNV_OFFSET, FNV_OFFSET, False
        for i in range(start, end + 1):
            byte = text[i] if i < end else _SPACE
            small = byte | 32 if 65 <= byte <= 90 else byte
            num_bytes += byte != 32 and byte != 10
            if 97 <= small <= 122 or byte >= 128 or 48 <= byte <= 57:
                if not inside:
                    inside, word = True, FNV_OFFSET
                    words += 1
                    capital_words += small != byte
                word = (word ^ np.uint64(small)) * FNV_PRIME
                letters = (letters ^ np.uint64(small)) * FNV_PRIME
                capitals += small != byte
                digits += byte <= 57  # type: ignore[assignment]  # an int for numba
                if byte >= 128:
                    beyond += 1
                    if byte != 0xA0:
                        mark = _wide_mark(text, i, start)
                        commas += mark == 1
                        sentences += mark == 2
            else:
                if inside:
                    inside = False
                    word_hashes[num_words] = word
                    num_words += 1
                    found = look_up(furniture_keys, furniture_values, word)
                    furniture += found
                    if words == 1:
                        begins_with_furniture = found
                commas += byte == 44
                if byte == 46 or byte == 33 or byte == 63:
                    sentences += i + 1 >= end or text[i + 1] == 32 or text[i + 1] == 34 or text[i + 1] == 10
                signs += _SIGNS[byte]
        row, block = out[b], blocks[b]
        hashes[b] = letters
        row[0], row[1], row[2], row[3] = num_bytes, words, per_mille(block[LINK_BYTES], num_bytes), commas
        row[4], row[5], row[6] = (
            ending_of(text, start, end),
            per_mille(digits, num_bytes),
            per_mille(capitals, num_bytes),
        )
        row[7], row[8], row[9], row[10] = num_bytes // max(1, words), sentences, block[LINKS], block[BREAKS]
        row[11], row[12] = per_mille(block[BOLD_BYTES], num_bytes), 97 <= text[start] <= 122
        row[13], row[14], row[15] = signs, per_mille(capital_words, words), per_mille(beyond, num_bytes)
        row[16], row[17], row[18] = furniture, per_mille(furniture, words), begins_with_furniture
        row[19] = trails_off(text, start, end)
    return num_words

"""One tag of an HTML page: its name, and what its attributes say of the element. Spec: html_blocks.md."""

import numpy as np
from numba import njit

from corpus_assets.kernels.html_names import (
    ARIA_HIDDEN,
    FNV_OFFSET,
    FNV_PRIME,
    HIDDEN,
    HIDDEN_GROUP,
    HIDES,
    STYLE,
    VOID,
    WORDS,
    look_up,
)

LONGEST_VALUE = 400
"""Bytes of a class or id; a longer one is generated and says nothing."""
_WHOLE_FROM = 5
"""Letters from which on a word counts as the beginning of a longer one, too."""
LT, GT, SLASH, DASH, EQUALS, BANG, QUESTION = (ord(c) for c in "<>/-=!?")
_QUOTES = (ord('"'), ord("'"))
_COLON, _S, _T = ord(":"), ord("s"), ord("t")


@njit(nogil=True, inline="always")
def is_space(byte):
    return byte == 32 or 9 <= byte <= 13


@njit(nogil=True, inline="always")
def is_letter(byte):
    return 97 <= (byte | 32) <= 122


@njit(nogil=True, inline="always")
def _lower(byte):
    return byte | 32 if 65 <= byte <= 90 else byte


@njit(nogil=True, cache=True)
def read_name(data, i):
    """(hash of the name that begins at i, whether it has a dash, the place behind it)."""
    hashed, dash = FNV_OFFSET, False
    while i < data.size and not is_space(data[i]) and data[i] != GT and data[i] != SLASH:
        dash |= data[i] == DASH
        hashed = (hashed ^ np.uint64(_lower(data[i]))) * FNV_PRIME
        i += 1
    return hashed, dash, i


@njit(nogil=True, cache=True)
def _ends_word(data, i, end):
    """Whether no letter follows, a plural's s left out."""
    if i < end and data[i] == _S:
        i += 1
    return i >= end or not 97 <= data[i] <= 122


@njit(nogil=True, cache=True)
def groups_of(data, i, end, group_keys, group_values):
    """The groups of all words in a class or id; a word ends at what is no letter and before a capital (`postBody`)."""
    flags, length, hashed, after_small = 0, 0, FNV_OFFSET, False
    while i < end:
        byte = data[i]
        i += 1
        if not is_letter(byte):
            length, hashed, after_small = 0, FNV_OFFSET, False
            continue
        capital = byte <= 90
        if capital and after_small:
            length, hashed = 0, FNV_OFFSET
        after_small = not capital
        hashed = (hashed ^ np.uint64(byte | 32)) * FNV_PRIME
        length += 1
        if length >= 2:
            found = look_up(group_keys, group_values, hashed)
            if found and (length >= _WHOLE_FROM or _ends_word(data, i, end)):
                flags |= found
    return flags


@njit(nogil=True, cache=True)
def _style_hides(data, i, end):
    """Whether the first `displ…` of a style is set to none."""
    while i + 6 < end:
        if data[i] == 100 and data[i + 1] == 105 and data[i + 2] == 115 and data[i + 3] == 112 and data[i + 4] == 108:
            i += 7
            while i < end and (data[i] == _COLON or data[i] == 32):
                i += 1
            return i + 3 <= end and data[i] == 110 and data[i + 1] == 111 and data[i + 2] == 110
        i += 1
    return False


@njit(nogil=True, cache=True)
def _read_value(data, i):
    """(first place of the value that follows an equals sign, its end, the place behind it)."""
    while i < data.size and is_space(data[i]):
        i += 1
    if i < data.size and data[i] in _QUOTES:
        quote = data[i]
        start = i + 1
        i = start
        while i < data.size and data[i] != quote:
            i += 1
        return start, i, i + 1
    start = i
    while i < data.size and data[i] != GT and not is_space(data[i]):
        i += 1
    return start, i, i


@njit(nogil=True, cache=True)
def read_attributes(data, i, does, is_end, attribute_keys, attribute_values, group_keys, group_values):
    """(flags of the element, whether the tag closes itself, the place behind its `>`)."""
    flags, closes_itself = 0, False
    while i < data.size and data[i] != GT:
        if is_space(data[i]) or data[i] == SLASH:
            closes_itself = data[i] == SLASH
            i += 1
            continue
        hashed, first = FNV_OFFSET, i
        while i < data.size and not is_space(data[i]) and data[i] != GT and (i == first or data[i] != EQUALS):
            if data[i] == SLASH and i > first:
                break
            hashed = (hashed ^ np.uint64(_lower(data[i]))) * FNV_PRIME
            i += 1
        says = 0 if is_end or does & VOID else look_up(attribute_keys, attribute_values, hashed)
        while i < data.size and is_space(data[i]):
            i += 1
        start = end = i
        if i < data.size and data[i] == EQUALS:
            start, end, i = _read_value(data, i + 1)
        closes_itself = False
        if says == WORDS and end - start < LONGEST_VALUE:
            flags |= groups_of(data, start, end, group_keys, group_values)
        elif says == HIDES or (says == STYLE and _style_hides(data, start, end)):
            flags |= HIDDEN
        elif says == ARIA_HIDDEN and end > start and data[start] == _T:
            flags |= HIDDEN_GROUP
    return flags, closes_itself, i + 1


@njit(nogil=True, cache=True)
def after_comment(data, i):
    """The place behind the `-->` of a comment whose dashes begin at i; -1 where it has no end."""
    while i + 2 < data.size:
        if data[i] == DASH and data[i + 1] == DASH and data[i + 2] == GT:
            return i + 3
        i += 1
    return -1


@njit(nogil=True, cache=True)
def after_gt(data, i):
    """The place behind the next `>`."""
    while i < data.size and data[i] != GT:
        i += 1
    return i + 1


@njit(nogil=True, cache=True)
def find_end_tag(data, i, name, name_end):
    """The place of the next `</` with the name at data[name:name_end], in any case; -1 where there is none."""
    length = name_end - name
    while i + 2 + length <= data.size:
        if data[i] == LT and data[i + 1] == SLASH:
            same = 0
            while same < length and _lower(data[i + 2 + same]) == _lower(data[name + same]):
                same += 1
            if same == length:
                return i
        i += 1
    return -1

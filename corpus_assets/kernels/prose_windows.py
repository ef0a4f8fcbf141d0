"""What of a text is shown to a language detector: windows of its prose, spread over the whole of it.

One line of at most 4 x 128 characters: no code, tags, URLs or controls. Each window is cut from its own quarter of the
text; what is left out is made up for by reading up to twice as far. In this order: Markdown's code fences go (one that
never closes hides nothing), the windows are cut, and of each go inline code, tags and URLs, a blank in their place;
runs of white space become one blank, and controls and noncharacters go.

Releases the GIL. Cost: the whole text is read once or twice for its fences and characters, some 1 GB/s; then some 4 us
a text. tests/kernels/test_prose_windows.py has the same by regular expressions, a text at a time.
"""

import numpy as np
import pyarrow as pa
from numba import njit

from corpus_assets.kernels.arrow import large_strings, string_buffers
from corpus_assets.kernels.words import decode

NUM_WINDOWS, WINDOW_CHARS = 4, 128

_READ_CHARS = 2 * WINDOW_CHARS
_MOST_CHARS = NUM_WINDOWS * WINDOW_CHARS
_MOST_BYTES = 4 * _MOST_CHARS
_SHOWN_BYTES = _MOST_BYTES + NUM_WINDOWS - 1
_BEFORE_FENCE = 16
"""Characters that are looked at before a fence."""
_SHORTEST_SCHEME, _LONGEST_SCHEME = 2, 16

_LINE_END, _BLANK, _BANG, _STAR, _PLUS, _MINUS, _DOT, _SLASH = 0x0A, 0x20, 0x21, 0x2A, 0x2B, 0x2D, 0x2E, 0x2F
_COLON, _LESS, _GREATER, _TICK, _W = 0x3A, 0x3C, 0x3E, 0x60, 0x77

_CODE, _TAG, _ADDRESS = 0, 1, 2


@njit(nogil=True, cache=True, inline="always")
def _is_letter(c):  # type: ignore[no-untyped-def]
    return 0x61 <= (c | 0x20) <= 0x7A


@njit(nogil=True, cache=True, inline="always")
def _is_space(c):  # type: ignore[no-untyped-def]
    """White space as Python's str.isspace has it."""
    if c < 0x80:
        return 0x09 <= c <= 0x0D or 0x1C <= c <= 0x20
    return c in (0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000) or 0x2000 <= c <= 0x200A


@njit(nogil=True, cache=True, inline="always")
def _is_dropped(c):  # type: ignore[no-untyped-def]
    """Controls and noncharacters."""
    return c < 0x20 or 0x7F <= c <= 0x9F or 0xFDD0 <= c <= 0xFDEF or c & 0xFFFE == 0xFFFE


@njit(nogil=True, cache=True)
def _next_fence(data, at, end):  # type: ignore[no-untyped-def]
    """Where three backticks begin, `end` where none do."""
    while at + 2 < end:
        if data[at + 2] != _TICK:
            at += 3
        elif data[at + 1] != _TICK:
            at += 2
        elif data[at] != _TICK:
            at += 1
        else:
            return at
    return end


@njit(nogil=True, cache=True)
def _opens_line(data, start, fence):  # type: ignore[no-untyped-def]
    """Whether only list and quote signs stand before the fence in its line."""
    for back in range(1, _BEFORE_FENCE + 1):
        at = fence - back
        if at < start or data[at] == _LINE_END:
            return True
        if data[at] not in (_BLANK, 0x09, _GREATER, _MINUS, _STAR):
            return False
    return True


@njit(nogil=True, cache=True)
def _outside_fences(data, start, end, fence, out):  # type: ignore[no-untyped-def]
    """Copy what lies outside of fences; `fence` is the first one. Returns the bytes written."""
    n, at, opened = 0, start, -1
    while fence < end:
        after = fence + 3
        while after < end and data[after] == _TICK:
            after += 1
        if _opens_line(data, start, fence):
            if opened < 0:
                opened = fence
            else:
                for i in range(at, opened):
                    out[n] = data[i]
                    n += 1
                out[n] = _LINE_END
                n += 1
                at, opened = after, -1
        fence = _next_fence(data, after, end)
    for i in range(at, end):
        out[n] = data[i]
        n += 1
    return n


@njit(nogil=True, cache=True)
def _count_chars(data, start, end):  # type: ignore[no-untyped-def]
    n = 0
    for i in range(start, end):
        n += (data[i] & 0xC0) != 0x80
    return n


@njit(nogil=True, cache=True)
def _forward(data, at, end, chars):  # type: ignore[no-untyped-def]
    """The byte `chars` characters after the one that begins at `at`, at most `end`."""
    while at < end:
        if (data[at] & 0xC0) != 0x80:
            if chars == 0:
                break
            chars -= 1
        at += 1
    return at


@njit(nogil=True, cache=True)
def _end_of_code(line, at, n):  # type: ignore[no-untyped-def]
    """Behind the inline code that begins at `at`; `at` where there is none."""
    if line[at] == _TICK:
        end = at + 1
        while end < n and line[end] != _TICK and line[end] != _LINE_END:
            end += 1
        if end < n and line[end] == _TICK:
            return end + 1
    return at


@njit(nogil=True, cache=True)
def _end_of_tag(line, at, n):  # type: ignore[no-untyped-def]
    if line[at] == _LESS:
        end = at + 1
        if end < n and line[end] == _SLASH:
            end += 1
        if end < n and (_is_letter(line[end]) or line[end] == _BANG):
            end += 1
            while end < n and line[end] != _LESS and line[end] != _GREATER:
                end += 1
            if end < n and line[end] == _GREATER:
                return end + 1
    return at


@njit(nogil=True, cache=True)
def _end_of_scheme(line, at, n):  # type: ignore[no-untyped-def]
    """Behind `scheme://` or `www.`."""
    if not _is_letter(line[at]):
        return at
    if n - at >= 4 and line[at] == _W and line[at + 1] == _W and line[at + 2] == _W and line[at + 3] == _DOT:
        return at + 4
    end = at + 1
    while end < n and end - at < _LONGEST_SCHEME:
        if not (_is_letter(line[end]) or line[end] in (_PLUS, _DOT, _MINUS)):
            break
        end += 1
    if end - at < _SHORTEST_SCHEME or end + 3 > n or line[end] != _COLON:
        return at
    return end + 3 if line[end + 1] == _SLASH and line[end + 2] == _SLASH else at


@njit(nogil=True, cache=True)
def _end_of_address(line, at, n):  # type: ignore[no-untyped-def]
    end = _end_of_scheme(line, at, n)
    while at < end < n:
        c, after = decode(line, end)
        if _is_space(c) or c in (0x3C, 0x3E, 0x28, 0x29, 0x5B, 0x5D, 0x22, 0x27, 0x60):  # < > ( ) [ ] " ' `
            break
        end = after
    return end


@njit(nogil=True, cache=True)
def _may_hold(what, line, n):  # type: ignore[no-untyped-def]
    """Whether there may be one, at the cost of a glance."""
    sign = _TICK if what == _CODE else _LESS
    for i in range(n):
        if what == _ADDRESS:
            if line[i] == _COLON and i + 2 < n and line[i + 1] == _SLASH and line[i + 2] == _SLASH:
                return True
            if line[i] == _DOT and i > 2 and line[i - 1] == _W and line[i - 2] == _W and line[i - 3] == _W:
                return True
        elif line[i] == sign:
            return True
    return False


@njit(nogil=True, cache=True)
def _blanked(what, line, n):  # type: ignore[no-untyped-def]
    """Put a blank in the place of each, in place. Returns the bytes left."""
    if not _may_hold(what, line, n):
        return n
    at, out = 0, 0
    while at < n:
        if what == _CODE:
            end = _end_of_code(line, at, n)
        elif what == _TAG:
            end = _end_of_tag(line, at, n)
        else:
            end = _end_of_address(line, at, n)
        line[out] = _BLANK if end > at else line[at]
        at = max(end, at + 1)
        out += 1
    return out


@njit(nogil=True, cache=True)
def _as_words(line, n, most, out, at):  # type: ignore[no-untyped-def]
    """Write the words of a line with one blank between each, `most` characters of it, from `at` on. Returns the end."""
    i, written, waiting, began = 0, 0, False, False
    while i < n:
        c, after = decode(line, i)
        if _is_space(c):
            waiting = began
        else:
            if waiting:
                if written == most:
                    break
                out[at] = _BLANK
                at, written = at + 1, written + 1
            waiting, began = False, True
            if not _is_dropped(c):
                if written == most:
                    break
                for byte in range(i, after):
                    out[at] = line[byte]
                    at += 1
                written += 1
        i = after
    return at


@njit(nogil=True, cache=True)
def _show(data, start, end, most, line, out, at):  # type: ignore[no-untyped-def]
    n = end - start
    for i in range(n):
        line[i] = data[start + i]
    n = _blanked(_CODE, line, n)
    n = _blanked(_TAG, line, n)
    n = _blanked(_ADDRESS, line, n)
    return _as_words(line, n, most, out, at)


@njit(nogil=True, cache=True)
def _windows(data, offsets, lengths, out):  # type: ignore[no-untyped-def]
    line, prose = np.empty(4 * _MOST_CHARS, np.uint8), np.empty(1 << 16, np.uint8)
    at = 0
    for d in range(offsets.size - 1):
        text, start, end, began = data, offsets[d], offsets[d + 1], at
        fence = _next_fence(data, start, end)
        if fence < end:
            if end - start > prose.size:
                prose = np.empty(end - start, np.uint8)
            end = _outside_fences(data, start, end, fence, prose)
            text, start = prose, 0
        chars = _count_chars(text, start, end)
        if chars <= _MOST_CHARS:
            at = _show(text, start, end, _MOST_CHARS, line, out, at)
        else:
            last, here = chars - WINDOW_CHARS, 0
            for w in range(NUM_WINDOWS):
                begin = last * w // (NUM_WINDOWS - 1)
                if w == NUM_WINDOWS - 1:
                    begin = max(here + WINDOW_CHARS, chars - _READ_CHARS)
                start = _forward(text, start, end, begin - here)
                here = begin
                if w:
                    out[at] = _BLANK
                    at += 1
                at = _show(text, start, _forward(text, start, end, _READ_CHARS), WINDOW_CHARS, line, out, at)
        lengths[d] = at - began
    return at


def prose_windows(text: pa.Array) -> pa.Array:
    """large_string: the line to show of each row of a large_string column; a null row has an empty one."""
    offsets, data = string_buffers(text)
    lengths = np.empty(len(text), np.int64)
    out = np.empty(len(text) * _SHOWN_BYTES, np.uint8)
    size = _windows(data, offsets, lengths, out)
    return large_strings(np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))), out[:size].copy())

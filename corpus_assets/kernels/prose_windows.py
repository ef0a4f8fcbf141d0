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
"""Of UTF-8."""
_SHOWN_BYTES = _MOST_BYTES + NUM_WINDOWS - 1
_BEFORE_FENCE = 16
"""Characters that are looked at before a fence."""
_SHORTEST_SCHEME, _LONGEST_SCHEME = 2, 16

_LINE_END, _BLANK, _BANG, _STAR, _PLUS, _MINUS, _DOT, _SLASH = 0x0A, 0x20, 0x21, 0x2A, 0x2B, 0x2D, 0x2E, 0x2F
_COLON, _LESS, _GREATER, _TICK, _W = 0x3A, 0x3C, 0x3E, 0x60, 0x77


@njit(nogil=True, cache=True, inline="always")
def _is_letter(c):
    return 0x61 <= (c | 0x20) <= 0x7A


@njit(nogil=True, cache=True, inline="always")
def _is_in_scheme(c):
    return _is_letter(c) or c in (_PLUS, _DOT, _MINUS)


@njit(nogil=True, cache=True, inline="always")
def _is_space(c):
    """White space as Python's str.isspace has it."""
    if c < 0x80:
        return 0x09 <= c <= 0x0D or 0x1C <= c <= 0x20
    return c in (0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000) or 0x2000 <= c <= 0x200A


@njit(nogil=True, cache=True, inline="always")
def _is_dropped(c):
    """Controls and noncharacters."""
    return c < 0x20 or 0x7F <= c <= 0x9F or 0xFDD0 <= c <= 0xFDEF or c & 0xFFFE == 0xFFFE


@njit(nogil=True, cache=True)
def _next_fence(data, at, end):
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
def _opens_line(data, start, fence):
    """Whether only list and quote signs stand before the fence in its line."""
    for back in range(1, _BEFORE_FENCE + 1):
        at = fence - back
        if at < start or data[at] == _LINE_END:
            return True
        if data[at] not in (_BLANK, 0x09, _GREATER, _MINUS, _STAR):
            return False
    return True


@njit(nogil=True, cache=True)
def _outside_fences(data, start, end, fence, out):
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
def _count_chars(data, start, end):
    n = 0
    for i in range(start, end):
        n += (data[i] & 0xC0) != 0x80
    return n


@njit(nogil=True, cache=True)
def _forward(data, at, end, chars):
    """The byte `chars` characters after the one that begins at `at`, at most `end`."""
    while at < end:
        if (data[at] & 0xC0) != 0x80:
            if chars == 0:
                break
            chars -= 1
        at += 1
    return at


@njit(nogil=True, cache=True)
def _end_of_code(line, at, n):
    """Behind the inline code that begins at `at`; `at` where there is none."""
    end = at + 1
    while end < n and line[end] != _TICK and line[end] != _LINE_END:
        end += 1
    return end + 1 if end < n and line[end] == _TICK else at


@njit(nogil=True, cache=True)
def _end_of_tag(line, at, n):
    end = at + 1
    if end < n and line[end] == _SLASH:
        end += 1
    if end == n or not (_is_letter(line[end]) or line[end] == _BANG):
        return at
    while end < n and line[end] != _LESS and line[end] != _GREATER:
        end += 1
    return end + 1 if end < n and line[end] == _GREATER else at


@njit(nogil=True, cache=True)
def _scheme_before(line, at, colon, n):
    """Where the scheme begins whose colon this is, not before `at`; `colon` where it is none."""
    begin = colon
    if colon + 2 < n and line[colon] == _COLON and line[colon + 1] == _SLASH and line[colon + 2] == _SLASH:
        for i in range(colon - 1, max(at, colon - _LONGEST_SCHEME) - 1, -1):
            if _is_letter(line[i]):
                begin = i if colon - i >= _SHORTEST_SCHEME else begin
            elif not _is_in_scheme(line[i]):
                break
    return begin


@njit(nogil=True, cache=True)
def _next_address(line, at, n):
    """(where the next `scheme://` or `www.` begins, `n` where none does; where its address goes on)."""
    for i in range(at, n):
        if line[i] == _COLON:
            begin = _scheme_before(line, at, i, n)
            if begin < i:
                return begin, i + 3
        elif line[i] == _DOT and i >= at + 3 and line[i - 1] == _W and line[i - 2] == _W and line[i - 3] == _W:
            colon = i + 1
            while colon < min(n, i + _LONGEST_SCHEME) and _is_in_scheme(line[colon]):
                colon += 1
            begin = _scheme_before(line, at, colon, n)
            return (begin, colon + 3) if begin < i - 3 else (i - 3, i + 1)
    return n, n


@njit(nogil=True, cache=True)
def _end_of_address(line, at, n):
    while at < n:
        c, after = decode(line, at)
        if _is_space(c) or c in (0x3C, 0x3E, 0x28, 0x29, 0x5B, 0x5D, 0x22, 0x27, 0x60):  # < > ( ) [ ] " ' `
            break
        at = after
    return at


@njit(nogil=True, cache=True)
def _without_marks(line, n, sign):
    """Put a blank in the place of what `sign` begins, inline code or a tag, in place. Returns the bytes left."""
    at, out = 0, 0
    while at < n:
        if line[at] == sign:
            end = _end_of_code(line, at, n) if sign == _TICK else _end_of_tag(line, at, n)
            if end > at:
                line[out] = _BLANK
                at, out = end, out + 1
                continue
        line[out] = line[at]
        at, out = at + 1, out + 1
    return out


@njit(nogil=True, cache=True)
def _without_addresses(line, n):
    """Likewise of addresses."""
    at, out = 0, 0
    while at < n:
        begin, onward = _next_address(line, at, n)
        for i in range(at, begin):
            line[out] = line[i]
            out += 1
        at = begin
        if begin < n:
            line[out] = _BLANK
            at, out = _end_of_address(line, onward, n), out + 1
    return out


@njit(nogil=True, cache=True)
def _as_words(line, n, most, out, at):
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
def _show(data, start, end, most, line, out, at):
    n = end - start
    tick, less, colon, dot = False, False, False, False
    for i in range(n):  # without a branch, hence several bytes at a time
        c = data[start + i]
        line[i] = c
        tick |= c == _TICK
        less |= c == _LESS
        colon |= c == _COLON
        dot |= c == _DOT
    if tick:
        n = _without_marks(line, n, _TICK)
    if less:
        n = _without_marks(line, n, _LESS)
    if colon or dot:
        n = _without_addresses(line, n)
    return _as_words(line, n, most, out, at)


@njit(nogil=True, cache=True)
def _cut(data, start, end, line, out, at):
    """Write the windows of data[start:end], from `at` on. Returns the end."""
    chars = _count_chars(data, start, end)
    if chars <= _MOST_CHARS:
        return _show(data, start, end, _MOST_CHARS, line, out, at)
    here = 0
    for w in range(NUM_WINDOWS):
        begin = (chars - WINDOW_CHARS) * w // (NUM_WINDOWS - 1)
        if w == NUM_WINDOWS - 1:
            begin = max(here + WINDOW_CHARS, chars - _READ_CHARS)
        start, here = _forward(data, start, end, begin - here), begin
        if w:
            out[at] = _BLANK
            at += 1
        at = _show(data, start, _forward(data, start, end, _READ_CHARS), WINDOW_CHARS, line, out, at)
    return at


@njit(nogil=True, cache=True)
def _windows(data, offsets, out_offsets, out):
    line, prose = np.empty(_MOST_BYTES, np.uint8), np.empty(1 << 16, np.uint8)
    out_offsets[0] = 0
    for d in range(offsets.size - 1):
        start, end = offsets[d], offsets[d + 1]
        fence = _next_fence(data, start, end)
        if fence < end:
            if end - start > prose.size:
                prose = np.empty(end - start, np.uint8)
            size = _outside_fences(data, start, end, fence, prose)
            out_offsets[d + 1] = _cut(prose, 0, size, line, out, out_offsets[d])
        else:
            out_offsets[d + 1] = _cut(data, start, end, line, out, out_offsets[d])


def prose_windows(text: pa.Array) -> pa.Array:
    """large_string: the line to show of each row of a large_string column; a null row has an empty one."""
    offsets, data = string_buffers(text)
    shown, out = np.empty(len(text) + 1, np.int64), np.empty(len(text) * _SHOWN_BYTES, np.uint8)
    _windows(data, offsets, shown, out)
    return large_strings(shown, out[: shown[-1]].copy())

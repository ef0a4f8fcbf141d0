"""How many tags an HTML page has and how deep they nest, in one linear pass over its bytes.

Parsers take time with the square of the depth, so it is counted before they see the page. Elements whose end tag may be
left out (`p`, `li`, `td`, …) close each other and add no depth of their own here: at most four of them lie between two
that count. Void elements, comments, and what lies inside scripts and styles do not count.
"""

import numpy as np
from numba import njit

_VOID = "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr"
_END_TAG_OPTIONAL = "body caption colgroup dd dt head html li optgroup option p rp rt tbody td tfoot th thead tr"
_RAW_TEXT = "iframe noembed noframes script style textarea title xmp"
_FOREIGN = "svg math"


def _packed(names: str) -> np.ndarray:
    """The first eight bytes of each name as one number."""
    values = [int.from_bytes(name.encode()[:8].ljust(8, b"\0"), "big") for name in names.split()]
    return np.array(sorted(values), np.uint64)


FLAT, RAW_TEXT, FOREIGN = _packed(f"{_VOID} {_END_TAG_OPTIONAL}"), _packed(_RAW_TEXT), _packed(_FOREIGN)
_LT, _GT, _SLASH, _BANG, _QUESTION, _DASH = ord("<"), ord(">"), ord("/"), ord("!"), ord("?"), ord("-")
_DOUBLE_QUOTE, _SINGLE_QUOTE, _EQUALS = ord('"'), ord("'"), ord("=")


@njit(nogil=True, cache=True)
def _is_letter(byte):  # type: ignore[no-untyped-def]
    return 97 <= (byte | 32) <= 122


@njit(nogil=True, cache=True)
def _is_in(name, names):  # type: ignore[no-untyped-def]
    at = np.searchsorted(names, name)
    return at < names.size and names[at] == name


@njit(nogil=True, cache=True)
def _read_name(data, i):  # type: ignore[no-untyped-def]
    """(first eight bytes of the lower-cased name as one number, place after the name)."""
    name, length = np.uint64(0), 0
    while i < data.size and data[i] > 32 and data[i] != _GT and data[i] != _SLASH:
        if length < 8:
            byte = data[i] | 32 if _is_letter(data[i]) else data[i]
            name |= np.uint64(byte) << np.uint64(56 - 8 * length)
        length += 1
        i += 1
    return name, i


@njit(nogil=True, cache=True)
def _after_tag(data, i):  # type: ignore[no-untyped-def]
    """The place after the `>` that ends a tag; one in a quoted value does not."""
    quote = 0
    last = 0  # last byte that is no white space
    while i < data.size:
        byte = data[i]
        if quote:
            if byte == quote:
                quote = 0
        elif byte == _GT:
            return i + 1
        elif byte in (_DOUBLE_QUOTE, _SINGLE_QUOTE) and last == _EQUALS:
            quote = byte
        if byte > 32:
            last = byte
        i += 1
    return i


@njit(nogil=True, cache=True)
def _after_comment(data, i):  # type: ignore[no-untyped-def]
    while i + 2 < data.size:
        if data[i] == _DASH and data[i + 1] == _DASH and data[i + 2] == _GT:
            return i + 3
        i += 1
    return data.size


@njit(nogil=True, cache=True)
def _end_of_raw_text(data, i, name):  # type: ignore[no-untyped-def]
    """The place of the `</name` that ends a script, style and the like."""
    while i + 1 < data.size:
        if data[i] == _LT and data[i + 1] == _SLASH:
            found, _ = _read_name(data, i + 2)
            if found == name:
                return i
        i += 1
    return data.size


@njit(nogil=True, cache=True)
def _measure(data, flat, raw_text, foreign, out):  # type: ignore[no-untyped-def]
    tags = depth = deepest = in_foreign = 0
    i = 0
    while i + 1 < data.size:
        if data[i] != _LT:
            i += 1
            continue
        byte = data[i + 1]
        if byte == _BANG and i + 3 < data.size and data[i + 2] == _DASH and data[i + 3] == _DASH:
            i = _after_comment(data, i + 2)  # `<!-->` is a whole comment
        elif byte in (_BANG, _QUESTION):
            i = _after_tag(data, i + 2)
        elif byte == _SLASH and i + 2 < data.size and _is_letter(data[i + 2]):
            name, i = _read_name(data, i + 2)
            i = _after_tag(data, i)
            tags += 1
            if not _is_in(name, flat):
                depth = max(0, depth - 1)
                in_foreign -= in_foreign > 0 and _is_in(name, foreign)
        elif _is_letter(byte):
            name, i = _read_name(data, i + 1)
            i = _after_tag(data, i)
            tags += 1
            closed = in_foreign > 0 and data[i - 2] == _SLASH
            if closed or _is_in(name, flat):
                continue
            depth += 1
            deepest = max(deepest, depth)
            if _is_in(name, foreign):
                in_foreign += 1
            elif in_foreign == 0 and _is_in(name, raw_text):
                i = _end_of_raw_text(data, i, name)
        else:
            i += 1
    out[0], out[1] = tags, deepest


def measure(page: bytes) -> tuple[int, int]:
    """(number of tags, greatest depth) of a page in UTF-8 or any encoding that keeps ASCII."""
    out = np.zeros(2, np.int64)
    _measure(np.frombuffer(page, np.uint8), FLAT, RAW_TEXT, FOREIGN, out)
    return int(out[0]), int(out[1])

"""How many tags an HTML page has, how deep they nest, and what else makes parsers slow: one linear pass over its bytes.

Parsers take time with the square of the depth, of the attributes of a tag and of the options of a list, so they are
counted before they see the page. Elements whose end tag may be left out (`p`, `li`, `td`, …) close each other and add
no depth of their own here: at most four of them lie between two that count. Void elements, comments, and what lies
inside scripts and styles do not count.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from corpus_assets.kernels.search import first_at_least

_VOID = "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr"
_END_TAG_OPTIONAL = "body caption colgroup dd dt head html li optgroup option p rp rt tbody td tfoot th thead tr"
_RAW_TEXT = "iframe noembed noframes script style textarea title xmp"
_FOREIGN = "svg math"
_ROOTS = "html body"
"""Their attributes are gathered from all their tags."""


def _packed(names: str) -> np.ndarray:
    """The first eight bytes of each name as one number."""
    values = [int.from_bytes(name.encode()[:8].ljust(8, b"\0"), "big") for name in names.split()]
    return np.array(sorted(values), np.uint64)


FLAT, RAW_TEXT, FOREIGN = _packed(f"{_VOID} {_END_TAG_OPTIONAL}"), _packed(_RAW_TEXT), _packed(_FOREIGN)
ROOTS, SELECT, OPTION = _packed(_ROOTS), _packed("select")[0], _packed("option")[0]
_LT, _GT, _SLASH, _BANG, _QUESTION, _DASH = ord("<"), ord(">"), ord("/"), ord("!"), ord("?"), ord("-")
_DOUBLE_QUOTE, _SINGLE_QUOTE, _EQUALS = ord('"'), ord("'"), ord("=")


@njit(nogil=True, cache=True)
def _is_letter(byte):
    return 97 <= (byte | 32) <= 122


@njit(nogil=True, cache=True)
def _is_in(name, names):
    at = first_at_least(names, name)
    return at < names.size and names[at] == name


@njit(nogil=True, cache=True)
def _read_name(data, i):
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
def _after_tag(data, i):
    """(the place after the `>` that ends a tag; one in a quoted value does not, how many attributes it has at most)."""
    quote = attributes = 0
    last = 0  # last byte that is no white space
    between, in_value = True, False
    while i < data.size:
        byte = data[i]
        if quote:
            if byte == quote:
                quote, between = 0, True
        elif byte == _GT:
            return i + 1, attributes
        elif byte in (_DOUBLE_QUOTE, _SINGLE_QUOTE) and last == _EQUALS:
            quote = byte
        elif byte <= 32 or (byte == _SLASH and not in_value):
            between = True
        elif between:
            attributes += 1
            between = in_value = False
        elif byte == _EQUALS:
            in_value = True
        if byte > 32:
            last = byte
        i += 1
    return i, attributes


@njit(nogil=True, cache=True)
def _after_comment(data, i):
    while i + 2 < data.size:
        if data[i] == _DASH and data[i + 1] == _DASH and data[i + 2] == _GT:
            return i + 3
        i += 1
    return data.size


@njit(nogil=True, cache=True)
def _end_of_raw_text(data, i, name):
    """The place of the `</name` that ends a script, style and the like."""
    while i + 1 < data.size:
        if data[i] == _LT and data[i + 1] == _SLASH:
            found, _ = _read_name(data, i + 2)
            if found == name:
                return i
        i += 1
    return data.size


@njit(nogil=True, cache=True)
def _measure(data, flat, raw_text, foreign, roots, select, option, out):
    tags = depth = deepest = depths = in_foreign = 0
    of_roots = most_attributes = options = most_options = 0
    in_select = False
    i = 0
    while i + 1 < data.size:
        if data[i] != _LT:
            i += 1
            continue
        byte = data[i + 1]
        if byte == _BANG and i + 3 < data.size and data[i + 2] == _DASH and data[i + 3] == _DASH:
            i = _after_comment(data, i + 2)  # `<!-->` is a whole comment
        elif byte in (_BANG, _QUESTION):
            i, _ = _after_tag(data, i + 2)
        elif byte == _SLASH and i + 2 < data.size and _is_letter(data[i + 2]):
            name, i = _read_name(data, i + 2)
            i, _ = _after_tag(data, i)
            tags += 1
            depths += depth
            if not _is_in(name, flat):
                depth = max(0, depth - 1)
                in_foreign -= in_foreign > 0 and _is_in(name, foreign)
                in_select = in_select and name != select
        elif _is_letter(byte):
            name, i = _read_name(data, i + 1)
            i, attributes = _after_tag(data, i)
            tags += 1
            depths += depth
            if attributes:
                of_roots += attributes if _is_in(name, roots) else 0
                most_attributes = max(most_attributes, attributes, of_roots)
            closed = in_foreign > 0 and data[i - 2] == _SLASH
            if closed or _is_in(name, flat):
                if in_select and name == option:
                    options += 1
                    most_options = max(most_options, options)
                continue
            depth += 1
            deepest = max(deepest, depth)
            if name == select:
                in_select, options = True, 0
            elif _is_in(name, foreign):
                in_foreign += 1
            elif in_foreign == 0 and _is_in(name, raw_text):
                i = _end_of_raw_text(data, i, name)
        else:
            i += 1
    out[0], out[1], out[2], out[3], out[4] = tags, deepest, depths, most_attributes, most_options


class PageShape(NamedTuple):
    """What is counted of a page. `depths` is the sum of the depth over all tags: the steps of walks from each to the
    root. `attributes` is the most of one tag, or of all `html` and `body` tags together, and no less than a parser
    finds; `options` the most in one `select`.
    """

    tags: int
    depth: int
    depths: int
    attributes: int
    options: int


def measure(page: bytes) -> PageShape:
    """The shape of a page in UTF-8 or any encoding that keeps ASCII."""
    out = np.zeros(5, np.int64)
    _measure(np.frombuffer(page, np.uint8), FLAT, RAW_TEXT, FOREIGN, ROOTS, SELECT, OPTION, out)
    return PageShape(*out.tolist())

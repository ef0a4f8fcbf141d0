"""Bytes of a page or text file to text: byte order mark, then UTF-8 where it is valid, then what header and meta tag
say, then what the bytes look like.

UTF-8 comes before the declaration, since other text is hardly ever valid UTF-8 by chance while servers often declare a
wrong charset. The exceptions are encodings whose every text is also valid UTF-8: they count when declared.
"""

import re
import struct

import pyarrow as pa
from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

CODE_VERSION = "1"
LIBRARIES = ("resiliparse",)

_META_BYTES = 4096
_META = re.compile(
    rb"""<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*+=\s*+["']?+\s*+([A-Za-z0-9_:.+-]+)""", re.IGNORECASE
)
_HEADER = re.compile(r"""charset\s*+=\s*+["']?+\s*+([A-Za-z0-9_:.+-]+)""", re.IGNORECASE)
"""What `+` marks as possessive is never tried shorter: a page of 3 KB of blanks took seconds otherwise."""
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_ALSO_VALID_UTF8 = {"iso2022_jp": b"\x1b", "utf-16-le": b"\0", "utf-16-be": b"\0"}
"""Encoding -> the byte that shows it is really used."""
_WIDER = {"shift_jis": "cp932", "euc_kr": "cp949", "gbk": "gb18030", "big5": "big5hkscs", "iso8859-11": "cp874"}
"""What browsers read under these names."""
_MIN_GOOD_PER_BAD = 20
"""A guess is refused with more than one undecodable place in so many characters beyond ASCII."""


def decode(data: bytes, content_type: str | None = None, *, is_html: bool) -> str:
    """The text, without byte order mark; bytes that stay undecodable become U+FFFD. Never a lone surrogate."""
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    declared = _declared(data, content_type, is_html)
    for codec in declared:
        if codec in _ALSO_VALID_UTF8 and _ALSO_VALID_UTF8[codec] in data:
            return data.decode(codec, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    guesses = [codec for codec in declared if codec not in _ALSO_VALID_UTF8]
    if detected := _codec(detect_encoding(data) or ""):
        guesses.append(detected)
    for codec in guesses:
        text = data.decode(codec, "replace")
        if _is_plausible(text):
            return text
    return data.decode("cp1252", "replace")


def to_utf8(data: bytes, content_type: str | None = None, *, is_html: bool) -> bytes:
    """What `decode` gives, in UTF-8; `data` itself, not decoded and not copied, where it is that already."""
    if not data.startswith(tuple(mark for mark, _ in _BOMS)):
        markers = [_ALSO_VALID_UTF8[c] for c in _declared(data, content_type, is_html) if c in _ALSO_VALID_UTF8]
        if not any(marker in data for marker in markers) and _is_utf8(data):
            return data
    return decode(data, content_type, is_html=is_html).encode("utf-8")


def _is_utf8(data: bytes) -> bool:
    offsets = pa.py_buffer(struct.pack("=qq", 0, len(data)))
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(data)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _declared(data: bytes, content_type: str | None, is_html: bool) -> list[str]:
    labels = [found[1] for found in [_HEADER.search(content_type or "")] if found]
    if is_html and (meta := _META.search(data, 0, _META_BYTES)):
        labels.append(meta[1].decode("ascii"))
    return [codec for label in labels if (codec := _codec(label))]


def _codec(label: str) -> str | None:
    """Python's codec for a charset label as browsers understand it; None for a label that means nothing."""
    codec = map_encoding_to_html5(label, fallback_utf8=False)
    return _WIDER.get(codec, codec) if codec else None


def _is_plausible(text: str) -> bool:
    bad = text.count("\ufffd")
    if not bad:
        return True
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    return bad * _MIN_GOOD_PER_BAD <= beyond_ascii

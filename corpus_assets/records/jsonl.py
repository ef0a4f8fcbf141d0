"""JSON lines: one object a line; plain, gzip, zstd or bz2. Lines count from 0. A line that cannot be used is a reject,
a run of blank lines one; a compressed stream that is broken or cut is an error.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from corpus_assets.records.documents import hold_no_tar
from corpus_assets.records.fields import FieldReader, Repeats
from corpus_assets.records.record import Limits, Record, Reject, RejectReason
from formats.compressed import Decompressed
from formats.numbered_lines import numbered_lines

CODE_VERSION = "3"


def read_jsonl(stream: Decompressed, url: str, fields: FieldReader, limits: Limits) -> Iterator[Record | Reject]:
    """The records of one stream, in order; its url field, else `url#<line>`, names each. Raises CorruptDataError for a
    tar archive, in which the first record of each file would stand behind a header.
    """
    parsed = _Parser()
    for number, line in numbered_lines(stream, limits.max_record_bytes):
        place = f"{url}#{number}"
        if line is None:
            yield Reject(place, number, RejectReason.RECORD_TOO_LARGE)
            continue
        if number == 0:
            hold_no_tar(stream, line)
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.strip():
            yield Reject(place, number, RejectReason.BLANK_LINE)
            continue
        try:
            # Not json.loads(bytes): that one lets UTF-8 encoded surrogates through.
            value = parsed(line.decode("utf-8"))
        except UnicodeDecodeError:
            yield Reject(place, number, RejectReason.INVALID_UTF8)
        except (ValueError, RecursionError):
            yield Reject(place, number, RejectReason.BROKEN_JSON)
        else:
            if not isinstance(value, dict):
                yield Reject(place, number, RejectReason.NOT_AN_OBJECT)
            elif parsed.has_repeats and fields.repeats(value):
                yield Reject(place, number, RejectReason.DUPLICATE_FIELD)
            else:
                yield fields.read(value, place, number)


class _Parser:
    """json.loads that notices names given twice, and reads whole numbers of any length; beyond 640 digits as floats."""

    def __init__(self) -> None:
        self.has_repeats = False
        """Whether any object of the last text has a name twice."""
        self._decode = json.JSONDecoder(object_pairs_hook=self._object).decode
        self._decode_long = json.JSONDecoder(object_pairs_hook=self._object, parse_int=_number).decode

    def __call__(self, text: str) -> Any:
        self.has_repeats = False
        try:
            return self._decode(text)
        except json.JSONDecodeError:
            raise
        except ValueError:  # a whole number of more digits than Python reads
            return self._decode_long(text)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) == len(pairs):
            return value
        self.has_repeats = True
        return Repeats(pairs)


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= sys.int_info.str_digits_check_threshold else float(digits)

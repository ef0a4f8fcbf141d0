"""JSON lines: one object a line; plain, gzip, zstd or bz2. Lines count from 0. A line that cannot be used is a reject;
a compressed stream that is broken or cut is an error.
"""

import json
from collections.abc import Iterator

from corpus_assets.records.documents import hold_no_tar
from corpus_assets.records.fields import FieldReader
from corpus_assets.records.record import Limits, Record, Reject, RejectReason
from formats.compressed import Decompressed

CODE_VERSION = "3"


def read_jsonl(stream: Decompressed, url: str, fields: FieldReader, limits: Limits) -> Iterator[Record | Reject]:
    """The records of one stream, in order; its url field, else `url#<line>`, names each. Raises CorruptDataError for a
    tar archive, in which the first record of each file would stand behind a header.
    """
    for number, line in enumerate(stream.lines(limits.max_record_bytes)):
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
            value = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError:
            yield Reject(place, number, RejectReason.INVALID_UTF8)
        except (ValueError, RecursionError):
            yield Reject(place, number, RejectReason.BROKEN_JSON)
        else:
            if isinstance(value, dict):
                yield fields.read(value, place, number)
            else:
                yield Reject(place, number, RejectReason.NOT_AN_OBJECT)

"""Files that are one document each: HTML pages, plain text, Markdown. Decoding and extraction come after."""

from corpus_assets.records.record import Limits, Record, Reject, RejectReason
from formats.compressed import CHUNK_BYTES, Decompressed

CODE_VERSION = "1"


def read_document(stream: Decompressed, url: str, position: int, *, is_html: bool, limits: Limits) -> Record | Reject:
    """The whole stream as one record."""
    held = bytearray()
    while chunk := stream.read(CHUNK_BYTES):
        held += chunk
        if len(held) > limits.max_record_bytes:
            return Reject(url, position, RejectReason.RECORD_TOO_LARGE)
    return Record(url, position, bytes(held), is_html=is_html)

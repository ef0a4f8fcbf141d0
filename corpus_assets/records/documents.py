"""Files that are one document each: HTML pages, plain text, Markdown. Decoding and extraction come after."""

from corpus_assets.records.record import Limits, Record, Reject, RejectReason
from formats.compressed import CHUNK_BYTES, Decompressed
from formats.errors import CorruptDataError

CODE_VERSION = "1"


def read_document(stream: Decompressed, url: str, position: int, *, is_html: bool, limits: Limits) -> Record | Reject:
    """The whole stream as one record. Raises CorruptDataError for a tar archive, whose files would be one text."""
    held = bytearray()
    while chunk := stream.read(CHUNK_BYTES):
        held += chunk
        if len(held) > limits.max_record_bytes:
            return Reject(url, position, RejectReason.RECORD_TOO_LARGE)
    hold_no_tar(stream, held)
    return Record(url, position, bytes(held), is_html=is_html)


def hold_no_tar(stream: Decompressed, first_bytes: bytes | bytearray) -> None:
    """Raises CorruptDataError where a stream begins as a tar archive does."""
    if first_bytes[257:262] == b"ustar":
        todo = "name its container in the ledger row; archives in archives are not opened: pack their files into one"
        raise CorruptDataError(stream.name, "content", "a document", "a tar archive", todo)

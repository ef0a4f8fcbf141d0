"""The records of one fetched file, whatever its kind and container."""

from collections.abc import Iterator
from pathlib import Path

from corpus_assets.records import archives, documents, jsonl, parquet, warc
from corpus_assets.records.fields import FieldReader
from corpus_assets.records.record import Limits, Record, Reject, RejectReason, Tally
from formats import compressed
from formats.compressed import Decompressed
from formats.errors import ConfigError, CorruptDataError
from formats.ledger import LedgerRow

IN_ARCHIVES = ("html", "text", "markdown", "jsonl")
_MEMBER_SUFFIXES = {
    "html": (".html", ".htm", ".xhtml", ".xht"),
    "markdown": (".md", ".markdown", ".mdx"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "text": ("",),
}
_COMPRESSED_SUFFIXES = (".gz", ".zst", ".bz2")


def check_readable(row: LedgerRow) -> None:
    """Raises ConfigError where no reader fits the row's kind and container."""
    if row.container and row.kind not in IN_ARCHIVES:
        raise ConfigError(
            f"source {row.source_id}: container {row.container} of kind {row.kind} cannot be read; expected a kind of "
            f"{', '.join(IN_ARCHIVES)} in it, or the files themselves without container"
        )


def read_file(path: Path, url: str, row: LedgerRow, limits: Limits, tally: Tally) -> Iterator[Record | Reject]:
    """Every record of the file at `path`, in order, as a Record or a Reject; `url` names the file as the ledger does.
    `tally` is complete when the records are used up. Raises CorruptDataError for a file that is broken or cut.
    """
    check_readable(row)
    if row.container:
        yield from _members(path, url, row, limits, tally)
    elif row.kind == "warc":
        yield from warc.read_warc(path, url, limits, tally)
    elif row.kind == "wet":
        yield from warc.read_wet(path, url, limits, tally)
    elif row.kind == "parquet":
        yield from parquet.read_parquet(path, url, row.fields, FieldReader(row), limits, tally)
    else:
        with compressed.open_file(path, budget=limits.file_budget) as stream:
            # A page's url is its own; text is named by the line it begins at.
            place = url if row.kind in ("html", "jsonl") else f"{url}#0"
            yield from _stream(stream, place, 0, row, limits)
            tally.decompressed_bytes = stream.position


def _stream(stream: Decompressed, url: str, position: int, row: LedgerRow, limits: Limits) -> Iterator[Record | Reject]:
    if row.kind == "jsonl":
        yield from jsonl.read_jsonl(stream, url, FieldReader(row), limits)
    else:
        yield documents.read_document(stream, url, position, is_html=row.kind == "html", limits=limits)


def _members(path: Path, url: str, row: LedgerRow, limits: Limits, tally: Tally) -> Iterator[Record | Reject]:
    """A member that does not decompress is a reject where it is one document; among JSON lines it is an error, since
    nobody knows how many are lost.
    """
    suffixes = _MEMBER_SUFFIXES[row.kind]
    open_archive = archives.read_tar if row.container == "tar" else archives.read_zip
    for member in open_archive(path, url, limits, tally):
        if isinstance(member, Reject):
            yield member
            continue
        place = f"{url}#{member.name}"
        if not _plain_name(member.name).endswith(suffixes):
            yield Reject(place, member.index, RejectReason.OTHER_FILE_NAME)
            continue
        label = f"{path}#{member.name} (packed)"
        try:
            stream = compressed.open_stream(member.stream, label, budget=limits.file_budget)
            yield from _stream(stream, place, member.index, row, limits)
        except CorruptDataError as error:
            if row.kind == "jsonl" or error.path != label:
                raise
            yield Reject(place, member.index, RejectReason.BROKEN_MEMBER)


def _plain_name(name: str) -> str:
    lower = name.lower()
    for suffix in _COMPRESSED_SUFFIXES:
        lower = lower.removesuffix(suffix)
    return lower

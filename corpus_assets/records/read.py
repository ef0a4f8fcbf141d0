"""The records of one fetched file, whatever its kind and container."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from corpus_assets.records import archives, documents, jsonl, parquet, warc
from corpus_assets.records.archive_budget import ArchiveBudget, DecompressedMember
from corpus_assets.records.fields import FieldReader
from corpus_assets.records.record import Limits, Record, Reject, RejectReason, Tally
from corpus_assets.records.spooled import spooled
from formats import compressed
from formats.compressed import Decompressed, Readable
from formats.errors import CorruptDataError
from formats.ledger import LedgerRow

_MEMBER_SUFFIXES = {
    "warc": (".warc", ".arc"),
    "wet": (".wet",),
    "parquet": (".parquet", ".pq"),
    "html": (".html", ".htm", ".xhtml", ".xht"),
    "markdown": (".md", ".markdown", ".mdx"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "text": ("",),
}
_COMPRESSED_SUFFIXES = (".gz", ".zst", ".bz2", ".lz4")
_NEED_A_FILE = ("warc", "wet", "parquet")


def read_file(path: Path, url: str, row: LedgerRow, limits: Limits, tally: Tally) -> Iterator[Record | Reject]:
    """Every record of the file at `path`, in order, as a Record or a Reject; `url` names the file as the ledger does.
    `tally` is complete when the records are used up. Raises CorruptDataError for a file that is broken or cut.
    """
    for record in _records(path, url, row, limits, tally):
        tally.records += 1
        yield record


def _records(path: Path, url: str, row: LedgerRow, limits: Limits, tally: Tally) -> Iterator[Record | Reject]:
    if row.container:
        yield from _members(path, url, row, limits, tally)
    elif row.kind in _NEED_A_FILE:
        yield from _whole(path, url, row, limits, tally)
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
    """A member that does not decompress is a reject where it is one document; where it holds many it is an error, since
    nobody knows how many are lost.
    """
    suffixes = _MEMBER_SUFFIXES[row.kind]
    open_archive = archives.read_tar if row.container == "tar" else archives.read_zip
    budget = ArchiveBudget(path, limits.file_budget)
    for member in open_archive(path, url, limits, tally, budget):
        if isinstance(member, Reject):
            is_other = member.reason == RejectReason.ENCRYPTED_MEMBER and not _plain_name(member.url).endswith(suffixes)
            yield member._replace(reason=RejectReason.OTHER_FILE_NAME) if is_other else member
            continue
        place = f"{url}#{member.name}"
        if not _plain_name(member.name).endswith(suffixes):
            yield Reject(place, member.index, RejectReason.OTHER_FILE_NAME)
        elif row.kind in _NEED_A_FILE:
            yield from _spooled(member, f"{path}#{member.name}", place, row, limits, budget)
        else:
            label = f"{path}#{member.name} (packed)"
            try:
                stream = DecompressedMember(member.stream, label, limits.file_budget, budget)
                yield from _stream(stream, place, member.index, row, limits)
            except CorruptDataError as error:
                if row.kind == "jsonl" or error.path != label:
                    raise
                yield Reject(place, member.index, RejectReason.BROKEN_MEMBER)


def _spooled(
    member: archives.Member, label: str, place: str, row: LedgerRow, limits: Limits, budget: ArchiveBudget
) -> Iterator[Record | Reject]:
    stream: Readable = member.stream
    if row.kind == "parquet":  # web archives undo their compression themselves
        stream = DecompressedMember(stream, label, limits.file_budget, budget)
    with spooled(stream, label) as path:
        tally = Tally()
        yield from _whole(path, place, row, replace(limits, file_budget=budget.left()), tally)
        budget.spend(tally.decompressed_bytes)


def _whole(path: Path, url: str, row: LedgerRow, limits: Limits, tally: Tally) -> Iterator[Record | Reject]:
    """The records of a file whose reader opens it itself."""
    if row.kind == "parquet":
        yield from parquet.read_parquet(path, url, row.fields, FieldReader(row), limits, tally)
    else:
        read = warc.read_warc if row.kind == "warc" else warc.read_wet
        yield from read(path, url, limits, tally)


def _plain_name(name: str) -> str:
    lower = name.lower()
    for suffix in _COMPRESSED_SUFFIXES:
        lower = lower.removesuffix(suffix)
    return lower

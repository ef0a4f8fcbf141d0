"""Archives (tar, plain or compressed; zip) and their members, in order. A member's name is only ever data: it becomes
`url#<member>`, never a path, and nothing is unpacked under it. Directories, links, devices, names that would lead out
of a folder, and names that were there already are rejects.
"""

import io
import lzma
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from corpus_assets.records.archive_budget import ArchiveBudget
from corpus_assets.records.record import Limits, Reject, RejectReason, Tally
from formats.compressed import CHUNK_BYTES, Readable, open_file
from formats.errors import CorruptDataError

CODE_VERSION = "3"
_TODO = "fetch the file again, or take it out of the ledger row"
_BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, struct.error)
_BROKEN = (tarfile.TarError, *_BROKEN_ZIP)
_MAX_NAME_BYTES = 4_096
_SHOWN_NAME = 200
_MAX_HEADER_BYTES = 1 << 20
"""Of one tar header that only carries names and the like; tarfile holds it in memory."""
_HEADERS = frozenset(
    {tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}
)
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f]|\A[/\\]|\A[A-Za-z]:[/\\]|(?:\A|[/\\])\.\.(?:[/\\]|\Z)|\A\Z")
_MIN_ENTRY_BYTES = 64
"""Of one member in a zip's directory: 46 and a name."""
_ZIP_END, _ZIP64_END, _ZIP64_LOCATOR_BYTES = (b"PK\x05\x06", 22), (b"PK\x06\x06", 56), 20
"""What stands at the end of a zip: mark and bytes of a record, the second where numbers do not fit into the first."""
_ZIP_SPLIT_MARKS = (b"PK\x07\x08", b"PK00")
"""Before the first member of an archive that was to be split, and was not."""
_REPACK = "unpack the archives that were joined, and pack their files into one"


@dataclass(frozen=True)
class Member:
    """One regular file of an archive, to be read before the next is asked for. Members count from 0."""

    name: str
    index: int
    stream: Readable


def read_tar(path: Path, url: str, limits: Limits, tally: Tally, budget: ArchiveBudget) -> Iterator[Member | Reject]:
    """The members in order. Raises CorruptDataError where the archive is broken, cut, or without its end mark."""
    names = _Names(path, url, limits)
    with open_file(path, budget=limits.file_budget) as stream:
        try:
            tar = tarfile.open(  # noqa: SIM115  its stream is closed above
                fileobj=stream, mode="r|", tarinfo=_StrictTarInfo, encoding="utf-8", errors="backslashreplace"
            )  # type: ignore[call-overload]  # it needs no more of a file object than read(n)
            index = 0
            while (info := tar.next()) is not None:
                file = tar.extractfile(info) if info.isreg() else None
                reason = names.why_not(info.name, index) if file else RejectReason.NOT_A_FILE
                if reason:
                    yield names.reject(info.name, index, reason)
                else:
                    yield Member(info.name, index, _MemberStream(file, f"{path}#{info.name}", budget, Tally()))
                index += 1
                tar.members = []  # tarfile keeps every header otherwise
        except CorruptDataError:
            raise
        except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
            raise CorruptDataError(
                path, f"tar near byte {stream.position}", "whole", f"broken ({error})", _TODO
            ) from None
        # tarfile's own reader, which may have read on already; what follows the end mark has to decompress, too.
        while chunk := tar.fileobj.read(CHUNK_BYTES):
            if chunk.count(0) < len(chunk):
                raise CorruptDataError(path, "what follows the end mark", "zeros", "something else", _REPACK)
        tally.decompressed_bytes = stream.position


def read_zip(path: Path, url: str, limits: Limits, tally: Tally, budget: ArchiveBudget) -> Iterator[Member | Reject]:
    """The members in the order of the directory. Raises CorruptDataError where the archive is broken or cut, is not all
    that the file holds, or its members grow beyond the budget.
    """
    names = _Names(path, url, limits)
    try:
        with _ZipSource(path, limits) as source, zipfile.ZipFile(source) as archive:
            _check_bounds(path, source, archive)
            for index, info in enumerate(archive.infolist()):
                name = info.orig_filename  # zipfile cuts the other one at a NUL
                if info.filename.endswith("/") or stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
                    reason: RejectReason | None = RejectReason.NOT_A_FILE
                elif info.flag_bits & 1:
                    reason = RejectReason.ENCRYPTED_MEMBER
                else:
                    reason = names.why_not(name, index)
                if reason:
                    yield names.reject(name, index, reason)
                    continue
                with archive.open(info) as file:
                    yield Member(name, index, _MemberStream(file, f"{path}#{name}", budget, tally))
    except CorruptDataError:
        raise
    except (*_BROKEN_ZIP, NotImplementedError, RuntimeError) as error:
        raise CorruptDataError(path, "zip archive", "whole", f"broken ({error})", _TODO) from None


def _check_bounds(path: Path, source: io.BufferedReader, archive: zipfile.ZipFile) -> None:
    """zipfile takes the last directory that it finds, and whatever part of it the record at the end points to: of two
    archives that were joined, the members of the first would be missing without a word.
    """
    members = archive.infolist()
    begin = min((info.header_offset for info in members), default=archive.start_dir)
    source.seek(0)
    if begin and source.read(begin if begin < 5 else 0) not in _ZIP_SPLIT_MARKS:
        raise CorruptDataError(path, "what comes before the first member", "nothing", f"{begin} bytes", _REPACK)
    (mark, size), (mark64, size64) = _ZIP_END, _ZIP64_END
    num_bytes = source.seek(0, io.SEEK_END)
    source.seek(max(0, num_bytes - size - size64 - _ZIP64_LOCATOR_BYTES - (1 << 16)))
    tail = source.read()
    at = tail.rfind(mark)
    num_entries, num_comment = struct.unpack_from("<H8xH", tail, at + 10)
    if tail[at + size + num_comment :].strip(b"\0"):
        raise CorruptDataError(path, "what follows the end of the directory", "zeros", "something else", _REPACK)
    at64 = at - _ZIP64_LOCATOR_BYTES - size64
    if num_entries == 0xFFFF and at64 >= 0 and tail.startswith(mark64, at64):
        (num_entries,) = struct.unpack_from("<Q", tail, at64 + 32)
    if len(members) not in (num_entries, num_entries + (len(members) >> 16 << 16)):  # old programs count to 65,535
        raise CorruptDataError(path, "entries of the directory", num_entries, len(members), _TODO)


class _Names:
    """The names of one archive's members: those that cannot be used, and those that were there before."""

    def __init__(self, path: Path, url: str, limits: Limits) -> None:
        self._path, self._url, self._max_members = path, url, limits.max_members
        self._seen: set[bytes] = set()

    def why_not(self, name: str, index: int) -> RejectReason | None:
        if index >= self._max_members:
            todo = "split the archive, or pack its documents as JSON lines"
            raise CorruptDataError(self._path, "members", f"at most {self._max_members}", "more", todo)
        encoded = name.encode("utf-8", "surrogatepass")
        if _UNSAFE.search(name) or len(encoded) > _MAX_NAME_BYTES:
            return RejectReason.UNSAFE_MEMBER_NAME
        digest = blake2b(encoded, digest_size=16).digest()
        if digest in self._seen:
            return RejectReason.DUPLICATE_MEMBER
        self._seen.add(digest)
        return None

    def reject(self, name: str, index: int, reason: RejectReason) -> Reject:
        shown = (
            name if len(name) <= _SHOWN_NAME or reason != RejectReason.UNSAFE_MEMBER_NAME else f"{name[:_SHOWN_NAME]}…"
        )
        return Reject(f"{self._url}#{shown}", index, reason)


class _MemberStream:
    """A member's bytes; counts them, and says which member is broken."""

    def __init__(self, file: Any, label: str, budget: ArchiveBudget, tally: Tally) -> None:
        self._file, self._label, self._budget, self._tally = file, label, budget, tally

    def read(self, size: int) -> bytes:
        try:
            data = self._file.read(size)
        except CorruptDataError:
            raise
        except _BROKEN as error:
            raise CorruptDataError(self._label, "member of the archive", "whole", f"broken ({error})", _TODO) from None
        self._tally.decompressed_bytes += len(data)
        self._budget.spend(len(data))
        return data


class _ZipSource(io.BufferedReader):
    """The file of a zip; its directory is read at once, so that read is held to what so many members may take."""

    def __init__(self, path: Path, limits: Limits) -> None:
        super().__init__(io.FileIO(path))
        self._path, self._max_bytes = path, max(1 << 20, limits.max_members * _MIN_ENTRY_BYTES)

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > self._max_bytes:
            todo = "split the archive, or pack its documents as JSON lines"
            raise CorruptDataError(self._path, "directory of the zip", f"at most {self._max_bytes} bytes", size, todo)
        return super().read(size)


class _StrictTarInfo(tarfile.TarInfo):
    """tarfile takes a broken or missing header for the end of the archive; here only the end mark is. And it reads
    headers of any length into memory.
    """

    @classmethod
    def fromtarfile(cls, tar: tarfile.TarFile) -> "_StrictTarInfo":
        try:
            return super().fromtarfile(tar)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # typeshed does not know it
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"{error or 'no header'} where a member or the end mark belongs") from None

    def _proc_member(self, tar: tarfile.TarFile) -> Any:
        if self.size < 0 or (self.type in _HEADERS and self.size > _MAX_HEADER_BYTES):
            raise tarfile.ReadError(f"a header of {self.size} bytes, at most {_MAX_HEADER_BYTES} are read")
        return super()._proc_member(tar)  # type: ignore[misc]  # nor this

"""Archives (tar, plain or compressed; zip) of documents or JSON lines. A member's name is only ever data: it becomes
`url#<member>`, never a path. Directories, links and devices are rejects.
"""

import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus_assets.records.record import Limits, Reject, RejectReason, Tally
from formats.compressed import CHUNK_BYTES, Readable, open_file
from formats.errors import CorruptDataError

CODE_VERSION = "1"
_TODO = "fetch the file again, or take it out of the ledger row"
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError)


@dataclass(frozen=True)
class Member:
    """One regular file of an archive, to be read before the next is asked for. Members count from 0."""

    name: str
    index: int
    stream: Readable


def read_tar(path: Path, url: str, limits: Limits, tally: Tally) -> Iterator[Member | Reject]:
    """The members in order. Raises CorruptDataError where the archive is broken, cut, or without its end mark."""
    with open_file(path, budget=limits.file_budget) as stream:
        try:
            tar = tarfile.open(  # noqa: SIM115  its stream is closed above
                fileobj=stream, mode="r|", tarinfo=_StrictTarInfo, encoding="utf-8", errors="backslashreplace"
            )  # type: ignore[call-overload]
            index = 0
            while (info := tar.next()) is not None:
                file = tar.extractfile(info) if info.isreg() else None
                if file is None:
                    yield Reject(f"{url}#{info.name}", index, RejectReason.NOT_A_FILE)
                else:
                    yield Member(info.name, index, _MemberStream(file, f"{path}#{info.name}", Tally()))
                index += 1
                tar.members = []  # tarfile keeps every header otherwise
        except tarfile.TarError as error:
            raise CorruptDataError(path, f"tar near byte {stream.position}", "whole", str(error), _TODO) from None
        while stream.read(CHUNK_BYTES):  # what follows the end mark still has to decompress
            pass
        tally.decompressed_bytes = stream.position


def read_zip(path: Path, url: str, limits: Limits, tally: Tally) -> Iterator[Member | Reject]:
    """The members in the order of the directory. Raises CorruptDataError where the archive is broken or cut, or its
    members grow beyond the budget.
    """
    budget = limits.file_budget
    limit = min(budget.max_bytes, max(budget.min_bytes, path.stat().st_size * budget.max_ratio))
    try:
        with zipfile.ZipFile(path) as archive:
            for index, info in enumerate(archive.infolist()):
                place = f"{url}#{info.filename}"
                if info.is_dir() or stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
                    yield Reject(place, index, RejectReason.NOT_A_FILE)
                elif info.flag_bits & 1:
                    yield Reject(place, index, RejectReason.ENCRYPTED_MEMBER)
                else:
                    with archive.open(info) as file:
                        yield Member(info.filename, index, _MemberStream(file, f"{path}#{info.filename}", tally))
                if tally.decompressed_bytes > limit:
                    found, todo = tally.decompressed_bytes, "look at the file; if it is right, split it"
                    raise CorruptDataError(path, "decompressed bytes", f"at most {limit}", found, todo)
    except (*_BROKEN, NotImplementedError) as error:
        raise CorruptDataError(path, "zip", "whole", str(error), _TODO) from None


class _MemberStream:
    """A member's bytes; counts them, and says which member is broken."""

    def __init__(self, file: Any, label: str, tally: Tally) -> None:
        self._file, self._label, self._tally = file, label, tally

    def read(self, size: int) -> bytes:
        try:
            data = self._file.read(size)
        except _BROKEN as error:
            raise CorruptDataError(self._label, "member", "whole", str(error), _TODO) from None
        self._tally.decompressed_bytes += len(data)
        return data


class _StrictTarInfo(tarfile.TarInfo):
    """tarfile takes a broken or missing header for the end of the archive; here only the end mark is."""

    @classmethod
    def fromtarfile(cls, tar: tarfile.TarFile) -> "_StrictTarInfo":
        try:
            return super().fromtarfile(tar)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"{error or 'no header'} where a member or the end mark belongs") from None

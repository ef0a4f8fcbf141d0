"""What `corpus ledger add` finds out about files: their kind, SHA-256 and length.

A file from elsewhere is read once, into the cache under its SHA-256, so that the first build need not fetch it again.
"""

import hashlib
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from corpus_assets.commands.found_files import is_remote
from corpus_assets.commands.words import counted
from formats import durable
from formats.errors import ConfigError, TransientError
from formats.layout import Layout
from formats.ledger import LedgerFile
from resources.download.http_answer import FailedTry
from resources.download.progress import Progress, UnderWay, in_units
from resources.download.sources import Sources
from resources.download.wanted import masked

_BLOCK_BYTES = 1024 * 1024
_COMPRESSIONS = (".gz", ".zst", ".bz2", ".xz", ".lz4")
_KINDS = {
    ".warc": "warc", ".wet": "wet", ".html": "html", ".htm": "html", ".xhtml": "html", ".jsonl": "jsonl",
    ".ndjson": "jsonl", ".parquet": "parquet", ".txt": "text", ".text": "text", ".md": "markdown",
    ".markdown": "markdown",
}  # fmt: skip
_CONTAINERS = {".tar": "tar", ".tgz": "tar", ".tbz2": "tar", ".tzst": "tar", ".zip": "zip"}


class Counter:
    """What is measured so far: on a terminal one line, drawn over in place; elsewhere nothing but what went wrong."""

    REDRAW_SECONDS = 0.2

    def __init__(self, stream: TextIO, num_files: int) -> None:
        self._stream, self._of = stream, counted(num_files, "file")
        self._files, self._bytes, self._under_way = 0, 0, 0
        self._drawn = 0.0

    def begin(self, _one: UnderWay, _done: int) -> None:
        self._draw()

    def advance(self, _one: UnderWay, done: int) -> None:
        self._under_way = done
        self._draw()

    def event(self, file: str, words: str) -> None:
        self._clear()
        print(f"{file}: {words}", file=self._stream)

    def end(self, _one: UnderWay, _words: str) -> None:
        self._files, self._bytes, self._under_way = self._files + 1, self._bytes + self._under_way, 0
        self._draw()

    def close(self) -> None:
        self._clear()

    def _draw(self) -> None:
        if self._stream.isatty() and time.monotonic() - self._drawn >= self.REDRAW_SECONDS:
            self._drawn = time.monotonic()
            measured = in_units(self._bytes + self._under_way)
            print(f"\r\x1b[Kmeasured {self._files:,} of {self._of}, {measured}", end="", file=self._stream, flush=True)

    def _clear(self) -> None:
        if self._stream.isatty():
            print("\r\x1b[K", end="", file=self._stream, flush=True)


def guess(names: Sequence[str]) -> tuple[str | None, str | None]:
    """(kind, container) as the suffixes say, None where they do not say or do not agree."""
    suffixes = [_suffix(name) for name in names]
    kinds = {_KINDS.get(suffix) for suffix in suffixes}
    containers = {_CONTAINERS.get(suffix) for suffix in suffixes}
    return (kinds.pop() if len(kinds) == 1 else None), (containers.pop() if len(containers) == 1 else None)


def url_in_ledger(name: str, layout: Layout) -> str:
    """How the ledger names a file: a path below the artifacts root relative to the ledger, else absolute."""
    if is_remote(name):
        return name
    path, root = (Path(os.path.abspath(one)) for one in (name, layout.root))  # noqa: PTH100  keeps links
    return os.path.relpath(path, layout.ledger.parent.absolute()) if path.is_relative_to(root) else str(path)


def measure(name: str, layout: Layout, sources: Sources, progress: Progress) -> LedgerFile:
    """Read the file once. Raises ConfigError where it is not there, TransientError where it broke off or changed."""
    url = url_in_ledger(name, layout)
    if is_remote(name):
        return _measure_remote(name, layout.cache, sources, progress)
    try:
        with open(name, "rb") as file:
            before = os.fstat(file.fileno())
            progress.begin(one := UnderWay(name, before.st_size), 0)
            measured = _hash(iter(lambda: file.read(_BLOCK_BYTES), b""), one, progress)
            after = os.fstat(file.fileno())
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read ({error.strerror})") from None
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or after.st_size != measured[1]:
        raise TransientError(f"{name}: changed while it was measured; run the command again when it is finished")
    progress.end(one, "measured")
    return LedgerFile(url, *measured)


def _suffix(name: str) -> str:
    path = Path(name.partition("?")[0] if is_remote(name) else name)
    if path.suffix.lower() in _COMPRESSIONS:
        path = path.with_suffix("")
    return path.suffix.lower()


def _measure_remote(url: str, cache: Path, sources: Sources, progress: Progress) -> LedgerFile:
    cache.mkdir(parents=True, exist_ok=True)
    under_way = cache / f"ledger-add-{secrets.token_hex(8)}.partial"
    name = masked(url)
    try:
        with sources.get(url, 0, None) as answer, durable.naming(under_way), open(under_way, "wb") as file:
            progress.begin(one := UnderWay(name, answer.total or 0), 0)

            def blocks() -> Iterator[bytes]:
                while block := answer.read(_BLOCK_BYTES):
                    file.write(block)
                    yield block

            sha256, num_bytes = _hash(blocks(), one, progress)
            if answer.total is not None and num_bytes != answer.total:
                raise TransientError(f"{name}: ended at {num_bytes} of {answer.total} bytes; run the command again")
            file.flush()
            os.fsync(file.fileno())
        under_way.chmod(under_way.stat().st_mode & durable.READ_ONLY)
        under_way.replace(cache / sha256)
        durable.fsync_folder(cache)
    except BaseException as error:  # whatever ended it, an interrupt too: nothing half fetched stays
        with suppress(OSError):  # the first error is the one to see
            under_way.unlink()
        if isinstance(error, FailedTry):
            raise TransientError(f"{name}: {error}; run the command again") from None
        raise
    progress.end(one, f"measured, kept as {sha256[:12]}… in the cache")
    return LedgerFile(url, sha256, num_bytes)


def _hash(blocks: Iterator[bytes], one: UnderWay, progress: Progress) -> tuple[str, int]:
    hasher, num_bytes = hashlib.sha256(), 0
    for block in blocks:
        hasher.update(block)
        num_bytes += len(block)
        progress.advance(one, num_bytes)
    return hasher.hexdigest(), num_bytes

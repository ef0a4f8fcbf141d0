"""What the downloader's tests share: known bytes, a fetcher without waits, and a progress that remembers."""

import hashlib
from pathlib import Path

import pytest

from formats.errors import TransientError
from resources.download.fetcher import Fetcher
from resources.download.progress import UnderWay
from resources.download.settings import FetchSettings
from resources.download.wanted import Wanted

KIB = 1024
INTERVAL = 64 * KIB


def some_bytes(num_bytes: int, seed: str = "a") -> bytes:
    """Bytes that do not repeat, so that a splice or a shift never goes unseen."""
    return hashlib.shake_256(seed.encode()).digest(num_bytes)


CONTENT = some_bytes(300 * KIB + 17)
OTHER = some_bytes(len(CONTENT), "b")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def wanted(url: str, content: bytes, local_path: Path | None = None) -> Wanted:
    return Wanted(url, sha256(content), len(content), local_path)


class Remembered:
    """A Progress, and a `wait` that does not wait."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.files: list[str] = []
        self.waits: list[float] = []

    def begin(self, one: UnderWay, done: int) -> None:
        self.files.append(f"{one.file} {done}/{one.total}")

    def advance(self, one: UnderWay, done: int) -> None:
        pass

    def event(self, file: str, words: str) -> None:
        self.events.append(f"{file}: {words}")

    def end(self, one: UnderWay, words: str) -> None:
        self.files.append(f"{one.file} {words}")

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    def said(self, words: str) -> bool:
        return any(words in event for event in self.events)


def fetcher(cache: Path, memory: Remembered | None = None, **settings: object) -> Fetcher:
    """A fetcher with small intervals, which does not wait between tries."""
    memory = memory or Remembered()
    values = {"interval_bytes": INTERVAL, "read_timeout_seconds": 120.0, **settings}
    return Fetcher(cache, FetchSettings(**values), memory, memory.wait)


def give_up(cache: Path, url: str, content: bytes) -> None:
    """One try that breaks off, as the server's script says: it leaves a partial file behind."""
    with pytest.raises(TransientError, match="given up after 1 tries"):
        fetcher(cache, max_tries=1).fetch_all([wanted(url, content)])


def names_in(cache: Path) -> set[str]:
    """Everything in a cache folder, relative to it."""
    return {str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file()}

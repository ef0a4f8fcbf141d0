"""The property that every reader is fuzzed for: whatever the bytes, it gives what it reads or raises a CorpusError that
can be printed, within seconds of the processor and a bounded amount of memory.
"""

import importlib
import pkgutil
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from corpus_assets.records.record import Limits
from formats.compressed import Budget
from formats.errors import CorpusError
from tests.fuzz import targets

MAX_SECONDS = 20
MAX_GROWTH_BYTES = 256 << 20
"""By which one input may raise the process's highest use of memory: inputs are some KiB, `LIMITS` some MiB."""
LIMITS = Limits(1 << 20, 1_000, Budget(max_bytes=1 << 26, max_ratio=1_000, min_bytes=1 << 22))
"""The readers' own limits in small, so that what grows beyond them shows."""
FOUND = Path(__file__).with_name("found")
"""Inputs that once broke a reader, a folder a target."""


class TooSlow(Exception):
    """The input took more processor time than MAX_SECONDS."""


class TooMuchMemory(Exception):
    """The input took more memory than MAX_GROWTH_BYTES."""


@dataclass(frozen=True)
class Target:
    """A reader: `seeds` are inputs that it reads, `run` reads one (in a folder of its own), `words` are tokens of its
    format for the mutator, and `is_json` says that inputs are JSON, which is mutated value by value, too.
    """

    name: str
    seeds: list[bytes]
    run: Callable[[bytes, Path], None]
    words: tuple[bytes, ...] = ()
    is_json: bool = False


def names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(targets.__path__))


def load(name: str) -> Target:
    module = importlib.import_module(f"tests.fuzz.targets.{name}")
    words, is_json = getattr(module, "WORDS", ()), getattr(module, "IS_JSON", False)
    return Target(name, module.seeds(), module.run, words, is_json)


def found_before(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((FOUND / name).glob("*.bin"))]


def hold(target: Target, data: bytes, folder: Path) -> bool:
    """Whether the reader took the input; False where it refused it as it should. Raises anything else."""
    before = _peak_bytes()
    with _at_most(MAX_SECONDS):
        try:
            target.run(data, folder)
            taken = True
        except CorpusError as error:
            if not isinstance(error, ValueError):
                raise
            str(error).encode("utf-8")
            taken = False
    if (growth := _peak_bytes() - before) > MAX_GROWTH_BYTES:
        raise TooMuchMemory(f"{growth >> 20} MiB for {len(data)} bytes")
    return taken


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlow(f"more than {seconds} s of the processor")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)

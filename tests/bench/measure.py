"""One way to measure, and one table, for every bench.

A case runs in a process of its own, so that its peak memory is its own: inputs are made and code is compiled first and
not counted, then come three rounds, five where they differ by more than a fifth. CPU seconds are those of the process
and of all below it, so another program on the machine moves them little; wall time is shown only where it is the point.
"""

import importlib
import multiprocessing
import os
import platform
import resource
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from tests.bench.documents import Corpus

ROUNDS, MOST_ROUNDS, SPREAD = 3, 5, 1.2
WATCH_SECONDS = 0.02
_TICKS = os.sysconf("SC_CLK_TCK")
LIBRARIES = (
    "pyarrow", "numpy", "numba", "zstandard", "duckdb", "datasketch", "rensa", "fastwarc", "resiliparse", "pycld2",
    "fasttext-predict", "google-re2", "dagster",
)  # fmt: skip
"""Whose versions the machine line names."""


@dataclass(frozen=True)
class Prepared:
    """What one round does, and how much that is, in the unit of the case."""

    work: Callable[[], object]
    amount: float


@dataclass(frozen=True)
class Case:
    """One row of the table. `figure` is what ours must reach; `peer_of` names the row of ours that it stands beside."""

    prepare: Callable[[Corpus], Prepared]
    figure: float | None = None
    peer_of: str = ""
    unit: str = "MB"
    clock: Literal["CPU", "wall"] = "CPU"


@dataclass(frozen=True)
class Row:
    """One thing measured: each round, the figure (an upper limit where `is_cost`), and ours against a peer."""

    bench: str
    name: str
    unit: str
    rounds: tuple[float, ...]
    figure: float | None = None
    is_cost: bool = False
    peer_of: str = ""
    ratio: float | None = None
    """How many times the peer's value ours is."""
    peak_mb: float | None = None
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def reached(self) -> bool | None:
        return None if self.figure is None else _reached(self.median, self.figure, self.is_cost)

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "median": self.median, "reached": self.reached}

    def __str__(self) -> str:
        name = f"  beside it: {self.name}" if self.peer_of else self.name
        spread = f"{_short(min(self.rounds))}-{_short(max(self.rounds))}"
        beside = f"ours {self.ratio:,.2f}x" if self.ratio is not None and self.peer_of else self.note
        peak = "" if self.peak_mb is None else f"{self.peak_mb:,.0f} MB"
        figure = _figure(self.figure, self.is_cost, self.reached)
        return (
            f"{name:<50}{_short(self.median):>9} {self.unit:<14}{spread:>16}{figure:>14}{peak:>10}  {beside}".rstrip()
        )


@dataclass(frozen=True)
class Quality:
    """How right a stage is: a measure, and the figure it must reach."""

    bench: str
    name: str
    value: float
    figure: float | None = None
    is_cost: bool = False
    note: str = ""

    @property
    def reached(self) -> bool | None:
        return None if self.figure is None else _reached(self.value, self.figure, self.is_cost)

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "reached": self.reached}

    def __str__(self) -> str:
        figure = _figure(self.figure, self.is_cost, self.reached)
        return f"{self.name:<60}{self.value:>10.4g}{figure:>16}  {self.note}".rstrip()


SPEED_HEAD = f"{'stage':<50}{'median':>9} {'unit':<14}{'rounds':>16}{'to reach':>14}{'peak':>10}  beside it"
QUALITY_HEAD = f"{'how right':<60}{'value':>10}{'to reach':>16}"


def _reached(value: float, figure: float, is_cost: bool) -> bool:
    return value <= figure if is_cost else value >= figure


def _figure(figure: float | None, is_cost: bool, reached: bool | None) -> str:
    if figure is None:
        return ""
    return f"{'<=' if is_cost else '>='} {figure:,g} {'ok' if reached else 'MISSED'}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def run_cases(bench: str, cases: dict[str, Case], corpus: Corpus) -> Iterator[Row]:
    """Measure `CASES` of the module tests.bench.<bench>, each in a process of its own; a peer after what it is beside.

    Raises RuntimeError where a case fails; its process has printed why.
    """
    medians: dict[str, float] = {}
    for name, case in cases.items():
        rounds, peak_mb = _in_own_process(bench, name, corpus)
        medians[name] = statistics.median(rounds)
        ratio = medians[case.peer_of] / medians[name] if case.peer_of else None
        unit = f"{case.unit}/{case.clock} s"
        yield Row(bench, name, unit, rounds, case.figure, False, case.peer_of, ratio, peak_mb)


def _in_own_process(bench: str, name: str, corpus: Corpus) -> tuple[tuple[float, ...], float]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(bench, name, corpus, there))
    process.start()
    there.close()
    try:
        with Peak(process.pid or 0) as peak:
            here.recv()  # everything is prepared
            peak.begin()
            rounds, own_peak_mb = here.recv()
    except EOFError:
        raise RuntimeError(f"{bench}: {name} failed") from None
    finally:
        here.close()
        process.join()
    return tuple(rounds), max(own_peak_mb, peak.mb)


def _measure(bench: str, name: str, corpus: Corpus, answer: Connection) -> None:
    case: Case = importlib.import_module(f"tests.bench.{bench}").CASES[name]
    prepared = case.prepare(corpus)
    with suppress(OSError):  # the high-water mark begins anew
        Path("/proc/self/clear_refs").write_text("5")
    answer.send("prepared")
    seconds = rounds_of(lambda: (cpu_of if case.clock == "CPU" else wall_of)(prepared.work))
    answer.send(([prepared.amount / one for one in seconds], _status_mb(os.getpid(), "VmHWM")))


def rounds_of(measure: Callable[[], float]) -> list[float]:
    """Three measurements, five where they differ by more than a fifth."""
    found = [measure() for _ in range(ROUNDS)]
    while len(found) < MOST_ROUNDS and max(found) > SPREAD * min(found):
        found.append(measure())
    return found


def cpu_of(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = cpu_seconds()
    work()
    return max(cpu_seconds() - start, 1e-6)


def wall_of(work: Callable[[], object]) -> float:
    """Wall seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cpu_seconds() -> float:
    """CPU seconds of this process and of all below it, ended ones included."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) + sum(map(_ticks, below(os.getpid()))) / _TICKS


def _ticks(process: int) -> int:
    """Of a process and of those below it that have ended."""
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:15]))
    return 0


def below(process: int) -> list[int]:
    """Every living process below one."""
    found, todo = [], [process]
    while todo:
        with suppress(OSError):  # it ended meanwhile
            for path in Path(f"/proc/{todo.pop()}/task").glob("*/children"):
                children = [int(child) for child in path.read_text().split()]
                found += children
                todo += children
    return found


def _status_mb(process: int, name: str) -> float:
    """A size from /proc/<process>/status in MB; 0 for a process that has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0


class Peak:
    """The most resident memory that a process and all below it had together, in MB, while this is open."""

    def __init__(self, process: int) -> None:
        self.mb, self._process = 0.0, process
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch)

    def begin(self) -> None:
        """Forget what was before."""
        self.mb = 0.0

    def __enter__(self) -> "Peak":
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._over.wait(WATCH_SECONDS):
            processes = [self._process, *below(self._process)]
            self.mb = max(self.mb, sum(_status_mb(process, "VmRSS") for process in processes))


def machine() -> dict[str, Any]:
    """Where and with what this was measured."""
    names = {
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    }
    return {
        "cpu": ", ".join(sorted(names)) or platform.processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "libraries": dict(_versions(LIBRARIES)),
        "load_average": round(os.getloadavg()[0], 2),
    }


def _versions(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        with suppress(metadata.PackageNotFoundError):
            yield name, metadata.version(name)

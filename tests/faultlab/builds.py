"""A build in a process of its own that can be stopped, hurt and killed: forked from the lab, which has everything
loaded, and by the plans alone or the `corpus` command itself; or that command as a person starts it. Where nothing is
done to the process it is the lab itself: a fork of so much costs half as much as the build.
"""

import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from corpus_assets import cli
from corpus_assets.commands import build as build_command
from corpus_assets.commands import environment
from corpus_assets.plans.pinned import Build, load_version
from corpus_assets.plans.raw_set import fetch_raw_set
from formats.dataset import Dataset
from formats.layout import Layout
from formats.naming import VersionKey
from resources.download.fetcher import Fetcher
from resources.download.settings import FetchSettings
from resources.engines.local import LocalEngine
from tests.build_by_plans import Step, steps
from tests.e2e import starter_runs
from tests.faultlab import hooks

FETCH = FetchSettings(
    interval_bytes=4096, max_tries=3, connect_timeout_seconds=5, read_timeout_seconds=0.5, backoff_seconds=0.001
)
"""Files of the starter are small, so are the intervals between checkpoints; nobody waits long."""
NOBODY = 65534
HANGS_AFTER_SECONDS = 600.0
"""For what takes a second: other programs may leave little of the machine to this one."""


@dataclass(frozen=True)
class How:
    """How one build is run. `stop_at` and `slow_from` count changes of the disk, `file_limit` is in bytes.

    `pool` (n, d): the n-th map over several shards runs in processes, and stops when d shards are done. `real` is the
    `corpus` command with Dagster, `cold` the same in a process that loads everything anew.
    """

    version: str = "starter.v1"
    workers: int = 1
    pool: tuple[int, int] | None = None
    real: bool = False
    cold: bool = False
    stop_at: int | None = None
    slow_from: int | None = None
    clock_seconds: float = 0
    proxy: str | None = None
    file_limit: int | None = None
    as_nobody: bool = False

    @property
    def stops(self) -> bool:
        return self.stop_at is not None or self.pool is not None

    @property
    def in_the_lab(self) -> bool:
        """Nothing is done to the process, so it need not be one of its own."""
        return replace(self, version="", workers=1, proxy=None) == How(version="")


@dataclass(frozen=True)
class Ended:
    """`code` is negative for a signal and None for a build that hung; `words` is all it printed."""

    code: int | None
    words: str


class Running:
    """A build under way."""

    def __init__(self, root: Path, how: How, log: Path) -> None:
        self._log, self._how = log, how
        self._heard, say = os.pipe()
        hear, self._tell = os.pipe()
        words = (str(root), how.stop_at, say, hear, how.slow_from, how.clock_seconds)
        if how.cold:
            self.pid = _start_command(root, how, log, words)
        else:
            sys.stdout.flush()
            self.pid = os.fork()
            if self.pid == 0:
                _be_the_build(root, how, log, words, (self._heard, self._tell))
        os.close(say)
        os.close(hear)
        self._deadline = time.monotonic() + HANGS_AFTER_SECONDS

    def stopped(self) -> bool:
        """Wait for the moment asked for: whether it came before the end."""
        if not self._how.stops:
            return False
        ready, _, _ = select.select([self._heard], [], [], max(0, self._deadline - time.monotonic()))
        return bool(ready) and os.read(self._heard, 1) == b"!"

    def go_on(self) -> None:
        with suppress(BrokenPipeError):  # it was killed
            os.write(self._tell, b".")

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def below(self) -> list[int]:
        """The processes that this one started, theirs included."""
        parents = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(folder.name)] = int(fields[1])
        found = [self.pid]
        for pid in found:
            found += sorted(child for child, parent in parents.items() if parent == pid)
        return found[1:]

    def end(self) -> Ended:
        """Wait for the end; what hangs is killed."""
        code = None
        while code is None and time.monotonic() < self._deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
            else:
                time.sleep(0.003)
        if code is None:
            self.kill()
            os.waitpid(self.pid, 0)
        os.close(self._heard)
        os.close(self._tell)
        return Ended(code, self._log.read_text("utf-8", "replace"))


def _start_command(root: Path, how: How, log: Path, words: tuple) -> int:
    names = ("root", "stop_at", "say", "hear", "slow_from", "clock_seconds")
    variables = starter_runs.environment()
    injected = Path(__file__).with_name("injected")
    variables["PYTHONPATH"] = f"{injected}:{starter_runs.PROJECT}"
    variables[hooks.VARIABLE] = json.dumps(dict(zip(names, words, strict=True)))
    command = [sys.executable, "-m", "corpus_assets.cli", "--root", str(root), "build", how.version]
    with open(log, "w") as out:
        process = subprocess.Popen(
            [*command, "--workers", str(how.workers)],
            cwd=starter_runs.PROJECT, env=variables, stdout=out, stderr=out, pass_fds=words[2:4],
        )  # fmt: skip
    process.returncode = 0  # it is `end` that waits for it
    return process.pid


def _be_the_build(root: Path, how: How, log: Path, words: tuple, theirs: tuple[int, int]) -> None:
    """The rest of the life of a forked child."""
    code = 99
    try:
        for fd in theirs:
            os.close(fd)
        _print_to(log)
        _set_environment(how)
        if how.as_nobody and os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        if how.file_limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (how.file_limit, how.file_limit))
        hooks.install(*words)
        code = _command(root, how, words[2:4])
    except BaseException:  # the log has it; out of a fork nothing may go on
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _set_environment(how: How) -> None:
    for name in ("http_proxy", "no_proxy", *starter_runs.OURS):
        os.environ.pop(name, None)
    if how.proxy:
        os.environ["http_proxy"] = how.proxy


def _print_to(log: Path) -> None:
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.close(out)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115  they stay


def _command(root: Path, how: How, pipes: tuple[int, int] = (-1, -1)) -> int:
    """`corpus build` in this process; its exit code, 99 after what a person would see as a traceback."""
    as_it_is = build_command.build
    if not how.real:
        build_command.build = lambda layout, key, **_: by_plans(layout, key, how, pipes)
    try:
        return cli.main(["--root", str(root), "build", how.version])
    except Exception:  # as the interpreter would tell it
        traceback.print_exc()
        return 99
    finally:
        build_command.build = as_it_is
        sys.stdout.flush()
        sys.stderr.flush()


class _HungError(BaseException):
    """Which no build catches."""


def in_the_lab(root: Path, how: How, log: Path) -> Ended:
    """A build to whose process nothing is done, by the plans, in this one: within HANGS_AFTER_SECONDS, or it hangs."""

    def stop(*_: object) -> None:
        raise _HungError

    before, place, streams = dict(os.environ), Path.cwd(), (os.dup(1), os.dup(2), sys.stdout, sys.stderr)
    umask = os.umask(0o22)
    os.umask(umask)
    sys.stdout.flush()
    sys.stderr.flush()
    _print_to(log)
    _set_environment(how)
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(int(HANGS_AFTER_SECONDS))
    try:
        code: int | None = _command(root, how)
    except _HungError:
        code = None
    finally:
        signal.alarm(0)
        for number, stream in ((1, streams[0]), (2, streams[1])):
            os.dup2(stream, number)
            os.close(stream)
        sys.stdout, sys.stderr = streams[2:]
        os.environ.clear()
        os.environ.update(before)
        os.umask(umask)
        os.chdir(place)
    return Ended(code, log.read_text("utf-8", "replace"))


def by_plans(layout: Layout, key: VersionKey, how: How, pipes: tuple[int, int]) -> int:
    """What stands in for `corpus build` in a forked child."""
    build_command.check_rows(layout, load_version(layout, key))
    environment.prepare(layout)
    for _, step in steps_of(layout, key, _engine(layout, how, pipes)):
        step()
    return 0


def steps_of(layout: Layout, key: VersionKey, engine: LocalEngine) -> Iterator[Step]:
    """The steps of a build that fetches quickly and tells nobody."""
    fetcher = Fetcher(layout.cache, FETCH, _Silent())
    return steps(Build(layout, engine), key, lambda row: fetch_raw_set(layout, row, fetcher))


def one_worker(layout: Layout) -> LocalEngine:
    return LocalEngine(scratch=layout.corpus / "work" / "scratch", workers=1)


def _engine(layout: Layout, how: How, pipes: tuple[int, int]) -> LocalEngine:
    scratch = layout.corpus / "work" / "scratch"
    if how.pool is None:
        return LocalEngine(scratch=scratch, workers=how.workers)
    number, after = how.pool
    say, hear = pipes

    def stop(done: int, total: int, _rows: int) -> None:
        if done == min(after, total - 1):
            os.write(say, b"!")
            os.read(hear, 1)

    return _OnePool(scratch=scratch, workers=how.workers, number=number, stop=stop)


@dataclass(frozen=True, kw_only=True)
class _OnePool(LocalEngine):
    """Runs the map of that number in processes, since processes take seconds; the other ones in threads."""

    number: int
    stop: Callable[[int, int, int], None]
    maps: list[None] = field(default_factory=list)

    def _run(self, job: Any, items: Sequence[Any], source: Dataset) -> list[Any]:
        if len(items) > 1:
            self.maps.append(None)
        if len(items) > 1 and len(self.maps) == self.number:
            pool = LocalEngine(scratch=self.scratch, workers=self.workers, processes=True, progress=self.stop)
            return pool._run(job, items, source)
        return super()._run(job, items, source)


class _Silent:
    def begin(self, *_: object) -> None: ...
    def advance(self, *_: object) -> None: ...
    def event(self, *_: object) -> None: ...
    def end(self, *_: object) -> None: ...

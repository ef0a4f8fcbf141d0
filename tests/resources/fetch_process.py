"""A process that fetches one file, to be killed: `python -m tests.resources.fetch_process '{"cache": …}'`.

`kill_points` instead runs a fresh process (a fork) for each place at which the disk can be left half changed: the first
one kills itself there, the second one goes on. Every byte that reaches a process is reported before it is used.
"""

import json
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from urllib3.connection import HTTPConnection

from formats.errors import CorpusError
from resources.download.fetcher import Fetcher
from resources.download.partial_file import PartialFile
from resources.download.progress import LogProgress
from resources.download.settings import FetchSettings
from resources.download.wanted import Wanted

ON_DISK = ("write", "fsync", "replace", "rename", "unlink", "chmod")


class _Events(LogProgress):
    """Prints events, for a test to read."""

    def event(self, _file: str, words: str) -> None:
        print(words, flush=True)


def fetch(job: dict[str, Any]) -> None:
    settings = FetchSettings(interval_bytes=job["interval"], backoff_seconds=0, read_timeout_seconds=job["timeout"])
    file = Wanted(job["url"], job["sha256"], job["num_bytes"])
    Fetcher(Path(job["cache"]), settings, _Events()).fetch_all([file], resume_only=job["resume_only"])


def report_received(report: Path) -> None:
    """Write how far the process got, as soon as it has the bytes in its own memory."""
    fd = os.open(report, os.O_WRONLY | os.O_CREAT)
    add, pwrite = PartialFile.add, os.pwrite

    def reporting_add(self: PartialFile, block: bytes) -> None:
        pwrite(fd, struct.pack("<q", self.position + len(block)), 0)
        add(self, block)

    PartialFile.add = reporting_add


def received(report: Path) -> int:
    return struct.unpack("<q", report.read_bytes())[0] if report.exists() and report.stat().st_size else 0


def die_at(point: int) -> None:
    """Kill this process at its `point`-th place: before each change of the disk, and in the middle of each write."""
    places = [0]

    def dying(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            place = places[0]
            places[0] += 2 if name == "write" else 1
            if place == point:
                os.kill(os.getpid(), signal.SIGKILL)
            if name == "write" and place + 1 == point:
                real(args[0], args[1][: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return call

    for name in ON_DISK:
        setattr(os, name, dying(name, getattr(os, name)))


def _in_fork(work: Callable[[], None]) -> int:
    """Run `work` in a child; returns its wait status."""
    if (pid := os.fork()) == 0:
        try:
            work()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def kill_points(job: dict[str, Any]) -> None:
    """One JSON line a point, until a process gets to its end alive."""
    cache, point, status = Path(job["cache"]), 0, signal.SIGKILL
    while status == signal.SIGKILL:
        here = {**job, "cache": str(cache / str(point))}
        report = cache / f"{point}.received"

        def die(here: dict[str, Any] = here, report: Path = report, point: int = point) -> None:
            report_received(report)
            die_at(point)
            fetch({**here, "url": f"{job['url']}?token={point}-first"})

        status = _in_fork(die)
        second = _in_fork(lambda here=here, point=point: fetch({**here, "url": f"{job['url']}?token={point}-second"}))
        line = {"point": point, "status": status, "second": second, "received": received(report)}
        print("line", json.dumps(line), flush=True)
        point += 1


def main() -> int:
    job = {"timeout": 120.0, "resume_only": False, **json.loads(sys.argv[1])}
    if job.get("kill_points"):
        kill_points(job)
        return 0
    if "buffer" in job:
        HTTPConnection.default_socket_options.append((socket.SOL_SOCKET, socket.SO_RCVBUF, job["buffer"]))
    if "max_file_bytes" in job:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["max_file_bytes"], resource.RLIM_INFINITY))
    if "report" in job:
        report_received(Path(job["report"]))
    try:
        fetch(job)
    except CorpusError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""One guarded process, seen from its parent: start it, ask it, know of what it died."""

import fcntl
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import IO, Any

from formats.errors import ConfigError, TransientError
from resources.guarded import child

PIPE_BYTES = 1024 * 1024
_GRACE_SECONDS = 10.0
_START = "import sys; sys.path[:] = {path!r}; from resources.guarded.child import main; main({arguments})"
_FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT}
"""No fault of a function ends a process so: the kernel short of memory, a person or a supervisor does."""
_OUT_OF_TIME = {signal.SIGPROF, signal.SIGALRM}


@dataclass(frozen=True)
class Limits:
    """What one item may take: seconds of the processor, seconds on the clock; and bytes of address space a process."""

    cpu_seconds: float = 60.0
    wall_seconds: float = 3_600.0
    memory_bytes: int = 1024**3


DEFAULT_LIMITS = Limits()


class Cause(Enum):
    """Of what a process died."""

    ITSELF = "itself"
    TIME = "time"
    OUTSIDE = "outside"


class DiedError(Exception):
    """The process is gone without an answer. `fresh` where it had answered nothing before."""

    def __init__(self, cause: Cause, words: str, *, fresh: bool) -> None:
        super().__init__(words)
        self.cause, self.fresh = cause, fresh


class Process:
    """A running child. Not for two threads at once, but for `kill`."""

    def __init__(self, function: str, limits: Limits) -> None:
        """Raises ConfigError where the function cannot be loaded, TransientError where the system gives no process,
        DiedError where it was killed meanwhile.
        """
        self._function, self._limits = function, limits
        self._fresh, self._ending = True, threading.Lock()
        self._lifeline: int | None
        lifeline, self._lifeline = os.pipe()
        settings = (function, lifeline, limits.cpu_seconds, limits.wall_seconds, limits.memory_bytes)
        code = _START.format(path=sys.path, arguments=", ".join(map(repr, settings)))
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=(lifeline,),
                process_group=0,  # a terminal's Ctrl-C is not for it
            )
        except OSError as error:
            os.close(self._lifeline)
            raise TransientError(
                f"no process could be started for {function}: {error}; free memory or processes, then run again"
            ) from error
        finally:
            os.close(lifeline)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests = self._process.stdin
        self._answers = self._process.stdout
        for pipe in (self._requests, self._answers):
            _widen(pipe)
        if child.receive(self._answers, limits.memory_bytes) is None:
            death = self._death()
            if death.cause is Cause.OUTSIDE:
                raise death
            raise ConfigError(f"{function} cannot be loaded in a process of its own ({death}); see stderr for why")

    def ask(self, items: Sequence[tuple[Any, ...]]) -> list[Any]:
        """What the function returns for each item. Raises DiedError, and the process has ended; RuntimeError where the
        function raised something.
        """
        answer: bytes | None = b""
        plain = [tuple(item) for item in items]  # a class of its own would load its module there
        try:
            pickle.dump(plain, self._requests, protocol=5)  # straight into the pipe: long values are not copied
            self._requests.flush()
            answer = child.receive(self._answers, self._limits.memory_bytes)
            results = None if answer is None else json.loads(answer)
        except BrokenPipeError:
            answer = None
        except (ValueError, RecursionError):  # too long, no JSON: its memory is no longer what it was
            results = None
        if answer is None:
            raise self._death()
        if isinstance(results, str):
            raise RuntimeError(f"{self._function} failed, and not by a fault of the item: {results}")
        if not isinstance(results, list) or len(results) != len(items):
            self.kill()
            raise DiedError(Cause.ITSELF, "an answer that makes no sense", fresh=self._fresh)
        self._fresh = False
        return results

    def kill(self) -> None:
        """End it at once, whatever it does. May be called twice, and while another thread asks."""
        self._process.kill()
        self._process.wait()
        with self._ending:
            if self._lifeline is not None:
                os.close(self._lifeline)
                self._lifeline = None

    def _death(self) -> DiedError:
        """Of what it died; it is ended here where it only closed its pipe."""
        try:
            ended = self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            ended = 0
        self.kill()
        for pipe in (self._requests, self._answers):
            with suppress(OSError):  # what it did not read is lost with it
                pipe.close()
        if ended >= 0:
            return DiedError(Cause.ITSELF, f"it ended with code {ended}", fresh=self._fresh)
        number = signal.Signals(-ended)
        cause = Cause.TIME if number in _OUT_OF_TIME else Cause.OUTSIDE if number in _FROM_OUTSIDE else Cause.ITSELF
        return DiedError(cause, f"it was ended by {number.name}", fresh=self._fresh)


def _widen(pipe: IO[bytes]) -> None:
    """Fewer turns between two processes; the system's smaller size also works."""
    with suppress(OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

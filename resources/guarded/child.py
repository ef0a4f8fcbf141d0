"""What runs in a guarded process. Standard library only, so that one starts in some hundredths of a second.

Every limit is the system's to keep, not Python's: native code that never comes back, or never lets go of the
interpreter's lock, ends all the same. The processor time of an item ends in SIGPROF, its time on the clock in SIGALRM,
too much memory in a failed allocation, and the parent's death in SIGIO.
"""

import fcntl
import importlib
import json
import os
import pickle
import resource
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

LENGTH = struct.Struct("<Q")
"""Goes before every answer."""


def send(out: IO[bytes], message: bytes) -> None:
    out.write(LENGTH.pack(len(message)))
    out.write(message)
    out.flush()


def receive(source: IO[bytes], max_bytes: int) -> bytes | None:
    """The next answer; None where the other end is gone. Raises ValueError for one that says it is longer."""
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    if length > max_bytes:
        raise ValueError(f"an answer of {length} bytes")
    message = source.read(length)
    return message if len(message) == length else None


def main(function: str, lifeline: int, cpu_seconds: float, wall_seconds: float, memory_bytes: int) -> None:
    """Answer requests (a pickled list of argument tuples) with JSON lists of what `module:function` returns, or with
    the words of what it raised, until there are no more. `lifeline` is a pipe's end that nobody writes to.
    """
    for number in (signal.SIGPROF, signal.SIGALRM, signal.SIGIO):
        signal.signal(number, signal.SIG_DFL)  # they end the process, whatever the parent does with its own
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    _die_with_the_writer_of(lifeline)
    _offer_to_the_memory_killer()
    _lower(resource.RLIMIT_AS, memory_bytes)
    _lower(resource.RLIMIT_CORE, 0)
    requests, answers = _private_pipes()
    call = _load(function)
    send(answers, b"ready")
    while (items := _next_request(requests)) is not None:
        results: list[Any] = []
        answer: list[Any] | str = results
        try:
            for arguments in items:
                signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
                signal.setitimer(signal.ITIMER_REAL, wall_seconds)
                results.append(call(*arguments))
        except MemoryError:
            os._exit(1)
        except Exception as error:  # not handled here: raised again by the parent
            traceback.print_exc()
            answer = f"{type(error).__name__}: {error}"
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        # Not pickled: what a hostile page may have made of this process must not be run in the parent.
        send(answers, json.dumps(answer).encode("ascii"))


def _next_request(requests: IO[bytes]) -> list[tuple[Any, ...]] | None:
    try:
        return pickle.load(requests)
    except EOFError:
        return None


def _die_with_the_writer_of(pipe: int) -> None:
    """A thread that waits for the pipe's end would need the interpreter's lock, and a death signal by prctl comes
    when the parent's thread ends, not the parent.
    """
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    os.set_blocking(pipe, False)
    try:
        if os.read(pipe, 1) == b"":
            sys.exit(1)  # it died before
    except BlockingIOError:
        pass


def _offer_to_the_memory_killer() -> None:
    """Where memory runs short, the system ends this process before its parent: its item is only tried again."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("900")


def _lower(limit: int, wanted: int) -> None:
    _, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """(requests, answers). Whatever else reads finds nothing, and what is printed goes to stderr."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return requests, answers


def _load(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)

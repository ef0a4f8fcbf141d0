"""Functions that go wrong on the items that say so, for the tests of guarded processes."""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

from corpus_assets.stages.main_text import main_text


def act(word: str) -> str:
    """The word in capitals, or what it tells to do."""
    name, _, argument = word.partition(" ")
    if name in _ACTS:
        _ACTS[name](argument)
    return word.upper()


def page(utf8: bytes, main_content: bool) -> str | None:
    """The text of a page; one that holds `<!--act: … -->` does that first."""
    _, found, rest = utf8.partition(b"<!--act: ")
    if found:
        act(rest[: rest.index(b"-->")].decode())
    return main_text(utf8, main_content)


def quality_page(utf8: bytes, main_content: bool) -> tuple[str | None, str]:
    """The same for the quality mode."""
    return page(utf8, main_content), "trafilatura"


def loaded(_word: str) -> list[str]:
    """The modules of the process."""
    return sorted(sys.modules)


def number(_word: str) -> int:
    return os.getpid()


def _read_null(_argument: str) -> None:
    ctypes.string_at(0)


def _eat_memory(megabytes: str) -> None:
    held = []
    while len(held) < int(megabytes):
        held.append(b"x" * 1_000_000)


def _loop(_argument: str) -> None:
    while True:
        pass


def _burn(seconds: str) -> None:
    end = time.process_time() + float(seconds.split()[0])
    while time.process_time() < end:
        pass


def _hold_the_lock(_argument: str) -> None:
    """Wait for ever without letting go of the interpreter's lock, as native code may."""
    ctypes.PyDLL(None).pause()


def _tell_and_hold(path: str) -> None:
    """Write the process's number to a file, then wait for ever."""
    temporary = Path(f"{path}.{os.getpid()}")
    temporary.write_text(str(os.getpid()))
    temporary.rename(path)
    _hold_the_lock("")


def _once(argument: str) -> None:
    """Do something unless that file is there already."""
    path, _, what = argument.partition(" ")
    if not Path(path).exists():
        Path(path).touch()
        act(what)


def _raise(words: str) -> None:
    raise ValueError(words)


def _memory_error(_argument: str) -> None:
    raise MemoryError


_ACTS = {
    "read-null": _read_null,
    "abort": lambda _: os.abort(),
    "exit": lambda code: os._exit(int(code)),
    "die-of": lambda number: os.kill(os.getpid(), int(number)),
    "killed": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "eat": _eat_memory,
    "loop": _loop,
    "hold-the-lock": _hold_the_lock,
    "tell-and-hold": _tell_and_hold,
    "once": _once,
    "raise": _raise,
    "memory-error": _memory_error,
    "print": lambda words: print(words, flush=True),
    "garbage": lambda _: os.write(_answers(), b"\x05\0\0\0\0\0\0\0]]]]]"),
    "too-long": lambda _: os.write(_answers(), b"\xff" * 8),
    "too-deep": lambda _: os.write(_answers(), (100_000).to_bytes(8, "little") + b"[" * 100_000),
    "one-more": lambda _: os.write(_answers(), b"\x09\0\0\0\0\0\0\0[1,2,3,4]"),
    "sleep": lambda seconds: time.sleep(float(seconds.split()[0])),
    "burn": _burn,
}


def _answers() -> int:
    """The pipe that goes to the parent: the one that is open for writing beside stderr."""
    for descriptor in range(3, 64):
        try:
            if str(Path(f"/proc/self/fd/{descriptor}").readlink()).startswith("pipe:") and _is_writable(descriptor):
                return descriptor
        except OSError:
            continue
    raise AssertionError("no pipe")


def _is_writable(descriptor: int) -> bool:
    flags = int(Path(f"/proc/self/fdinfo/{descriptor}").read_text().split("flags:")[1].split()[0], 8)
    return flags & os.O_ACCMODE == os.O_WRONLY

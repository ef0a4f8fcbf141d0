"""Output whose reader may go away: a pipe that is closed, a terminal that is hung up, a disk that is full."""

import errno
import os
from contextlib import suppress
from typing import TextIO

_NOBODY_READS = frozenset({errno.EPIPE, errno.EIO})
"""Of a pipe, and of a terminal: nobody will ever read there again."""


def say(text: str, out: TextIO) -> None:
    """Print a line at once, or lose it: for what has to go on whoever listens."""
    try:
        print(text, file=out, flush=True)
    except OSError as error:
        if error.errno in _NOBODY_READS:
            give_up(out)


def give_up(out: TextIO) -> None:
    """Let what the output does not take go nowhere, so that the interpreter does not try it again at its exit."""
    with suppress(OSError):
        out.flush()
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, out.fileno())
    os.close(nowhere)

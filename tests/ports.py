"""Ports of this machine: one for a server that must be told its own, and one where nobody listens."""

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OF_THE_KERNEL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST = 10_000


def free() -> int:
    """A port that is free, and below those that the kernel hands out to whoever asks for any: it stays free until the
    server that is told it has started.
    """
    end = int(_OF_THE_KERNEL.read_text().split()[0])
    draw = random.SystemRandom()  # several processes of tests look at the same time
    while True:
        port = draw.randrange(_FIRST, end)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@contextmanager
def closed() -> Iterator[int]:
    """A port that nobody else can take meanwhile, and where nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]

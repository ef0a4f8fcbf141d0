"""A real PostgreSQL server on this machine, of Debian's package `postgresql`, for as long as a test needs it."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import ports

USER = "postgres"
"""Debian's package makes it; the server refuses to run as root."""


def _programs() -> Path:
    """The folder of the newest server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if not found and not shutil.which("initdb"):
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    return found[-1].parent if found else Path(str(shutil.which("initdb"))).resolve().parent


def _as_user() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    try:
        user = pwd.getpwnam(USER)
    except KeyError:
        pytest.skip(f"there is no user {USER} to run PostgreSQL as: apt-get install postgresql")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@contextmanager
def running() -> Iterator[str]:
    """The URL of an empty database; the server is stopped and removed afterwards."""
    programs, user = _programs(), _as_user()
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as folder:
        if user:
            os.chown(folder, user["user"], user["group"])
        data, port = Path(folder) / "data", ports.free()
        at = {"cwd": folder, "env": {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}, **user}
        words = [programs / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **at)
        settings = [f"port={port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={folder}", "fsync=off"]
        options = [word for setting in settings for word in ("-c", setting)]
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **at
        )
        try:
            ready = [programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
            while subprocess.run(ready, check=False).returncode != 0:
                if server.poll() is not None:
                    raise RuntimeError(f"PostgreSQL ended with {server.returncode}")
                time.sleep(0.1)
            yield f"postgresql+psycopg2://{USER}@127.0.0.1:{port}/{USER}"
        finally:
            server.send_signal(signal.SIGINT)  # fast: SIGTERM would wait for clients that hold a connection
            server.wait()

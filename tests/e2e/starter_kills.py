"""A `corpus` command that is killed at a moment of its work, not of the clock."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.e2e import starter_runs

_POLL_SECONDS = 0.001


def kill_when(root: Path, *words: str, seen: Callable[[], bool]) -> None:
    """Run `corpus --root ROOT WORDS`, and kill -9 it with all its children as soon as `seen` is true."""
    command = [sys.executable, "-m", "corpus_assets.cli", "--root", str(root), *words]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = starter_runs.environment()
    with subprocess.Popen(
        command, cwd=starter_runs.PROJECT, env=environment, start_new_session=True, **quiet
    ) as process:
        while not seen():
            try:
                process.wait(timeout=_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError("the command ended before it could be killed")
        os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL

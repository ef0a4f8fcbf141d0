"""`corpus up` as a process: alone on its root, and ended by TERM and INT with all that it runs, in a background too."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from corpus_assets.commands import up_process
from formats.errors import ConfigError
from formats.layout import Layout

_CHILD = """
import os, signal, subprocess, sys, time
if sys.argv[2] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:  # as Dagster does: what INT does, TERM does
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
held = os.open(sys.argv[1], os.O_RDWR)  # the grandchild has it, too
os.set_inheritable(held, True)
import fcntl; fcntl.flock(held, fcntl.LOCK_SH)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], close_fds=False)
print("began", flush=True)
time.sleep(600)
"""
_PARENT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell's & has it
from pathlib import Path
from corpus_assets.commands import up_process
from formats.layout import Layout
up_process._END_SECONDS = float(sys.argv[4])
def show(fd):
    while data := os.read(fd, 100):
        os.write(1, data)
with up_process.alone(Layout(Path(sys.argv[1])), "http://127.0.0.1:1") as lock:
    sys.exit(up_process.run([sys.executable, "-c", sys.argv[3], sys.argv[2], sys.argv[5]], lock, show))
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
@pytest.mark.parametrize(("kind", "seconds"), [("willing", "60"), ("deaf", "0.1")])
def test_term_and_int_end_it_and_all_that_it_runs(
    tmp_path: Path, number: int, code: int, kind: str, seconds: str
) -> None:
    alive = tmp_path / "alive"
    alive.touch()
    words = [sys.executable, "-c", _PARENT, str(tmp_path / "root"), str(alive), _CHILD, seconds, kind]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "began\n"
        os.kill(process.pid, number)
        assert process.wait(120) == code
    with open(alive, "rb") as file:  # neither the child nor what it started holds it
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_what_ends_by_itself_is_said_to_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with up_process.alone(Layout(tmp_path), "http://127.0.0.1:1") as lock:
        assert up_process.run([sys.executable, "-c", "raise SystemExit(3)"], lock, lambda _: None) == 1
    assert "Dagster ended by itself, with 3" in capsys.readouterr().err


def test_a_second_one_of_a_root_is_told_who_has_it_and_one_of_another_root_is_not(tmp_path: Path) -> None:
    ours, theirs = Layout(tmp_path / "ours"), Layout(tmp_path / "theirs")
    with up_process.alone(ours, "http://127.0.0.1:3000"):
        for again in (lambda: up_process.hold_alone(ours), lambda: up_process.alone(ours, "http://x").__enter__()):
            with pytest.raises(ConfigError, match=f"process {os.getpid()}, at http://127.0.0.1:3000, has this root"):
                again()
        up_process.hold_alone(theirs)
    up_process.hold_alone(ours)

"""`corpus up` as a process: alone on its root, and ended with all it runs by signals, a kill or a closed terminal."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from corpus_assets.commands import up_process
from formats import durable
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
from corpus_assets.commands import live_output, up_guard, up_process
from formats.layout import Layout
up_guard.END_SECONDS = up_guard.REST_SECONDS = float(sys.argv[4])
def show(fd):
    while data := os.read(fd, 100):
        live_output.say(data.decode().rstrip(), sys.stdout)
with up_process.alone(Layout(Path(sys.argv[1])), "http://127.0.0.1:1") as lock:
    sys.exit(up_process.run([sys.executable, "-c", sys.argv[3], sys.argv[2], sys.argv[5]], lock, show))
"""


@pytest.fixture
def alive(tmp_path: Path) -> Path:
    """What the child and what it started hold while they live."""
    path = tmp_path / "alive"
    path.touch()
    return path


def words(tmp_path: Path, alive: Path, kind: str = "willing", seconds: str = "60") -> list[str]:
    return [sys.executable, "-c", _PARENT, str(tmp_path / "root"), str(alive), _CHILD, seconds, kind]


def all_ended(alive: Path) -> bool:
    with open(alive, "rb") as file:
        return durable.took(file)


def wait_until(holds: Callable[[], bool]) -> None:
    """For what is done after its process ended: nobody tells of it."""
    until, pause = time.monotonic() + 120, threading.Event()
    while not holds():
        assert time.monotonic() < until
        pause.wait(0.05)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGINT, 130)])
@pytest.mark.parametrize(("kind", "seconds"), [("willing", "60"), ("deaf", "0.1")])
@pytest.mark.parametrize("output_read", [True, False])
def test_signals_end_it_and_all_that_it_runs_whether_its_output_is_read_or_not(
    tmp_path: Path, alive: Path, number: int, code: int, kind: str, seconds: str, output_read: bool
) -> None:
    command = words(tmp_path, alive, kind, seconds)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "began\n"
        if not output_read:
            process.stdout.close()
        os.kill(process.pid, number)
        assert process.wait(120) == code
    assert all_ended(alive)


def test_a_terminal_that_is_closed_ends_it_and_all_that_it_runs(tmp_path: Path, alive: Path) -> None:
    ours, theirs = os.openpty()
    take = "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    take += "os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", take, *words(tmp_path, alive)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        while b"began" not in said:
            said += os.read(ours, 100)
        os.close(ours)
        assert process.wait(120) == 0
    assert all_ended(alive)


def test_a_hangup_that_is_to_be_ignored_is(tmp_path: Path, alive: Path) -> None:
    """As `nohup` has it: what ends it is the INT that comes after."""
    command = ["nohup", *words(tmp_path, alive)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "began\n"
        os.kill(process.pid, signal.SIGHUP)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(120) == 130


@pytest.mark.parametrize("kind", ["willing", "deaf"])
def test_a_kill_of_it_ends_all_that_it_runs_and_frees_the_root(tmp_path: Path, alive: Path, kind: str) -> None:
    command = words(tmp_path, alive, kind, "0.1")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "began\n"
        process.kill()
        process.wait(120)
    wait_until(lambda: all_ended(alive))
    up_process.hold_alone(Layout(tmp_path / "root"))


def test_an_error_of_its_own_ends_all_that_it_runs(tmp_path: Path) -> None:
    child = "import sys, time; print('began', flush=True); time.sleep(600)"
    with up_process.alone(Layout(tmp_path), "http://127.0.0.1:1") as lock:
        ended = mock.patch.object(up_process.threading, "Thread", side_effect=RuntimeError("no thread"))
        with ended, pytest.raises(RuntimeError, match="no thread"):
            up_process.run([sys.executable, "-c", child], lock, lambda _: None)
    up_process.hold_alone(Layout(tmp_path))  # the child would hold it


def test_what_a_reader_that_fails_leaves_is_taken_so_that_nothing_stands_still(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def read(_pipe: int) -> None:
        raise OSError("a reader that fails")

    long = "import sys; sys.stdout.write('x' * 1_000_000); sys.stdout.flush(); raise SystemExit(4)"
    with mock.patch("threading.excepthook"), up_process.alone(Layout(tmp_path), "http://127.0.0.1:1") as lock:
        assert up_process.run([sys.executable, "-c", long], lock, read) == 1
    assert "Dagster ended by itself, with 4" in capsys.readouterr().err


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


def test_of_one_that_was_killed_it_is_said_what_holds_the_root_and_how_to_end_it(tmp_path: Path) -> None:
    program = """
import os, signal, subprocess, sys
from pathlib import Path
from corpus_assets.commands import up_process
from formats.layout import Layout
with up_process.alone(Layout(Path(sys.argv[1])), "http://127.0.0.1:1") as lock:
    left = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, pass_fds=(lock.fileno(),))
    print(left.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    ran = subprocess.run([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True, check=False)
    left = int(ran.stdout)
    try:
        with pytest.raises(ConfigError) as refused:
            up_process.hold_alone(Layout(tmp_path))
    finally:
        os.kill(left, signal.SIGKILL)
    said = str(refused.value)
    assert re.search(r"`corpus up`, process \d+, is gone \(it was killed\), and what it ran still has this root", said)
    assert f": {left} (sleep). " in said
    assert said.endswith(f"kill {left}")


def test_of_one_on_another_machine_that_machine_is_named(tmp_path: Path) -> None:
    with up_process.alone(Layout(tmp_path), "http://127.0.0.1:1"):
        elsewhere = mock.patch("socket.gethostname", return_value="elsewhere")
        with elsewhere, pytest.raises(ConfigError, match=r"of the machine .* has this root.*\(there: kill"):
            up_process.hold_alone(Layout(tmp_path))

"""Guarded processes: an item that crashes, hangs or eats memory costs itself alone, and nothing outlives its parent."""

import multiprocessing.connection
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from formats.errors import ConfigError, TransientError
from resources.engines import pool
from resources.guarded import guard as guards
from resources.guarded.guard import Failure, Guard
from resources.guarded.process import Limits
from tests.bench.measure import below

REPOSITORY = Path(__file__).parents[2]
HERE = "tests.resources.faulty_functions"
LIMITS = Limits(cpu_seconds=0.5, wall_seconds=60, memory_bytes=256 * 1024**2)
CRASHED, TIMED_OUT = Failure.CRASHED, Failure.TIMED_OUT


class Word(NamedTuple):
    """An item of a class of its own."""

    word: str


def items(*words: str) -> list[tuple[str]]:
    return [(word,) for word in words]


def run(*words: str, limits: Limits = LIMITS) -> list[object]:
    with Guard(f"{HERE}:act", limits=limits) as guard:
        return guard.run(items(*words))


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        ("read-null", CRASHED),
        ("abort", CRASHED),
        ("exit 0", CRASHED),
        ("exit 3", CRASHED),
        (f"die-of {signal.SIGBUS}", CRASHED),
        (f"die-of {signal.SIGXCPU}", CRASHED),
        ("eat 10000", CRASHED),
        ("memory-error", CRASHED),
        ("garbage", CRASHED),
        ("too-long", CRASHED),
        ("too-deep", CRASHED),
        ("one-more", CRASHED),
        ("loop", TIMED_OUT),
    ],
)
def test_an_item_that_goes_wrong_costs_itself_alone(fault, failure):
    assert run("a", "b", fault, "c", fault, "d") == ["A", "B", failure, "C", failure, "D"]


def test_a_wait_that_takes_no_processor_time_ends_too():
    limits = Limits(cpu_seconds=60, wall_seconds=0.5)
    assert run("a", "hold-the-lock", "b", limits=limits) == ["A", TIMED_OUT, "B"]


def test_the_time_limit_is_an_items_not_a_batchs():
    words = [f"burn 0.02 {n}" for n in range(40)]
    assert run(*words) == [word.upper() for word in words]


def test_what_a_function_raises_is_raised_here_and_the_guard_goes_on():
    with Guard(f"{HERE}:act", limits=LIMITS) as guard:
        with pytest.raises(RuntimeError, match=r"faulty_functions:act failed.*ValueError: no such tag"):
            guard.run(items("a", "raise no such tag"))
        assert guard.run(items("b")) == ["B"]


def test_what_a_function_prints_is_not_taken_for_an_answer(capfd):
    assert run("print [1, 2]") == ["PRINT [1, 2]"]
    assert "[1, 2]" in capfd.readouterr().err


def test_a_process_killed_once_costs_no_item(tmp_path):
    word = f"once {tmp_path / 'killed'} killed"
    assert run("a", word, "b") == ["A", word.upper(), "B"]


def test_a_crash_that_does_not_come_again_costs_no_item(tmp_path):
    words = [f"once {tmp_path / str(n)} abort" for n in range(4)]
    assert run(*words) == [word.upper() for word in words]


def test_an_item_whose_processes_are_killed_again_and_again_is_the_machines_fault(monkeypatch):
    monkeypatch.setattr(guards, "MAX_KILLS", 3)
    with pytest.raises(TransientError, match=r"3 processes .* killed from outside .*SIGKILL.*memory"):
        run("a", "killed")


def test_a_function_that_cannot_be_loaded_says_so_at_once():
    with Guard("tests.resources.no_such_module:f") as guard, pytest.raises(ConfigError, match="cannot be loaded"):
        guard.run(items("a"))


def test_less_than_one_worker_is_refused():
    with pytest.raises(ConfigError, match="workers of json:loads is 0"):
        Guard("json:loads", workers=0)


def test_a_process_loads_only_what_its_function_needs():
    with Guard("corpus_assets.stages.main_text:main_text") as guard:
        assert guard.run([(b"<p>Tom</p>", False)]) == ["Tom"]
    with Guard(f"{HERE}:loaded") as guard:
        [modules] = guard.run([Word("a")])
    assert __name__ not in modules
    assert not {"numba", "numpy", "pyarrow", "dagster", "multiprocessing"} & set(modules)


def test_processes_start_with_the_first_item_are_kept_and_end_with_the_guard():
    before = set(below(os.getpid()))
    with Guard(f"{HERE}:number") as guard:
        assert list(guard.in_order([("empty", [])])) == [("empty", [])]
        assert set(below(os.getpid())) == before
        [[first], [second]] = [guard.run(items("a")) for _ in range(2)]
        assert first == second
        assert first in below(os.getpid())
        assert os.getpgid(first) != os.getpgrp()  # a terminal's Ctrl-C is not for it
    assert set(below(os.getpid())) == before


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_come_back_in_order_with_their_failures(workers):
    words = [[f"{n}-{m}" for m in range(n % 4)] for n in range(40)]
    words[7][1], words[22][0] = "abort", "loop"
    with Guard(f"{HERE}:act", workers=workers, limits=LIMITS) as guard:
        found = list(guard.in_order((n, items(*batch)) for n, batch in enumerate(words)))
    failures = {"abort": CRASHED, "loop": TIMED_OUT}
    assert found == [(n, [failures.get(word, word.upper()) for word in batch]) for n, batch in enumerate(words)]


def test_reading_ahead_is_bounded():
    read = []

    def batches():
        for n in range(100):
            read.append(n)
            yield n, items(str(n))

    with Guard(f"{HERE}:act", workers=2, limits=LIMITS) as guard:
        for n, _ in guard.in_order(batches()):
            assert len(read) <= n + 2 * guards.AHEAD + 1


def test_leaving_in_the_middle_ends_what_hangs():
    """The limit on the clock is an hour, so this test would not end either."""
    with Guard(f"{HERE}:act", workers=2) as guard:
        for _ in guard.in_order((n, items("hold-the-lock" if n else "a")) for n in range(9)):
            break


@pytest.mark.parametrize("seed", range(3))
def test_processes_killed_at_random_times_change_no_result(seed):
    """One kill after every fourth batch, whatever the processes are at then: they read ahead."""
    draw = random.Random(seed)
    words = [[f"sleep {draw.random() / 1000:.4f} {n}.{m}" for m in range(10)] for n in range(40)]
    words[5][3] = "abort"
    others, killed, found = set(below(os.getpid())), 0, []
    with Guard(f"{HERE}:act", workers=2, limits=Limits(cpu_seconds=20)) as guard:
        for _, results in guard.in_order((n, items(*batch)) for n, batch in enumerate(words)):
            found.append(results)
            if len(found) % 4:
                continue
            time.sleep(draw.random() / 50)  # by which the kill falls in another place of the work
            if living := sorted(set(below(os.getpid())) - others):
                with suppress(ProcessLookupError):
                    os.kill(draw.choice(living), draw.choice([signal.SIGKILL, signal.SIGTERM]))
                    killed += 1
    assert killed > 0
    assert found == [[CRASHED if word == "abort" else word.upper() for word in batch] for batch in words]


def guarded_task(words: list[str], _stop: object) -> list[object]:
    """What a worker of an engine does."""
    return run(*words)


@pytest.mark.parametrize("processes", [False, True])
def test_threads_and_processes_of_an_engine_may_guard(processes):
    work = [["a", "abort", "b"], ["loop", "c"], ["d"]]
    found = pool.run(guarded_task, work, workers=2, processes=processes)
    assert found == [["A", CRASHED, "B"], [TIMED_OUT, "C"], ["D"]]


def test_a_parent_that_ignores_signals_or_blocks_them_guards_as_well():
    old = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGPROF, signal.SIGALRM, signal.SIGIO)}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, old)
    try:
        assert run("a", "loop") == ["A", TIMED_OUT]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in old.items():
            signal.signal(number, handler)


SCRIPT = f"""
import sys
from resources.guarded.guard import Guard

with Guard("{HERE}:act", workers=2) as guard:
    for _ in guard.in_order((n, [(word,)]) for n, word in enumerate(sys.argv[1:])):
        pass
"""


@pytest.fixture
def hanging(tmp_path: Path) -> tuple[subprocess.Popen, list[int]]:
    """A program, without a guard for its main module, whose two processes hang; and their numbers."""
    script, told = tmp_path / "script.py", [tmp_path / "first", tmp_path / "second"]
    script.write_text(SCRIPT)
    program = subprocess.Popen(
        [sys.executable, str(script), *(f"tell-and-hold {path}" for path in told)],
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while not all(path.exists() for path in told):
        assert program.poll() is None, program.communicate()[1].decode()
        time.sleep(0.01)
    return program, [int(path.read_text()) for path in told]


def wait_for_end(number: int) -> None:
    try:
        descriptor = os.pidfd_open(number)
    except ProcessLookupError:
        return
    with os.fdopen(descriptor) as file:
        assert multiprocessing.connection.wait([file.fileno()], timeout=600), f"process {number} outlived its parent"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_parent_that_is_killed_leaves_no_process_that_hangs(hanging, number):
    program, processes = hanging
    program.send_signal(number)
    program.communicate(timeout=600)
    for process in processes:
        wait_for_end(process)


def test_ctrl_c_ends_everything_with_one_word(hanging):
    program, processes = hanging
    os.killpg(program.pid, signal.SIGINT)
    _, errors = program.communicate(timeout=600)
    assert errors.count(b"Traceback") == errors.count(b"KeyboardInterrupt") == 1, errors.decode()
    for process in processes:
        wait_for_end(process)

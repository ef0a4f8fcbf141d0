"""The embedded engine's own promises: pools, deaths, cancellation, scratch, and a sorter that is not trusted."""

import multiprocessing.connection
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from formats import dataset
from formats.dataset import Dataset
from formats.errors import ConfigError, CorruptDataError, NotConvergedError, TransientError
from formats.parquet_file import Shard
from resources.engines import local, pool, runs, sorter, worker
from resources.engines.contract import Dest, Task
from resources.engines.local import LocalEngine
from resources.engines.streams import Stop, StoppedError
from tests.conformance.workload import BANDS, HERE, ROWS, begin, dataset_of, documents

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def source(tmp_path: Path) -> Dataset:
    return dataset_of(tmp_path / "source", ROWS, {i: documents(i, 200) for i in range(4)}, 4_000)


@pytest.fixture
def out(tmp_path: Path) -> Dest:
    return Dest(tmp_path / "out", ROWS)


def final_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_a_killed_worker_process_is_an_error_that_says_so_and_leaves_only_temporary_names(source, out, tmp_path):
    engine = LocalEngine(scratch=tmp_path / "scratch", processes=True)
    with pytest.raises(TransientError, match="a worker process died"):
        engine.map_batches(source, Task(f"{HERE}:die"), out)
    assert final_names(out.folder) == []


def _begun_until(begun: str, end: str) -> int:
    Path(begun).touch()
    while not Path(end).exists():
        time.sleep(0.005)
    return os.getpid()


def test_a_worker_killed_while_it_waited_for_work_does_not_hold_up_the_end(tmp_path, monkeypatch):
    """It holds the lock of the queue then, and nobody gives that back; here the test holds it in its place."""
    monkeypatch.setattr(pool, "GRACE_SECONDS", 0.2)
    executor = ProcessPoolExecutor(2, multiprocessing.get_context("forkserver"))
    begun = [tmp_path / "0", tmp_path / "1"]
    futures = [executor.submit(_begun_until, str(path), str(tmp_path / "end")) for path in begun]
    while not all(path.exists() for path in begun):
        time.sleep(0.005)
    lock = executor._call_queue._rlock
    assert lock.acquire(timeout=60)  # both are busy
    try:
        (tmp_path / "end").touch()
        end = threading.Thread(target=pool._end, args=(executor, futures, threading.Event()), daemon=True)
        end.start()
        end.join(30)
        assert not end.is_alive()
    finally:
        lock.release()
    for pid in {future.result() for future in futures}:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def _is_over(_: int, over: Stop) -> bool:
    return over.is_set()


def test_the_flag_that_a_run_is_over_is_seen_by_workers_and_has_no_lock_to_die_with():
    context = multiprocessing.get_context("forkserver")
    flag = worker.Flag(context)
    with ProcessPoolExecutor(1, context, initializer=worker.start, initargs=(flag,)) as executor:
        assert executor.submit(pool._in_worker, _is_over, 0).result() is False
        flag.set()
        with pytest.raises(StoppedError):
            executor.submit(pool._in_worker, _is_over, 0).result()
    assert not hasattr(flag._value, "get_lock")


def test_an_exception_that_cannot_be_pickled_comes_back_with_its_class_and_words(source, out, tmp_path):
    engine = LocalEngine(scratch=tmp_path / "scratch", processes=True)
    with pytest.raises(RuntimeError, match=r"workload\.ForeignError: the parser gave up \[3\]"):
        engine.map_batches(source, Task(f"{HERE}:fail_foreign"), out)


@pytest.mark.parametrize("processes", [False, True])
def test_one_failure_stops_what_runs_and_what_has_not_begun(tmp_path, processes):
    """Two workers have begun two items, and one more after the failure. What a pool of processes had handed out already
    does not begin.
    """
    with pytest.raises(CorruptDataError, match="told to fail"):
        pool.run(begin, [(str(tmp_path), i) for i in range(40)], workers=2, processes=processes)
    assert len(list(tmp_path.iterdir())) <= 3


def test_workers_are_told_to_use_one_thread(source, out, tmp_path):
    engine = LocalEngine(scratch=tmp_path / "scratch", processes=True)
    made = engine.map_batches(source, Task(f"{HERE}:thread_counts"), out)
    assert {row["id"] for row in local.map_task.side_table(made, 0).to_pylist()} == {"1,1"}


def test_one_shard_or_one_worker_starts_no_pool(source, out, tmp_path, monkeypatch):
    def no_pool(*_args, **_kwargs):
        raise AssertionError("a pool was started")

    monkeypatch.setattr("resources.engines.pool.ProcessPoolExecutor", no_pool)
    monkeypatch.setattr("resources.engines.pool.ThreadPoolExecutor", no_pool)
    single = Dataset(ROWS, source.shards[:1])
    LocalEngine(scratch=tmp_path / "s", workers=2, processes=True).map_batches(single, Task(f"{HERE}:twice"), out)
    LocalEngine(scratch=tmp_path / "s", workers=1, processes=True).map_batches(source, Task(f"{HERE}:twice"), out)


@pytest.mark.parametrize(
    ("num_bytes", "workers", "kind"),
    [
        (local.PROCESSES_FROM_BYTES - 1, local.PROCESSES_FROM_WORKERS, "Thread"),
        (local.PROCESSES_FROM_BYTES, local.PROCESSES_FROM_WORKERS - 1, "Thread"),
        (local.PROCESSES_FROM_BYTES, local.PROCESSES_FROM_WORKERS, "Process"),
    ],
)
def test_left_open_the_pool_is_processes_for_large_inputs_and_many_workers(
    out, tmp_path, monkeypatch, num_bytes, workers, kind
):
    started = []

    def note(**settings):
        started.append("Process" if settings["processes"] else "Thread")
        return []

    monkeypatch.setattr(local, "run", lambda _job, _items, **settings: note(**settings))
    shard = Shard(0, "p", 1, num_bytes, "")
    LocalEngine(scratch=tmp_path, workers=workers).map_batches(Dataset(ROWS, (shard,)), Task(f"{HERE}:twice"), out)
    assert started == [kind]


def test_progress_counts_shards_up_to_all_and_says_how_many_rows_they_have(source, out, tmp_path):
    seen: list[tuple[int, ...]] = []
    engine = LocalEngine(scratch=tmp_path / "s", processes=False, progress=lambda *told: seen.append(told))
    engine.map_batches(source, Task(f"{HERE}:twice"), out)
    engine.sort_reduce(source, Task(f"{HERE}:as_is"), out, bucket="bucket", keys=["id"])
    assert seen == [(done, 4, source.rows) for done in (1, 2, 3, 4)] * 2


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"memory_bytes": 1_000_000}])
def test_settings_that_cannot_work_are_refused_at_once(tmp_path, wrong):
    with pytest.raises(ConfigError, match="expected at least"):
        LocalEngine(scratch=tmp_path, **wrong)


def swapped(at: int, batch_rows: int):
    """A sorter that puts one row before its neighbour."""

    def sort(batches, schema, order, **_settings):
        table = pa.Table.from_batches(batches, schema).sort_by([(name, "ascending") for name in order])
        rows = list(range(table.num_rows))
        rows[at], rows[at + 1] = rows[at + 1], rows[at]
        table = table.take(pa.array(rows)).combine_chunks()
        yield from table.to_batches(max_chunksize=batch_rows)

    return sort


@pytest.mark.parametrize("batch_rows", [1, 7, 50, 1_000])
@pytest.mark.parametrize("at", [0, 6, 48, 49, 98])
def test_a_sorter_that_gives_one_inversion_is_refused(tmp_path, monkeypatch, at, batch_rows):
    """At a batch's start, inside and across batches; in the last key alone, and between buckets (row 49)."""
    rows = [{"bucket": n // 50, "key": 7, "doc": n % 50} for n in range(100)]
    source = dataset_of(tmp_path / "source", BANDS, {0: rows}, 4_000)
    monkeypatch.setattr(local, "sort_batches", swapped(at, batch_rows))
    with pytest.raises(NotConvergedError, match="expected rows sorted by bucket, key, doc"):
        LocalEngine(scratch=tmp_path).sort_reduce(
            source, Task(f"{HERE}:as_is"), Dest(tmp_path / "out", BANDS), bucket="bucket", keys=["key", "doc"]
        )


def test_an_inversion_after_the_task_has_stopped_reading_is_refused_too(tmp_path, monkeypatch):
    rows = [{"bucket": 0, "key": 7, "doc": n} for n in range(100)]
    source = dataset_of(tmp_path / "source", BANDS, {0: rows}, 4_000)
    monkeypatch.setattr(local, "sort_batches", swapped(97, 10))
    with pytest.raises(NotConvergedError):
        LocalEngine(scratch=tmp_path).sort_reduce(
            source,
            Task(f"{HERE}:first_rows", {"rows": 1}),
            Dest(tmp_path / "out", BANDS),
            bucket="bucket",
            keys=["key", "doc"],
        )


def test_two_sorts_at_once_in_one_scratch_do_not_see_each_other(source, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "MAX_RUN_BYTES", 20_000)
    monkeypatch.setattr(sorter, "IN_MEMORY_ROWS", 10)
    engine = LocalEngine(scratch=tmp_path / "scratch")
    made: dict[int, Dataset] = {}

    def sort(i: int) -> None:
        dest = Dest(tmp_path / f"out{i}", ROWS)
        made[i] = engine.sort_reduce(source, Task(f"{HERE}:as_is"), dest, bucket="bucket", keys=["id"])

    threads = [threading.Thread(target=sort, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({made[i].digest for i in range(4)}) == 1
    assert not list((tmp_path / "scratch").glob("sort-*"))


SCRIPT = """
import sys
from pathlib import Path

from formats import dataset
from resources.engines import runs, sorter
from resources.engines.contract import Dest, Task
from resources.engines.local import LocalEngine
from tests.conformance.workload import HERE, ROWS

if __name__ == "__main__":
    verb, root, port = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    runs.MAX_RUN_BYTES = 20_000
    runs.STORED_BATCH_BYTES, runs.BATCH_BYTES = 5_000, 3_000  # many batches, so that the sort is not read to its end
    sorter.IN_MEMORY_ROWS = 10
    source = dataset.open_folder(root / "source", ROWS)
    engine = LocalEngine(scratch=root / "scratch", processes=True)
    out = Dest(root / "out", ROWS)
    if verb == "map":
        engine.map_batches(source, Task(f"{HERE}:tell_and_wait", {"port": port}), out)
    else:
        task = Task(f"{HERE}:tell_and_wait_in_bucket", {"port": port})
        engine.sort_reduce(source, task, out, bucket="bucket", keys=["id"])
"""


def start(verb: str, source: Dataset, root: Path) -> tuple[subprocess.Popen, list[int]]:
    """A run in a process of its own that stands in the middle of its tasks, and the processes that run them."""
    dataset.write_manifest(root / "source", source, {})
    script = root / "script.py"
    script.write_text(SCRIPT)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        command = [sys.executable, str(script), verb, str(root), str(server.getsockname()[1])]
        env = os.environ | {"PYTHONPATH": str(REPOSITORY)}
        process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, start_new_session=True)
        workers = []
        for _ in range(2 if verb == "map" else 1):
            with server.accept()[0] as connection, connection.makefile() as words:
                workers.append(int(words.read()))
    return process, workers


def wait_for_end(pid: int) -> None:
    """Until a process that is not our child is gone."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    with os.fdopen(descriptor) as file:
        assert multiprocessing.connection.wait([file.fileno()], timeout=30), f"process {pid} outlived its run"


@pytest.mark.parametrize("verb", ["map", "sort"])
def test_ctrl_c_ends_a_run_in_the_middle_and_leaves_no_temporary_file(source, tmp_path, verb):
    process, workers = start(verb, source, tmp_path)
    os.killpg(process.pid, signal.SIGINT)  # a terminal tells the workers too
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert errors.count(b"Traceback") == errors.count(b"KeyboardInterrupt") == 1, errors.decode()
    for pid in workers:
        wait_for_end(pid)
    assert not list((tmp_path / "out").iterdir())
    assert not list((tmp_path / "scratch").glob("sort-*"))


@pytest.mark.parametrize("verb", ["map", "sort"])
def test_kill_9_leaves_only_temporary_names_no_workers_and_spills_that_the_next_run_removes(source, tmp_path, verb):
    process, workers = start(verb, source, tmp_path)
    process.kill()
    process.communicate(timeout=60)
    for pid in workers:
        wait_for_end(pid)
    assert final_names(tmp_path / "out") == []
    spilled = list((tmp_path / "scratch").glob("sort-*"))
    assert bool(spilled) == (verb == "sort")
    dest = Dest(tmp_path / "out", ROWS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "MAX_RUN_BYTES", 20_000)
        LocalEngine(scratch=tmp_path / "scratch").sort_reduce(
            source, Task(f"{HERE}:as_is"), dest, bucket="bucket", keys=["id"]
        )
    assert not [path for path in spilled if path.exists()]

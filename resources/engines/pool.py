"""Run one function over many items: in line, on threads, or in processes. Results come in the order of the items."""

import multiprocessing
import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from typing import Any

from formats.errors import TransientError
from resources.engines import worker
from resources.engines.streams import Stop, StoppedError

Progress = Callable[[int, int], None]
ShardsDone = Callable[[int, int, int], None]
"""(done, of how many, their rows together), as engines tell it."""
GRACE_SECONDS = 2.0
"""For workers that have nothing to do any more to end by themselves, which takes milliseconds. They are killed then."""


def run(
    function: Callable[[Any, Stop], Any],
    items: Sequence[Any],
    *,
    workers: int,
    processes: bool,
    progress: Progress | None = None,
) -> list[Any]:
    """`function(item, stop)` for every item. The first failure, in item order, stops the others and is raised as it is.

    One worker or one item runs in line: a tiny corpus pays no pool. Raises TransientError when a worker process died.
    """
    if workers == 1 or len(items) <= 1:
        return _run_inline(function, items, progress)
    size = min(workers, len(items))
    if not processes:
        stop = threading.Event()
        with ThreadPoolExecutor(size, thread_name_prefix="engine") as pool:
            return _collect(pool, [pool.submit(function, item, stop) for item in items], stop, progress)
    context = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
    over = worker.Flag(context)
    with ProcessPoolExecutor(size, mp_context=context, initializer=worker.start, initargs=(over,)) as pool:
        return _collect(pool, [pool.submit(_in_worker, function, item) for item in items], over, progress)


def _run_inline(function: Callable[[Any, Stop], Any], items: Sequence[Any], progress: Progress | None) -> list[Any]:
    results = []
    for item in items:
        results.append(function(item, threading.Event()))
        if progress:
            progress(len(results), len(items))
    return results


def _collect(pool: Executor, futures: list[Future], stop: Stop, progress: Progress | None) -> list[Any]:
    try:
        for done, future in enumerate(as_completed(futures), 1):
            future.result()
            if progress:
                progress(done, len(futures))
    except BrokenProcessPool as error:
        raise TransientError(
            "a worker process died (killed, or out of memory); no shard is half written; "
            "give the engine fewer workers or the machine more memory, then run again"
        ) from error
    except Exception:  # raised again, as the first in item order
        _end(pool, futures, stop)
        raise _first_failure(futures) from None
    finally:
        _end(pool, futures, stop)
    return [future.result() for future in futures]


def _end(pool: Executor, futures: list[Future], stop: Stop) -> None:
    """No item begins any more, those under way stop at their next batch, and nothing runs when this returns."""
    for future in futures:
        future.cancel()  # before the flag: else workers it sets free would take the next ones
    stop.set()
    if isinstance(pool, ProcessPoolExecutor):
        _end_workers(pool, futures)
    else:
        pool.shutdown(wait=True)


def _end_workers(pool: ProcessPoolExecutor, futures: list[Future]) -> None:
    """As `pool.shutdown()`, which may wait for ever: an idle worker holds the lock of the queue while it waits for
    work, one that is killed then never gives it back, and the others wait for that lock and not for their end.
    """
    wait([future for future in futures if not future.cancelled()])
    inner: Any = pool  # Python has no public way to its workers before 3.14
    manager, workers = inner._executor_manager_thread, list((inner._processes or {}).values())
    pool.shutdown(wait=False)
    if manager is None:  # ended before, or nothing was ever begun
        return
    manager.join(GRACE_SECONDS)
    if manager.is_alive():
        for one in workers:
            if not connection.wait([one.sentinel], timeout=0):  # not one that is gone: its number may be another's
                one.kill()
        manager.join()


def _first_failure(futures: list[Future]) -> BaseException:
    """The failure of the first item that failed by itself, whichever came in first."""
    failures = [error for f in futures if not f.cancelled() and (error := f.exception()) is not None]
    return next((error for error in failures if not isinstance(error, StoppedError)), failures[0])


def _in_worker(function: Callable[[Any, Stop], Any], item: Any) -> Any:
    assert worker.stop is not None
    if worker.stop.is_set():  # handed out before the failure, so that it could not be cancelled
        raise StoppedError
    try:
        return function(item, worker.stop)
    except Exception as error:  # not handled here: only made fit to cross the process border
        raise portable(error) from error


def portable(error: Exception) -> Exception:
    """The error itself if it survives pickling, else a RuntimeError with its class and message."""
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:  # whatever a foreign class raises here, its words must reach the caller
        pass
    return RuntimeError(f"{type(error).__module__}.{type(error).__qualname__}: {error}")

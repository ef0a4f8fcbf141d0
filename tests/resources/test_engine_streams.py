"""Making batches ahead: order, bounds, errors and an end, whatever the reader does."""

import threading

import pyarrow as pa
import pytest

from formats.errors import ConfigError
from resources.engines.streams import StoppedError, ahead, until_stopped

BATCHES = [pa.record_batch([[i]], ["n"]) for i in range(20)]


def stream(made: list[int], closed: list[bool], fail_at: int | None = None):
    try:
        for i, batch in enumerate(BATCHES):
            if i == fail_at:
                raise ConfigError(f"no batch {i}")
            made.append(i)
            yield batch
    finally:
        closed.append(True)


@pytest.mark.parametrize("depth", [0, 1, 5, 100])
def test_batches_come_in_order_and_no_more_than_depth_ahead(depth):
    made, closed = [], []
    seen = []
    for batch in ahead(stream(made, closed), depth, threading.Event()):
        seen.append(batch)
        assert len(made) <= len(seen) + depth + 1  # the one that waits to be handed over
    assert seen == BATCHES
    assert closed == [True]


@pytest.mark.parametrize("depth", [0, 2])
def test_an_error_comes_after_the_batches_before_it_as_itself(depth):
    seen, closed = [], []
    with pytest.raises(ConfigError, match="no batch 3"):
        seen.extend(ahead(stream([], closed, fail_at=3), depth, threading.Event()))
    assert closed == [True]


@pytest.mark.parametrize("depth", [0, 2])
def test_a_reader_that_leaves_ends_the_maker_and_closes_its_stream(depth):
    closed: list[bool] = []
    stop = threading.Event()
    batches = ahead(stream([], closed), depth, stop)
    next(batches)
    batches.close()
    assert closed == [True]
    assert stop.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name == "engine-ahead"]


def test_a_flag_set_from_outside_ends_the_reader_too():
    stop = threading.Event()
    batches = ahead(stream([], []), 0, stop)
    next(batches)
    stop.set()
    with pytest.raises(StoppedError):
        list(batches)


def test_batches_end_at_the_flag():
    stop = threading.Event()
    batches = until_stopped(iter(BATCHES), stop)
    assert next(batches) == BATCHES[0]
    stop.set()
    with pytest.raises(StoppedError):
        next(batches)

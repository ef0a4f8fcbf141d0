"""The thread that reads ahead: bounded, and noticed when it is dead or silent."""

from threading import Event

import pytest

from formats.errors import TransientError
from formats.loader.read_ahead import ReadAhead


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_no_more_is_made_than_the_bound(depth):
    taken = 0

    def make():
        for number in range(60):
            assert number <= taken + max(depth, 2)  # one that is asked for, and those ahead of it
            yield number

    ahead = ReadAhead(make(), depth, 60)
    for expected in range(60):
        assert ahead.next() == expected
        taken += 1
    assert ahead.next() is None


def test_what_reading_raises_is_raised_after_what_was_read_before():
    def make():
        yield 1
        raise OSError("gone")

    ahead = ReadAhead(make(), 4, 60)
    assert ahead.next() == 1
    with pytest.raises(OSError, match="gone"):
        ahead.next()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_is_dead_is_noticed(monkeypatch):
    """It ends where nothing can be handed over any more: in handing over."""

    def end(*_):
        raise SystemExit

    monkeypatch.setattr(ReadAhead, "_put", end)
    ahead = ReadAhead((number for number in (1, 2)), 2, 60)
    with pytest.raises(TransientError, match="ended without a word"):
        ahead.next()


def test_a_thread_that_is_silent_is_noticed():
    go_on = Event()

    def make():
        go_on.wait()
        yield 1

    ahead = ReadAhead(make(), 2, 1e-3)
    with pytest.raises(TransientError, match=r"no block was read for 0\.001 s"):
        ahead.next()
    ahead.close()
    go_on.set()


def test_a_reader_that_came_to_its_end_ends():
    ahead = ReadAhead((number for number in range(3)), 5, 60)
    ahead._thread.join(60)
    assert not ahead._thread.is_alive()
    assert [ahead.next() for _ in range(4)] == [0, 1, 2, None]


def test_a_reader_that_was_closed_ends():
    ended = Event()

    def make():
        try:
            yield from range(10**9)
        finally:
            ended.set()

    ahead = ReadAhead(make(), 2, 60)
    assert ahead.next() == 0
    ahead.close()
    assert ended.wait(60)

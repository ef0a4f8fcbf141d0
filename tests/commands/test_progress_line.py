"""The line of a running partition: what it says on a terminal and in a pipe, by a clock that the tests set."""

import io
import os
import shutil

import pytest

from corpus_assets.commands.progress_line import ProgressLine, duration

PARTITION = "web@tiny.v1"


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def lines(self):
        """Each line that was drawn over the one before."""
        return [line for line in self.getvalue().replace("\x1b[K", "").split("\r") if line]


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((120, 24)))


def tell(line, clock, *told):
    """(seconds since the one before, what, done, total), one after the other."""
    for seconds, *words in told:
        clock.now += seconds
        line(*words)


def piped(clock, *told):
    stream = io.StringIO()
    tell(ProgressLine(PARTITION, stream, clock), clock, *told)
    return [line.split(maxsplit=2)[2] for line in stream.getvalue().splitlines()]


def test_a_terminal_has_one_line_that_is_drawn_over_with_rate_and_remaining_time(clock):
    stream = Terminal()
    line = ProgressLine(PARTITION, stream, clock)
    tell(line, clock, (10, "shards", 1, 11), (4, "shards", 3, 11), (4, "shards", 5, 11))
    assert stream.lines() == [
        f"  {PARTITION} …",
        f"  {PARTITION} … 1 of 11 shards",
        f"  {PARTITION} … 3 of 11 shards, 0.5 shards/s, 16 s left",
        f"  {PARTITION} … 5 of 11 shards, 0.5 shards/s, 12 s left",
    ]
    assert "\n" not in stream.getvalue()


def test_a_terminal_is_drawn_no_more_often_than_five_times_a_second(clock):
    stream = Terminal()
    line = ProgressLine(PARTITION, stream, clock)
    tell(line, clock, *[(0.0625, "shards", done, 1_000) for done in range(160)])
    assert len(stream.lines()) == 1 + 160 // 4


def test_a_line_that_would_wrap_is_cut(clock, monkeypatch):
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((30, 24)))
    stream = Terminal()
    tell(ProgressLine(PARTITION, stream, clock), clock, (1, "bytes of https://far.example/a/long/name.gz", 1, 10))
    assert max(map(len, stream.lines())) == 29


def test_a_pipe_gets_a_plain_line_every_five_seconds_and_none_of_a_short_run(clock):
    assert piped(clock, *[(1, "shards", done, 40) for done in range(1, 13)]) == [
        "5 of 40 shards, 1 shards/s, 35 s left",
        "10 of 40 shards, 1 shards/s, 30 s left",
    ]
    assert piped(clock, (1, "shards", 1, 3), (1, "shards", 2, 3), (1, "shards", 3, 3)) == []


def test_the_rate_of_shards_is_told_in_the_rows_that_they_hold_on_the_average(clock):
    what = "shards of 40,000 rows"
    assert piped(clock, (1, what, 1, 10), (4, what, 3, 10)) == [
        "3 of 10 shards of 40,000 rows, 2,000 rows/s, 14 s left"
    ]


def test_a_line_names_the_stage_and_counts_documents_where_its_rows_are_some(clock):
    stage, what, said = {"now": "doc_signals"}, "shards of 40,000 rows", io.StringIO()
    line = ProgressLine(PARTITION, said, clock, lambda: stage["now"])
    tell(line, clock, (1, what, 1, 10), (4, what, 3, 10), (1, what, 10, 10))
    stage["now"] = "near_edges"
    tell(line, clock, (1, what, 1, 10), (4, what, 3, 10))
    assert said.getvalue().splitlines() == [
        f"  …      {PARTITION:32} doc_signals: 3 of 10 shards of 40,000 documents, 2,000 documents/s, 14 s left",
        f"  …      {PARTITION:32} near_edges: 3 of 10 shards of 40,000 rows, 2,000 rows/s, 14 s left",
    ]


def test_bytes_of_a_file_have_units_and_the_rate_of_what_came_now_alone(clock):
    mib = 1024 * 1024
    name = "bytes of https://far.example/a.gz"
    found = piped(clock, (0, name, 60 * mib, 100 * mib), (5, name, 70 * mib, 100 * mib))
    assert found == ["70.0 MiB of 100.0 MiB https://far.example/a.gz, 2.0 MiB/s, 15 s left"]


def test_of_what_nobody_knows_the_end_there_is_a_rate_and_no_remaining_time(clock):
    found = piped(clock, (1, "documents, 0 of 2 files read", 1_000, 0), (10, "documents, 1 of 2 files read", 26_000, 0))
    assert found == ["26,000 documents, 1 of 2 files read, 2,500 documents/s"]


def test_the_next_stage_is_measured_by_itself_and_what_restarts_from_its_restart(clock):
    assert piped(
        clock,
        (1, "shards", 1, 4),
        (1, "shards", 4, 4),  # a fast stage is over
        (60, "shards", 1, 4),  # the next one's first shard: no rate yet
        (20, "shards", 2, 4),
        (9, "bytes of a", 900, 1_000),
        (5, "bytes of a", 0, 1_000),  # the server began anew
        (5, "bytes of a", 250, 1_000),
    ) == [
        "1 of 4 shards",
        "2 of 4 shards, 0.05 shards/s, 40 s left",
        "900 B of 1000 B a",
        "0 B of 1000 B a",
        "250 B of 1000 B a, 50 B/s, 15 s left",
    ]


def test_two_files_at_once_have_each_its_own_rate(clock):
    assert piped(
        clock,
        (0, "bytes of a", 0, 1_000),
        (0, "bytes of b", 0, 1_000),
        (10, "bytes of a", 100, 1_000),
        (5, "bytes of b", 750, 1_000),
    ) == ["100 B of 1000 B a, 10 B/s, 90 s left", "750 B of 1000 B b, 50 B/s, 5 s left"]


def test_a_moment_without_time_between_gives_no_rate(clock):
    assert piped(clock, (5, "shards", 1, 4), (0, "shards", 2, 4)) == ["1 of 4 shards"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "0 s"),
        (99, "99 s"),
        (100, "2 min"),
        (5_940, "99 min"),
        (6_000, "1 h 40 min"),
        (172_740, "47 h 59 min"),
        (183_600, "2 d 3 h"),
    ],
)
def test_remaining_time_is_said_as_a_person_plans_with_it(seconds, said):
    assert duration(seconds) == said

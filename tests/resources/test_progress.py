"""Progress is heard by whoever listens, and never by two at once."""

import logging

from resources import progress
from resources.download.progress import UnderWay


def test_a_listener_hears_what_is_told_while_it_listens_and_no_longer():
    heard: list[tuple[str, int, int]] = []
    with progress.heard_by(lambda *words: heard.append(words)):
        progress.tell("shards", 1, 3)
    progress.tell("shards", 2, 3)
    assert heard == [("shards", 1, 3)]


def test_the_inner_listener_hears_until_it_ends_also_by_an_error():
    outer: list[int] = []
    inner: list[int] = []
    with progress.heard_by(lambda _what, done, _total: outer.append(done)):
        try:
            with progress.heard_by(lambda _what, done, _total: inner.append(done)):
                progress.tell("shards", 1, 3)
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            progress.tell("shards", 2, 3)
    assert (inner, outer) == ([1], [2])


def test_without_a_listener_the_log_gets_a_line_now_and_then(monkeypatch, caplog):
    clock = iter([0.0, 1.0, 11.0, 12.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    log = progress._Log()
    with caplog.at_level(logging.INFO, "corpus.progress"):
        for done in (1, 2, 3):
            log("shards", done, 3)
    assert [record.getMessage() for record in caplog.records] == ["shards: 2 of 3"]


def test_bytes_of_a_file_are_told_with_the_total_it_began_with():
    heard: list[tuple[str, int, int]] = []
    fetch, one, other = progress.FetchProgress(), UnderWay("a?code=***", 100), UnderWay("a?code=***", 7)
    with progress.heard_by(lambda *words: heard.append(words)):
        fetch.begin(one, 10)
        fetch.begin(other, 0)
        fetch.advance(one, 60)
    assert heard == [("bytes of a?code=***", *so_far) for so_far in ((10, 100), (0, 7), (60, 100))]


def test_the_log_says_no_total_where_nobody_knows_it(monkeypatch, caplog):
    clock = iter([0.0, 11.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    log = progress._Log()
    with caplog.at_level(logging.INFO, "corpus.progress"):
        log("documents, 0 of 2 files read", 5_000, 0)
    assert [record.getMessage() for record in caplog.records] == ["5000 documents, 0 of 2 files read"]

"""What a person sees of a fetch: on a terminal, in a file, in the log."""

import io
import logging

import pytest

from resources.download.fetcher import Fetcher
from resources.download.progress import TerminalProgress, UnderWay, in_units
from resources.download.settings import FetchSettings
from tests.fault_server import Answer, serving
from tests.resources.download_helpers import some_bytes, wanted

MIB = 1024 * 1024


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_terminal_shows_share_bytes_rate_and_time_left_one_line_a_file():
    screen, clock = Terminal(), Clock()
    a, b = UnderWay("http://e.org/a", 100 * MIB), UnderWay("http://e.org/b", MIB)
    shown = TerminalProgress(screen, clock)
    shown.begin(a, 10 * MIB)
    shown.begin(b, 0)
    clock.now = 2.0
    shown.advance(a, 30 * MIB)
    last = screen.getvalue().rpartition("\x1b[J")[2]
    assert last.splitlines() == [
        "http://e.org/a  30 %  30.0 MiB of 100.0 MiB  10.0 MiB/s  7 s left",
        "http://e.org/b   0 %  0 B of 1.0 MiB  0 B/s  waiting",
    ]


def test_lines_are_redrawn_in_place_and_not_at_every_block():
    screen, clock = Terminal(), Clock()
    a = UnderWay("a", 100)
    shown = TerminalProgress(screen, clock)
    shown.begin(a, 0)
    for done in range(100):
        shown.advance(a, done)
    assert screen.getvalue().count("\n") == 1
    clock.now = 1.0
    shown.advance(a, 100)
    assert screen.getvalue().endswith("\x1b[1A\x1b[Ja 100 %  100 B of 100 B  100 B/s  0 s left\n")


def test_events_and_ends_stay_on_the_screen_above_the_lines():
    screen = Terminal()
    a = UnderWay("a", 100)
    shown = TerminalProgress(screen, Clock())
    shown.begin(a, 0)
    shown.event("a", "status 503")
    shown.end(a, "verified")
    assert screen.getvalue().endswith("\x1b[1A\x1b[Ja: verified\n")
    assert "\x1b[1A\x1b[Ja: status 503\na " in screen.getvalue()


def test_a_restart_counts_its_bytes_from_zero():
    screen, clock = Terminal(), Clock()
    a = UnderWay("a", 100)
    shown = TerminalProgress(screen, clock)
    shown.begin(a, 50)
    clock.now = 1.0
    shown.advance(a, 10)
    clock.now = 2.0
    shown.advance(a, 30)
    assert screen.getvalue().endswith("a  30 %  30 B of 100 B  10 B/s  7 s left\n")


def test_files_that_are_shown_alike_have_a_line_each():
    one, other = UnderWay("http://e.org/a?country_code=***", 100), UnderWay("http://e.org/a?country_code=***", 200)
    screen = Terminal()
    shown = TerminalProgress(screen, Clock())
    shown.begin(one, 0)
    shown.begin(other, 20)
    shown.end(one, "verified")
    shown.advance(other, 100)
    assert screen.getvalue().endswith("?country_code=***  10 %  20 B of 200 B  0 B/s  waiting\n")
    shown.end(other, "verified")
    assert screen.getvalue().endswith("\x1b[1A\x1b[Jhttp://e.org/a?country_code=***: verified\n")


def test_elsewhere_there_are_plain_lines():
    stream = io.StringIO()
    a = UnderWay("a", 2048)
    shown = TerminalProgress(stream, Clock())
    shown.begin(a, 512)
    shown.advance(a, 1024)
    shown.event("a", "status 503")
    shown.end(a, "verified")
    assert stream.getvalue() == "a: 2.0 KiB, 512 B here\na: status 503\na: verified\n"


def test_a_long_name_is_cut_at_its_front():
    screen = Terminal()
    TerminalProgress(screen, Clock()).begin(UnderWay("http://e.org/" + "x" * 100 + "/end.gz", 100), 0)
    [line] = screen.getvalue().splitlines()
    assert line.startswith("…")
    assert "/end.gz   0 %" in line
    assert len(line) < 120


def test_by_default_events_go_to_the_log(tmp_path, caplog):
    caplog.set_level(logging.INFO, "corpus.fetch")
    content = some_bytes(100_000)
    settings = FetchSettings(interval_bytes=40_000, backoff_seconds=0)
    with serving(content, [Answer(drop_after=50_000), Answer(etag='"2"')]) as (_, url):
        Fetcher(tmp_path, settings).fetch_all([wanted(url, content)])
    told = [(record.levelname, record.getMessage().partition(": ")[2]) for record in caplog.records]
    assert told[0] == ("INFO", "begins at 0 of 100000 bytes")
    assert ("WARNING", "the file changed on the server: 50000 bytes discarded, fetched from zero") in told
    assert told[-1] == ("INFO", "verified")


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (8 * MIB, "8.0 MiB"), (3 << 30, "3.0 GiB"), (5 << 40, "5.0 TiB")],
)
def test_bytes_for_people(num_bytes, text):
    assert in_units(num_bytes) == text

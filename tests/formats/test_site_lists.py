"""Site lists as files: what is read, what is refused and by which line, and what is added."""

import json
import re
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import site_lists
from formats.errors import ConfigError
from formats.json_fields import MAX_PROBLEMS
from formats.site_lists import ListedSite, OptOut, append, block_list, opt_outs

SPEC = Path(site_lists.__file__).with_name("site_lists.md").read_text("utf-8")
RIGHT = {"what": "example.org", "since": "2026-11-30", "why": "mail"}


def line(**changes: object) -> bytes:
    return json.dumps({k: v for k, v in {**RIGHT, **changes}.items() if v is not ...}).encode() + b"\n"


def test_a_block_list_is_a_site_a_line_without_comments_and_blank_lines():
    found = block_list("\ufeff# head\n\n example.org \r\n\tb.example\nstraße.de".encode(), "l")
    assert found == [ListedSite(3, "example.org"), ListedSite(4, "b.example"), ListedSite(5, "straße.de")]


def test_an_empty_list_has_no_entries():
    assert block_list(b"", "l") == opt_outs(b"", "l") == []


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (b"not json\n", "line 2: is no JSON"),
        (b"\n", "line 2: is blank"),
        (b"[1]\n", "line 2: expected an object of what, since, why"),
        (b'{"what": "a.b", "what": "c.d", "since": "2026-11-30", "why": "x"}\n', "a key stands in it twice"),
        (b"[" * 100_000 + b"\n", "line 2: is no JSON"),
        (b"\xff\n", "line 2: is no UTF-8 \\(byte 0\\)"),
        (line(why=...), "line 2: why: missing"),
        (line(since="30.11.2026"), "line 2: since: expected a date"),
        (line(since="2026-02-30"), "line 2: since: '2026-02-30' is no day of the calendar"),
        (line(what=""), "line 2: what: expected a domain or URL"),
        (line(what="a b"), "line 2: what: expected a domain or URL"),
        (line(what=1), "line 2: what: expected a domain or URL"),
        (line(why="two\nlines"), "line 2: why: expected one line"),
        (line(why="\ud800"), "line 2: why: has a lone surrogate"),
        (line(who="ann"), "line 2: who: unknown field"),
    ],
)
def test_a_wrong_opt_out_is_refused_by_its_line(wrong, says):
    with pytest.raises(ConfigError, match=f"asked.jsonl: {says}" if says.startswith("line") else says):
        opt_outs(line() + wrong, "asked.jsonl")


def test_a_block_list_that_is_no_text_is_refused_by_its_line():
    with pytest.raises(ConfigError, match="l: line 2: is no UTF-8"):
        block_list(b"a.example\n\xff\xfe\n", "l")
    with pytest.raises(ConfigError, match="l: line 1: has 2,001 characters"):
        block_list(b"a" * 2001, "l")


def test_every_wrong_line_is_told_up_to_a_limit():
    with pytest.raises(ConfigError) as raised:
        opt_outs(b"x\n" * 1000, "l")
    lines = str(raised.value).splitlines()
    assert len(lines) == MAX_PROBLEMS + 2
    assert lines[-2:] == ["more is wrong; mend this first", lines[-1]]


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_whatever_the_bytes_a_list_is_read_or_refused(data):
    for read in (block_list, opt_outs):
        try:
            found = read(data, "l")
        except ConfigError:
            continue
        assert all(1 <= one.line <= data.count(b"\n") + 1 for one in found)


def test_what_is_added_is_read_back_and_is_added_once(tmp_path):
    path = tmp_path / "asked.jsonl"
    entry = OptOut("straße.example", "2026-11-30", "“mail”")
    assert append(path, [entry]) == 1
    assert append(path, [entry, OptOut("b.example", "2026-11-30", "x")]) == 1
    assert [one.what for one in opt_outs(path.read_bytes(), path)] == ["straße.example", "b.example"]


def test_a_list_without_a_last_line_end_is_added_to_on_a_new_line(tmp_path):
    path = tmp_path / "asked.jsonl"
    path.write_bytes(line().rstrip(b"\n"))
    append(path, [OptOut("b.example", "2026-11-30", "x")])
    assert [one.line for one in opt_outs(path.read_bytes(), path)] == [1, 2]


def test_a_wrong_list_or_entry_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "asked.jsonl"
    path.write_bytes(b"broken\n")
    with pytest.raises(ConfigError, match="line 1"):
        append(path, [OptOut("b.example", "2026-11-30", "x")])
    with pytest.raises(ConfigError, match="since"):
        append(path, [OptOut("b.example", "today", "x")])
    assert path.read_bytes() == b"broken\n"


def test_two_writers_lose_nothing(tmp_path):
    path = tmp_path / "asked.jsonl"

    def add(name: str) -> None:
        for i in range(20):
            append(path, [OptOut(f"{name}{i}.example", "2026-11-30", "x")])

    writers = [threading.Thread(target=add, args=(name,)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(opt_outs(path.read_bytes(), path)) == 40


def test_the_examples_of_the_page_are_right():
    block, opt_out = re.findall(r"```(?:json)?\n(.*?)```", SPEC, re.DOTALL)
    assert [one.line for one in block_list(block.encode(), "l")] == [2, 3, 4]
    assert len(opt_outs(opt_out.encode(), "l")) == 2

"""prose_windows against the same by regular expressions, a text at a time."""

import re

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.prose_windows import NUM_WINDOWS, WINDOW_CHARS, prose_windows
from tests.strategies import text_arrays

INLINE_CODE = re.compile(r"`[^`\n]*`")
TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
ADDRESS = re.compile(r"(?:[A-Za-z][A-Za-z+.-]{1,15}://|www\.)[^\s<>()\[\]\"'`]*")
NONCHARACTERS = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
DROPPED = re.compile("[\0-\x1f\x7f-\x9f\ufdd0-\ufdef" + NONCHARACTERS + "]")


def naive(text):
    text = outside_fences(text)
    if len(text) <= NUM_WINDOWS * WINDOW_CHARS:
        return clean(text)
    last = len(text) - WINDOW_CHARS
    starts = [last * i // (NUM_WINDOWS - 1) for i in range(NUM_WINDOWS)]
    starts[-1] = max(starts[-2] + WINDOW_CHARS, len(text) - 2 * WINDOW_CHARS)
    return " ".join(clean(text[at : at + 2 * WINDOW_CHARS])[:WINDOW_CHARS] for at in starts)


def outside_fences(text):
    kept, at, opened = [], 0, None
    for fence in re.finditer("```+", text):
        if text[max(0, fence.start() - 16) : fence.start()].rpartition("\n")[2].strip(" \t>-*"):
            continue
        if opened is None:
            opened = fence.start()
        else:
            kept.append(text[at:opened])
            at, opened = fence.end(), None
    return "\n".join([*kept, text[at:]])


def clean(text):
    for pattern in (INLINE_CODE, TAG, ADDRESS):
        text = pattern.sub(" ", text)
    return DROPPED.sub("", " ".join(text.split()))


def shown(*texts):
    return prose_windows(pa.array(texts, pa.large_string())).to_pylist()


PIECES = [
    "`", "``", "```", "````", "\n", "\n> ```\n", "\n   - ```py\n", " ", "\t", "\u2028", "\u3000", "\x85", "\0", "\x1f",
    "\ufdd0", "\U0001ffff", "é", "面", "😀", "a", "Word", "<", ">", "</p>", "<b class='x'>", "<!--", "http://", "h://",
    "x.org/a?b=(c)", "www.", "wwww.", "a+b.c-d://e", "://", "abcdefghijklmnop://q", "aabcdefghijklmnop://q", "[", "'",
]  # fmt: skip
marked = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
long = st.tuples(st.lists(marked, max_size=5), st.integers(1, 40)).map(lambda drawn: " and ".join(drawn[0]) * drawn[1])


@settings(max_examples=400, deadline=None)
@given(st.lists(marked | long, max_size=4))
def test_what_is_shown_is_what_regular_expressions_show(texts):
    assert shown(*texts) == [naive(text) for text in texts]


@settings(max_examples=200, deadline=None)
@given(text_arrays())
def test_any_column_with_nulls_or_a_slice_is_shown_row_by_row(column):
    assert prose_windows(column).to_pylist() == [naive(text or "") for text in column.to_pylist()]


@pytest.mark.parametrize(("text", "line"), [
    ("a\n```\nb\n```\nc", "a c"),
    ("a\n````\nb\n````\nc", "a c"),
    ("a\n  ```py\nb\n  ```\nc", "a c"),
    ("a\n> ```\n> b\n> ```\nc", "a > c"),
    ("an inline ``` does not open\nb", "an inline ` does not open b"),
    ("a\n```\nnever closed", "a ` never closed"),
    ("see http://x.org/a/b?c=d, `f(x)`, www.y.org", "see , "),
    ("x < y and y > z", "x < y and y > z"),
    ("a\u200cb\x00c\ufdd0", "a\u200cbc"),
])  # fmt: skip
def test_the_line_of_a_short_text_is_its_prose(text, line):
    assert " ".join(shown(text)[0].split()) == line.strip()


def test_windows_are_spread_over_a_long_text():
    head, body, tail = "menu " * 200, "The body of it. " * 600, "the very last words"
    [line] = shown(head + body + tail)
    assert line.startswith("menu")
    assert "The body of it." in line
    assert line.endswith("words") or "The body" in line[-130:]
    assert len(line) <= NUM_WINDOWS * WINDOW_CHARS + NUM_WINDOWS - 1


def test_a_window_full_of_addresses_reads_on():
    [line] = shown(("https://example.org/" + "x" * 100 + " " + "palabra " * 16) * 40)
    assert line.count("palabra") > 20

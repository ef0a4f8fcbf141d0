"""Markers of options are found and blanked out as a regular expression would."""

import re

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.option_markers import marker_count, without_markers

_NAME = r"(?:[A-Za-z]|[IVXivx]{2,4})"
MARKER = re.compile(rf"(?<!\S)(?:\(?(?:{_NAME}[.):]|[0-9]{{1,2}}[.)])|\[(?:{_NAME}|[0-9]{{1,2}})\])(?=\s)", re.ASCII)
PIECES = [
    "a.",
    "B)",
    "(c)",
    "12:",
    "12.",
    "C:",
    "iv.",
    "(XII)",
    "xxxxx.",
    "[2]",
    "[b]",
    "iii]",
    "[",
    "]",
    "v",
    "123.",
    "é.",
    "(",
    ")",
    ".",
    ":",
    " ",
    "\n",
    "\t",
    "\v",
    "\u00a0",
    "word",
    "7",
    "x",
]
texts = st.lists(st.sampled_from(PIECES), max_size=20).map("".join) | st.text(max_size=30)


@settings(deadline=None, max_examples=500)
@given(st.lists(texts | st.none(), max_size=4))
@example(
    [
        "a. b. c. ",
        "(1) one (2) two",
        "(12: x",
        "((1) x",
        "1) ",
        "1)",
        "[1] a [b] c [12) [xviii] [viii] ] ",
        "mi. vi. i. xiv: ",
    ]
)
def test_markers_are_those_of_the_expression_and_blanked_to_as_many_spaces(rows):
    column = pa.array([None, *rows], pa.large_string()).slice(1)
    assert marker_count(column).tolist() == [len(MARKER.findall(row or "")) for row in rows]
    expected = [MARKER.sub(lambda marker: " " * len(marker.group()), row or "") for row in rows]
    assert without_markers(column).to_pylist() == expected

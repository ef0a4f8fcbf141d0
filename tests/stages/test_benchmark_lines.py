"""A benchmark is cut into the items that eval sets have, and what is left of it is left byte for byte."""

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.stages import eval_items
from corpus_assets.stages.benchmark_lines import items, pieces, without
from formats.benchmark_rules import EvalSet
from formats.errors import ConfigError

cells = st.text(st.sampled_from('ab"\n\r,; é😀\u2028\u0085\x0b'), max_size=6)


def items_read(data, form):
    """item -> its texts, as eval sets are read."""
    found = {}
    rows = eval_items.read_rows(form, io.BytesIO(data), "quiz")
    for one in eval_items.texts_of(EvalSet("quiz", "", "", form, ()), rows, "quiz"):
        found.setdefault(one.item, []).append(one.text)
    return found


@st.composite
def json_files(draw):
    ends = st.sampled_from(["\n", "\r\n", "\n\n", "\n \n"])
    text = draw(st.sampled_from(["", "\ufeff", "\n"]))
    rows = draw(st.lists(st.dictionaries(st.sampled_from("qa"), cells, min_size=1), max_size=5))
    for row in rows:
        text += json.dumps(row, ensure_ascii=draw(st.booleans())) + draw(ends)
    return (text.rstrip() if rows and draw(st.booleans()) else text).encode()


@st.composite
def csv_files(draw):
    end = draw(st.sampled_from(["\n", "\r\n"]))
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator=end, quoting=csv.QUOTE_ALL)
    for row in [["q", "a"], *draw(st.lists(st.tuples(cells, cells), max_size=5))]:
        writer.writerow(row)
        out.write(draw(st.sampled_from(["", end])))
    return (draw(st.sampled_from(["", "\ufeff"])) + out.getvalue()).encode()


@pytest.mark.parametrize(("form", "files"), [("jsonl", json_files()), ("csv", csv_files())])
def test_items_are_those_of_eval_sets_and_the_rest_stays_byte_for_byte(form, files):
    @settings(max_examples=200, deadline=None)
    @given(files, st.data())
    def holds(data, draws):
        assert b"".join(piece for _, piece in pieces(data, form)) == data
        numbers = [item for item, _ in pieces(data, form) if item is not None]
        texts = items_read(data, form)
        assert numbers == sorted(texts)
        assert {item.number: [*item.row.values()] for item in items(data, form, "quiz")} == texts
        out = draws.draw(st.sets(st.sampled_from(numbers)) if numbers else st.just(set()))
        left = without(data, form, out.__contains__)
        assert list(items_read(left, form).values()) == [texts[item] for item in numbers if item not in out]
        assert without(data, form, lambda _: False) == data
        gone = b"".join(piece for item, piece in pieces(data, form) if item in out)
        assert len(left) == len(data) - len(gone)

    holds()


def test_what_is_left_out_is_its_lines_and_nothing_else():
    data = b'{"q": "one"}\r\n\n {"q": "two"}\n{"q": "thr\\u00e9e"} \n{"q": "four"}'
    assert without(data, "jsonl", {0, 4}.__contains__) == b'\n {"q": "two"}\n{"q": "thr\\u00e9e"} \n'
    rows = b'q,a\n"one\ntwo","x"\n\nthree,y\n'
    assert without(rows, "csv", {0}.__contains__) == b"q,a\n\nthree,y\n"
    assert without(rows, "csv", {1}.__contains__) == b'q,a\n"one\ntwo","x"\n\n'


def test_lines_are_those_of_the_file_counted_from_1():
    data = b'\n{"q": "one"}\r\n\n{"q": "two"}'
    assert [(item.number, item.line) for item in items(data, "jsonl", "quiz")] == [(1, 2), (3, 4)]
    rows = b'q,a\n"one\ntwo","x"\n\nthree,y\n'
    assert [(item.number, item.line) for item in items(rows, "csv", "quiz")] == [(0, 2), (1, 5)]


@pytest.mark.parametrize(
    ("form", "data", "says"),
    [
        ("jsonl", b'{"q": 1}\n{"q": \n', "line 2 (counted from 1): is no JSON (Expecting value at its character 7)"),
        ("jsonl", b'{"q": 1}\n{"q": "x', "line 2 (counted from 1): is no JSON (Unterminated string"),
        ("jsonl", b'\n["q"]\n', "line 2 (counted from 1): expected a JSON object, found list"),
        ("jsonl", b"null\n", "line 1 (counted from 1): expected a JSON object, found NoneType"),
        ("jsonl", b'{"q": "\xff"}', "line 1 (counted from 1): is not UTF-8 from its byte 8 on"),
        ("jsonl", b'{"q": ' + b"[" * 200_000, "line 1 (counted from 1): cannot be read as JSON"),
        ("csv", b'q,a\n1,2\n"one,2\n3,4\n', "line 3 (counted from 1): a cell of the row that begins here opens with a"),
        ("csv", b'q,a\n"1"x,2\n', "line 2 (counted from 1): the row that begins here is no CSV: "),
        ("csv", b"q,a\n\n1,2,3\n", "line 3 (counted from 1): the row that begins here has 3 cells, expected 2"),
        ("csv", b"q,q\n1,2\n", "line 1 (counted from 1): the header has q more than once"),
        ("csv", b"q\n\n\xe9\n", "line 3 (counted from 1): is not UTF-8"),
    ],
)
def test_what_is_no_item_is_told_by_its_line_and_what_to_do(form, data, says):
    with pytest.raises(ConfigError) as raised:
        list(items(data, form, "quiz"))
    assert str(raised.value).startswith(f"quiz: {says}")
    assert str(raised.value).rpartition("; ")[2].split()[0] in ("mend", "save", "rename", "expected")

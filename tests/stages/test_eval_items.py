import gzip
import io
import json
from collections import Counter
from dataclasses import asdict

import pyarrow as pa
import pytest
import zstandard

from corpus_assets.kernels.exact_text import normalize
from corpus_assets.kernels.ngram_match import EvalIndex, match
from corpus_assets.stages.eval_items import EvalText, build_index, read_rows, texts_of
from formats.benchmark_rules import DecontaminationRules, EvalSet
from formats.errors import ConfigError, CorruptDataError
from tests.shared_data import DATA, needs_shared_data

LONG = "How many blue marbles are left in the jar after Ada takes three and gives back one of them?"


def eval_set(*fields, name="quiz", format="jsonl"):
    return EvalSet(name=name, path=f"{name}.{format}", sha256="0" * 64, format=format, fields=fields)


def read(which, data):
    return [(t.item, t.field, t.text) for t in read_texts(which, io.BytesIO(data))]


def read_texts(which, stream):
    return list(texts_of(which, read_rows(which.format, stream, "quiz.file"), "quiz.file"))


def test_fields_of_json_lines_are_texts_of_their_own_named_by_line():
    data = b'{"q": "one", "a": "two", "id": 7}\n\n{"q": "three", "a": null}\r\n'
    assert read(eval_set("q", "a"), data) == [(0, "q", "one"), (0, "a", "two"), (2, "q", "three")]


def test_strings_in_lists_and_objects_stand_alone():
    row = {"q": ["one", {"text": ["two", 3, True]}], "c": {"label": ["A"], "n": 1.5}}
    expected = [(0, "q.0", "one"), (0, "q.1.text.0", "two"), (0, "c.label.0", "A")]
    assert read(eval_set("q", "c"), json.dumps(row).encode()) == expected


def test_quoted_csv_cells_keep_their_line_ends():
    data = '\ufeffType,Question,Best\nx,"Who said\n""no"", twice?","a, b"\r\n\ny,Why?,\n'.encode()
    expected = [
        (0, "Question", 'Who said\n"no", twice?'),
        (0, "Best", "a, b"),
        (1, "Question", "Why?"),
        (1, "Best", ""),
    ]
    assert read(eval_set("Question", "Best", format="csv"), data) == expected


def test_a_csv_cell_may_be_longer_than_the_modules_limit():
    data = f"q\n{'x' * 200_000}\n".encode()
    assert len(read(eval_set("q", format="csv"), data)[0][2]) == 200_000


@pytest.mark.parametrize(
    "pack", [gzip.compress, zstandard.compress, lambda d: gzip.compress(d[:9], mtime=0) + gzip.compress(d[9:], mtime=0)]
)
def test_compressed_files_read_as_plain_ones(pack):
    data = b'{"q": "one"}\n{"q": "two"}\n'
    assert read(eval_set("q"), pack(data)) == read(eval_set("q"), data)


def test_half_a_surrogate_pair_becomes_a_replacement_character():
    assert read(eval_set("q"), rb'{"q": "a\ud83db \ud83d\ude00"}') == [(0, "q", "a\ufffdb 😀")]


def test_half_a_surrogate_pair_in_a_key_is_no_part_of_an_items_name():
    found = read_texts(eval_set("q"), io.BytesIO(rb'{"q": {"a\ud83d": "' + LONG.encode() + b'"}}'))
    index, _ = build_index(found, rules())
    assert index.entries == (("quiz", "0.q.a\ufffd"),)
    assert EvalIndex.from_bytes(index.to_bytes()).entries == index.entries


def test_strings_are_found_as_deep_as_json_is_read():
    """What the parser let through, the walk over it has to take, too."""
    found = Counter()
    for depth in range(700, 1_100):
        data = b'{"q": ' + b"[" * depth + b'"one"' + b"]" * depth + b"}"
        try:
            found[read(eval_set("q"), data) == [(0, "q" + ".0" * depth, "one")]] += 1
        except CorruptDataError:
            found["refused"] += 1
    assert found[True] > 0 == found[False]


BAD_FILES = {
    "cut gzip": ("jsonl", gzip.compress(b'{"q": "one"}\n' * 50, mtime=0)[:-9], "gzip stream"),
    "not JSON": ("jsonl", b'{"q": "one"}\n{"q": \n', "line 2"),
    "not an object": ("jsonl", b'["q"]\n', "line 1"),
    "not UTF-8": (
        "jsonl",
        b'{"q": "one"}\n{"q": "\xff"}',
        "line 2 (counted from 1) is none from its byte 8 on, expected UTF-8",
    ),
    "nested beyond reason": ("jsonl", b'{"q": ' + b"[" * 200_000, "line 1 (counted from 1)"),
    "no such field in a row": (
        "jsonl",
        b'{"q": "one"}\n{"p": "one"}\n',
        "line 2 (counted from 1), fields is p, expected q",
    ),
    "open quote": ("csv", b'q,a\n"one,2\n', "rows"),
    "row too long": ("csv", b"q,a\n1,2,3\n", "row 1 below the header (counted from 1), cells"),
    "row too short": ("csv", b"q,a\n1,2\n1\n", "row 2 below the header (counted from 1), cells"),
    "no such column": ("csv", b"p,a\n1,2\n", "row 1 below the header (counted from 1), fields"),
    "column twice": ("csv", b"q,q\n1,2\n", "header"),
    "csv not UTF-8": ("csv", b"q\n\xe9\n", "line 2 (counted from 1) is none from its byte 1 on, expected UTF-8"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_an_error_that_says_where(name):
    kind, data, where = BAD_FILES[name]
    with pytest.raises(CorruptDataError) as caught:
        read(eval_set("q", format=kind), data)
    assert str(caught.value).startswith(f"quiz.file: {where}")


def rules(*sets, **others):
    return DecontaminationRules(eval_sets=sets or (eval_set("q"),), **others)


def texts(*fields, name="quiz"):
    return [EvalText(name, i, "q", text) for i, text in enumerate(fields)]


def test_every_text_is_counted_once():
    index, (quiz, other) = build_index(
        [*texts(LONG, "one two three four five six seven eight", "too short", "", LONG), *texts(LONG, name="other")],
        rules(eval_set("q"), eval_set("q", name="other"), exempt=("quiz:4",)),
    )
    assert asdict(quiz) == {
        "eval_set": "quiz", "items": 5, "texts": 5, "exempt": 1, "too_short": 2, "whole": 1, "cut": 1
    }  # fmt: skip
    assert (other.items, other.cut) == (1, 1)
    assert index.entries == (("quiz", "0.q"), ("quiz", "1.q"), ("other", "0.q"))


def test_words_needed_and_ngram_follow_the_rules():
    _, (counts,) = build_index(texts("one two three", "one two", "a b c d e"), rules(ngram=4, min_item_words=3))
    assert (counts.too_short, counts.whole, counts.cut) == (1, 1, 1)


def test_fields_are_never_joined():
    half = LONG.split(maxsplit=7)
    pair = [EvalText("quiz", 0, "q", " ".join(half[:7])), EvalText("quiz", 0, "a", half[7])]
    index, (counts,) = build_index(pair, rules())
    assert (counts.too_short, counts.whole) == (1, 1)
    assert all(name == "0.a" for _, name in index.entries)


@pytest.mark.parametrize("exempt", [("quiz:5",), ("quiz:0", "quiz:1")])
def test_an_exemption_of_no_item_is_refused(exempt):
    with pytest.raises(ConfigError, match=exempt[-1]):
        build_index(texts(LONG), rules(exempt=exempt))


def test_the_order_of_the_sets_is_part_of_the_index_but_not_of_what_it_protects():
    one, _ = build_index([*texts(LONG), *texts(LONG + " Why?", name="other")], rules())
    two, _ = build_index([*texts(LONG + " Why?", name="other"), *texts(LONG)], rules())
    assert set(one.keys.tolist()) == set(two.keys.tolist())


@needs_shared_data
def test_real_eval_sets_protect_each_of_their_own_texts():
    sets = [
        (eval_set("question", "answer", name="gsm8k"), "gsm8k/train.jsonl.gz", 7473),
        (eval_set("prompt", "test", name="humaneval"), "humaneval/HumanEval.jsonl.gz", 164),
        (eval_set("text", "test_list", name="mbpp"), "mbpp/mbpp.jsonl", 974),
        (eval_set("Question", "Best Answer", name="truthfulqa", format="csv"), "truthfulqa/TruthfulQA.csv", 817),
    ]
    every = []
    for which, path, items in sets:
        with open(DATA / "evals" / path, "rb") as file:
            mine = read_texts(which, file)
        assert len({text.item for text in mine}) == items
        every += mine
    index, counts = build_index(every, rules(*(which for which, _, _ in sets)))
    assert sum(c.texts for c in counts) == len(every)
    entry, _, _ = match(normalize(pa.array([text.text for text in every], pa.large_string())), index)
    protected = sum(c.whole + c.cut for c in counts)
    assert protected <= (entry >= 0).sum() < len(every)

import io
import json
import re
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels import text_signals as kernel
from corpus_assets.kernels.text_signals import StopWords, text_signals
from corpus_assets.kernels.words import word_count
from formats.stage_tables import COUNTED_SIGNALS
from tests.kernels import reference_signals as reference
from tests.shared_data import DATA, needs_shared_data

PAGE = Path(kernel.__file__).with_name("text_signals.md")

WORDS = [
    "the", "The", "cat", "and", "of", "WITH", "naïve", "Straße", "ΑΒΓ", "我", "喜欢", "カタ", "ไทย", "한국어",
    "42", "3rd", "-", "--", "*", "•", "#", "##", ".", "..", "...", "…", ",", "😀",
]  # fmt: skip
SIGNS = list("\t\u3000\u2028\u200b\ufffd\x00\x7f\x85\r\x0c\u0301")
pieces = st.sampled_from([*WORDS, *SIGNS, " ", "  ", "- ", "* ", "\n", "\n\n", "\n \n", "a b c d e f g h i j k"])
repetitive = st.lists(pieces, max_size=40).map("".join)
paragraphs = st.lists(
    st.sampled_from(["one line", "one line ", " one line", "other\nlines", "- x", "end…"]), max_size=12
).map("\n\n".join)
looped = st.tuples(st.lists(pieces, min_size=1, max_size=6).map("".join), st.integers(1, 12)).map(lambda x: x[0] * x[1])
documents = st.text(max_size=80) | repetitive | paragraphs | looped


def measured(text):
    return text_signals(pa.array([text], pa.large_string())).to_pylist()[0]


@settings(max_examples=400, deadline=None)  # the first call compiles
@given(documents)
def test_signals_equal_the_reference(text):
    assert measured(text) == reference.signals(text)


@settings(deadline=None)
@given(st.lists(documents | st.none(), max_size=8), st.data())
def test_a_slice_of_a_column_with_nulls_is_measured_row_by_row(texts, data):
    start = data.draw(st.integers(0, len(texts)))
    column = pa.array(texts, pa.large_string())[start:]
    assert text_signals(column).to_pylist() == [reference.signals(text or "") for text in texts[start:]]


SETS = {"de": ["der", "und", "naïve", "straße"], "th": ["ไทย", "ทย", "ไ"], "zh": ["我", "喜欢"], "el": ["αβγ", "42"]}


@settings(deadline=None)
@given(st.lists(st.tuples(documents, st.sampled_from(["en", "und", None, *SETS])), max_size=6))
def test_stop_words_are_those_of_the_language_and_english_where_it_has_none(rows):
    text, lang = (pa.array([row[i] for row in rows], pa.large_string()) for i in (0, 1))
    found = text_signals(text, lang, StopWords.of(SETS)).to_pylist()
    assert found == [reference.signals(one, SETS.get(code, reference.STOP_WORDS)) for one, code in rows]


def test_a_stop_word_of_a_script_without_spaces_is_its_characters_in_a_row_and_nothing_between():
    text = pa.array(["แมวและหมา", "แล ะ", "แ ล ะ", "และ และ"], pa.large_string())
    found = text_signals(text, pa.array(["th"] * 4), StopWords.of({"th": ["และ"]}))
    assert found["stop_words"].to_pylist() == [1, 0, 0, 1]


@pytest.mark.parametrize(("entry", "words"), [("", 0), (" — ", 0), ("ไ" * 9, 9)])
def test_a_stop_word_of_no_word_or_too_many_is_refused(entry, words):
    with pytest.raises(ValueError, match=f"is {words} words, expected 1 to 8"):
        StopWords.of({"th": [entry]})


@settings(deadline=None)
@given(st.lists(documents, max_size=6))
def test_words_are_those_of_the_word_pass(texts):
    column = pa.array(texts, pa.large_string())
    assert text_signals(column)["n_words"].equals(word_count(column))


def test_the_kernel_counts_every_signal_the_rules_read():
    batch = text_signals(pa.array([], pa.large_string()))
    assert batch.schema.names[:2] == ["n_words", "n_chars"]
    assert set(batch.schema.names[2:]) == set(COUNTED_SIGNALS)
    assert set(batch.schema.types) == {pa.int64()}


def test_the_worked_example_of_the_page_holds():
    fences = re.findall(r"```(?:text|json)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    text, numbers = fences[0].removesuffix("\n"), json.loads(fences[1])
    assert measured(text) == numbers == reference.signals(text)


@pytest.mark.parametrize("text", ["", " ", "\n\n \t\n", "!?", "!!! ??? ;;;", "😀", "\u2028"])
def test_a_document_without_words_is_all_zeros_but_for_its_length(text):
    assert {name for name, value in measured(text).items() if value} <= {"n_chars"}


def test_characters_and_lines_count_in_a_document_without_words_too():
    found = measured("\ufffd\x00\n…\n…\n…")
    assert found["n_words"] == 0
    assert (found["replacement_char_ratio"], found["control_char_ratio"]) == (125_000, 125_000)
    assert (found["ellipsis_line_ratio"], found["duplicate_line_ratio"]) == (750_000, 500_000)


@pytest.mark.parametrize(
    ("text", "signal", "value"),
    [
        ("a bb ccc", "mean_word_chars", 2_000),
        ("a bb", "mean_word_chars", 1_500),
        ("a a bb", "mean_word_chars", 1_333),  # floor
        ("# a b", "symbol_word_ratio", 500_000),
        ("# a … b", "symbol_word_ratio", 500_000),  # either sign for itself, not both together
        ("a...... b", "symbol_word_ratio", 1_000_000),  # six full stops are two ellipses
        ("a.. b", "symbol_word_ratio", 0),
        ("- a\n-b\n-\n--", "bullet_line_ratio", 500_000),
        ("  • a\n\t* b\n+ c\n◦d", "bullet_line_ratio", 1_000_000),
        ("1. a\n– b", "bullet_line_ratio", 0),
        ("a...\nb…  \nc\n\n", "ellipsis_line_ratio", 666_666),
        ("a\n..", "ellipsis_line_ratio", 0),
        ("a 1 2b 33", "alphabetic_word_ratio", 500_000),
        ("我 1", "alphabetic_word_ratio", 500_000),
        ("\u0301", "alphabetic_word_ratio", 0),  # a mark alone is a word without a letter
        ("The BE to of and that have with", "stop_words", 8),
        ("the the THE", "stop_words", 1),
        ("then bee", "stop_words", 0),
        ("我们a", "single_word_ratio", 666_666),
        ("한국어", "single_word_ratio", 0),
        ("a\x00\x85\x7f\t\n\r\x0c", "control_char_ratio", 500_000),
        ("x\n x\nx \ny", "duplicate_line_ratio", 500_000),  # white space at both ends is off
        ("x\nX", "duplicate_line_ratio", 0),
        ("xx\nxx", "duplicate_line_char_ratio", 400_000),
        ("a\nb\n\n\n \na\nb\n\nb\na", "duplicate_paragraph_ratio", 333_333),
        ("a\nb\n\na\nb", "duplicate_paragraph_char_ratio", 375_000),  # 3 of 8: the newline inside belongs to it
        ("no no", "top_2gram_char_ratio", 0),
        ("no no no", "top_2gram_char_ratio", 1_000_000),
        ("ab, ab! ab", "top_2gram_char_ratio", 1_000_000),  # signs and white space inside a run belong to it
        ("a b c d e. A b c d e", "duplicate_5gram_char_ratio", 450_000),  # 9 of 20, case does not matter
    ],
)
def test_signal_of_a_small_document(text, signal, value):
    assert measured(text)[signal] == value == reference.signals(text)[signal]


@pytest.mark.parametrize(
    "text",
    ["我喜欢猫。" * 3, "แมวกินปลา" * 3, "قطة تأكل السمك. " * 3, "😀😀 😀", "e\u0301t\u00e9 " * 4],
    ids=["Chinese", "Thai", "Arabic", "emoji", "marks"],
)
def test_scripts_without_spaces_and_from_right_to_left_equal_the_reference(text):
    assert measured(text) == reference.signals(text)


@needs_shared_data
@pytest.mark.parametrize(
    ("name", "step"),
    [("docs-fastapi/fastapi-0.115.5", 40), ("docs-tldr/tldr", 600), ("stories/aesop", 20), ("code/iipc__jwarc", 12)],
)
def test_real_documents_equal_the_reference(name, step):
    with open(DATA / f"{name}.jsonl.zst", "rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        lines = islice(io.TextIOWrapper(stream, "utf-8"), 0, None, step)
        texts = [json.loads(line)["text"] for line in lines]
    assert text_signals(pa.array(texts, pa.large_string())).to_pylist() == [*map(reference.signals, texts)]


def test_a_word_a_megabyte_long_and_a_word_a_million_times():
    assert measured("x" * 1_000_000)["mean_word_chars"] == 1_000_000_000
    found = measured("word " * 200_000)
    assert found["top_2gram_char_ratio"] == 999_999
    assert found["duplicate_10gram_char_ratio"] == 999_994  # all but the first word and what follows it
    assert found["duplicate_line_ratio"] == 0


def test_a_long_document_among_short_ones_changes_none_of_them():
    short = ["a b a b", "x\nx", "the cat"]
    long = " ".join(str(i) for i in range(20_000)) + "\n" * 50_000
    rows = text_signals(pa.array([*short, long, *short], pa.large_string())).to_pylist()
    assert rows[:3] == rows[4:] == [reference.signals(text) for text in short]
    assert rows[3]["n_words"] == 20_000


def test_32_bit_offsets_are_refused():
    with pytest.raises(TypeError, match="large_string"):
        text_signals(pa.array(["a"], pa.string()))

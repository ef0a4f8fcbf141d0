import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.exact_text import normalize
from corpus_assets.kernels.option_markers import marker_count
from corpus_assets.stages.decontaminate import HITS, decontaminate
from corpus_assets.stages.eval_items import EvalText, build_index
from formats.benchmark_rules import DecontaminationRules, EvalSet

QUESTION = (
    "A gardener waters four beds of peonies in the café’s courtyard every evening except Sunday, using six cans "
    "a bed; how many cans does she carry up the stairs in three weeks?"
)
OPTIONS = ["four hundred and thirty-two cans", "five hundred and four cans", "seventy-two cans", "none of these"]
FILLER = " ".join(f"filler{i % 97} passage{i % 89}" for i in range(1_000))


def index_of(*exempt):
    texts = [EvalText("mmlu", 0, "answer", "A short reply of eight words stands here alone")]
    texts += [EvalText("mmlu", 12, "question", QUESTION)]
    texts += [EvalText("mmlu", 12, f"choices.{i}", option) for i, option in enumerate(OPTIONS)]
    sets = (EvalSet("mmlu", "mmlu.jsonl", "0" * 64, "jsonl", ("question", "choices", "answer")),)
    return build_index(texts, DecontaminationRules(eval_sets=sets, exempt=exempt))[0]


INDEX = index_of()


def found(*texts, index=INDEX):
    batch = pa.record_batch({"text": normalize(pa.array(texts, pa.large_string()))})
    return decontaminate(batch, index)


def wrapped(text, words):
    parts = text.split()
    return "\n".join(" ".join(parts[i : i + words]) for i in range(0, len(parts), words))


numbered_options = "\n".join(f"{i + 1}. {option}" for i, option in enumerate(OPTIONS))
LEAKS = {
    "as one line": QUESTION,
    "wrapped at eight words": wrapped(QUESTION, 8),
    "wrapped with carriage returns": wrapped(QUESTION, 8).replace("\n", "\r\n"),
    "inside two thousand words": f"{FILLER} {QUESTION} {FILLER}",
    "with decomposed accents": unicodedata.normalize("NFD", QUESTION),
    "with numbered options": f"12. {QUESTION}\n{numbered_options}\nAnswer: 1",
    "in capitals": QUESTION.upper(),
    "with other punctuation": QUESTION.replace(",", " –").replace("’", "'"),
    "thirteen words of it": " ".join(QUESTION.split()[5:18]),
}


@pytest.mark.parametrize("how", LEAKS)
def test_an_item_is_found(how):
    hit = found(LEAKS[how]).to_pylist()[0]
    assert (hit["eval_set"], hit["eval_item"]) == ("mmlu", "12.question")
    text = normalize(pa.array([LEAKS[how]], pa.large_string()))[0].as_py()
    part = text[hit["span_start"] : hit["span_end"]].lower().split()
    assert part[0] in ("a", "of")
    assert len(part) <= 13


@pytest.mark.parametrize(
    "text",
    [
        "",
        FILLER,
        " ".join(QUESTION.split()[:11]),
        " ".join(reversed(QUESTION.split())),
        numbered_options,
        wrapped(" ".join(word for pair in zip(QUESTION.split(), FILLER.split(), strict=False) for word in pair), 8),
    ],
)
def test_a_document_without_thirteen_words_of_an_item_is_clean(text):
    assert found(text).to_pylist() == [dict.fromkeys(HITS.names)]


def test_a_short_item_is_found_as_a_whole():
    hit, clean = found(
        "So: A short reply, of eight words, stands here alone!", "A short reply of eight words stands here"
    ).to_pylist()
    assert hit == {"eval_set": "mmlu", "eval_item": "0.answer", "span_start": 4, "span_end": 52}
    assert clean["eval_set"] is None


def test_an_exempt_item_is_not_found_and_others_still_are():
    reply = "a short reply of eight words stands here alone"
    hits = found(QUESTION, reply, index=index_of("mmlu:12"))
    assert hits["eval_item"].to_pylist() == [None, "0.answer"]


def test_without_eval_sets_every_document_is_clean():
    empty, _ = build_index([], DecontaminationRules())
    hits = found(QUESTION, "", index=empty)
    assert hits.schema == HITS
    assert hits["eval_set"].null_count == 2


SAYING = "whoever counts the lamps on the quay before the tide turns will never be late for supper in his life"
HARD_NEGATIVES = {
    "a saying that an item cites in part": f"As people say in Wold, {SAYING}. They have always said so.",
    "a formula": "The sum of the series is a (1 - r^n) / (1 - r), where a is the first term and r is the common ratio.",
    "an instruction": "Answer each of the following questions with one word: true, false, or unknown. Say why.",
    "the same question of other things": QUESTION.replace("peonies", "lilies").replace(
        "six cans a bed", "two cans a bed"
    ),
}
CITING = [
    EvalText(
        "logic", 0, "q", f"Who is late for supper if {' '.join(SAYING.split()[:9])}? Nobody, or the man next door?"
    ),
    EvalText("logic", 1, "q", "Find the sum of the series if a is the first term and r is the common ratio."),
    EvalText(
        "logic", 2, "q", "Answer each of the following questions with one word: is the lamp lit in the tower or not?"
    ),
    EvalText(
        "logic", 3, "q", "A gardener waters four beds of peonies and then two beds of lilies; how many beds is that?"
    ),
]
LOGIC = EvalSet("logic", "logic.jsonl", "0" * 64, "jsonl", ("q",))


@pytest.mark.parametrize("name", HARD_NEGATIVES)
def test_what_many_texts_say_is_no_leak_until_thirteen_words_of_an_item_stand_there(name):
    """Famous quotes, formulas and templates were always flagged."""
    index, _ = build_index(CITING, DecontaminationRules(eval_sets=(LOGIC,)))
    assert found(HARD_NEGATIVES[name], index=index)["eval_set"].to_pylist() == [None]


def test_an_item_that_cites_a_whole_saying_drops_who_cites_it_until_a_person_exempts_it():
    items = [*CITING, EvalText("logic", 4, "q", f"True or false: {SAYING}?")]
    quote = HARD_NEGATIVES["a saying that an item cites in part"]
    index, _ = build_index(items, DecontaminationRules(eval_sets=(LOGIC,)))
    assert found(quote, index=index)["eval_item"].to_pylist() == ["4.q"]
    index, _ = build_index(items, DecontaminationRules(eval_sets=(LOGIC,), exempt=("logic:4",)))
    assert found(quote, index=index)["eval_item"].to_pylist() == [None]


def test_every_setting_is_read():
    """A threshold in the config that nobody read; each step of each setting changes what is found here."""
    words = SAYING.split()
    parts = [" ".join(words[:n]) for n in range(6, 21)]
    item = [EvalText("logic", 0, "q", SAYING)]
    for ngram in (8, 13, 20):
        index, _ = build_index(item, DecontaminationRules(eval_sets=(LOGIC,), ngram=ngram))
        hits = found(*parts, index=index)["eval_set"].to_pylist()
        assert [len(part.split()) for part, hit in zip(parts, hits, strict=True) if hit] == [*range(ngram, 21)]
    for least in (3, 8, 12):
        rules = DecontaminationRules(eval_sets=(LOGIC,), min_item_words=least)
        index, _ = build_index([EvalText("logic", 0, "q", parts[2])], rules)
        assert found(parts[2], index=index)["eval_set"].to_pylist() == (["logic"] if least <= 8 else [None])


@settings(deadline=None)
@given(st.lists(st.sampled_from([*LEAKS.values(), "", "clean", FILLER]), max_size=6), st.integers(0, 6))
def test_batches_may_be_cut_anywhere(texts, cut):
    whole = pa.Table.from_batches([found(*texts)])
    parts = pa.Table.from_batches([found(*texts[:cut]), found(*texts[cut:])], HITS)
    assert whole.combine_chunks().equals(parts.combine_chunks())


SENTENCES = (
    "Nine red apples hang over the old wall",
    "the children take three of them each",
    "how many are left for you",
)
LISTS = [
    "A) {}\nB) {}\nC) {}", "(a) {}\n(b) {}\n(c) {}", "1. {}\n2. {}\n3. {}", "  A: {}\r\n  B: {}\r\n  C: {}",
    "I read: A) {} B) {} C) {} and more.",
]  # fmt: skip


@pytest.mark.parametrize("form", LISTS)
def test_an_item_whose_sentences_were_made_options_of_is_found_with_its_span(form):
    index, _ = build_index(
        [EvalText("set", 3, "question", " ".join(SENTENCES))],
        DecontaminationRules(eval_sets=(EvalSet("set", "s.jsonl", "0" * 64, "jsonl", ("question",)),)),
    )
    text = normalize(pa.array([form.format(*SENTENCES)], pa.large_string()))[0].as_py()
    [hit] = found(text, index=index).to_pylist()
    assert (hit["eval_set"], hit["eval_item"]) == ("set", "3.question")
    assert text[hit["span_start"] : hit["span_end"]].startswith(SENTENCES[0])


def test_markers_of_options_hide_and_make_no_other_hit():
    """Where the words without the markers are not those of an item, nothing is found; where an item has markers of its
    own, it is found with them.
    """
    assert found("A) nine B) eight C) seven D) six of them are left over there in the end", FILLER) == found("a", "b")
    table = ", ".join(f'{i}: "{i}"' for i in range(14))
    digits, _ = build_index(
        [EvalText("set", 0, "q", " ".join(map(str, range(14))))],
        DecontaminationRules(eval_sets=(EvalSet("set", "s.jsonl", "0" * 64, "jsonl", ("q",)),)),
    )
    assert found(table, index=digits).to_pylist()[0]["eval_set"] is None, "keys of a table are no options"
    own = "(1) turn left at the mill (2) go on to the lake (3) wait there for the ferryman until he comes"
    index, _ = build_index(
        [EvalText("set", 0, "q", own)],
        DecontaminationRules(eval_sets=(EvalSet("set", "s.jsonl", "0" * 64, "jsonl", ("q",)),)),
    )
    assert found(f"{FILLER} {own}", index=index).to_pylist()[0]["eval_set"] == "set"
    index, _ = build_index(
        [EvalText("set", 0, "q", own.replace("(2) ", "").replace("(3) ", ""))],
        DecontaminationRules(eval_sets=(EvalSet("set", "s.jsonl", "0" * 64, "jsonl", ("q",)),)),
    )
    one = own.replace("(1) ", "").replace("(2) ", "")
    assert found(one, index=index).to_pylist()[0]["eval_set"] is None, "one marker is no list"


PLANETS = (
    "Mercury the small grey one",
    "Jupiter the great striped one",
    "Saturn with its icy rings",
    "Neptune the far blue one",
)
MARKS = {
    "A.": "ABCD", "(a)": "abcd", "[A]": "ABCD", "a)": "abcd", "A:": "ABCD", "1.": "1234", "1)": "1234", "(1)": "1234",
    "[1]": "1234", "-": "----", "*": "****", "•": "••••", "i.": ("i", "ii", "iii", "iv"),
    "(I)": ("I", "II", "III", "IV"), "": ("", "", "", ""),
}  # fmt: skip


def options(form):
    one = form.strip("()[].:") or form
    marks = [form.replace(one, mark) if one else "" for mark in MARKS[form]]
    return "Which one is largest?\n" + "\n".join(map(" ".join, zip(marks, PLANETS, strict=True)))


@pytest.mark.parametrize("text", MARKS)
@pytest.mark.parametrize("item", MARKS)
def test_an_item_is_found_whatever_marks_its_options_there_and_in_the_text(item, text):
    index, _ = build_index(
        [EvalText("logic", 7, "q", options(item))], DecontaminationRules(eval_sets=(LOGIC,), exempt=())
    )
    [hit] = found(f"{FILLER}\n{options(text)}\n{FILLER}", index=index).to_pylist()
    assert (hit["eval_set"], hit["eval_item"]) == ("logic", "7.q")


def test_what_is_too_short_without_its_markers_is_protected_with_them_alone():
    own = "Pick: (1) red (2) blue (3) green (4) grey"
    index, _ = build_index([EvalText("logic", 0, "q", own)], DecontaminationRules(eval_sets=(LOGIC,)))
    assert len(index.entries) == 1
    assert found(own, "pick red blue green grey", index=index)["eval_item"].to_pylist() == ["0.q", None]


def test_words_of_roman_letters_in_a_sentence_are_no_options():
    """Words that only begin or end like one are words; a few Roman numbers in a text alone make no hit."""
    texts = ["mi. fa. mix. xxxxx. [a b] x] [sic] civil. he", "i. one ii. two xviii. three", "Louis XIV. was king"]
    assert marker_count(normalize(pa.array(texts, pa.large_string()))).tolist() == [0, 2, 1]

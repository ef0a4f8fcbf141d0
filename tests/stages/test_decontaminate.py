import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.exact_text import normalize
from corpus_assets.stages.decontaminate import HITS, decontaminate
from corpus_assets.stages.eval_items import EvalText, build_index
from formats.corpus_config import DecontaminationRules, EvalSet

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
        wrapped(" ".join(word for pair in zip(QUESTION.split(), FILLER.split()) for word in pair), 8),  # noqa: B905
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


@settings(deadline=None)
@given(st.lists(st.sampled_from([*LEAKS.values(), "", "clean", FILLER]), max_size=6), st.integers(0, 6))
def test_batches_may_be_cut_anywhere(texts, cut):
    whole = pa.Table.from_batches([found(*texts)])
    parts = pa.Table.from_batches([found(*texts[:cut]), found(*texts[cut:])], HITS)
    assert whole.combine_chunks().equals(parts.combine_chunks())

"""Ids of a text given in parts are the ids of the whole, for every pattern that is taken for known."""

import json
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from corpus_assets.stages import exact_cuts
from corpus_assets.stages.exact_cuts import has_exact_cuts, parts

LEARNED = [
    "the cat's mat, and they'll say: don't! 12345 and 3.14159\n\n  def f(x):\n\treturn x  # it's\n",
    "Über den Wolken, müsste die Freiheit; 東京の空。猫が好き、犬も。 Всё хорошо, да? 한국어 문장.\n",
    "HTMLParser camelCase snake_case x1y2 a/b/c ... --- === <|end|> \u00a0\u3000 \r\n end",
] * 20  # fmt: skip


def trained(pre_tokenizer, normalizer=None):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(LEARNED, trainer)
    tokenizer.encode_special_tokens = True
    return tokenizer


def split_by(pattern):
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), to_bytes])


TOKENIZERS = {
    "byte level": trained(pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "byte level, NFC": trained(pre_tokenizers.ByteLevel(add_prefix_space=False), normalizers.NFC()),
    **{f"pattern {i}": trained(split_by(one)) for i, one in enumerate(sorted(exact_cuts.KNOWN_PATTERNS))},
}
PIECES = st.sampled_from([
    *"aZéЖя猫あア한ﬁ'’s0٣.,;:!?()-_/+=<>\"\n\r\t \u00a0\u3000\u3001\u3002\uff0c\u0301\u200d\x00\x1c😀",
    "'ll", "'S", "  ", "\r\n",
    "don't", "x\u0301", "e\u0301 ", "ab1", "<|end|>", "\u017f", "१", "ก็", "ा",
])  # fmt: skip


@pytest.mark.parametrize("name", TOKENIZERS)
@given(st.lists(PIECES, max_size=60).map("".join), st.integers(1, 9))
@example("it's a\nb  c\n\nd, e。f'll g\u0301 h", 1)
def test_ids_of_the_parts_are_those_of_the_whole(name, text, chars):
    tokenizer = TOKENIZERS[name]
    cut = list(parts(text, chars))
    assert "".join(cut) == text
    assert all(len(part) >= chars for part in cut[:-1])
    found = [i for part in cut for i in tokenizer.encode(part, add_special_tokens=False).ids]
    assert found == tokenizer.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_cut_after_every_letter_before_every_ascii_character_keeps_the_ids(name):
    """Every kind of neighbour: 128 characters after a letter and before three kinds of text."""
    tokenizer, draw = TOKENIZERS[name], random.Random(1)
    for code in range(128):
        for after in ("x", " y", "\n", "", "'s", "9"):
            text = "".join(draw.choice("abc .,\n'1") for _ in range(6)) + "猫a" + chr(code) + after
            found = [i for part in parts(text, 1) for i in tokenizer.encode(part, add_special_tokens=False).ids]
            assert found == tokenizer.encode(text, add_special_tokens=False).ids, repr(text)


def test_the_shapes_that_are_tried_here_are_those_that_are_taken_for_known():
    assert all(has_exact_cuts(json.loads(tokenizer.to_str())) for tokenizer in TOKENIZERS.values())


def as_json(**changes):
    document = json.loads(TOKENIZERS["byte level"].to_str())
    return {**document, **changes}


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


@pytest.mark.parametrize("changes", [
    {"normalizer": {"type": "NFKC"}},
    {"normalizer": {"type": "Lowercase"}},
    {"pre_tokenizer": None},
    {"pre_tokenizer": {"type": "Metaspace", "replacement": "▁"}},
    {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "use_regex": True}},
    {"pre_tokenizer": BYTES},  # no pattern: words are joined over spaces
    {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": r"\s+|\S+\s\S+"}, "behavior": "Isolated", "invert": False}, BYTES]}},
    {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, BYTES]}},
    {"model": {"type": "Unigram", "vocab": []}},
    {"model": {"type": "WordPiece", "vocab": {}}},
    {"model": {"type": "BPE", "byte_fallback": True}},
    {"model": {"type": "BPE", "end_of_word_suffix": "</w>"}},
    {"added_tokens": [{"content": "of the", "special": False}]},
    {"added_tokens": [{"content": "<unused1>", "special": False}]},
    {"added_tokens": [{"content": "name", "special": False, "rstrip": True}]},
])  # fmt: skip
def test_a_tokenizer_of_another_shape_gets_whole_texts(changes):
    assert not has_exact_cuts(as_json(**changes))


def test_an_added_token_that_no_cut_can_part_and_special_ones_keep_the_cuts():
    added = [{"content": "<tool_call>", "special": False}, {"content": "of the", "special": True, "rstrip": True}]
    assert has_exact_cuts(as_json(added_tokens=added))


def test_a_text_without_a_place_to_cut_stays_whole():
    for text in (" " * 50, "^" * 50, "猫" * 50, "a" * 50, "1" * 50, ""):
        assert list(parts(text, 5)) == [text]

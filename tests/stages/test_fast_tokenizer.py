"""fastokens stands in for the tokenizers library only where it gives the same ids, and never unwatched."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from corpus_assets.stages import exact_cuts, fast_tokenizer, loaded_tokenizer
from corpus_assets.stages import tokenize_documents as stage
from corpus_assets.stages.loaded_tokenizer import load_tokenizer
from corpus_assets.stages.tokenize_documents import tokenize_documents
from corpus_assets.stages.tokenizer_file import load_fast, load_file
from formats.errors import ConfigError, CorruptDataError
from tests.stages.test_exact_cuts import LEARNED, TOKENIZERS
from tests.stages.test_tokenize_documents import END, byte_level, rows, write

ADDED = [END]
DIFFERS = "pattern 0"
"""GPT-2's pattern written out in a Split: fastokens 0.3.5 takes another code point for white space there."""


@pytest.fixture(scope="module")
def pinned(tmp_path_factory):
    """The arguments of `load_tokenizer` for a byte-level BPE, with fastokens."""
    return {**write(tmp_path_factory.mktemp("fast"), byte_level(learned=LEARNED)), "fast": True}


@pytest.mark.parametrize("name", [
    "byte level",
    *(pytest.param(name, marks=pytest.mark.slow) for name in TOKENIZERS if name not in ("byte level", DIFFERS)),
])  # fmt: skip
def test_every_known_shape_is_proven_equal(name):
    tokenizer = TOKENIZERS[name]
    fast = fast_tokenizer.load(tokenizer.to_str().encode())
    assert fast_tokenizer.difference(tokenizer, fast, ADDED) is None


def test_a_real_difference_is_found_by_the_proof_and_named():
    tokenizer = TOKENIZERS[DIFFERS]
    words = fast_tokenizer.difference(tokenizer, fast_tokenizer.load(tokenizer.to_str().encode()), ADDED)
    assert words is not None
    assert "and with fastokens [" in words


class Wrong:
    """fastokens, but for the ids of texts that hold a certain word."""

    def __init__(self, fast, word):
        self.fast, self.word = fast, word

    def encode_batch_flat(self, texts, **settings):
        ids, offsets = self.fast.encode_batch_flat(texts, **settings)
        flat, ends = np.frombuffer(ids, "<u4").copy(), np.frombuffer(offsets, "<u8")
        for place, text in enumerate(texts):
            if self.word in text:
                flat[int(ends[place + 1]) - 1] ^= 1
        return flat.tobytes(), offsets


@pytest.mark.parametrize("word", ["\u180e", "XMLHttp2Request", f"a{END}b", "\x00", "\U0001d7d8", "\u0ce1"])
def test_a_difference_in_one_text_of_the_proof_is_enough(word):
    tokenizer = TOKENIZERS["byte level"]
    fast = Wrong(fast_tokenizer.load(tokenizer.to_str().encode()), word)
    assert fast_tokenizer.difference(tokenizer, fast, ADDED) is not None


def test_the_proof_holds_every_code_point_outside_the_large_blocks():
    """Letters, marks, numbers, signs and what is not assigned, each between letters, digits, points and line ends."""
    seen = set("".join(fast_tokenizer.proof_texts(ADDED)))
    wanted = {chr(point) for point in (*range(0x3400), *range(0xA000, 0xAC00), *range(0x1D000, 0x20000))}
    assert wanted <= seen
    assert sum(0x4E00 <= ord(c) < 0xA000 for c in seen) > 300
    assert not {chr(c) for c in range(0xD800, 0xE000)} & seen


@given(st.lists(st.text(max_size=60), max_size=6))
def test_rows_are_the_same_with_it_and_without(pinned, texts):
    batches = [
        tokenize_documents(rows(texts), shards={"train/web": (0, 2)}, seed=1, tokenizer={**pinned, "fast": fast})
        for fast in (True, False)
    ]
    assert batches[0].equals(batches[1])


@pytest.mark.parametrize("text", [END, f"before {END} after", f"{END}{END}"])
def test_a_special_token_in_a_text_is_text_for_it_too(pinned, text):
    found = [load_tokenizer(**{**pinned, "fast": fast}).encode([text])[0].tolist() for fast in (True, False)]
    assert found[0] == found[1]
    assert found[0].count(load_tokenizer(**pinned).end) == 1


def test_long_texts_are_cut_for_it_as_well(pinned, monkeypatch):
    text = "the heron, it's on the weir again. " * 200
    whole = load_tokenizer(**pinned).encode([text, "", text])
    monkeypatch.setattr(loaded_tokenizer, "BATCH_CHARS", 100)
    monkeypatch.setattr(exact_cuts, "PART_CHARS", 30)
    assert [one.tolist() for one in load_tokenizer(**pinned).encode([text, "", text])] == [
        one.tolist() for one in whole
    ]


def test_a_document_that_is_encoded_again_and_differs_fails_its_shard_by_name_and_place(pinned, monkeypatch):
    loaded = load_tokenizer(**pinned)
    wrong = replace(loaded, fast=Wrong(loaded.fast, "heron"))
    monkeypatch.setattr(stage, "load_tokenizer", lambda **_: wrong)
    monkeypatch.setattr(loaded_tokenizer, "AGAIN_ONE_IN", 1)
    with pytest.raises(CorruptDataError, match=r"^web:2: token \d+ is \[\d+\], expected \[\d+\]; take `fast` out"):
        tokenize_documents(rows(["a bell", "", "one heron"]), shards={"train/web": (0, 1)}, seed=1, tokenizer=pinned)


def test_one_document_in_a_thousand_is_encoded_again(pinned):
    class Counting:
        def __init__(self, library):
            self.library, self.texts = library, 0

        def encode_batch_fast(self, texts, **settings):
            self.texts += len(texts)
            return self.library.encode_batch_fast(texts, **settings)

    loaded = load_tokenizer(**pinned)
    counting = replace(loaded, library=Counting(loaded.library))
    names, texts = [f"web:{i}" for i in range(20_000)], ["a"] * 20_000
    counting.check_again(names, texts, *counting.encode(texts), stage.document_hashes(names, 1))
    assert 5 < counting.library.texts < 50


def test_a_tokenizer_of_no_known_shape_is_refused(tmp_path):
    tokenizer = Tokenizer(models.WordLevel({"a": 0, END: 1}, unk_token=END))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    file = write(tmp_path, tokenizer)
    assert load_file(file["path"], file["sha256"])[1] is False
    with pytest.raises(ConfigError, match="is no byte-level BPE with the pattern of GPT-2"):
        load_fast(file["path"], file["sha256"])


def test_without_fastokens_the_extra_to_install_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastokens", None)
    with pytest.raises(ConfigError, match=r"pip install 'corpus-assets\[fast\]'"):
        fast_tokenizer.load(b"{}")


def test_what_it_cannot_load_is_refused_in_words():
    with pytest.raises(ConfigError, match="fastokens refuses this tokenizer"):
        fast_tokenizer.load(b"{}")

"""Texts as ids: those of the library, whatever stands in a text and however long it is; reports 48, 49 and 51."""

import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from corpus_assets.stages import exact_cuts, loaded_tokenizer
from corpus_assets.stages.loaded_tokenizer import LoadedTokenizer, load_tokenizer
from corpus_assets.stages.tokenize_documents import CORPUS_ROWS, TOKENIZED, tokenize_documents
from formats.errors import ConfigError, CorruptDataError

END = "<|end|>"
WORDS = [
    "the heron was on the weir again, and nobody had asked it to be there",
    "猫が好き。 Всё хорошо",
    "aaaa ^^^^ \n\n",
]


def write(folder, tokenizer):
    data = tokenizer.to_str().encode()
    (folder / "tokenizer.json").write_bytes(data)
    return {
        "path": str(folder / "tokenizer.json"),
        "sha256": hashlib.sha256(data).hexdigest(),
        "end_of_document": END,
        "pad": None,
    }


def byte_level(vocab_size=400, learned=WORDS):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(learned, trainer)
    return tokenizer


def of_100_000_words():
    """A vocabulary beyond 65,536: `w0` to `w99999`, whose ids are their numbers, and the end of a document."""
    vocab = {f"w{i}": i for i in range(100_000)} | {END: 100_000}
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token=END))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens([END])
    return tokenizer


@pytest.fixture(scope="module")
def pinned(tmp_path_factory):
    """The arguments of `load_tokenizer` for a small byte-level BPE."""
    return write(tmp_path_factory.mktemp("tokenizer"), byte_level())


@pytest.fixture
def loaded(pinned):
    return load_tokenizer(**pinned)


def ids_of(loaded, text):
    return [*loaded.library.encode(text, add_special_tokens=False).ids, loaded.end]


def rows(texts, split="train"):
    names = [f"web:{i}" for i in range(len(texts))]
    columns = [names, texts, ["web"] * len(texts), ["MIT"] * len(texts), ["en"] * len(texts), [split] * len(texts)]
    return pa.RecordBatch.from_arrays([pa.array(one, pa.large_string()) for one in columns], schema=CORPUS_ROWS)


@given(texts=st.lists(st.text(max_size=80), max_size=8))
def test_ids_are_the_librarys_for_each_text_alone(pinned, texts):
    loaded = load_tokenizer(**pinned)
    flat, lengths = loaded.encode(texts)
    found = [part.tolist() for part in np.split(flat, np.cumsum(lengths)[:-1])] if texts else []
    assert found == [ids_of(loaded, text) for text in texts]
    assert flat.dtype == np.uint16


def test_more_words_in_the_librarys_cache_change_no_id(pinned, loaded):
    """More distinct words than it keeps by itself, most of them twice."""
    text = " ".join(f"heron{i * i % 14_000} weir{i}" for i in range(14_000))
    plain = Tokenizer.from_file(pinned["path"])
    assert loaded.encode([text, text])[0].tolist() == [*plain.encode(text).ids, loaded.end] * 2


@pytest.mark.parametrize("batch_chars", [1, 7, 1000])
def test_how_texts_are_cut_and_gathered_for_the_library_changes_no_id(loaded, monkeypatch, batch_chars):
    texts = ["", "a b c, d e f " * 9, *WORDS, "", "x" * 40, "猫、犬、" * 11]
    whole, lengths = loaded.encode(texts)
    monkeypatch.setattr(loaded_tokenizer, "BATCH_CHARS", batch_chars)
    monkeypatch.setattr(exact_cuts, "PART_CHARS", 3)
    flat, again = loaded.encode(texts)
    assert flat.tolist() == whole.tolist()
    assert again.tolist() == lengths.tolist()


def test_a_row_keeps_its_place_its_language_and_its_licence(pinned):
    batch = tokenize_documents(rows(WORDS), shards={"train/web": (4, 3)}, seed=1, tokenizer=pinned)
    assert batch.schema == TOKENIZED
    assert batch["id"].to_pylist() == ["web:0", "web:1", "web:2"]
    assert set(batch["token_shard"].to_pylist()) <= {4, 5, 6}
    assert [np.frombuffer(one, np.uint16).tolist() for one in batch["tokens"].to_pylist()] == [
        ids_of(load_tokenizer(**pinned), text) for text in WORDS
    ]


@given(
    names=st.lists(st.text(max_size=9), min_size=1, max_size=20),
    seed=st.integers(0, 1 << 40),
    first=st.integers(0, 1 << 31),
    size=st.integers(1, (1 << 31) - 1),
)
def test_place_and_shard_are_those_of_plain_arithmetic_on_the_hash(pinned, names, seed, first, size):
    batch = rows(["a"] * len(names)).set_column(0, "id", pa.array(names, pa.large_string()))
    found = tokenize_documents(batch, shards={"train/web": (first, size)}, seed=seed, tokenizer=pinned)
    order = [hashlib.sha256(f"{seed}:{name}".encode()).digest()[:8] for name in names]
    assert found["order"].to_pylist() == order
    assert found["token_shard"].to_pylist() == [first + (int.from_bytes(one, "big") * size >> 64) for one in order]


def test_no_row_gives_no_row(pinned):
    batch = tokenize_documents(rows([]), shards={"train/web": (0, 1)}, seed=1, tokenizer=pinned)
    assert batch.num_rows == 0


# Report 50: the order of documents is a shuffle of all of them.


def test_the_order_of_documents_has_nothing_of_the_order_of_the_corpus(pinned):
    """Rank correlation over all shards of a bucket; its standard deviation is 1 / sqrt(n)."""
    n = 4000
    batch = tokenize_documents(rows(["a"] * n), shards={"train/web": (0, 5)}, seed=1, tokenizer=pinned)
    place = np.lexsort((batch["order"].to_pylist(), batch["token_shard"].to_numpy()))
    assert place.tolist() == sorted(range(n), key=lambda i: batch["order"][i].as_py())
    assert abs(np.corrcoef(np.arange(n), np.argsort(place))[0, 1]) < 4 / np.sqrt(n)
    sizes = np.bincount(batch["token_shard"].to_numpy())
    assert len(sizes) == 5
    assert sizes.min() > 0.8 * n / 5


# Report 51: the end of a document is where the offsets say, not where its token's string stands.


@pytest.mark.parametrize("text", [END, f"before {END} after", END * 3, f"{END[:-1]}", f"no end\n{END}"])
def test_the_string_of_the_end_token_in_a_text_ends_no_document_and_loses_no_token(loaded, text):
    ids, (length,) = loaded.encode([text])
    assert length == len(ids)
    assert np.flatnonzero(ids == loaded.end).tolist() == [len(ids) - 1]
    assert loaded.library.decode(ids[:-1].tolist(), skip_special_tokens=False) == text


@pytest.mark.parametrize("text", ["a\0b", "\0", "\0The miller slept.", "The miller slept.\0", "\0\0 a \0\0"])
def test_a_nul_ends_no_text_and_is_a_token_like_any_other(loaded, text):
    """Report 11: some libraries end a text at it, some leave it out."""
    ids, (length,) = loaded.encode([text])
    assert ids.tolist() == ids_of(loaded, text)
    assert loaded.library.decode(ids[: length - 1].tolist(), skip_special_tokens=False) == text


# Report 49: the dtype follows from the vocabulary, and no id wraps.


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return write(tmp_path_factory.mktemp("large"), of_100_000_words())


def test_ids_above_65535_come_back_as_they_were(large):
    loaded = load_tokenizer(**large)
    assert (loaded.vocab_size, loaded.dtype) == (100_001, np.dtype("<u4"))
    numbers = [0, 65_535, 65_536, 65_537, 99_999]
    batch = tokenize_documents(
        rows([" ".join(f"w{i}" for i in numbers)]), shards={"train/web": (0, 1)}, seed=1, tokenizer=large
    )
    assert np.frombuffer(batch["tokens"][0].as_py(), "<u4").tolist() == [*numbers, 100_000]


@pytest.mark.parametrize(("size", "dtype"), [(400, "<u2"), (65_536, "<u2"), (65_537, "<u4")])
def test_the_dtype_is_that_of_the_vocabulary_with_all_added_tokens(tmp_path, size, dtype):
    tokenizer = Tokenizer(models.WordLevel({f"w{i}": i for i in range(size - 1)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens([END])
    loaded = load_tokenizer(**write(tmp_path, tokenizer))
    assert (loaded.vocab_size, loaded.end, loaded.dtype) == (size, size - 1, np.dtype(dtype))


def test_an_id_beyond_the_vocabulary_is_an_error_and_no_other_token(loaded):
    narrow = LoadedTokenizer(loaded.library, True, 100, loaded.end, loaded.pad)
    with pytest.raises(CorruptDataError, match="expected below 100"):
        narrow.encode(["nobody had asked it"])


# Report 48: texts that are one long piece.


PATHOLOGICAL = {
    "100,000 times one letter": "a" * 100_000,
    "a million carets": "^" * 1_000_000,
    "14,000 ideographs": "猫" * 14_000,
    "a million digits": "7" * 1_000_000,
}


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_a_text_that_is_one_long_piece_keeps_every_character(loaded, name):
    text = PATHOLOGICAL[name]
    ids, (length,) = loaded.encode([text])
    assert length == len(ids)
    assert loaded.library.decode(ids[:-1].tolist()) == text


def test_a_long_line_is_given_to_the_library_in_parts_that_give_the_same_ids(loaded):
    text = " ".join(WORDS) * 20_000
    ids, _ = loaded.encode([text])
    assert len(list(loaded._batches([text], ["a"]))) > 1
    assert ids.tolist() == ids_of(loaded, text)


def test_a_text_that_cannot_be_cut_and_is_too_long_is_refused_and_says_what_to_do(loaded, monkeypatch):
    monkeypatch.setattr(loaded_tokenizer, "MAX_PART_BYTES", 1000)
    assert len(loaded.encode([" " * 1000])[0]) > 1
    with pytest.raises(ConfigError, match=r"text 1: has 1001 bytes in which it cannot be cut.*too_long"):
        loaded.encode(["short", "^" * 1001])


def test_a_tokenizer_without_exact_cuts_gets_its_texts_whole(tmp_path, monkeypatch):
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "unk": 1, END: 2}, unk_token="unk"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens([END])
    loaded = load_tokenizer(**write(tmp_path, tokenizer))
    monkeypatch.setattr(exact_cuts, "PART_CHARS", 1)
    assert not loaded.has_exact_cuts
    assert [parts for _, parts in loaded._batches(["a b, c"], ["a"])] == [["a b, c"]]


IN_BOUNDED_MEMORY = """
import resource, sys
from corpus_assets.stages.loaded_tokenizer import load_tokenizer
loaded = load_tokenizer(*sys.argv[2:5], None)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
text = {"spaces": " " * 8_000_000, "line": "the heron was on the weir again, " * 1_500_000}[sys.argv[1]]
ids, _ = loaded.encode([text])
assert loaded.library.decode(ids[:1000].tolist()) == text[: len(loaded.library.decode(ids[:1000].tolist()))]
print(len(ids), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most_mb"), [("spaces", 1200), ("line", 700)])
def test_eight_megabytes_of_spaces_and_a_line_of_fifty_stay_within_bounded_memory(pinned, name, most_mb):
    """Without cuts the line takes 5 GB."""
    words = [sys.executable, "-c", IN_BOUNDED_MEMORY, name, pinned["path"], pinned["sha256"], END]
    ran = subprocess.run(words, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    num_ids, grown_mb = map(int, ran.stdout.split())
    assert num_ids > 1000
    assert grown_mb < most_mb


# Tokenizers that would lose text, or fail in the middle of a corpus.


def test_a_tokenizer_that_would_drop_bytes_in_silence_is_refused(tmp_path):
    """Trained without the alphabet: what it never saw has no token, and the library gives nothing for it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(WORDS, trainers.BpeTrainer(special_tokens=[END], show_progress=False))
    assert tokenizer.encode("Z").ids == []
    with pytest.raises(ConfigError, match=r"would drop \d+ of the 256 bytes of texts in silence"):
        load_tokenizer(**write(tmp_path, tokenizer))


def test_what_the_library_cannot_encode_is_named_and_told_in_words(tmp_path):
    tokenizer = Tokenizer(models.WordLevel({"a": 0, END: 1}, unk_token="none"))
    loaded = load_tokenizer(**write(tmp_path, tokenizer))
    with pytest.raises(ConfigError, match=r"^web:1 to web:2: cannot be encoded \(.*; pin another tokenizer"):
        loaded.encode(["a", "b"], ["web:1", "web:2"])


class PanicException(BaseException):
    """As the library's panics are: no Exception."""


@pytest.mark.parametrize(("error", "passes_on"), [(PanicException("index"), False), (KeyboardInterrupt(), True)])
def test_a_panic_of_the_library_is_an_error_in_words_and_an_interrupt_is_none(loaded, error, passes_on):
    class Panics:
        def encode_batch_fast(self, *_, **__):
            raise error

    panics = replace(loaded, library=Panics())
    with pytest.raises(KeyboardInterrupt if passes_on else ConfigError):
        panics.encode(["a"])

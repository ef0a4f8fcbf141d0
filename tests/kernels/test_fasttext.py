"""fastText's kernel says what the library says, of the shipped model and of models made here, about any line."""

import hashlib
import random
import struct

import fasttext
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.fasttext import FastText
from corpus_assets.stages.identify_language import lid_176, lid_176_file
from formats.errors import CorruptDataError

LABELS = ["en", "de", "fr", "zh", "xx"]
WORDS = ["</s>", "bread", "Brot", "pain", "面包", "a", "the"]
lines = st.text(max_size=200) | st.lists(st.sampled_from([*WORDS, "__label__en", "__label__?", "🙂", "\v", "brö"])).map(
    " ".join
)


def model_bytes(*, pruned=False, dim=4, buckets=97, loss=1, word_ngrams=1, seed=3, lengths=(2, 4), model=3):
    """A small dense model, written as the library writes one."""
    draw = random.Random(seed)
    counts = [90, 40, 40, 7, 1]
    entries = [(word, 5, 0) for word in WORDS] + [
        (f"__label__{label}", n, 1) for label, n in zip(LABELS, counts, strict=True)
    ]
    kept = sorted(draw.sample(range(buckets), 40)) if pruned else []
    out = struct.pack("<ii", 793712314, 12)
    out += struct.pack("<12id", dim, 5, 5, 1, 5, word_ngrams, loss, model, buckets, *lengths, 100, 1e-4)
    out += struct.pack("<iiiqq", len(entries), len(WORDS), len(LABELS), 1000, len(kept) if pruned else -1)
    for name, count, kind in entries:
        out += name.encode() + b"\0" + struct.pack("<qb", count, kind)
    for row, bucket in enumerate(kept):
        out += struct.pack("<ii", bucket, row)
    for rows in (len(WORDS) + (len(kept) if pruned else buckets), len(LABELS)):
        values = np.array([draw.uniform(-3, 3) for _ in range(rows * dim)], np.float32)
        out += struct.pack("<?qq", False, rows, dim) + values.tobytes()
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(the library's model, ours) of a dense model made here and of the shipped one, which is quantized and pruned."""
    path, data = tmp_path_factory.mktemp("model") / "made.bin", model_bytes()
    path.write_bytes(data)
    dense = (fasttext.load_model(str(path)).f, FastText.load(path, hashlib.sha256(data).hexdigest()))
    return [dense, (fasttext.load_model(str(lid_176_file())).f, lid_176())]


def assert_same(library, ours, texts):
    vectors = ours.line_vectors(pa.array(texts, pa.large_string()))
    numbers, probabilities = ours.best(vectors)
    each = [ours.probability(vectors, label) for label in range(len(ours.labels))]
    for i, text in enumerate(texts):
        answers = {name[9:]: p for p, name in library.predict(text.split("\n")[0] + "\n", -1, 0.0, "strict")}
        for label, name in enumerate(ours.labels):
            assert each[label][i] == pytest.approx(answers.get(name, 0.0), abs=2e-5)
        likeliest = max(answers.values())
        assert probabilities[i] == pytest.approx(likeliest, abs=1e-5)
        assert answers[ours.labels[numbers[i]]] == pytest.approx(likeliest, abs=1e-5)


@settings(max_examples=120, deadline=None)
@given(texts=st.lists(lines, min_size=1, max_size=4))
def test_every_label_of_any_line_has_the_library_s_probability(made, texts):
    for library, ours in made:
        assert_same(library, ours, texts)


def test_a_known_word_a_stranger_and_a_label_in_the_text_are_told_apart(made):
    library, ours = made[0]
    vectors = ours.line_vectors(pa.array(["bread", "breads", "__label__en bread", "</s> bread", ""], pa.large_string()))
    assert not np.array_equal(vectors[0], vectors[1])
    assert np.array_equal(vectors[0], vectors[2])
    assert np.array_equal(vectors[3], vectors[4])
    assert_same(library, ours, ["bread", "breads", "__label__en bread", "</s> bread", ""])


def test_rows_are_independent_of_their_neighbours_and_slices_are_respected(made):
    _, ours = made[1]
    column = pa.array(["le pain chaud", "x" * 10_000, "", None, "warmes Brot"], pa.large_string())
    whole = ours.line_vectors(column)
    assert np.array_equal(ours.line_vectors(column.slice(1, 3)), whole[1:4])
    assert np.array_equal(whole[2], whole[3])


def test_no_line_is_no_answer(made):
    _, ours = made[1]
    vectors = ours.line_vectors(pa.array([], pa.large_string()))
    assert [len(column) for column in (vectors, *ours.best(vectors), ours.probability(vectors, 0))] == [0] * 4


@pytest.mark.parametrize("kind", [
    {"loss": 3}, {"loss": 2}, {"loss": 4}, {"word_ngrams": 3}, {"loss": 3, "word_ngrams": 2, "lengths": (0, 0)},
    {"loss": 3, "buckets": 0, "lengths": (0, 0)},
])  # fmt: skip
def test_every_loss_and_runs_of_words_give_the_library_s_probabilities(tmp_path, kind):
    path, data = tmp_path / "other.bin", model_bytes(**kind)
    path.write_bytes(data)
    library, ours = fasttext.load_model(str(path)).f, FastText.load(path, hashlib.sha256(data).hexdigest())
    draw = random.Random(11)
    texts = [" ".join(draw.choices([*WORDS[1:], "strange", "wörter", "__label__en"], k=n)) for n in (0, 1, 2, 5, 40)]
    assert_same(library, ours, [*texts, "bread </s> the", "the the"])


@pytest.mark.parametrize(("change", "words"), [
    ({"loss": 5}, r"loss .* expected 1 \(hs\), 2 \(ns\), 3 \(softmax\), 4 \(ova\)"),
    ({"loss": 0}, "loss"), ({"word_ngrams": 0}, "word n-grams"), ({"model": 2}, "supervised"),
    ({"buckets": 0}, "buckets"), ({"lengths": (1, 101)}, "rising lengths of up to 100"),
])  # fmt: skip
def test_another_kind_of_model_is_refused_in_words(tmp_path, change, words):
    path, data = tmp_path / "other.bin", model_bytes(**change)
    path.write_bytes(data)
    with pytest.raises(CorruptDataError, match=words):
        FastText.load(path, hashlib.sha256(data).hexdigest())


def test_a_model_cut_anywhere_or_with_more_behind_it_is_refused(tmp_path):
    data, path = model_bytes(pruned=True), tmp_path / "cut.bin"
    for size in [*range(0, len(data), 37), len(data) - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(CorruptDataError):
            FastText.load(path, hashlib.sha256(data[:size]).hexdigest())
    path.write_bytes(data + b"\0")
    with pytest.raises(CorruptDataError, match="end of file"):
        FastText.load(path, hashlib.sha256(data + b"\0").hexdigest())


def test_other_bytes_than_the_pinned_ones_and_no_file_are_refused(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(model_bytes())
    with pytest.raises(CorruptDataError, match="sha256"):
        FastText.load(path, "0" * 64)
    with pytest.raises(CorruptDataError, match="missing"):
        FastText.load(tmp_path / "none.bin", "0" * 64)

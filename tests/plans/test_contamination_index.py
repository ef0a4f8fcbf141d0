"""What answers a check of a benchmark: index or texts, a sample or a filter; none that is damaged or a stranger's."""

import random
import shutil

import numpy as np
import pytest

from corpus_assets.plans import benchmark as benchmarks
from corpus_assets.plans import contamination, ngram_hits
from corpus_assets.plans.contamination import check
from formats import ngram_index
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from tests import faults
from tests.kernels import reference
from tests.plans import indexed_corpus, tiny_snapshot
from tests.plans.benchmark_checks import NGRAM, OTHER, checked, found_of, naive, published_texts, words_of, written
from tests.plans.indexed_corpus import engine_of
from tests.plans.tiny_corpus import CLOCK, FERRY, GARDEN, OWL, V1


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """A root whose index is exact, its snapshot, and a training over it."""
    layout, snapshot = indexed_corpus.copy(tmp_path_factory.mktemp("indexed") / "root")
    return layout, snapshot, tiny_snapshot.trained(layout, snapshot)


@pytest.fixture
def copied(indexed, tmp_path):
    """A root of the test's own that it may break."""
    shutil.copytree(indexed[0].root, tmp_path / "root")
    return Layout(tmp_path / "root"), indexed[1].snapshot_id


def test_texts_that_the_index_does_not_hold_are_told_by_their_items(indexed, tmp_path):
    layout, snapshot, _ = indexed
    items = [{"a": words_of(OWL, 4, 9), "b": words_of(FERRY, 4, 9)}, {"a": words_of(OWL, 4, 15), "b": "Short."}]
    result = checked(layout, snapshot.snapshot_id, tmp_path, items, read_from="index")
    assert any(note.startswith("texts of 8 to 12 words in 1 item were not") for note in result.notes)


def test_the_index_answers_alone_where_the_corpus_is_gone(indexed, tmp_path):
    layout, snapshot, record = indexed
    items = [words_of(FERRY, 5, 20), words_of(FERRY, 5, 9), OTHER]
    there = checked(layout, snapshot.snapshot_id, tmp_path, items, read_from="index", record=record)
    for gone in ("texts", "all but the index"):
        root = tmp_path / gone.replace(" ", "-")
        shutil.copytree(layout.root, root)
        here, folder = Layout(root), None
        if gone == "texts":
            shutil.rmtree(here.version(V1))
        else:
            folder = tmp_path / "copied-index"
            shutil.copytree(here.evidence(V1) / ngram_index.FOLDER, folder)
            shutil.rmtree(here.corpus)
        result = checked(here, snapshot.snapshot_id, tmp_path, items, index_folder=folder, record=record)
        assert result == there
        with pytest.raises(ConfigError, match=r"the corpus cannot be read: version tiny\.v1 is not below"):
            checked(here, snapshot.snapshot_id, tmp_path, items, read_from="corpus")


def test_without_index_and_corpus_nothing_is_guessed(copied, tmp_path):
    layout, snapshot_id = copied
    shutil.rmtree(layout.corpus)
    with pytest.raises(
        ConfigError, match=r"nothing can be asked: of the index, .* is missing; .*of the corpus, version"
    ):
        checked(layout, snapshot_id, tmp_path, [OWL])


def test_a_snapshot_without_an_index_is_checked_by_its_corpus(tmp_path):
    layout, snapshot = tiny_snapshot.copy(tmp_path / "root")
    result = checked(layout, snapshot.snapshot_id, tmp_path, [words_of(FERRY, 5, 20), OTHER])
    assert result.rule.read_from == "corpus"
    assert found_of(result) == {0: {"web:1"}}
    with pytest.raises(ConfigError, match="the snapshot pins none"):
        checked(layout, snapshot.snapshot_id, tmp_path, [OWL], read_from="index")
    with pytest.raises(ConfigError, match=r"--index .*: the snapshot pins none"):
        checked(layout, snapshot.snapshot_id, tmp_path, [OWL], index_folder=tmp_path)


@pytest.mark.parametrize("name", ["index.json", "part-00000.parquet"])
@pytest.mark.parametrize("change", faults.every_change(b"0123456789"))
def test_a_damaged_index_is_refused_by_name_not_asked(copied, tmp_path, name, change):
    layout, snapshot_id = copied
    path = layout.evidence(V1) / ngram_index.FOLDER / name
    data = faults.every_change(path.read_bytes())[change]
    path.unlink()
    path.write_bytes(data)
    with pytest.raises(CorruptDataError) as raised:
        checked(layout, snapshot_id, tmp_path, [OWL], read_from="index")
    assert raised.value.path == str(path)


def test_an_index_of_other_word_tables_is_refused(indexed, tmp_path, monkeypatch):
    layout, snapshot, _ = indexed
    monkeypatch.setattr(ngram_hits, "unicode_version", lambda: "99.0.0")
    with pytest.raises(CorruptDataError, match=r"word tables is .*99\.0\.0|expected .*99\.0\.0"):
        checked(layout, snapshot.snapshot_id, tmp_path, [OWL], read_from="index")


def test_another_corpus_under_the_same_name_is_not_read(copied, tmp_path):
    layout, snapshot_id = copied
    shutil.rmtree(layout.corpus)
    indexed_corpus.published(tmp_path / "other", form="postings", rate=2)
    shutil.copytree(tmp_path / "other" / "corpus", layout.corpus)
    with pytest.raises(ConfigError, match="is another build"):
        checked(layout, snapshot_id, tmp_path, [OWL], read_from="corpus")


def long_items(n, seed):
    """Items of made-up words, each an n-gram that no other shares."""
    draw = random.Random(seed)
    return [" ".join(f"w{draw.randrange(10**9)}" for _ in range(NGRAM)) for _ in range(n)]


@pytest.mark.parametrize(("rate", "copied_ngrams"), [(2, 1), (2, 3), (4, 5), (16, 20)])
def test_a_sampled_index_misses_as_often_as_it_says(tmp_path, rate, copied_ngrams):
    """4,000 items of which n n-grams are copied: those without one in the sample are within 4.5 standard deviations of
    what is stated, which chance alone breaks once in 150,000 runs; the items are fixed.
    """
    n = 4_000
    draw = random.Random(rate)
    items = [" ".join(f"w{draw.randrange(10**9)}" for _ in range(NGRAM + copied_ngrams - 1)) for _ in range(n)]
    grams = benchmarks.grams(benchmarks.read(written(tmp_path, items)), NGRAM, rate=rate)
    missed = n - len(np.unique(grams.text))
    rule = contamination.Rule("index", NGRAM, rate, None, 0.0, "")
    expected = rule.miss_chance(copied_ngrams)
    assert abs(missed - n * expected) <= 4.5 * (n * expected * (1 - expected)) ** 0.5


@pytest.mark.parametrize("rate", [3, 16])
def test_a_sampled_index_finds_those_copies_of_which_it_holds_an_ngram(tmp_path, rate):
    layout, snapshot = indexed_corpus.copy(tmp_path / "root", rate=rate)
    items = [words_of(text, first, 13 + first) for text in (OWL, FERRY, GARDEN) for first in range(20)]
    result = checked(layout, snapshot.snapshot_id, tmp_path, items, read_from="index")
    runs_of = [
        [run for run in reference.ngrams(reference.words(item), NGRAM) if reference.ngram_hash(run) % rate == 0]
        for item in items
    ]
    texts = published_texts(layout)
    found = [number for number, runs in enumerate(runs_of) if naive(texts, map(" ".join, runs))[0]]
    assert [item.item for item in result.items] == found
    assert 0 < len(found) < len(naive(texts, items)[0])
    assert result.counts.not_sampled == runs_of.count([])
    assert result.counts.checked == len(items) - runs_of.count([])


def test_a_filter_finds_every_copy_and_tells_no_document(tmp_path):
    layout, snapshot = indexed_corpus.copy(tmp_path / "root", form="filter")
    copies = [words_of(text, first, 15) for text in (OWL, FERRY, CLOCK) for first in range(0, 30, 5)]
    others = long_items(3_000, 1)
    result = checked(layout, snapshot.snapshot_id, tmp_path, copies + others, read_from="index")
    hit = {item.item for item in result.items}
    assert hit >= set(range(len(copies)))
    assert len(hit) - len(copies) <= 3
    assert result.expected_false == pytest.approx((3 * len(copies) + len(others)) / 65_536, rel=0.01)
    assert result.documents is None
    assert all(item.documents is None and item.spans for item in result.items)
    assert any("the index is a filter" in note for note in result.notes)


def test_one_and_two_workers_find_the_same_and_a_second_question_reads_nothing(copied, tmp_path):
    layout, snapshot_id = copied
    shutil.rmtree(layout.corpus / "work")
    benchmark = benchmarks.read(written(tmp_path, [words_of(FERRY, 5, 20), words_of(OWL, 1, 9), OTHER]))
    first = check(layout, snapshot_id, benchmark, lambda: engine_of(layout, workers=2), read_from="corpus")
    stored = {path: path.read_bytes() for path in (layout.corpus / "work" / "contamination").rglob("*.parquet")}
    assert check(layout, snapshot_id, benchmark, lambda: None, read_from="corpus") == first
    shutil.rmtree(layout.corpus / "work")
    assert check(layout, snapshot_id, benchmark, lambda: engine_of(layout), read_from="corpus") == first
    assert stored
    assert {path: path.read_bytes() for path in stored} == stored

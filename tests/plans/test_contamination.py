"""A benchmark is checked as decontamination does it, from the index as from the texts; steps are those of a replay."""

import json
import unicodedata
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.plans import benchmark as benchmarks
from corpus_assets.plans import contamination, ngram_hits
from corpus_assets.plans.contamination import Counts, check
from corpus_assets.plans.replay import replay
from formats.errors import ConfigError, CorruptDataError, OrderError
from formats.run_record import RunRecord
from tests.kernels import reference
from tests.plans import indexed_corpus, tiny_snapshot
from tests.plans.benchmark_checks import NGRAM, OTHER, SHORTEST, checked, found_of, naive, published_texts, words_of
from tests.plans.indexed_corpus import engine_of
from tests.plans.tiny_corpus import CLOCK, FERRY, GARDEN, OWL


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """A root whose index is exact, its snapshot, and a training over it."""
    layout, snapshot = indexed_corpus.copy(tmp_path_factory.mktemp("indexed") / "root")
    return layout, snapshot, tiny_snapshot.trained(layout, snapshot)


pieces = st.builds(
    lambda text, first, number: words_of(text, first, min(number, len(reference.words(text)) - first)),
    st.sampled_from([OWL, FERRY, CLOCK, GARDEN, OTHER]),
    st.integers(0, 15),
    st.integers(1, 30),
)
items_of_any_kind = st.lists(st.lists(pieces, min_size=1, max_size=3).map(" and ".join), max_size=6)


@settings(max_examples=40, deadline=None)
@given(items=items_of_any_kind)
def test_index_and_corpus_find_what_a_naive_search_finds(indexed, tmp_path_factory, items):
    layout, snapshot, _ = indexed
    folder, texts = tmp_path_factory.mktemp("items"), published_texts(layout)
    for read_from, shortest in (("index", NGRAM), ("corpus", SHORTEST)):
        result = checked(layout, snapshot.snapshot_id, folder, items, read_from=read_from)
        hit, documents = naive(texts, items, shortest)
        assert [item.item for item in result.items] == hit
        assert found_of(result) == documents
        assert result.counts.hit == len(hit)
        counts = result.counts
        assert counts.items == len(items) == counts.checked + counts.too_short + counts.short + counts.not_sampled
        for item in result.items:
            for span in item.spans:
                inside = items[item.item][span.start : span.end]
                assert len(reference.words(inside)) >= shortest
                assert naive(texts, [inside], shortest)[0] == [0]
            for document in item.documents:
                spans = [texts[document.id][start:end] for start, end in document.spans]
                assert all(naive({"item": items[item.item]}, [span], shortest)[0] == [0] for span in spans)


@pytest.mark.parametrize(
    "change",
    [str, str.upper, lambda text: text.replace(" ", "\n\n"), lambda text: "¿" + text.replace(" ", " — ") + "!?",
     lambda text: f"In short: {text} So it was."],
)  # fmt: skip
def test_a_copy_is_found_whatever_its_case_signs_and_place(indexed, tmp_path, change):
    layout, snapshot, _ = indexed
    item = change(words_of(FERRY, 5, 20))
    for read_from in ("index", "corpus"):
        result = checked(layout, snapshot.snapshot_id, tmp_path, [OTHER, item], read_from=read_from)
        [hit] = result.items
        [document] = hit.documents
        assert (hit.item, document.id) == (1, "web:1")
        assert [FERRY[start:end] for start, end in document.spans] == [words_of(FERRY, 5, 20)]
        [span] = hit.spans
        assert reference.words(item[span.start : span.end]) == reference.words(words_of(FERRY, 5, 20))


def as_options(text, form, words=7):
    """The text as a list of options of so many words each."""
    places = reference.word_places(text)
    cuts = [text[places[i][0] : places[min(i + words, len(places)) - 1][1]] for i in range(0, len(places), words)]
    return "\n".join(f"{form.format('ABCDEFGH'[i])} {cut}" for i, cut in enumerate(cuts))


def test_an_item_made_a_list_of_options_of_a_copied_text_is_found_without_their_letters(indexed, tmp_path):
    layout, snapshot, _ = indexed
    item = as_options(words_of(FERRY, 3, 21), "{})")
    for read_from in ("index", "corpus"):
        result = checked(layout, snapshot.snapshot_id, tmp_path, [OTHER, item], read_from=read_from)
        assert found_of(result) == {1: {"web:1"}}
        [span] = result.items[0].spans
        assert item[span.start : span.end] == item[3:], "code points of the item as it is written"
        assert any("1 item has a list of options" in note for note in result.notes) == (read_from == "index")


def test_a_short_item_made_a_list_of_options_is_looked_for_as_a_whole(indexed, tmp_path):
    layout, snapshot, _ = indexed
    item = as_options(words_of(FERRY, 5, 10), "({})", words=5)
    [hit] = checked(layout, snapshot.snapshot_id, tmp_path, [item], read_from="corpus").items
    assert [document.id for document in hit.documents] == ["web:1"]


def test_twelve_copied_words_are_no_hit_and_a_changed_word_breaks_a_run(indexed, tmp_path):
    layout, snapshot, _ = indexed
    items = [words_of(FERRY, 3, 12) + " geese walked", words_of(FERRY, 0, 12) + " geese " + words_of(FERRY, 13, 12)]
    for read_from in ("index", "corpus"):
        assert not checked(layout, snapshot.snapshot_id, tmp_path, items, read_from=read_from).items


def test_a_short_item_is_found_by_the_corpus_and_told_as_not_checked_by_the_index(indexed, tmp_path):
    layout, snapshot, _ = indexed
    items = [words_of(FERRY, 5, 9), words_of(FERRY, 5, 7), OTHER]
    by_corpus = checked(layout, snapshot.snapshot_id, tmp_path, items)
    assert by_corpus.rule.read_from == "corpus"
    assert found_of(by_corpus) == {0: {"web:1"}}
    assert by_corpus.counts == Counts(3, 2, 1, too_short=1, short=0, not_sampled=0)
    by_index = checked(layout, snapshot.snapshot_id, tmp_path, items, read_from="index")
    assert by_index.items == ()
    assert by_index.counts == Counts(3, 1, 0, too_short=1, short=1, not_sampled=0)
    assert any(
        "texts of 8 to 12 words in 1 item were not looked for: the index holds none so short" in note
        for note in by_index.notes
    )


def test_copies_in_letters_of_any_script_are_found_composed_or_not(tmp_path):
    """Accents, ideographs without spaces, capitals beyond ASCII: words are those of the word pass."""
    said = "the café of Zoë Ångström, which is called 老猫和它的花园 by its guests, opens at été"
    text = f"{OWL} On the other bank they say that {said} and that nobody has ever paid for a cup of tea there."
    layout = indexed_corpus.published(tmp_path / "root", {"path": "cafe.txt", "text": text}, form="postings", rate=1)
    snapshot_id = indexed_corpus.snapshot_of(layout)
    assert text in published_texts(layout).values()
    items = [unicodedata.normalize("NFD", said.upper()), said.replace("老", "黑"), f"Who knows where {said} is?"]
    for read_from in ("index", "corpus"):
        result = checked(layout, snapshot_id, tmp_path, items, read_from=read_from)
        hit, documents = naive(published_texts(layout), [unicodedata.normalize("NFC", item) for item in items], NGRAM)
        assert [item.item for item in result.items] == hit
        assert {0, 2} <= set(hit)
        assert found_of(result) == documents


def test_every_field_counts_unless_some_are_named(indexed, tmp_path):
    layout, snapshot, _ = indexed
    items = [{"question": OTHER, "choices": ["no", words_of(OWL, 4, 15)], "id": 7}]
    by_all = checked(layout, snapshot.snapshot_id, tmp_path, items, read_from="index")
    assert [span.field for span in by_all.items[0].spans] == ["choices.1"]
    assert not checked(layout, snapshot.snapshot_id, tmp_path, items, fields=["question"], read_from="index").items
    with pytest.raises(ConfigError, match="no item has a field 'answer'; its fields are 'question', 'choices', 'id'"):
        checked(layout, snapshot.snapshot_id, tmp_path, items, fields=["answer"])


def test_an_item_without_the_field_is_counted_as_not_checked(indexed, tmp_path):
    layout, snapshot, _ = indexed
    items = [{"question": words_of(OWL, 4, 15)}, {"text": words_of(FERRY, 5, 20)}, {"question": None, "text": OTHER}]
    by_question = checked(layout, snapshot.snapshot_id, tmp_path, items, fields=["question"])
    assert found_of(by_question) == {0: {"fables:0"}}
    assert by_question.counts == Counts(3, 1, 1, too_short=1, short=0, not_sampled=0, without_field=1)
    by_both = checked(layout, snapshot.snapshot_id, tmp_path, items, fields=["question", "text"])
    assert found_of(by_both) == {0: {"fables:0"}, 1: {"web:1"}}
    assert by_both.counts == Counts(3, 3, 2, too_short=0, short=0, not_sampled=0, without_field=0)
    assert any(note.startswith("of 2 items some of the named fields are missing") for note in by_both.notes)


def test_an_item_is_named_by_its_line_and_its_id(indexed, tmp_path):
    layout, snapshot, _ = indexed
    copied, ids = words_of(OWL, 4, 15), ["q-1", 7, None, True, {"id": "no"}, "a\ud800"]
    items = [OTHER, *({"question": copied, "id": id} for id in ids)]
    path = tmp_path / "quiz.jsonl"
    path.write_text("".join(json.dumps(item if item != OTHER else {}) + "\n\n" for item in items))
    result = check(layout, snapshot.snapshot_id, benchmarks.read(path), lambda: engine_of(layout))
    assert [(item.line, item.id) for item in result.items] == [
        (3, "q-1"), (5, 7), (7, None), (9, None), (11, None), (13, "a\ufffd")
    ]  # fmt: skip


def test_rows_of_a_csv_are_items_likewise(indexed, tmp_path):
    layout, snapshot, _ = indexed
    path = tmp_path / "quiz.csv"
    path.write_text(f'question,answer\n"{OTHER}",no\n\n"{words_of(OWL, 4, 15)}",yes\n', "utf-8")
    result = check(layout, snapshot.snapshot_id, benchmarks.read(path), lambda: engine_of(layout))
    assert found_of(result) == {1: {"fables:0"}}


def test_steps_are_those_at_which_a_replay_serves_the_document(indexed, tmp_path):
    layout, snapshot, record = indexed
    served = defaultdict(set)
    for step in range(tiny_snapshot.STEPS):
        for rank in range(3 if step < 7 else 2):
            for one in replay(layout, record, step, rank).served.sequences:
                for piece in one.documents:
                    served[piece.id].add((one.position, step, rank))
    items = [words_of(FERRY, 5, 20), words_of(OWL, 5, 20), OTHER]
    for read_from in ("index", "corpus"):
        result = checked(layout, snapshot.snapshot_id, tmp_path, items, read_from=read_from, record=record)
        assert result.documents.num_documents == 2
        for document in result.documents.listed:
            assert {(one.position, one.step, one.rank) for one in document.servings} == served[document.id]
            assert served[document.id]
    without = checked(layout, snapshot.snapshot_id, tmp_path, items)
    assert all(document.servings is None for document in without.documents.listed)


def test_a_record_of_another_snapshot_is_refused(indexed, tmp_path):
    layout, snapshot, record = indexed
    other = RunRecord({**record.state, "snapshot_id": "sha256:" + "a" * 64}, record.ranks)
    with pytest.raises(OrderError):
        checked(layout, snapshot.snapshot_id, tmp_path, [words_of(OWL, 0, 20)], record=other)


def test_ngrams_that_stand_everywhere_are_told_of_as_far_as_the_limit(indexed, tmp_path, monkeypatch):
    layout, snapshot, _ = indexed
    item = words_of(OWL, 0, 40)
    whole = checked(layout, snapshot.snapshot_id, tmp_path, [item], read_from="corpus")
    monkeypatch.setattr(ngram_hits, "MAX_PLACES", 0)
    monkeypatch.setattr(contamination, "MAX_PLACES", 0)
    for read_from in ("index", "corpus"):
        cut = checked(layout, snapshot.snapshot_id, tmp_path, [item], read_from=read_from)
        assert any("28 n-grams stand in more than 0 places" in note for note in cut.notes)
    assert not whole.notes


@pytest.mark.parametrize(
    ("n", "hit", "low", "high"),
    [(10, 0, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (164, 3, 0.0062, 0.0524), (1, 1, 0.2065, 1.0)],
)
def test_the_interval_is_wilsons(n, hit, low, high):
    """Against published values, and against its definition: the shares from which `hit` is 1.96 deviations off."""
    counts = Counts(n, n, hit, 0, 0, 0)
    assert counts.interval == pytest.approx((low, high), abs=1e-4)
    for end in counts.interval:
        if 0 < end < 1:
            assert abs(hit / n - end) == pytest.approx(1.959964 * (end * (1 - end) / n) ** 0.5, rel=1e-5)
    assert Counts(5, 0, 0, 5, 0, 0).interval is None


@pytest.mark.parametrize("name", ["quiz.pq", "quiz", "quiz.txt.gz"])
def test_a_file_whose_name_says_no_format_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(ConfigError, match="its name says no format"):
        benchmarks.read(tmp_path / name)


def test_a_benchmark_that_is_missing_or_broken_is_refused_by_name(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.jsonl: cannot be read"):
        benchmarks.read(tmp_path / "none.jsonl")
    (tmp_path / "bad.jsonl").write_bytes(b'{"a": 1}\n{"a": \n')
    with pytest.raises(ConfigError, match=r"bad\.jsonl: line 2 \(counted from 1\): is no JSON"):
        benchmarks.read(tmp_path / "bad.jsonl")


def test_an_empty_benchmark_has_no_rate(indexed, tmp_path):
    layout, snapshot, _ = indexed
    for items in ([], [{"n": 1}], ["two words"]):
        for read_from in ("index", "corpus"):
            result = checked(layout, snapshot.snapshot_id, tmp_path, items, read_from=read_from)
            assert (result.counts.items, result.counts.checked, result.counts.rate) == (len(items), 0, None)
            assert result.items == ()
            assert any("benchmark is empty" in note for note in result.notes) == (not items)


def test_a_snapshot_that_is_not_there_is_refused(indexed, tmp_path):
    with pytest.raises(CorruptDataError, match="manifest is missing"):
        checked(indexed[0], "sha256:" + "a" * 64, tmp_path, [OWL])

"""The audits that read the published texts again: what is planted in shards with true hashes is found, and named."""

from collections import Counter
from pathlib import Path

import pytest

from corpus_assets.plans import audit_text
from corpus_assets.plans.pinned import load_pair, load_pairs
from corpus_assets.plans.scrub import pii_counts, scrubbed_docs
from formats import corpus_manifest, dataset
from formats.corpus_manifest import PII_KEYS
from formats.errors import CorruptDataError
from formats.layout import Layout
from tests.assets import tiny
from tests.plans import tampering, tiny_corpus
from tests.plans.test_audit import failed

V1 = tiny.V1


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return tiny.copy(tmp_path / "root")


def at(rows: tampering.Rows, split: str, number: int = 0) -> int:
    """The place of a row of the split."""
    return [i for i, row in enumerate(rows) if row["split"] == split][number]


def plant(layout: Layout, text: str, split: str = "train") -> str:
    """Put `text` behind the text of a row; returns the row's id."""
    ids: list[str] = []

    def change(rows: tampering.Rows) -> None:
        row = rows[at(rows, split)]
        row["text"] += " " + text
        ids.append(row["id"])

    tampering.republish(layout, V1, change)
    return ids[0]


@pytest.mark.parametrize(
    "pii",
    [
        "Write to otto.brandt@boathouse-mail.com today.",
        "Please call +1 415 555 2671 today.",
        "Pay with 4111 1111 1111 1111 today.",
        "Connect to 93.184.216.34 today.",
    ],
)
def test_planted_personal_data_is_found_by_no_residual_pii_alone(layout: Layout, pii: str) -> None:
    name = plant(layout, pii)
    assert failed(layout) == {"no_residual_pii": f"21 rows scrubbed again, 1 hits, the first in {name}"}


def test_replacements_are_told_by_kind_and_in_a_million_characters(layout: Layout) -> None:
    total: Counter[str] = Counter()
    for key in tiny.PAIRS:
        made = scrubbed_docs(tampering.a_build(layout), load_pairs(layout, V1), load_pair(layout, key)).open()
        counts, rates = pii_counts(made)
        num_chars = sum(sum(batch["n_chars"].to_pylist()) for batch in dataset.read(made, columns=["n_chars"]))
        assert rates == {kind: round(n * 1e6 / num_chars, 2) for kind, n in counts.items()}
        total.update(counts)
    manifest = corpus_manifest.read(layout.version(V1))
    assert {PII_KEYS[kind]: n for kind, n in total.items()} == manifest["pii"]
    assert any(total.values())


def test_a_planted_benchmark_item_is_found_by_no_contamination_alone(layout: Layout) -> None:
    name = plant(layout, tiny.QUIZ.upper())
    assert failed(layout) == {"no_contamination": f"21 rows against 6 protected sequences: 1 hits, the first in {name}"}


def test_a_row_with_most_of_an_item_and_no_run_of_it_is_told_and_does_not_fail(layout: Layout) -> None:
    words = tiny.QUIZ.split()
    words[len(words) // 2] = "umbrella"
    name = plant(layout, " ".join(words))
    found = audit_text.no_contamination(layout, V1)
    assert (found.passed, found.figures["near"]) == (True, 1)
    assert f"1 without one hold half of an item's 5-grams: {name} has " in found.words


def test_a_train_row_near_a_val_row_is_found_by_no_leakage_alone(layout: Layout) -> None:
    names: list[str] = []

    def leak(rows: tampering.Rows) -> None:
        val, train = rows[at(rows, "val", -1)], rows[at(rows, "train", 3)]
        assert "<" not in val["text"]
        train["text"] = val["text"] + " Indeed."
        names.extend((train["id"], val["id"]))

    tampering.republish(layout, V1, leak)
    train, val = names
    words = f"16 train rows against 5 val rows: 1 near duplicates, such as {train} near {val}"
    assert failed(layout) == {"no_leakage": words}


def test_two_train_rows_may_be_near_each_other_and_so_may_two_val_rows(layout: Layout) -> None:
    def repeat(rows: tampering.Rows) -> None:
        for split in ("train", "val"):
            rows[at(rows, split, 1)]["text"] = rows[at(rows, split, 0)]["text"] + " Indeed."

    tampering.republish(layout, V1, repeat)
    assert audit_text.no_leakage(layout, V1).passed


def test_rows_with_the_text_of_an_earlier_row_are_counted_and_named_by_no_equal_texts_alone(layout: Layout) -> None:
    names: list[str] = []

    def repeat(rows: tampering.Rows) -> None:
        train = [row for row in rows if row["split"] == "train"]
        for row in (train[4], train[9]):
            row["text"] = train[1]["text"]
        train[7]["text"] = train[2]["text"]
        names.extend(train[i]["id"] for i in (1, 4, 2, 7))

    tampering.republish(layout, V1, repeat)
    found = audit_text.no_equal_texts(layout, V1)
    assert found.figures == {"rows": 21, "rows_repeated": 3, "texts_repeated": 2}
    a, b, c, d = names
    start = "21 rows, 3 of them with the text of an earlier row (2 texts), such as "
    assert found.words in (f"{start}{a} = {b}; {c} = {d}", f"{start}{c} = {d}; {a} = {b}")
    assert failed(layout) == {"no_equal_texts": found.words}


def test_mails_that_differ_in_the_address_alone_are_equal_once_it_is_replaced(tmp_path: Path) -> None:
    """Dedup sees them before, as near duplicates at most."""
    mails = [
        {"path": f"{name}.txt", "text": tiny_corpus.GARDEN.replace("keeper@garden-example.com", f"{name}@mail.com")}
        for name in ("ana", "otto", "ines")
    ]
    layout = tiny_corpus.write_inputs(tmp_path / "root", {"fables": mails})
    tiny_corpus.build(layout, tiny_corpus.V2)
    found = audit_text.no_equal_texts(layout, tiny_corpus.V2)
    words = "3 rows, 2 of them with the text of an earlier row (1 texts), such as fables:0 = fables:1"
    assert (found.passed, found.words) == (False, words)


def test_an_eval_set_with_other_bytes_is_refused_by_name(layout: Layout) -> None:
    (layout.root / "evals/quiz.jsonl").write_bytes(tiny.EVAL_SET + b"\n")
    with pytest.raises(CorruptDataError, match=r"quiz\.jsonl: sha256 is"):
        audit_text.no_contamination(layout, V1)


def test_without_eval_sets_nothing_is_contaminated(layout: Layout) -> None:
    tiny.write_config(layout, decontaminate={})
    plant(layout, tiny.QUIZ)
    found = audit_text.no_contamination(layout, V1)
    assert found.passed
    assert found.words == "21 rows against 0 protected sequences: 0 hits"

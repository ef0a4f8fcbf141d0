"""The stored index of protected items and its counts: made once, and held to their hashes when they are used again."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from corpus_assets.plans import eval_index as plan
from corpus_assets.plans.pinned import load_version
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from tests import faults
from tests.assets import tiny
from tests.plans import tampering


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return tiny.unbuilt(tmp_path / "root")


def used(layout: Layout) -> tuple[str, list[dict]]:
    """What a new build sees: the index's digest, and its counts."""
    index = plan.eval_index(tampering.a_build(layout), load_version(layout, tiny.V1))
    return index.digest, plan.eval_counts(index)


def stored(layout: Layout) -> list[Path]:
    return sorted((layout.corpus / "work" / "eval_index").glob("*"))


def test_counts_say_what_became_of_the_items(layout: Layout) -> None:
    [counts] = used(layout)[1]
    assert "quiz" in counts.values()


@pytest.mark.parametrize("suffix", [".counts.json", ".index"])
@pytest.mark.parametrize("change", faults.every_change(b"0123456789"))
def test_a_changed_file_is_named_and_made_again_once_it_is_deleted(layout: Layout, suffix: str, change: str) -> None:
    """The counts are published, and the index decides what is dropped: neither is taken from a file that changed."""
    first = used(layout)
    [path] = [one for one in stored(layout) if one.name.endswith(suffix)]
    path.write_bytes(faults.every_change(path.read_bytes())[change])
    with pytest.raises(CorruptDataError, match=r"delete the file and build the (index|version) again") as raised:
        used(layout)
    assert raised.value.path == str(path)
    path.unlink()
    assert used(layout) == first


def eval_sets(layout: Layout, **changes: Any) -> None:
    """Another config, its eval set with the changes."""
    whole = tiny.config()["decontaminate"]["eval_sets"][0]
    tiny.write_config(layout, decontaminate={"eval_sets": [{**whole, **changes}]})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"path": "evals/quizz.jsonl"},
            "evals/quizz.jsonl: eval set quiz is missing; put it there or correct its path",
        ),
        ({"sha256": "0" * 64}, "evals/quiz.jsonl: sha256 is .*; restore the file; .* or correct the sha256"),
        ({"fields": ["answep"]}, "evals/quiz.jsonl: .* expected answep; correct fields or format of eval set quiz"),
    ],
)
def test_an_eval_set_that_is_not_what_the_config_says_is_told_with_the_config(
    layout: Layout, changes: dict[str, Any], words: str
) -> None:
    """Either may be the wrong one."""
    eval_sets(layout, **changes)
    with pytest.raises((ConfigError, CorruptDataError), match=f"{words}.* in {layout.config(tiny.V1)}"):
        used(layout)
    assert not stored(layout)


def test_an_eval_set_that_changes_once_it_was_checked_protects_no_less(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults.change_once_hashed(monkeypatch, layout.root / "evals/quiz.jsonl", b"")
    [counts] = used(layout)[1]
    assert counts["items"] == 1


def test_a_digit_changed_in_the_counts_that_is_still_json_is_refused(layout: Layout) -> None:
    used(layout)
    [path] = [one for one in stored(layout) if one.name.endswith(".counts.json")]
    data = path.read_bytes()
    digit = next(i for i, byte in enumerate(data) if chr(byte).isdigit() and b'"sha256"' not in data[:i])
    path.write_bytes(data[:digit] + b"7" + data[digit + 1 :])
    assert path.read_bytes() != data
    with pytest.raises(CorruptDataError, match=r"counts\.json: sha256 of counts is"):
        used(layout)


@pytest.mark.parametrize(
    ("data", "fields", "why"),
    [
        (b"", ["answer"], "the file has no item"),
        (b"\n \n", ["answer"], "the file has no item"),
        (b'{"answer": 7}\n{"answer": null}\n', ["answer"], "none of its 2 items has a text in field answer"),
        (
            b'{"answer": "yes", "hint": "No."}\n{"answer": "", "hint": []}\n',
            ["hint", "answer"],
            r"2 items, 3 texts in fields answer, hint, each of fewer than 8 words \(decontaminate\.min_item_words\)",
        ),
    ],
)
def test_an_eval_set_that_would_protect_nothing_is_refused(
    layout: Layout, data: bytes, fields: list[str], why: str
) -> None:
    """By a wrong field or an empty download the version would be called decontaminated, and be not."""
    (layout.root / "evals/quiz.jsonl").write_bytes(data)
    eval_sets(layout, sha256=hashlib.sha256(data).hexdigest(), fields=fields)
    todo = f"correct its fields or its file, or leave the set out, in {layout.config(tiny.V1)}"
    with pytest.raises(ConfigError, match=f"evals/quiz.jsonl: eval set quiz protects nothing: {why}; {todo}"):
        used(layout)
    assert not stored(layout)


def test_an_eval_set_whose_items_a_person_exempted_is_no_mistake(layout: Layout) -> None:
    whole = tiny.config()["decontaminate"]["eval_sets"]
    tiny.write_config(layout, decontaminate={"eval_sets": whole, "exempt": ["quiz:0"]})
    [counts] = used(layout)[1]
    assert (counts["exempt"], counts["whole"], counts["cut"]) == (2, 0, 0)

"""Audits of one source: of its stages, of what its filters keep, and of its row in the ledger."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from corpus_assets.plans import (
    audit_ledger,
    audit_source,
)
from corpus_assets.plans.pinned import load_pair, load_pairs
from corpus_assets.plans.scrub import scrubbed_docs
from corpus_assets.plans.source_stages import documents, signals, verdicts
from formats.layout import Layout
from tests.assets import tiny
from tests.assets.tiny import V1
from tests.plans import tampering

NOTES, TALES, WEB = tiny.PAIRS


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A copy of the built corpus, to be tampered with."""
    return tiny.copy(tmp_path / "root")


@pytest.mark.parametrize("stage", [documents, signals, verdicts])
def test_a_stage_of_a_source_with_fewer_rows_is_found(layout: Layout, stage: Callable) -> None:
    pair = load_pair(layout, WEB)
    tampering.drop_rows(stage(tampering.a_build(layout), pair), tampering.all_but_first)
    if stage is not verdicts:  # what was made of it is no longer found: its identity names its inputs
        with pytest.raises(Exception, match="materialize"):
            audit_source.documents_conserved(tampering.a_build(layout), pair)
        return
    found = audit_source.documents_conserved(tampering.a_build(layout), pair)
    assert not found.passed
    assert found.words.startswith("8 raw documents, 7 verdicts")


def test_a_document_lost_in_scrubbing_is_found(layout: Layout) -> None:
    pair, pairs = load_pair(layout, WEB), load_pairs(layout, V1)
    tampering.drop_rows(scrubbed_docs(tampering.a_build(layout), pairs, pair), tampering.all_but_first)
    found = audit_source.survivors_conserved(tampering.a_build(layout), pairs, pair)
    assert not found.passed
    assert "7 stayed, 6 came out of scrubbing" in found.words


def test_retention_names_the_reason_that_took_most(layout: Layout) -> None:
    tiny.write_config(layout, profiles={"prose": {"too_short": 10, "too_few_words": 60}})
    build, pair = tampering.a_build(layout), load_pair(layout, TALES)
    verdicts(build, pair).make()
    found = audit_source.retention(build, pair)
    assert not found.passed
    assert found.words == "0 of 10 documents kept (0.0%); most go by too_few_words (8)"


def test_a_language_that_loses_most_of_its_documents_is_named_with_the_reason(layout: Layout, monkeypatch) -> None:
    build, pair = tampering.a_build(layout), load_pair(layout, TALES)
    assert audit_source.retention_of_languages(build, pair).passed, "ten documents say nothing"
    monkeypatch.setattr(audit_source, "MIN_LANGUAGE_DOCS", 1)
    monkeypatch.setattr(audit_source, "MIN_LANGUAGE_RETENTION", 1.2)
    found = audit_source.retention_of_languages(build, pair)
    assert not found.passed
    assert re.fullmatch(r"70.0% kept of all languages; en 77.8%, most go by \w+ \(\d\)", found.words), (
        "und is no language"
    )


def test_a_source_whose_row_left_the_ledger_is_named(layout: Layout) -> None:
    layout.ledger.write_text("", "utf-8")
    found = audit_ledger.unchanged_in_ledger(layout, WEB)
    assert not found.passed
    assert "the ledger has no row of source web any more" in found.words
    assert "corpus ledger add" not in found.words
    assert "corpus takedown web" in found.words


def test_a_licence_that_changed_is_told_with_both_and_the_next_step(layout: Layout) -> None:
    rows = [json.loads(line) for line in layout.ledger.read_text("utf-8").splitlines()]
    for row in rows:
        if row["source_id"] == "web":
            row["license_spdx"] = "GPL-3.0-only"
    layout.ledger.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found = audit_ledger.unchanged_in_ledger(layout, WEB)
    assert "changed since it was pinned: license_spdx MIT -> GPL-3.0-only. tiny.v1 is published" in found.words
    assert found.figures == {"changed_fields": 1}

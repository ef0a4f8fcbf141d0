"""Audits of a raw set: a flipped byte is named; a source of few documents or many damaged records raises the alarm."""

from dataclasses import replace
from pathlib import Path

import pytest

from corpus_assets.plans import (
    audit_records,
)
from corpus_assets.plans.pinned import Pair, load_pair
from corpus_assets.plans.raw_set import find_raw_set
from formats import durable, raw_set
from formats.errors import CorruptDataError
from formats.layout import Layout
from formats.naming import PairKey
from formats.parquet_file import Shard
from tests import faults
from tests.assets import tiny
from tests.assets.tiny import V1

NOTES, TALES, WEB = tiny.PAIRS


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A copy of the built corpus, to be tampered with."""
    return tiny.copy(tmp_path / "root")


@pytest.mark.parametrize("at", [0, 40, -1])
def test_a_flipped_byte_of_a_raw_part_is_named(layout: Layout, at: int) -> None:
    pair = load_pair(layout, WEB)
    part = find_raw_set(layout, pair.row).folder / raw_set.part_name(0)
    faults.flip_byte(part, at)
    with pytest.raises(CorruptDataError, match=rf"{part.name}: sha256 is"):
        audit_records.records_accounted_for(layout, pair)


def test_a_flipped_byte_of_rejects_or_judged_pages_is_named(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = load_pair(layout, TALES)
    raw = find_raw_set(layout, pair.row)
    judged = raw.folder / "judged.jsonl.zst"
    judged.write_bytes(b"judged pages")
    shard = Shard(0, str(judged), 1, 12, durable.sha256_of(judged))
    monkeypatch.setattr(audit_records.raw_sets, "find_raw_set", lambda *_: replace(raw, judged=shard))
    assert audit_records.records_accounted_for(layout, pair).passed
    for path in (judged, raw.folder / raw_set.REJECTS):
        faults.flip_byte(path, 5)
        with pytest.raises(CorruptDataError, match=rf"{path.name}: sha256 is"):
            audit_records.records_accounted_for(layout, pair)
        faults.flip_byte(path, 5)


@pytest.mark.parametrize("name", [raw_set.MANIFEST, raw_set.LOCK])
def test_a_flipped_byte_of_a_raw_manifest_or_its_lock_is_named(layout: Layout, name: str) -> None:
    pair = load_pair(layout, WEB)
    faults.flip_byte(find_raw_set(layout, pair.row).folder / name, 30)
    with pytest.raises(CorruptDataError, match=name):
        audit_records.records_accounted_for(layout, pair)


@pytest.mark.parametrize(
    ("rejects", "limit", "passed"),
    [
        ({"not_a_conversion": 3, "broken_json": 0}, 0.05, False),
        ({"other_file_name": 2}, 0, False),
        ({"other_file_name": 2}, 1, True),
    ],
)
def test_a_source_that_is_read_as_another_kind_raises_the_alarm_though_nothing_is_broken(
    layout, monkeypatch, rejects, limit, passed
) -> None:
    """None of its records is a document, and each is a reject that says it never was to be one."""
    pair = load_pair(layout, PairKey("tales", V1))
    raw = replace(audit_records.raw_sets.find_raw_set(layout, pair.row, pair.config.extract), parts=(), rejects=rejects)
    monkeypatch.setattr(audit_records.raw_sets, "find_raw_set", lambda *_: raw)
    version = replace(pair.version, config=replace(pair.config, max_damaged_ratio=limit))
    finding = audit_records.few_records_damaged(layout, replace(pair, version=version))
    assert finding.passed is passed
    if not passed:
        reason, count = next(iter(rejects.items()))
        assert finding.words.startswith(f"none of {count} records is a document: {count} {reason}; look at kind")


def source_of(layout: Layout, monkeypatch: pytest.MonkeyPatch, rejects: dict[str, int], documents: int) -> Pair:
    """The tales with these rejects instead of theirs, and so many documents."""
    pair = load_pair(layout, PairKey("tales", V1))
    raw = audit_records.raw_sets.find_raw_set(layout, pair.row, pair.config.extract)
    raw = replace(raw, parts=tuple(replace(part, rows=documents) for part in raw.parts[:1]), rejects=rejects)
    assert raw.documents == documents
    monkeypatch.setattr(audit_records.raw_sets, "find_raw_set", lambda *_: raw)
    return pair


@pytest.mark.parametrize("reason", ["unsafe_member_name", "duplicate_member", "page_too_large", "duplicate_field"])
def test_what_would_have_been_a_document_raises_the_alarm(layout, monkeypatch, reason) -> None:
    finding = audit_records.few_records_damaged(layout, source_of(layout, monkeypatch, {reason: 9}, 11))
    assert not finding.passed
    assert finding.words == f"9 of 20 records are damaged, 10.00% may be: 9 {reason}; see rejects.jsonl.zst"


def test_an_archive_of_absolute_names_says_how_to_pack_it(layout, monkeypatch) -> None:
    finding = audit_records.few_records_damaged(layout, source_of(layout, monkeypatch, {"unsafe_member_name": 20}, 0))
    assert not finding.passed
    expected = "none of 20 records is a document: 20 unsafe_member_name; pack the archive anew with relative names"
    assert finding.words.startswith(expected)


def test_a_source_without_a_record_raises_the_alarm(layout, monkeypatch) -> None:
    finding = audit_records.few_records_damaged(layout, source_of(layout, monkeypatch, {"broken_json": 0}, 0))
    assert not finding.passed
    assert finding.words.startswith("no record in 1 file; look whether they were fetched whole")


@pytest.mark.parametrize(("limit", "passed"), [(0.09, False), (0.1, True), (0, False), (1, True)])
def test_a_source_of_many_damaged_records_raises_the_alarm_and_says_what_they_are(layout, limit, passed) -> None:
    pair = load_pair(layout, PairKey("tales", V1))
    version = replace(pair.version, config=replace(pair.config, max_damaged_ratio=limit))
    finding = audit_records.few_records_damaged(layout, replace(pair, version=version))
    assert finding.passed is passed
    assert finding.words.startswith("1 of 11 records are damaged")
    assert "1 broken_json" in finding.words

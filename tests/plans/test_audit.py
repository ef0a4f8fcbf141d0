"""The audits on the tiny corpus: all pass, and each finds what breaks its promise, in words."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from corpus_assets.plans import audit, audit_drift, audit_files, audit_text
from corpus_assets.plans.audit import Finding
from corpus_assets.plans.pinned import Pair, load_pair, load_pairs, load_version
from corpus_assets.plans.raw_set import find_raw_set
from corpus_assets.plans.scrub import scrubbed_docs
from corpus_assets.plans.source_stages import documents, signals, verdicts
from corpus_assets.validation.ledger import ROW_CHECKS
from formats import corpus_manifest, corpus_shard, durable, evidence, raw_set
from formats.errors import CorruptDataError
from formats.layout import Layout
from formats.naming import PairKey, VersionKey
from formats.parquet_file import Shard
from tests import faults
from tests.assets import tiny
from tests.plans import tampering

V1 = tiny.V1
NOTES, TALES, WEB = tiny.PAIRS
OF_VERSION: dict[str, Callable[[Layout, VersionKey], Finding]] = {
    "manifest_hashes": audit.manifest_hashes,
    "rows_match_ledger": audit.rows_match_ledger,
    "version_conserved": audit.version_conserved,
    "no_residual_pii": audit_text.no_residual_pii,
    "no_contamination": audit_text.no_contamination,
    "no_leakage": audit_text.no_leakage,
    "no_equal_texts": audit_text.no_equal_texts,
    "retention_of_sources": audit.retention_of_sources,
    "drift": audit_drift.drift,
    "evidence_sealed": audit_files.evidence_sealed,
    "datasheet_sealed": audit_files.datasheet_sealed,
}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A copy of the built corpus, to be tampered with."""
    return tiny.copy(tmp_path / "root")


def failed(layout: Layout) -> dict[str, str]:
    """The words of the audits of the version that do not pass."""
    found = {name: find(layout, V1) for name, find in OF_VERSION.items()}
    return {name: finding.words for name, finding in found.items() if not finding.passed}


def of_pair(layout: Layout, key: PairKey) -> dict[str, Finding]:
    """The findings on one source."""
    build, pair = tampering.a_build(layout), load_pair(layout, key)
    return {
        **{rule: audit.ledger_rule(layout, key, rule) for rule in ROW_CHECKS},
        "unchanged_in_ledger": audit.unchanged_in_ledger(layout, key),
        "records_accounted_for": audit.records_accounted_for(layout, pair),
        "few_records_damaged": audit.few_records_damaged(layout, pair),
        "documents_conserved": audit.documents_conserved(build, pair),
        "retention": audit.retention(build, pair),
        "retention_of_languages": audit.retention_of_languages(build, pair),
        "survivors_conserved": audit.survivors_conserved(build, load_pairs(layout, key.version), pair),
    }


def test_every_audit_of_the_tiny_corpus_passes_and_says_what_it_counted() -> None:
    layout = tiny.built()
    assert failed(layout) == {}
    said = {key.source: {name: one.words for name, one in of_pair(layout, key).items()} for key in tiny.PAIRS}
    assert all(one.passed for key in tiny.PAIRS for one in of_pair(layout, key).values()), said
    assert said["tales"]["records_accounted_for"] == "11 records = 10 documents + 1 rejects"
    assert said["tales"]["documents_conserved"] == "10 raw documents, 10 verdicts: 7 kept + 3 dropped"
    assert "7 stayed, 7 came out" in said["web"]["survivors_conserved"]
    assert audit.version_conserved(layout, V1).words == "27 raw documents = 21 published + 6 dropped"
    assert audit.cluster_sizes(tampering.a_build(layout), load_version(layout, V1)).passed


def test_audits_write_nothing(layout: Layout) -> None:
    before = tampering.as_they_lie(layout.root)
    failed(layout)
    for key in tiny.PAIRS:
        of_pair(layout, key)
    audit.cluster_sizes(tampering.a_build(layout), load_version(layout, V1))
    assert tampering.as_they_lie(layout.root) == before


# Flipped bytes. What is hashed is never read as other rows.


@pytest.mark.parametrize("at", [0, 200, -1])
@pytest.mark.parametrize("shard", [0, 3])
def test_a_flipped_byte_of_a_shard_is_named(layout: Layout, shard: int, at: int) -> None:
    path = layout.version(V1) / corpus_shard.shard_name(shard, 4)
    faults.flip_byte(path, at)
    found = audit.manifest_hashes(layout, V1)
    assert not found.passed
    assert str(path) in found.words
    assert "sha256 is" in found.words
    for other in ("rows_match_ledger", "no_residual_pii", "no_contamination", "no_leakage", "no_equal_texts"):
        with pytest.raises(CorruptDataError, match=path.name):
            OF_VERSION[other](layout, V1)


@pytest.mark.parametrize("at", [0, 100, -1])
@pytest.mark.parametrize("name", [corpus_manifest.NAME_ON_DISK, "lock"])
def test_a_flipped_byte_of_manifest_or_lock_is_named(layout: Layout, name: str, at: int) -> None:
    path = layout.lock(V1) if name == "lock" else layout.version(V1) / name
    faults.flip_byte(path, at if name != "lock" else min(at, 64))
    found = audit.manifest_hashes(layout, V1)
    assert not found.passed
    assert path.name in found.words
    assert "restore" in found.words


def test_a_missing_a_second_and_a_foreign_file_are_named(layout: Layout) -> None:
    out = layout.version(V1)
    (out / "notes.txt").write_text("hello")
    assert "notes.txt" in audit.manifest_hashes(layout, V1).words
    (out / "notes.txt").rename(out / corpus_shard.shard_name(0, 4))
    assert corpus_shard.shard_name(0, 4) in audit.manifest_hashes(layout, V1).words
    (out / corpus_shard.shard_name(0, 4)).unlink()
    assert "missing" in audit.manifest_hashes(layout, V1).words


@pytest.mark.parametrize("at", [0, 40, -1])
def test_a_flipped_byte_of_a_raw_part_is_named(layout: Layout, at: int) -> None:
    pair = load_pair(layout, WEB)
    part = find_raw_set(layout, pair.row).folder / raw_set.part_name(0)
    faults.flip_byte(part, at)
    with pytest.raises(CorruptDataError, match=rf"{part.name}: sha256 is"):
        audit.records_accounted_for(layout, pair)


def test_a_flipped_byte_of_rejects_or_judged_pages_is_named(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = load_pair(layout, TALES)
    raw = find_raw_set(layout, pair.row)
    judged = raw.folder / "judged.jsonl.zst"
    judged.write_bytes(b"judged pages")
    shard = Shard(0, str(judged), 1, 12, durable.sha256_of(judged))
    monkeypatch.setattr(audit.raw_sets, "find_raw_set", lambda *_: replace(raw, judged=shard))
    assert audit.records_accounted_for(layout, pair).passed
    for path in (judged, raw.folder / raw_set.REJECTS):
        faults.flip_byte(path, 5)
        with pytest.raises(CorruptDataError, match=rf"{path.name}: sha256 is"):
            audit.records_accounted_for(layout, pair)
        faults.flip_byte(path, 5)


@pytest.mark.parametrize("name", [raw_set.MANIFEST, raw_set.LOCK])
def test_a_flipped_byte_of_a_raw_manifest_or_its_lock_is_named(layout: Layout, name: str) -> None:
    pair = load_pair(layout, WEB)
    faults.flip_byte(find_raw_set(layout, pair.row).folder / name, 30)
    with pytest.raises(CorruptDataError, match=name):
        audit.records_accounted_for(layout, pair)


@pytest.mark.parametrize("name", ["documents/part-00000.parquet", "files.parquet", evidence.LEDGER_ROWS, evidence.SEAL])
def test_a_flipped_byte_of_the_evidence_is_named(layout: Layout, name: str) -> None:
    faults.flip_byte(layout.evidence(V1) / name, 100)
    find = audit.rows_match_ledger if name in (evidence.LEDGER_ROWS, evidence.SEAL) else audit.version_conserved
    with pytest.raises(CorruptDataError, match=Path(name).name):
        find(layout, V1)


# Changes with true hashes: only the audit whose promise is broken sees them.


def test_rows_under_another_licence_are_found_by_rows_match_ledger_alone(layout: Layout) -> None:
    def relicense(rows: tampering.Rows) -> None:
        for row in rows[:3]:
            row["license_spdx"] = "MIT"

    tampering.republish(layout, V1, relicense)
    assert failed(layout) == {"rows_match_ledger": "3 rows of notes: MIT, expected CC-BY-4.0"}


def test_rows_of_a_stranger_are_found_by_rows_match_ledger_alone(layout: Layout) -> None:
    def smuggle(rows: tampering.Rows) -> None:
        rows[-1]["source_id"] = "forum"

    tampering.republish(layout, V1, smuggle)
    assert failed(layout) == {"rows_match_ledger": "1 rows of forum: MIT, expected no such source"}


def test_a_missing_evidence_row_is_found_by_version_conserved_alone(layout: Layout) -> None:
    tampering.edit_evidence(layout, V1, "documents", lambda rows: rows.slice(1))
    found = failed(layout)
    assert list(found) == ["version_conserved"]
    assert "counts of rows, documents disagree" in found["version_conserved"]
    assert "27 raw documents = 20 published + 6 dropped" in found["version_conserved"]


def test_a_reason_that_was_rewritten_is_found_by_version_conserved_alone(layout: Layout) -> None:
    def excuse(rows: pa.Table) -> pa.Table:
        verdict = rows.column("verdict")
        told = pc.if_else(pc.equal(verdict, "contaminated"), pa.scalar("too_short", verdict.type), verdict)
        return rows.set_column(rows.schema.get_field_index("verdict"), rows.schema.field("verdict"), told)

    tampering.edit_evidence(layout, V1, "documents", excuse)
    assert "counts of filters, filters, all, contaminated disagree" in failed(layout)["version_conserved"]


@pytest.mark.parametrize(
    ("group", "name", "words"),
    [("filters", "gopher", "filters"), ("dedup", "exact_dropped", "exact"), ("dedup", "near_dropped", "near")],
)
def test_a_manifest_that_counts_otherwise_is_found_by_version_conserved_alone(
    layout: Layout, group: str, name: str, words: str
) -> None:
    tampering.edit_manifest(layout, V1, lambda manifest: manifest[group].update({name: 5}))
    found = failed(layout)
    assert list(found) == ["version_conserved"]
    assert words in found["version_conserved"]


@pytest.mark.parametrize("stage", [documents, signals, verdicts])
def test_a_stage_of_a_source_with_fewer_rows_is_found(layout: Layout, stage: Callable) -> None:
    pair = load_pair(layout, WEB)
    tampering.drop_rows(stage(tampering.a_build(layout), pair), tampering.all_but_first)
    if stage is not verdicts:  # what was made of it is no longer found: its identity names its inputs
        with pytest.raises(Exception, match="materialize"):
            audit.documents_conserved(tampering.a_build(layout), pair)
        return
    found = audit.documents_conserved(tampering.a_build(layout), pair)
    assert not found.passed
    assert found.words.startswith("8 raw documents, 7 verdicts")


def test_a_document_lost_in_scrubbing_is_found(layout: Layout) -> None:
    pair, pairs = load_pair(layout, WEB), load_pairs(layout, V1)
    tampering.drop_rows(scrubbed_docs(tampering.a_build(layout), pairs, pair), tampering.all_but_first)
    found = audit.survivors_conserved(tampering.a_build(layout), pairs, pair)
    assert not found.passed
    assert "7 stayed, 6 came out of scrubbing" in found.words


# Settings that warn.


def test_a_cluster_above_max_cluster_is_named_with_its_size(layout: Layout) -> None:
    tiny.write_config(layout, dedup={"near": {"max_cluster": 1}})
    found = audit.cluster_sizes(tampering.a_build(layout), load_version(layout, V1))
    assert not found.passed
    assert found.words == "2 clusters of 2 or more, the largest of 2; max_cluster is 1"


def test_retention_names_the_reason_that_took_most(layout: Layout) -> None:
    tiny.write_config(layout, profiles={"prose": {"too_short": 10, "too_few_words": 60}})
    build, pair = tampering.a_build(layout), load_pair(layout, TALES)
    verdicts(build, pair).make()
    found = audit.retention(build, pair)
    assert not found.passed
    assert found.words == "0 of 10 documents kept (0.0%); most go by too_few_words (8)"


def test_a_language_that_loses_most_of_its_documents_is_named_with_the_reason(layout: Layout, monkeypatch) -> None:
    build, pair = tampering.a_build(layout), load_pair(layout, TALES)
    assert audit.retention_of_languages(build, pair).passed, "ten documents say nothing"
    monkeypatch.setattr(audit, "MIN_LANGUAGE_DOCS", 1)
    monkeypatch.setattr(audit, "MIN_LANGUAGE_RETENTION", 1.2)
    found = audit.retention_of_languages(build, pair)
    assert not found.passed
    assert re.fullmatch(r"70.0% kept of all languages; en 77.8%, most go by \w+ \(\d\)", found.words), (
        "und is no language"
    )


def test_a_source_whose_row_left_the_ledger_is_named(layout: Layout) -> None:
    layout.ledger.write_text("", "utf-8")
    found = audit.unchanged_in_ledger(layout, WEB)
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
    found = audit.unchanged_in_ledger(layout, WEB)
    assert "changed since it was pinned: license_spdx MIT -> GPL-3.0-only. tiny.v1 is published" in found.words
    assert found.figures == {"changed_fields": 1}


@pytest.mark.parametrize(
    ("names", "before"), [(["v1", "v2", "v10"], "v2"), (["v10", "v11"], None), (["2026-01"], None)]
)
def test_the_version_before_is_the_last_smaller_one_by_number(
    tmp_path: Path, names: list[str], before: str | None
) -> None:
    layout = Layout(tmp_path)
    for name in (*names, "v10"):
        lock = layout.lock(VersionKey("tiny", name))
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.write_text("0" * 64 + "\n")
    found = audit.version_before(layout, VersionKey("tiny", "v10"))
    assert found == (VersionKey("tiny", before) if before else None)


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
    raw = replace(audit.raw_sets.find_raw_set(layout, pair.row, pair.config.extract), parts=(), rejects=rejects)
    monkeypatch.setattr(audit.raw_sets, "find_raw_set", lambda *_: raw)
    version = replace(pair.version, config=replace(pair.config, max_damaged_ratio=limit))
    finding = audit.few_records_damaged(layout, replace(pair, version=version))
    assert finding.passed is passed
    if not passed:
        reason, count = next(iter(rejects.items()))
        assert finding.words.startswith(f"none of {count} records is a document: {count} {reason}; look at kind")


def source_of(layout: Layout, monkeypatch: pytest.MonkeyPatch, rejects: dict[str, int], documents: int) -> Pair:
    """The tales with these rejects instead of theirs, and so many documents."""
    pair = load_pair(layout, PairKey("tales", V1))
    raw = audit.raw_sets.find_raw_set(layout, pair.row, pair.config.extract)
    raw = replace(raw, parts=tuple(replace(part, rows=documents) for part in raw.parts[:1]), rejects=rejects)
    assert raw.documents == documents
    monkeypatch.setattr(audit.raw_sets, "find_raw_set", lambda *_: raw)
    return pair


@pytest.mark.parametrize("reason", ["unsafe_member_name", "duplicate_member", "page_too_large", "duplicate_field"])
def test_what_would_have_been_a_document_raises_the_alarm(layout, monkeypatch, reason) -> None:
    finding = audit.few_records_damaged(layout, source_of(layout, monkeypatch, {reason: 9}, 11))
    assert not finding.passed
    assert finding.words == f"9 of 20 records are damaged, 10.00% may be: 9 {reason}; see rejects.jsonl.zst"


def test_an_archive_of_absolute_names_says_how_to_pack_it(layout, monkeypatch) -> None:
    finding = audit.few_records_damaged(layout, source_of(layout, monkeypatch, {"unsafe_member_name": 20}, 0))
    assert not finding.passed
    expected = "none of 20 records is a document: 20 unsafe_member_name; pack the archive anew with relative names"
    assert finding.words.startswith(expected)


def test_a_source_without_a_record_raises_the_alarm(layout, monkeypatch) -> None:
    finding = audit.few_records_damaged(layout, source_of(layout, monkeypatch, {"broken_json": 0}, 0))
    assert not finding.passed
    assert finding.words.startswith("no record in 1 file; look whether they were fetched whole")


@pytest.mark.parametrize(("limit", "passed"), [(0.09, False), (0.1, True), (0, False), (1, True)])
def test_a_source_of_many_damaged_records_raises_the_alarm_and_says_what_they_are(layout, limit, passed) -> None:
    pair = load_pair(layout, PairKey("tales", V1))
    version = replace(pair.version, config=replace(pair.config, max_damaged_ratio=limit))
    finding = audit.few_records_damaged(layout, replace(pair, version=version))
    assert finding.passed is passed
    assert finding.words.startswith("1 of 11 records are damaged")
    assert "1 broken_json" in finding.words

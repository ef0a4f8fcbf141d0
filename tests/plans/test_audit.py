"""The audits on the tiny corpus: all pass, and each finds what breaks its promise, in words."""

from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from corpus_assets.plans import (
    audit_dedup,
    audit_drift,
    audit_files,
    audit_ledger,
    audit_records,
    audit_source,
    audit_text,
    audit_version,
)
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.pinned import load_pair, load_pairs
from corpus_assets.plans.published_version import version_before
from corpus_assets.validation.ledger import ROW_CHECKS
from formats import corpus_manifest, corpus_shard, evidence
from formats.errors import CorruptDataError
from formats.layout import Layout
from formats.naming import PairKey, VersionKey
from tests import faults
from tests.assets import tiny
from tests.plans import tampering

V1 = tiny.V1
NOTES, TALES, WEB = tiny.PAIRS
OF_VERSION: dict[str, Callable[[Layout, VersionKey], Finding]] = {
    "manifest_hashes": audit_version.manifest_hashes,
    "rows_match_ledger": audit_version.rows_match_ledger,
    "version_conserved": audit_version.version_conserved,
    "no_residual_pii": audit_text.no_residual_pii,
    "no_contamination": audit_text.no_contamination,
    "no_leakage": audit_text.no_leakage,
    "no_equal_texts": audit_text.no_equal_texts,
    "retention_of_sources": audit_version.retention_of_sources,
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
        **{rule: audit_ledger.ledger_rule(layout, key, rule) for rule in ROW_CHECKS},
        "unchanged_in_ledger": audit_ledger.unchanged_in_ledger(layout, key),
        "records_accounted_for": audit_records.records_accounted_for(layout, pair),
        "few_records_damaged": audit_records.few_records_damaged(layout, pair),
        "documents_conserved": audit_source.documents_conserved(build, pair),
        "retention": audit_source.retention(build, pair),
        "retention_of_languages": audit_source.retention_of_languages(build, pair),
        "survivors_conserved": audit_source.survivors_conserved(build, load_pairs(layout, key.version), pair),
    }


def test_every_audit_of_the_tiny_corpus_passes_and_says_what_it_counted() -> None:
    layout = tiny.built()
    assert failed(layout) == {}
    said = {key.source: {name: one.words for name, one in of_pair(layout, key).items()} for key in tiny.PAIRS}
    assert all(one.passed for key in tiny.PAIRS for one in of_pair(layout, key).values()), said
    assert said["tales"]["records_accounted_for"] == "11 records = 10 documents + 1 rejects"
    assert said["tales"]["documents_conserved"] == "10 raw documents, 10 verdicts: 7 kept + 3 dropped"
    assert "7 stayed, 7 came out" in said["web"]["survivors_conserved"]
    assert audit_version.version_conserved(layout, V1).words == "27 raw documents = 21 published + 6 dropped"
    assert audit_dedup.cluster_sizes(tampering.a_build(layout), load_pairs(layout, V1)).passed


def test_audits_write_nothing(layout: Layout) -> None:
    before = tampering.as_they_lie(layout.root)
    failed(layout)
    for key in tiny.PAIRS:
        of_pair(layout, key)
    audit_dedup.cluster_sizes(tampering.a_build(layout), load_pairs(layout, V1))
    assert tampering.as_they_lie(layout.root) == before


# Flipped bytes. What is hashed is never read as other rows.


@pytest.mark.parametrize("at", [0, 200, -1])
@pytest.mark.parametrize("shard", [0, 3])
def test_a_flipped_byte_of_a_shard_is_named(layout: Layout, shard: int, at: int) -> None:
    path = layout.version(V1) / corpus_shard.shard_name(shard, 4)
    faults.flip_byte(path, at)
    found = audit_version.manifest_hashes(layout, V1)
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
    found = audit_version.manifest_hashes(layout, V1)
    assert not found.passed
    assert path.name in found.words
    assert "restore" in found.words


def test_a_missing_a_second_and_a_foreign_file_are_named(layout: Layout) -> None:
    out = layout.version(V1)
    (out / "notes.txt").write_text("hello")
    assert "notes.txt" in audit_version.manifest_hashes(layout, V1).words
    (out / "notes.txt").rename(out / corpus_shard.shard_name(0, 4))
    assert corpus_shard.shard_name(0, 4) in audit_version.manifest_hashes(layout, V1).words
    (out / corpus_shard.shard_name(0, 4)).unlink()
    assert "missing" in audit_version.manifest_hashes(layout, V1).words


@pytest.mark.parametrize("name", ["documents/part-00000.parquet", "files.parquet", evidence.LEDGER_ROWS, evidence.SEAL])
def test_a_flipped_byte_of_the_evidence_is_named(layout: Layout, name: str) -> None:
    faults.flip_byte(layout.evidence(V1) / name, 100)
    find = (
        audit_version.rows_match_ledger
        if name in (evidence.LEDGER_ROWS, evidence.SEAL)
        else audit_version.version_conserved
    )
    with pytest.raises(CorruptDataError, match=Path(name).name):
        find(layout, V1)


def test_shares_of_sources_are_read_of_counts_as_they_were_sealed(layout: Layout) -> None:
    faults.flip_byte(layout.evidence(V1) / evidence.COUNTS, 20)
    with (
        mock.patch.object(audit_version, "version_before", return_value=V1),
        pytest.raises(CorruptDataError, match=r"counts\.json: sha256"),
    ):
        audit_version.retention_of_sources(layout, V1)


@pytest.mark.parametrize("name", [evidence.DATASHEET_HTML, evidence.DATASHEET_MD, evidence.TRAINING_CONTENT])
def test_a_datasheet_without_one_of_its_files_in_the_seal_is_named(layout: Layout, name: str) -> None:
    sealed = dict(evidence.read_seal(layout.evidence(V1)))
    del sealed[name]
    evidence.seal(layout.evidence(V1), sealed)
    found = audit_files.datasheet_sealed(layout, V1)
    assert (found.passed, found.words) == (False, f"the seal does not name {name}; materialize datasheet")


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


def test_a_cluster_above_max_cluster_is_named_with_its_size(layout: Layout) -> None:
    tiny.write_config(layout, dedup={"near": {"max_cluster": 1}})
    found = audit_dedup.cluster_sizes(tampering.a_build(layout), load_pairs(layout, V1))
    assert not found.passed
    assert found.words == "2 clusters of 2 or more, the largest of 2; max_cluster is 1"


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
    found = version_before(layout, VersionKey("tiny", "v10"))
    assert found == (VersionKey("tiny", before) if before else None)

"""One changed byte of any stored file is found by the check that holds it, run from the UI with nothing made before."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest

from corpus_assets.checks.results import as_result
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.snapshot import make_snapshot
from corpus_assets.plans.token_build import open_build
from formats import corpus_manifest, corpus_shard, evidence
from formats.layout import Layout
from resources.engine import EngineResource
from resources.store import Store
from tests import faults
from tests.assets import graph, tiny, tiny_tokens
from tests.plans.tampering import a_build

V1 = str(tiny.V1)
PAIRS = [str(pair) for pair in tiny.PAIRS]
Evaluate = Callable[[str, str], dg.AssetCheckResult]

OF_STAGE = {
    "documents": "doc_signals",
    "doc_signals": "doc_signals",
    "filtered_docs": "filtered_docs",
    "minhash_signatures": "minhash_signatures",
    "keeper_ranks": "dedup_clusters",
    "band_parts": "dedup_clusters",
    "near_edges": "dedup_clusters",
    "dedup_clusters": "dedup_clusters",
    "eval_index": "scrubbed_docs",
    "scrubbed_docs": "scrubbed_docs",
    "withheld": "shards",
    "placed_rows": "shards",
    "near_items": "shards",
    "outcomes": "shards",
    "tokenized": "token_shards",
    "packed": "token_shards",
}
"""Stage -> the asset that made it: every stage of the tiny corpus and its token set has one."""
PARTITIONS = {"dedup_clusters": [V1], "shards": [V1], "token_shards": [str(tiny_tokens.KEY)]}
"""Of an asset that is not of a source."""
OF_DATASHEET = (evidence.DATASHEET_HTML, evidence.DATASHEET_MD, evidence.TRAINING_CONTENT, evidence.DIFFERENCES_HTML)
WRITTEN_BY_PEOPLE = ("LEDGER.jsonl", "configs")
"""Below `corpus`: inputs, which are observed."""


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    layout = tiny.copy(tmp_path_factory.mktemp("tampered") / "root")
    tiny_tokens.write(layout)
    make_snapshot(open_build(layout, a_build(layout).engine, tiny_tokens.KEY))
    return layout


@pytest.fixture(scope="module")
def evaluate(layout: Layout) -> Iterator[Evaluate]:
    """(`asset/check`, partition) -> what the check of the graph finds on the disk as it is now."""
    with graph.loaded(layout) as defs:
        by_name = {one.check_key.to_user_string().replace(":", "/"): one for one in defs.asset_checks or ()}

        def found(check: str, partition: str) -> dg.AssetCheckResult:
            one = by_name[check]
            held = {"store": Store(root=str(layout.root)), "engine": EngineResource()}
            resources = {name: held[name] for name in held.keys() & one.required_resource_keys}
            return one.node_def.compute_fn.decorated_fn(SimpleNamespace(partition_key=partition), **resources)

        yield found


def stored_files(layout: Layout) -> list[Path]:
    """Every file with a byte in it that the program wrote, relative to `corpus`."""
    paths = (path for path in sorted(layout.corpus.rglob("*")) if path.is_file() and path.stat().st_size)
    relative = (path.relative_to(layout.corpus) for path in paths)
    return [path for path in relative if path.parts[0] not in WRITTEN_BY_PEOPLE]


def held_by(path: Path) -> tuple[str, list[str]]:
    """The check that is to find what changed in a file, and the partitions of which one has the file."""
    first, second = path.parts[:2]
    if first == "raw":
        return "raw_fetch/records_accounted_for", [f"{second}@{V1}"]
    if first == "work" and second == "ledger_entry":
        return "ledger_entry/ledger_schema", [path.stem]
    if first == "work":
        asset = OF_STAGE[second]
        return f"{asset}/outputs_as_written", PARTITIONS.get(asset, PAIRS)
    if second == "v1.evidence":
        return ("datasheet/datasheet_sealed" if path.name in OF_DATASHEET else "manifest/evidence_sealed"), [V1]
    return "manifest/manifest_hashes", [V1]


def flip_lowest_bit(path: Path) -> None:
    """In the middle: JSON often stays JSON, a hex digit stays a hex digit."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "first byte": lambda path: faults.flip_byte(path, 0),
    "last byte": lambda path: faults.flip_byte(path, -1),
    "a bit in the middle": flip_lowest_bit,
}


def test_the_checks_that_hold_the_files_pass_as_long_as_nothing_is_changed(layout: Layout, evaluate: Evaluate) -> None:
    asked = {(check, one) for path in stored_files(layout) for check, of in [held_by(path)] for one in of}
    assert len({check for check, _ in asked}) >= 12
    assert ("token_shards/outputs_as_written", str(tiny_tokens.KEY)) in asked
    for check, partition in sorted(asked):
        found = evaluate(check, partition)
        assert found.passed, found.description


@pytest.mark.parametrize("damage", DAMAGES)
def test_one_flipped_byte_of_any_stored_file_is_found_by_a_check_of_its_partition(
    layout: Layout, evaluate: Evaluate, damage: str
) -> None:
    files = stored_files(layout)
    assert len(files) > 60
    unnoticed, by_another_name = [], []
    for path in files:
        whole = (layout.corpus / path).read_bytes()
        DAMAGES[damage](layout.corpus / path)
        check, partitions = held_by(path)
        found = [one for one in (evaluate(check, partition) for partition in partitions) if not one.passed]
        (layout.corpus / path).write_bytes(whole)
        if not found:
            unnoticed.append(path)
        elif not any(name in str(found[0].description) for name in (path.name, path.parent.name)):
            by_another_name.append((path, found[0].description))
    assert unnoticed == []
    assert by_another_name == []


def test_a_missing_file_is_told_by_a_check_of_its_partition(layout: Layout, evaluate: Evaluate) -> None:
    """Eval indexes aside, which whoever looks makes again from their pinned sets."""
    unnoticed = []
    for path in stored_files(layout):
        if path.parts[:2] == ("work", "eval_index"):
            continue
        whole = (layout.corpus / path).read_bytes()
        (layout.corpus / path).unlink()
        check, partitions = held_by(path)
        found = [one for one in (evaluate(check, partition) for partition in partitions) if not one.passed]
        (layout.corpus / path).write_bytes(whole)
        if not any(name in str(one.description) for one in found for name in (path.name, path.parent.name)):
            unnoticed.append((path, [one.description for one in found]))
    assert unnoticed == []


@pytest.mark.parametrize("check", ["token_shards_conserved", "outputs_as_written", "sampled_texts_give_their_tokens"])
def test_token_sets_tell_of_a_published_shard_that_is_missing(layout: Layout, evaluate: Evaluate, check: str) -> None:
    path = layout.version(tiny.V1) / corpus_shard.shard_name(1, 4)
    whole = path.read_bytes()
    path.unlink()
    found = evaluate(f"token_shards/{check}", str(tiny_tokens.KEY))
    path.write_bytes(whole)
    assert not found.passed
    assert f"{path}: file is missing, expected sha256" in str(found.description)


def test_what_the_system_does_not_give_fails_a_check_in_words_and_is_no_warning() -> None:
    def audit() -> Finding:
        raise OSError(errno.EIO, os.strerror(errno.EIO), "/disk/part-00003.parquet")

    found = as_result(audit, V1, warn=True)
    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.ERROR)
    told = f"{V1}: /disk/part-00003.parquet: Input/output error; see that it is there and can be read"
    assert str(found.description).startswith(told)


@pytest.mark.parametrize("name", ["notes.txt", "documents/part-00009.parquet"])
def test_a_file_that_the_seal_does_not_name_is_found(layout: Layout, evaluate: Evaluate, name: str) -> None:
    path = layout.evidence(tiny.V1) / name
    path.write_bytes(b"a stranger")
    found = evaluate("manifest/evidence_sealed", V1)
    path.unlink()
    assert not found.passed
    assert name in str(found.description)


def test_a_damaged_datasheet_does_not_fail_what_its_remaking_waits_for(layout: Layout, evaluate: Evaluate) -> None:
    path = layout.evidence(tiny.V1) / evidence.DATASHEET_HTML
    whole = path.read_bytes()
    faults.flip_byte(path, 60)
    before, own = evaluate("manifest/evidence_sealed", V1), evaluate("datasheet/datasheet_sealed", V1)
    path.write_bytes(whole)
    assert before.passed
    assert not own.passed


# One file, one full text: the other checks say that they could not look, and where it is told.

READ_SHARDS = ("rows_match_ledger", "no_residual_pii", "no_contamination", "no_leakage", "no_equal_texts")


def test_a_damaged_shard_is_told_in_full_by_one_check(layout: Layout, evaluate: Evaluate) -> None:
    path = layout.version(tiny.V1) / corpus_shard.shard_name(1, 4)
    whole = path.read_bytes()
    faults.flip_byte(path, 200)
    told = {name: evaluate(f"manifest/{name}", V1) for name in (*READ_SHARDS, "manifest_hashes")}
    path.write_bytes(whole)
    assert not any(one.passed for one in told.values())
    assert {one.severity for one in told.values()} == {dg.AssetCheckSeverity.ERROR}
    assert "sha256 is" in str(told.pop("manifest_hashes").description)
    words = f"{V1}: not checked: shard {path.name} is damaged, see manifest_hashes"
    assert {str(one.description) for one in told.values()} == {words}


def test_a_damaged_table_of_the_evidence_is_told_in_full_by_one_check(layout: Layout, evaluate: Evaluate) -> None:
    path = layout.evidence(tiny.V1) / "files.parquet"
    whole = path.read_bytes()
    faults.flip_byte(path, 200)
    counted, sealed = evaluate("manifest/version_conserved", V1), evaluate("manifest/evidence_sealed", V1)
    path.write_bytes(whole)
    assert counted.description == f"{V1}: not checked: files.parquet of the evidence is damaged, see evidence_sealed"
    assert f"{path}: sha256 is" in str(sealed.description)


def test_a_changed_lock_is_not_blamed_on_the_manifest(layout: Layout, evaluate: Evaluate) -> None:
    lock = layout.lock(tiny.V1)
    whole = lock.read_bytes()
    lock.write_bytes((b"0" if whole[:1] != b"0" else b"1") + whole[1:])
    found = str(evaluate("manifest/manifest_hashes", V1).description)
    lock.write_bytes(whole)
    assert "it disagrees with v1.lock; either of the two may be damaged, so delete neither" in found
    assert "or delete it" not in found


def test_a_manifest_that_is_no_json_is_told_in_plain_words(layout: Layout, evaluate: Evaluate) -> None:
    path = layout.version(tiny.V1) / corpus_manifest.NAME_ON_DISK
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"n_docs"', b"'n_docs'", 1))
    found = str(evaluate("manifest/manifest_hashes", V1).description)
    path.write_bytes(whole)
    assert f"{path}: manifest is no JSON: line 4, column 3: expecting property name" in found
    assert "JSONDecodeError" not in found


SAID = {
    "ledger_schema": "fields checked, each as the ledger's format has it: ",
    "spdx_expression": "MIT is an SPDX licence expression",
    "licence_allowed": "MIT is allowed by tiny.v1, which allows CC-BY-4.0, CC0-1.0, MIT",
    "checksums_present": "1 file with SHA-256 and length, 1,701 bytes in all",
}


@pytest.mark.parametrize("rule", SAID)
def test_a_row_that_is_right_is_told_by_what_was_found(evaluate: Evaluate, rule: str) -> None:
    found = evaluate(f"ledger_entry/{rule}", PAIRS[2])
    assert found.passed
    assert SAID[rule] in str(found.description)
    assert "violations" not in found.metadata

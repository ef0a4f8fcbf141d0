"""A build with nothing to do runs nothing and rewrites nothing, and never takes for unchanged what is not."""

import json
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from corpus_assets.commands import build, model_train, program, tokenize
from corpus_assets.commands.unchanged import Unchanged
from corpus_assets.plans.pinned import load_version
from formats import corpus_manifest, evidence
from formats.layout import Layout
from tests import faults
from tests.assets import graph, tiny
from tests.plans.tampering import a_build, as_they_lie

V1 = str(tiny.V1)


class Root:
    """The tiny corpus with a history of its own, built by the layers of `corpus build`."""

    def __init__(self, layout: Layout, defs: dg.Definitions, instance: dg.DagsterInstance) -> None:
        self.layout, self.defs, self.instance = layout, defs, instance

    def build(self) -> list[str]:
        """What `corpus build` runs; the partitions that failed."""
        job = self.defs.resolve_implicit_global_asset_job_def()
        checks = sorted(self.defs.resolve_asset_graph().asset_check_keys)
        version = load_version(self.layout, tiny.V1)
        unchanged = Unchanged(a_build(self.layout), version, self.instance, checks)
        return build.run_layers(version, build.Builder(job, self.instance, {}, False), unchanged)

    def ran(self) -> list[str]:
        """What a build ran, as partitions; it has to succeed."""
        before = {run.run_id for run in self.instance.get_runs()}
        assert self.build() == []
        new = [run for run in reversed(self.instance.get_runs()) if run.run_id not in before]
        return [run.tags.get("dagster/partition", "inputs") for run in new]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Root]:
    layout = tiny.copy(tmp_path_factory.mktemp("unchanged") / "root")
    with graph.loaded(layout) as defs, graph.instance() as instance:
        root = Root(layout, defs, instance)
        assert root.build() == []
        yield root


@pytest.fixture
def root(shared: Root) -> Iterator[Root]:
    """Built and unchanged when a test begins; what a test leaves otherwise is put back."""
    kept = {path: path.read_bytes() for path in shared.layout.corpus.rglob("*") if path.is_file()}
    yield shared
    for path in shared.layout.corpus.rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()
    for path, data in kept.items():
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    assert shared.build() == []


def test_a_build_with_nothing_to_do_runs_nothing_and_touches_no_file(root, capsys):
    before = as_they_lie(root.layout.corpus)
    assert root.ran() == []
    assert as_they_lie(root.layout.corpus) == before
    told = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert {words[0] for words in told} == {"same"}
    assert len(told) == 3 * 2 + 2


def test_dagster_shows_every_asset_made_and_every_check_evaluated_after_it(root):
    graph_of_assets = root.defs.resolve_asset_graph()
    assert root.ran() == []
    of_whole_versions = [asset for kind, assets in build.LAYERS if kind == build.VERSION for asset in assets]
    others = {*tokenize.ASSETS, *model_train.ASSETS}
    of_a_version = {one for one in graph_of_assets.materializable_asset_keys if one.path[0] not in others}
    for key in of_a_version:
        partitions = {V1} if key.path[0] in of_whole_versions else {*map(str, tiny.PAIRS)}
        assert root.instance.get_materialized_partitions(key) >= partitions
    keys = [check for check in sorted(graph_of_assets.asset_check_keys) if check.asset_key in of_a_version]
    shown = root.instance.event_log_storage.get_asset_check_partition_info(keys)
    assert {info.check_key for info in shown} == set(keys)
    assert all(info.is_current for info in shown)
    for pair in tiny.PAIRS:
        assert graph.stale(root.defs, root.instance, "scrubbed_docs", pair) == set()


def in_work(stage):
    return lambda layout: sorted((layout.corpus / "work" / stage).rglob("*.parquet"))[0]


READ_BY_NO_RUN = ("documents", "doc_signals", "minhash_signatures", "placed_rows")
"""Stage outputs that nothing reads where all that comes of them is there."""


@pytest.mark.parametrize("stage", READ_BY_NO_RUN)
@pytest.mark.parametrize("damage", [lambda path: faults.flip_byte(path, 60), faults.truncate, Path.unlink])
def test_a_damaged_stage_output_is_found_by_the_next_build_and_named(root, capsys, stage, damage):
    path = in_work(stage)(root.layout)
    damage(path)
    assert root.build() != []
    said = capsys.readouterr().out
    assert f"damaged: {path}" in said
    assert "delete its folder and materialize the stage again" in said


def test_a_damaged_raw_part_fails_the_check_of_its_source(root, capsys):
    path = sorted(root.layout.raw_sets("web").rglob("part-*"))[0]
    faults.flip_byte(path, 60)
    assert root.build() == [str(tiny.PAIRS[2])]
    assert "ERROR raw_fetch/records_accounted_for" in capsys.readouterr().out


PUBLISHED = {
    "shard": lambda layout: sorted(layout.version(tiny.V1).glob("*.parquet"))[0],
    "manifest": lambda layout: layout.version(tiny.V1) / corpus_manifest.NAME_ON_DISK,
    "evidence": lambda layout: sorted((layout.evidence(tiny.V1) / "documents").glob("*"))[0],
    "counts": lambda layout: layout.evidence(tiny.V1) / evidence.COUNTS,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_damaged_file_of_a_published_version_is_found_and_mended(root, capsys, name):
    path = PUBLISHED[name](root.layout)
    whole = path.read_bytes()
    faults.flip_byte(path, len(whole) // 2)
    assert V1 in root.ran()
    damaged = [line for line in capsys.readouterr().out.splitlines() if "damaged: " in line]
    assert all(line.endswith("; it is made again") for line in damaged)
    assert any(str(path) in line for line in damaged) == (name in ("shard", "evidence"))  # others stop what stands
    assert path.read_bytes() == whole
    assert root.ran() == []


def test_a_damaged_datasheet_is_never_taken_for_the_sheet_of_the_version(root):
    path = root.layout.evidence(tiny.V1) / evidence.DATASHEET_HTML
    whole = path.read_bytes()
    faults.flip_byte(path, 60)
    assert root.ran() == [V1]
    assert path.read_bytes() == whole


def test_a_damaged_seal_stops_the_build_before_anything_is_made(root, capsys):
    faults.flip_byte(root.layout.evidence(tiny.V1) / evidence.SEAL, 60)
    assert root.build() == [str(pair) for pair in tiny.PAIRS]
    assert f"{evidence.SEAL}: seal is" in capsys.readouterr().out


def test_a_lock_that_changed_stops_the_build(root, capsys):
    lock = root.layout.lock(tiny.V1)
    lock.write_bytes(b"0" * 64 + b"\n")
    assert root.build() == [V1]
    assert "the lock alone changed; restore it from a copy" in capsys.readouterr().out


def test_a_stranger_among_the_shards_is_found(root):
    stranger = root.layout.version(tiny.V1) / "notes.txt"
    stranger.write_text("mine")
    assert root.build() == [V1]


def test_a_warning_of_the_last_run_is_told_again_and_a_changed_ledger_row_runs_its_source(root, capsys):
    tiny.write_ledger(root.layout, tiny.ledger_row("web", title="Another title"))
    pair = str(tiny.PAIRS[2])
    assert root.ran() == ["inputs", pair]
    warned = [line for line in capsys.readouterr().out.splitlines() if "WARN ledger_entry/unchanged_in_ledger" in line]
    assert len(warned) == 1
    assert root.ran() == []
    assert warned[0] in capsys.readouterr().out


def test_what_another_run_made_since_is_run_again(root):
    pair = str(tiny.PAIRS[0])
    assert graph.run(root.defs, root.instance, tiny.PAIRS[0], "raw_fetch").success
    assert root.ran() == [pair]
    assert root.ran() == []


def test_what_is_wiped_from_the_history_is_run_again(root):
    root.instance.wipe_assets([dg.AssetKey("dedup_clusters")])
    assert root.ran() == [V1]


def test_another_program_looks_at_everything_again(root, monkeypatch):
    monkeypatch.setattr(program, "digest", lambda: "another")
    pairs = [str(pair) for pair in tiny.PAIRS]
    assert root.ran() == [*pairs, V1, *pairs, V1]


def test_another_published_version_of_the_dataset_lets_the_checks_of_the_version_run_again(root):
    lock = root.layout.corpus / "tiny" / "v0.lock"
    lock.write_text("0" * 64 + "\n")
    kept = root.layout.corpus / "tiny" / "v0.evidence" / evidence.COUNTS
    kept.parent.mkdir()
    kept.write_text(json.dumps({"sources": {}}))
    assert V1 in root.ran()


def test_the_program_is_named_by_its_sources_and_libraries(monkeypatch):
    program.digest.cache_clear()
    before = program.digest()
    program.digest.cache_clear()
    monkeypatch.setattr(program, "_files", lambda _: [])
    assert program.digest() != before
    program.digest.cache_clear()
    monkeypatch.undo()
    monkeypatch.setattr(program, "_installed", lambda _: "1.0")
    assert program.digest() != before
    program.digest.cache_clear()


def test_rows_are_a_layer_of_their_own_where_one_may_not_be_used(root):
    version = load_version(root.layout, tiny.V1)
    (_, first), *_ = layers = build.layers_of(root.layout, version)
    assert first == build.LAYERS[0][1] + build.LAYERS[1][1]
    assert list(layers[1:]) == list(build.LAYERS[2:])
    root.layout.lock(tiny.V1).unlink()
    tiny.write_ledger(root.layout, tiny.ledger_row("web", license_spdx="GPL-3.0-only"))
    assert build.layers_of(root.layout, version) == build.LAYERS

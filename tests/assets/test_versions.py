"""Runs of the graph over a version that is built: the same bytes again, early cut-off, no other bytes."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from formats.layout import Layout
from formats.naming import VersionKey
from tests import faults
from tests.assets import graph, tiny
from tests.plans.tampering import as_they_lie

V1, V2 = tiny.V1, VersionKey("tiny", "v2")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return tiny.copy(tmp_path / "root")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with graph.instance() as instance:
        yield instance


def build(layout: Layout, instance: dg.DagsterInstance, key: VersionKey = V1) -> list[graph.Ran]:
    with graph.loaded(layout) as defs:
        ran = list(graph.build(defs, instance, key))
    assert all(one.success for one in ran), [graph.failures(one) for one in ran]
    return ran


def test_materializing_everything_again_passes_every_check_and_touches_no_file(
    layout: Layout, instance: dg.DagsterInstance
) -> None:
    before = as_they_lie(layout.corpus)
    ran = build(layout, instance)
    assert as_they_lie(layout.corpus) == before
    with graph.loaded(layout) as defs:
        every = graph.checks_of_a_version(defs)
    assert set(graph.checks(*ran)) == every
    assert all(check.passed for one in ran for check in one.get_asset_check_evaluations())


def test_equal_bytes_have_equal_data_versions_whoever_makes_them_and_where(
    layout: Layout, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """So a rerun makes nothing downstream stale."""
    again = graph.data_versions(*build(layout, instance))
    elsewhere = graph.data_versions(*build(tiny.unbuilt(tmp_path / "another" / "root"), instance))
    assert again == elsewhere
    assert len(again) == 3 * 6 + 5
    assert len(set(again.values())) > 15


@pytest.mark.slow
def test_a_threshold_that_decides_nothing_makes_the_same_data_versions_from_the_verdicts_on(
    layout: Layout, instance: dg.DagsterInstance
) -> None:
    one = graph.data_versions(*build(layout, instance))
    tiny.write_config(layout, V2, profiles={"prose": {"too_short": 11, "too_few_words": 8}})
    other = graph.data_versions(*build(layout, instance, V2))
    for (asset, partition), version in one.items():
        if asset not in ("shards", "manifest", "datasheet"):  # they name the version, and its config
            assert other[asset, str(partition).replace("v1", "v2")] == version


def test_a_changed_config_of_a_published_version_is_refused_by_every_way_to_it(
    layout: Layout, instance: dg.DagsterInstance
) -> None:
    tiny.write_config(layout, shard_rows=7)
    published = as_they_lie(layout.version(V1).parent)
    with graph.loaded(layout) as defs:
        for partition, assets in ((tiny.PAIRS[0], ("ledger_entry",)), (V1, ("shards", "manifest"))):
            ran = graph.run(defs, instance, partition, *assets)
            assert not ran.success
            assert graph.materialized(ran) == []
            assert "A published version is immutable" in graph.failures(ran)
            assert "corpus config new <new> --from" in graph.failures(ran)
    assert as_they_lie(layout.version(V1).parent) == published


def test_shards_of_changed_inputs_are_refused_when_they_are_materialized_alone(
    layout: Layout, instance: dg.DagsterInstance
) -> None:
    tiny.write_config(layout, val_permille=900)
    published = as_they_lie(layout.version(V1).parent)
    with graph.loaded(layout) as defs:
        for pair in tiny.PAIRS:
            assert graph.run(defs, instance, pair, "scrubbed_docs").success
        ran = graph.run(defs, instance, V1, "shards", "manifest", "datasheet")
    assert not ran.success
    assert "is published with manifest" in graph.failures(ran)
    assert graph.materialized(ran) == []
    assert as_they_lie(layout.version(V1).parent) == published


def test_a_flipped_byte_of_a_raw_part_fails_its_check_in_words_and_nothing_is_made_of_it(
    layout: Layout, instance: dg.DagsterInstance
) -> None:
    path = sorted(layout.raw_sets("web").rglob("*-00000*"))[0]
    faults.flip_byte(path, 60)
    with graph.loaded(layout) as defs:
        ran = graph.run(defs, instance, tiny.PAIRS[2], "raw_fetch", "doc_signals")
    found = graph.checks(ran)["records_accounted_for"]
    assert not found.passed
    assert found.blocking
    assert str(tiny.PAIRS[2]) in str(found.description)
    assert f"{path.name}: sha256 is" in str(found.description)
    assert not ran.success
    assert "doc_signals" not in graph.materialized(ran)


def test_a_flipped_byte_of_a_shard_is_mended_by_a_build_that_passes_every_check(
    layout: Layout, instance: dg.DagsterInstance
) -> None:
    path = sorted(layout.version(V1).glob("*-00000*"))[0]
    whole = path.read_bytes()
    faults.flip_byte(path, 60)
    with graph.loaded(layout) as defs:
        ran = graph.run(defs, instance, V1, "shards", "manifest", "datasheet")
    assert ran.success
    assert graph.checks(ran)["manifest_hashes"].passed
    assert path.read_bytes() == whole


def test_a_flipped_byte_of_a_stage_output_stops_the_stage_that_reads_it(
    layout: Layout, instance: dg.DagsterInstance
) -> None:
    paths = list((layout.corpus / "work" / "documents").rglob("*.parquet"))
    for path in paths:
        faults.flip_byte(path, 60)
    shutil.rmtree(layout.corpus / "work" / "doc_signals")
    with graph.loaded(layout) as defs:
        ran = graph.run(defs, instance, tiny.PAIRS[0], "doc_signals", "filtered_docs")
    assert graph.materialized(ran) == []
    assert "sha256 is" in graph.failures(ran)
    assert "delete its folder and materialize the stage again" in graph.failures(ran)


@pytest.mark.slow
def test_a_second_version_that_keeps_less_of_a_source_is_a_warning_that_names_both_shares(
    layout: Layout, instance: dg.DagsterInstance
) -> None:
    tiny.write_config(layout, V2, profiles={"prose": {"too_short": 170, "too_few_words": 8}})
    ran = build(layout, instance, V2)
    found = graph.checks(*ran)["retention_of_sources"]
    assert not found.passed
    assert found.severity == dg.AssetCheckSeverity.WARN
    assert "tiny.v2: against tiny.v1: " in str(found.description)
    assert "% -> " in str(found.description)
    assert layout.lock(V2).exists()
    made = [event.materialization for step in ran for event in step.get_asset_materialization_events()]
    (sheet,) = [one.metadata for one in made if one.asset_key == dg.AssetKey("datasheet")]
    assert str(sheet["since"].value).startswith("tiny.v1: ")
    assert "tiny.v1" in Path(str(sheet["differences"].value)).read_text("utf-8")


@pytest.mark.slow
def test_a_version_more_measures_nothing_again(layout: Layout, instance: dg.DagsterInstance) -> None:
    work = layout.corpus / "work"
    shared = [work / name for name in ("documents", "doc_signals", "filtered_docs", "minhash_signatures")]
    before = [as_they_lie(folder) for folder in (*shared, layout.corpus / "raw")]
    tiny.write_config(layout, V2, dedup={"near": {"jaccard_threshold": 0.99}})
    build(layout, instance, V2)
    assert [as_they_lie(folder) for folder in (*shared, layout.corpus / "raw")] == before

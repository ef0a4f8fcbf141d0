"""The ingest sensor over real ledgers, configs and runs: what it requests, once, and what it says of the rest."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from formats.layout import Layout
from formats.naming import PairKey, VersionKey
from tests.assets import graph, tiny

V2 = VersionKey("tiny", "v2")
ASSETS = ("ledger_entry", "raw_fetch", "doc_signals", "filtered_docs", "minhash_signatures")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with graph.instance() as instance:
        yield instance


def tick(defs: dg.Definitions, instance: dg.DagsterInstance) -> Any:
    """One evaluation, as the daemon gets it."""
    repository = defs.get_repository_def()
    with dg.build_sensor_context(instance, repository_def=repository, resources=defs.resources) as context:
        return repository.get_sensor_def("ingest_new_sources").evaluate_tick(context)


def requested(found: Any) -> list[str]:
    return [request.partition_key for request in found.run_requests]


def keys(found: Any) -> dict[str, str]:
    return {request.partition_key: request.run_key for request in found.run_requests}


def run_all(defs: dg.Definitions, instance: dg.DagsterInstance, found: Any) -> dict[str, graph.Ran]:
    """What the daemon does with the requests: the events first, then a run each, with the tags that were asked for."""
    for event in found.asset_events:
        instance.report_runless_asset_event(event)
    ran = {pair: graph.run(defs, instance, PairKey.parse(pair), *ASSETS) for pair in requested(found)}
    for request in found.run_requests:
        instance.add_run_tags(ran[request.partition_key].run_id, dict(request.tags))
    return ran


def test_it_is_shipped_stopped_and_targets_what_a_source_needs_with_its_blocking_checks(tmp_path: Path) -> None:
    with graph.loaded(tiny.unbuilt(tmp_path)) as defs:
        repository = defs.get_repository_def()
        sensor = repository.get_sensor_def("ingest_new_sources")
        assert sensor.default_status.value == "STOPPED"
        job = repository.get_job(sensor.job_name)
        assert {key.to_user_string() for key in job.asset_layer.executable_asset_keys} == set(ASSETS)
        checks = {key.name for key in job.asset_layer.asset_graph.asset_check_keys}
        assert {"licence_allowed", "ledger_schema", "records_accounted_for"} <= checks


def test_new_rows_and_pairs_are_requested_each_with_a_run_and_then_no_more(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    layout = tiny.unbuilt(tmp_path)
    with graph.loaded(layout) as defs:
        first = tick(defs, instance)
        assert requested(first) == [str(pair) for pair in tiny.PAIRS]
        assert keys(tick(defs, instance)) == keys(first), "asked again before a run began, it has the same run keys"
        assert all(ran.success for ran in run_all(defs, instance, first).values())
        again = tick(defs, instance)
        assert (requested(again), again.skip_message) == ([], "nothing new in ledger and configs")
    tiny.write_config(layout, V2, sources=["tales", "web"])
    with graph.loaded(layout) as defs:  # definitions were reloaded
        assert requested(tick(defs, instance)) == ["tales@tiny.v2", "web@tiny.v2"]


def test_inputs_are_observed_before_the_first_run_so_that_a_change_shows_as_stale(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    layout = tiny.unbuilt(tmp_path)
    with graph.loaded(layout) as defs:
        run_all(defs, instance, tick(defs, instance))
        web = PairKey("web", tiny.V1)
        assert graph.stale(defs, instance, "ledger_entry", web) == set()
        tiny.write_ledger(layout, tiny.ledger_row("web", title="The web, again"))
        graph.run(defs, instance, None, *graph.INPUTS)
        assert graph.stale(defs, instance, "ledger_entry", web) == {"ledger"}


def test_what_is_on_disk_and_not_loaded_is_said_and_taken_after_a_reload(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    layout = tiny.copy(tmp_path / "root")
    with graph.loaded(layout) as defs:
        tiny.write_config(layout, V2, sources=["web"])
        found = tick(defs, instance)
        assert requested(found) == []
        assert "web@tiny.v2: on disk, but not among the partitions" in found.skip_message
        assert "reload the definitions" in found.skip_message
    with graph.loaded(layout) as defs:
        assert requested(tick(defs, instance)) == ["web@tiny.v2"]


def test_a_licence_that_is_not_allowed_is_stopped_by_its_check_and_asked_for_once(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    layout = tiny.unbuilt(tmp_path)
    tiny.write_ledger(layout, tiny.ledger_row("web", license_spdx="GPL-3.0-only"))
    with graph.loaded(layout) as defs:
        first = tick(defs, instance)
        ran = run_all(defs, instance, first)
        assert {pair: one.success for pair, one in ran.items()} == {
            "notes@tiny.v1": True,
            "tales@tiny.v1": True,
            "web@tiny.v1": False,
        }
        assert graph.materialized(ran["web@tiny.v1"]) == ["ledger_entry"]
        assert not layout.raw_sets("web").exists()
        again = tick(defs, instance)
        assert requested(again) == []
        assert f"web@tiny.v1: was asked for as it is now, and run {ran['web@tiny.v1'].run_id[:8]}" in again.skip_message
        assert "corpus build tiny.v1" in again.skip_message
    tiny.write_config(layout, licenses={"allow": ["CC-BY-4.0", "CC0-1.0", "GPL-3.0-only"]})
    with graph.loaded(layout) as defs:
        (mended,) = keys(tick(defs, instance)).values()
        assert mended != keys(first)["web@tiny.v1"], "another config is other work"


def test_a_row_whose_licence_changed_is_run_again_in_a_version_that_is_not_published(
    tmp_path: Path, instance: dg.DagsterInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = tiny.unbuilt(tmp_path)
    with graph.loaded(layout) as defs:
        first = tick(defs, instance)
        run_all(defs, instance, first)
        tiny.write_ledger(layout, tiny.ledger_row("web", license_spdx="GPL-3.0-only"))
        found = tick(defs, instance)
        assert requested(found) == ["web@tiny.v1"]
        assert keys(found)["web@tiny.v1"] != keys(first)["web@tiny.v1"]
        assert "web@tiny.v1: its row changed: license_spdx MIT -> GPL-3.0-only" in capsys.readouterr().err
        (ran,) = run_all(defs, instance, found).values()
        assert not graph.checks(ran)["licence_allowed"].passed
        assert graph.materialized(ran) == ["ledger_entry"]


def test_of_a_published_version_nothing_is_run_and_a_changed_licence_is_said(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    layout = tiny.copy(tmp_path / "root")
    with graph.loaded(layout) as defs:
        assert tick(defs, instance).skip_message == "nothing new in ledger and configs"
        tiny.write_ledger(layout, tiny.ledger_row("web", license_spdx="GPL-3.0-only"))
        found = tick(defs, instance)
    assert requested(found) == []
    assert (
        "web@tiny.v1: the row in the ledger is another one now: license_spdx MIT -> GPL-3.0-only" in found.skip_message
    )
    assert "tiny.v1 is published and keeps the row it was published with" in found.skip_message
    assert "corpus takedown web" in found.skip_message


def remove_row(layout: Layout, source: str) -> None:
    lines = layout.ledger.read_text("utf-8").splitlines(keepends=True)
    layout.ledger.write_text("".join(line for line in lines if json.loads(line)["source_id"] != source), "utf-8")


@pytest.mark.parametrize("published", [False, True])
def test_a_row_that_was_removed_is_said_and_nothing_of_it_is_run(
    tmp_path: Path, instance: dg.DagsterInstance, published: bool
) -> None:
    layout = tiny.copy(tmp_path / "root") if published else tiny.unbuilt(tmp_path / "root")
    with graph.loaded(layout) as defs:
        run_all(defs, instance, tick(defs, instance)) if not published else None
        remove_row(layout, "web")
        found = tick(defs, instance)
    assert requested(found) == []
    assert "web@tiny.v1: the ledger has no row of source web any more" in found.skip_message
    assert ("is published and keeps" in found.skip_message) == published
    assert ("what was made of it stays" in found.skip_message) != published


def test_broken_rows_and_configs_are_said_and_stop_no_other(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    layout = tiny.unbuilt(tmp_path)
    (layout.configs / "tiny" / "v9.yaml").write_text("dataset: [tiny", "utf-8")
    with open(layout.ledger, "a", encoding="utf-8") as file:
        file.write("{\n")
    with graph.loaded(layout) as defs:
        assert requested(tick(defs, instance)) == [str(pair) for pair in tiny.PAIRS]
        run_all(defs, instance, tick(defs, instance))
        said = tick(defs, instance).skip_message
    assert "v9.yaml" in said
    assert "line 4" in said


def test_a_source_in_the_ledger_that_no_config_names_is_said(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    layout = tiny.copy(tmp_path / "root")
    with open(layout.ledger, "a", encoding="utf-8") as file:
        file.write(json.dumps({**tiny.ledger_row("web"), "source_id": "fresh"}) + "\n")
    with graph.loaded(layout) as defs:
        found = tick(defs, instance)
    assert requested(found) == []
    assert "fresh: in the ledger, but in no config; `corpus config new` takes a source up" in found.skip_message


def test_while_a_run_of_a_pair_is_under_way_it_is_not_asked_for(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    with graph.loaded(tiny.unbuilt(tmp_path)) as defs:
        instance.add_run(
            dg.DagsterRun(
                job_name="by hand", status=dg.DagsterRunStatus.STARTED, tags={"dagster/partition": "web@tiny.v1"}
            )
        )
        assert requested(tick(defs, instance)) == ["notes@tiny.v1", "tales@tiny.v1"]


def test_an_empty_root_has_nothing_to_ingest(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    with graph.loaded(Layout(tmp_path)) as defs:
        assert requested(tick(defs, instance)) == []
    assert list(tmp_path.iterdir()) == []

"""The automation condition over real ledgers, configs and runs: what it asks for, when, and what it leaves alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from corpus_assets.commands.build import LAYERS
from corpus_assets.plans import audit_source
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.pinned import Build, Pair
from formats import durable, evidence
from formats.naming import PairKey, VersionKey
from tests.assets import graph, tiny, ui
from tests.assets.test_ingest import remove_row, run_all
from tests.assets.test_ingest import tick as ingest_tick

V2 = VersionKey("tiny", "v2")
OF_SOURCE = {"raw_fetch", "doc_signals", "filtered_docs", "minhash_signatures"}
PUBLISHED = {"shards", "manifest", "datasheet", "ngram_index"}
Requests = dict[str, set[str]]
"""Partition -> the assets of the run that is asked for."""


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with graph.instance() as instance:
        yield instance


@dataclass
class Daemon:
    """Evaluates the sensor as the daemon does, with the cursor of the last time, and runs what it asks for."""

    defs: dg.Definitions
    instance: dg.DagsterInstance
    cursor: str | None = None

    def tick(self) -> Requests:
        repository = self.defs.get_repository_def()
        with dg.build_sensor_context(self.instance, cursor=self.cursor, repository_def=repository) as context:
            found: Any = repository.get_sensor_def("make_new_versions").evaluate_tick(context)
        self.cursor = found.cursor
        asked = {one.partition_key: {key.to_user_string() for key in one.asset_selection} for one in found.run_requests}
        assert len(asked) == len(found.run_requests), "one run a partition"
        return asked

    def work_off(self, asked: Requests) -> dict[str, bool]:
        """Partition -> whether its run went well."""
        found = {}
        for partition, assets in sorted(asked.items()):
            key = PairKey.parse(partition) if "@" in partition else VersionKey.parse(partition)
            found[partition] = graph.run(self.defs, self.instance, key, *assets).success
        return found

    def until_quiet(self) -> list[tuple[Requests, dict[str, bool]]]:
        """All ticks that ask for something, with how their runs ended."""
        ticks = []
        while asked := self.tick():
            assert len(ticks) < 8, "asks again and again"
            ticks.append((asked, self.work_off(asked)))
        return ticks


def pairs(key: VersionKey = tiny.V1, sources: tuple[str, ...] = tiny.SOURCES) -> set[str]:
    return {str(PairKey(source, key)) for source in sources}


def row(daemon: Daemon, pair: PairKey) -> None:
    """Materialize one ledger_entry with its checks, whatever they say; inputs were never observed."""
    graph.run(daemon.defs, daemon.instance, pair, "ledger_entry")


def test_it_is_shipped_stopped_and_says_in_words_what_it_does(tmp_path: Path) -> None:
    with graph.loaded(tiny.unbuilt(tmp_path)) as defs:
        sensors = {one.name: one for one in defs.get_repository_def().sensor_defs}
        assert sensors["make_new_versions"].default_status is dg.DefaultSensorStatus.STOPPED
        assert "Published versions are left alone" in str(sensors["make_new_versions"].description)
        assert "default_automation_condition_sensor" not in sensors


def test_all_that_a_build_makes_has_the_condition_but_ledger_entry(tmp_path: Path) -> None:
    with graph.loaded(tiny.unbuilt(tmp_path), CORPUS_STORE="s3://anywhere/team") as defs:
        assets = defs.resolve_asset_graph()
        having = {key.to_user_string() for key in assets.get_all_asset_keys() if assets.get(key).automation_condition}
        built = {name for _, names in LAYERS for name in names}
        assert having == built - {"ledger_entry"} | {"stored_version"}


def test_unattended_both_sensors_make_the_version_that_a_build_makes(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    layout = tiny.unbuilt(tmp_path)
    with graph.loaded(layout) as defs:
        daemon = Daemon(defs, instance)
        assert daemon.tick() == {}, "before the checks of a row have passed nothing is asked for"
        run_all(defs, instance, ingest_tick(defs, instance))
        ticks = daemon.until_quiet()
        assert [asked for asked, _ in ticks] == [
            {"tiny.v1": {"dedup_clusters"}},
            {pair: {"scrubbed_docs"} for pair in pairs()},
            {"tiny.v1": PUBLISHED},
        ]
        assert all(all(ended.values()) for _, ended in ticks)
        evaluated = {
            (evaluation.check_name, evaluation.passed)
            for run in instance.get_runs()
            for record in instance.get_records_for_run(
                run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION
            ).records
            if (evaluation := record.event_log_entry.dagster_event.event_specific_data).blocking
        }
        blocking = {
            key.name
            for key in defs.resolve_asset_graph().asset_check_keys
            if defs.resolve_asset_graph().get(key).blocking
        } & graph.checks_of_a_version(defs)
        assert evaluated == {(name, True) for name in blocking}
        assert ingest_tick(defs, instance).run_requests == []
    assert durable.read_lock(layout.lock(tiny.V1)) == durable.read_lock(tiny.built().lock(tiny.V1))


def test_alone_it_goes_on_from_rows_that_a_person_ran_though_no_input_was_observed(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    layout = tiny.unbuilt(tmp_path)
    with graph.loaded(layout) as defs:
        daemon = Daemon(defs, instance)
        for pair in tiny.PAIRS:
            row(daemon, pair)
        ticks = daemon.until_quiet()
    assert ticks[0][0] == dict.fromkeys(pairs(), OF_SOURCE)
    assert [sorted(asked) for asked, _ in ticks[1:]] == [["tiny.v1"], sorted(pairs()), ["tiny.v1"]]
    assert durable.read_lock(layout.lock(tiny.V1)) == durable.read_lock(tiny.built().lock(tiny.V1))


def test_a_refused_licence_stops_its_source_and_its_version_and_not_the_sources_beside_it_or_another_version(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    layout = tiny.unbuilt(tmp_path)
    tiny.write_config(layout, V2, sources=["notes", "web"], licenses={"allow": ["CC-BY-4.0"]})
    with graph.loaded(layout) as defs:
        daemon = Daemon(defs, instance)
        for pair in (*tiny.PAIRS, PairKey("notes", V2), PairKey("web", V2)):
            row(daemon, pair)
        asked = [one for one, _ in daemon.until_quiet()]
    assert asked[0] == dict.fromkeys({*pairs(), "notes@tiny.v2"}, OF_SOURCE)
    assert not any("web@tiny.v2" in one or "tiny.v2" in one for one in asked)
    assert layout.lock(tiny.V1).exists()
    assert not layout.version(V2).exists()


def test_dedup_waits_for_the_last_source_and_a_backlog_is_caught_up(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    layout = tiny.unbuilt(tmp_path)
    with graph.loaded(layout) as defs:
        for pair in tiny.PAIRS[:-1]:
            graph.run(defs, instance, pair, "ledger_entry", *OF_SOURCE)
        daemon = Daemon(defs, instance)  # turned on only now
        assert daemon.tick() == {}, "a source of the version is not there"
        graph.run(defs, instance, tiny.PAIRS[-1], "ledger_entry", *OF_SOURCE)
        assert daemon.tick() == {"tiny.v1": {"dedup_clusters"}}


def test_a_blocking_check_that_fails_in_the_run_stops_the_rest_of_it_and_is_not_tried_again(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = tiny.unbuilt(tmp_path)
    losing, real = {"web"}, audit_source.documents_conserved

    def conserved(build: Build, pair: Pair) -> Finding:
        return Finding(False, "lost") if pair.key.source in losing else real(build, pair)

    monkeypatch.setattr(
        audit_source, "documents_conserved", conserved
    )  # before the graph is loaded, which takes it from there
    with graph.loaded(layout) as defs:
        daemon = Daemon(defs, instance)
        for pair in tiny.PAIRS:
            row(daemon, pair)
        ((_, ended),) = daemon.until_quiet()
        assert ended == {"notes@tiny.v1": True, "tales@tiny.v1": True, "web@tiny.v1": False}
        made = instance.get_materialized_partitions(dg.AssetKey("minhash_signatures"))
        assert made == {"notes@tiny.v1", "tales@tiny.v1"}
        losing.clear()
        graph.run(defs, instance, PairKey("web", tiny.V1), "filtered_docs", "minhash_signatures")
        assert daemon.tick() == {"tiny.v1": {"dedup_clusters"}}, "a person mended it, and it goes on"


def test_a_run_that_failed_is_asked_for_once_and_again_goes_on_where_a_person_mends_it(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    layout = tiny.unbuilt(tmp_path)
    file = tmp_path / "inputs" / "web.jsonl"
    bytes_of = file.read_bytes()
    file.write_bytes(b"something else\n")
    web = PairKey("web", tiny.V1)
    with graph.loaded(layout) as defs:
        daemon = Daemon(defs, instance)
        for pair in tiny.PAIRS:
            row(daemon, pair)
        assert daemon.work_off(daemon.tick())[str(web)] is False
        assert daemon.tick() == daemon.tick() == {}
        file.write_bytes(bytes_of)
        assert daemon.tick() == {}, "nobody said that it is mended"
        assert graph.run(defs, instance, web, "raw_fetch").success
        assert daemon.tick() == {}, "the rest of the failed run counts as failed, too"
        assert graph.run(defs, instance, web, *OF_SOURCE).success
        assert daemon.tick() == {"tiny.v1": {"dedup_clusters"}}


def test_of_a_published_version_that_the_history_does_not_know_nothing_is_asked_for(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    layout = tiny.copy(tmp_path / "root")
    with graph.loaded(layout) as defs:
        daemon = Daemon(defs, instance)
        assert daemon.tick() == {}
        for pair in tiny.PAIRS:
            row(daemon, pair)  # though all that it waits for is there
        assert daemon.tick() == {}
    tiny.write_config(layout, V2, sources=["tales", "web"])
    with graph.loaded(layout) as defs:  # definitions were reloaded
        run_all(defs, instance, ingest_tick(defs, instance))
        asked = [one for one, _ in Daemon(defs, instance).until_quiet()]
        assert {key.rpartition("@")[2] for one in asked for key in one} == {"tiny.v2"}
    assert layout.lock(V2).exists()


@pytest.mark.parametrize("index", [False, True], ids=["no index asked for", "an index asked for"])
def test_of_a_version_whose_run_was_stopped_after_its_publication_the_rest_is_asked_for_once(
    tmp_path: Path, instance: dg.DagsterInstance, index: bool
) -> None:
    layout = tiny.unbuilt(tmp_path)
    if index:
        tiny.write_config(layout, ngram_index={"form": "filter"})
    with graph.loaded(layout) as defs:
        daemon = Daemon(defs, instance)
        for ran in graph.build(defs, instance, tiny.V1, layers=len(LAYERS) - 1):
            assert ran.success
        assert graph.run(defs, instance, tiny.V1, "shards", "manifest").success
        lock = durable.read_lock(layout.lock(tiny.V1))
        missing = {"datasheet", "ngram_index"} if index else {"datasheet"}
        assert [asked for asked, _ in daemon.until_quiet()] == [{"tiny.v1": missing}]
    assert evidence.DATASHEET_HTML in evidence.read_seal(layout.evidence(tiny.V1))
    assert durable.read_lock(layout.lock(tiny.V1)) == lock


def test_a_published_version_is_not_made_again_when_its_row_or_its_config_changes(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    layout = tiny.unbuilt(tmp_path)
    with graph.loaded(layout) as defs:
        run_all(defs, instance, ingest_tick(defs, instance))
        daemon = Daemon(defs, instance)
        daemon.until_quiet()
        published = ui.published(layout, tiny.V1)
        tiny.write_ledger(layout, tiny.ledger_row("web", title="Another title"))
        run_all(defs, instance, ingest_tick(defs, instance))
        assert daemon.tick() == {}
        tiny.write_config(layout, profiles={"prose": {"too_short": 10, "too_few_words": 9}})
    with graph.loaded(layout) as defs:
        run_all(defs, instance, ingest_tick(defs, instance))
        assert Daemon(defs, instance, daemon.cursor).tick() == {}
    assert ui.published(layout, tiny.V1) == published


def test_a_source_that_was_refused_after_it_was_made_never_reaches_a_version(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    layout = tiny.unbuilt(tmp_path)
    with graph.loaded(layout) as defs:
        run_all(defs, instance, ingest_tick(defs, instance))
        tiny.write_ledger(layout, tiny.ledger_row("web", license_spdx="GPL-3.0-only"))
        run_all(defs, instance, ingest_tick(defs, instance))
        ticks = Daemon(defs, instance).until_quiet()
        assert [ended for _, ended in ticks] == [{"tiny.v1": False}], "dedup_clusters refuses, once"
    assert not layout.version(tiny.V1).exists()


def test_a_version_with_a_source_that_has_no_row_waits(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    layout = tiny.unbuilt(tmp_path)
    remove_row(layout, "web")
    with graph.loaded(layout) as defs:
        run_all(defs, instance, ingest_tick(defs, instance))
        assert Daemon(defs, instance).until_quiet() == []

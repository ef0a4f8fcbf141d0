"""A run that is killed at a change of the disk: what Dagster shows as made is there, and a rerun makes the rest."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import pytest

from corpus_assets.commands.build import LAYERS, PAIR
from corpus_assets.plans import standing
from corpus_assets.plans.pinned import Build, load_version
from corpus_assets.plans.standing import State
from formats.layout import Layout
from formats.naming import PairKey, VersionKey
from resources import run_process
from resources.engines.local import LocalEngine
from tests.assets import graph, tiny

pytestmark = pytest.mark.slow
WEB = PairKey("web", tiny.V1)
OF_SOURCE = tuple(name for kind, names in LAYERS[:2] if kind == PAIR for name in names)
OF_VERSION = ("shards", "manifest", "datasheet")
KILLED = 137


@contextmanager
def history(home: Path) -> Iterator[dg.DagsterInstance]:
    """A history on disk, which a process that is killed leaves as it was."""
    home.mkdir(exist_ok=True)
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        yield instance


def run_killed_at(number: int, layout: Layout, home: Path, key: PairKey | VersionKey, *assets: str) -> int:
    """Run the assets in a process of its own, which ends without a word before its `number`-th rename below the root;
    its exit code.
    """
    child = os.fork()
    if child == 0:
        renames = 0

        def hook(event: str, args: tuple) -> None:
            nonlocal renames
            if event == "os.rename" and str(args[0]).startswith(str(layout.root)):
                renames += 1
                if renames == number:
                    os._exit(KILLED)

        sys.addaudithook(hook)
        with graph.loaded(layout) as defs, history(home) as instance:
            os._exit(0 if graph.run(defs, instance, key, *assets).success else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def shown(home: Path, key: PairKey | VersionKey) -> set[str]:
    """The assets of which Dagster's pages say that this partition is materialized."""
    with history(home) as instance:
        return {
            name
            for name in (*OF_SOURCE, *OF_VERSION)
            if str(key) in instance.get_materialized_partitions(dg.AssetKey(name))
        }


def there(layout: Layout, key: PairKey | VersionKey) -> set[str]:
    """The assets whose files are on disk, by what `corpus status` reads."""
    engine = LocalEngine(scratch=layout.work("scratch", "status"), workers=1, processes=False)  # runs nothing
    found = standing.of_version(Build(layout, engine), load_version(layout, tiny.V1))
    told = found.sources[key.source] if isinstance(key, PairKey) else found.whole
    return {one.asset for one in told if one.state is State.DONE}


def unpublished(root: Path) -> Layout:
    """Everything up to the shards is made."""
    layout = tiny.copy(root)
    shutil.rmtree(layout.version(tiny.V1))
    shutil.rmtree(layout.evidence(tiny.V1))
    layout.lock(tiny.V1).unlink()
    return layout


@pytest.mark.parametrize(
    ("begin", "key", "assets"),
    [(tiny.unbuilt, WEB, OF_SOURCE), (unpublished, tiny.V1, OF_VERSION)],
    ids=["a source", "the version"],
)
def test_what_is_shown_as_made_is_there_whenever_its_run_was_killed(
    tmp_path: Path,
    begin: Callable[[Path], Layout],
    key: PairKey | VersionKey,
    assets: tuple[str, ...],
) -> None:
    """The first run dies before its first rename, the second before its second, and so on until one is through."""
    layout, home, kills, before = begin(tmp_path / "root"), tmp_path / "home", 0, set[str]()
    while (code := run_killed_at(kills + 1, layout, home, key, *assets)) == KILLED:
        kills += 1
        assert before <= shown(home, key) <= there(layout, key), f"after kill {kills}"
        before = shown(home, key)
    assert code == 0
    assert kills >= len(assets)
    assert shown(home, key) == there(layout, key) & set(assets) == set(assets)


def test_a_run_of_the_ui_that_is_killed_with_its_code_server_is_marked_as_failed_and_one_that_lives_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_process, "is_worker", lambda: True)  # a fork of this process takes a worker's place
    layout, home = tiny.unbuilt(tmp_path / "root"), tmp_path / "home"
    assert run_killed_at(2, layout, home, WEB, "ledger_entry", "raw_fetch") == KILLED
    with history(home) as instance, graph.loaded(layout) as defs, run_process.this_process(layout) as alive:
        (killed,) = instance.get_runs()
        assert killed.status == dg.DagsterRunStatus.STARTED
        living = instance.create_run_for_job(defs.resolve_implicit_global_asset_job_def(), tags=alive)
        instance.report_dagster_event(
            dg.DagsterEvent(event_type_value=dg.DagsterEventType.RUN_START.value, job_name=living.job_name),
            living.run_id,
        )
        repository = defs.get_repository_def()
        sensor = repository.get_sensor_def("fail_runs_of_dead_processes")
        assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
        for said in ("1 runs of dead processes marked as failed", "0 runs of dead processes marked as failed"):
            with dg.build_sensor_context(
                instance, repository_def=repository, resources={"store": defs.resources["store"]}
            ) as context:
                assert sensor.evaluate_tick(context).skip_message == said
        assert instance.get_run_by_id(killed.run_id).status == dg.DagsterRunStatus.FAILURE
        assert instance.get_run_by_id(living.run_id).status == dg.DagsterRunStatus.STARTED

"""The graph as it loads: assets, partitions, edges and checks; for roots that are empty, broken or large, too."""

import json
import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from corpus_assets.commands import model_train, tokenize
from corpus_assets.commands.build import LAYERS
from formats import ledger
from formats.layout import Layout
from formats.naming import PairKey, VersionKey
from tests.assets import graph, tiny
from tests.golden import make_graph
from tests.load import roots

PROJECT = Path(__file__).resolve().parents[2]


def keys(defs: dg.Definitions, asset: str) -> list[str]:
    """The partition keys of an asset."""
    partitions = defs.resolve_asset_graph().get(dg.AssetKey(asset)).partitions_def
    assert partitions
    return list(partitions.get_partition_keys())


def test_assets_partitions_edges_and_checks_are_the_golden_ones(tmp_path: Path) -> None:
    golden = json.loads(make_graph.GOLDEN.read_text("utf-8"))
    assert make_graph.of_two_versions(tmp_path) == golden, "python -m tests.golden.make_graph, if it is meant"


def test_definitions_are_loadable(tmp_path: Path) -> None:
    with graph.loaded(tiny.unbuilt(tmp_path)) as defs:
        dg.Definitions.validate_loadable(defs)


def test_a_build_covers_every_asset_that_is_made_each_after_those_it_is_made_of(tmp_path: Path) -> None:
    with graph.loaded(tiny.unbuilt(tmp_path)) as defs:
        assets = defs.resolve_asset_graph()
        layers = [*(names for _, names in LAYERS), tokenize.ASSETS, model_train.ASSETS]
        made = [key.to_user_string() for key in assets.toposorted_asset_keys if not assets.get(key).is_observable]
        of_layer = {name: i for i, names in enumerate(layers) for name in names}
        assert sorted(of_layer) == sorted(made)
        for name in made:
            parents = {parent.to_user_string() for parent in assets.get(dg.AssetKey(name)).parent_keys} & set(made)
            assert all(of_layer[parent] <= of_layer[name] for parent in parents), name


def test_a_root_without_ledger_and_configs_loads_and_observes_nothing(tmp_path: Path) -> None:
    with graph.loaded(Layout(tmp_path)) as defs, graph.instance() as instance:
        dg.Definitions.validate_loadable(defs)
        assert keys(defs, "raw_fetch") == keys(defs, "shards") == keys(defs, "ledger") == []
        assert graph.run(defs, instance, None, *graph.INPUTS).success
    assert list(tmp_path.iterdir()) == []


BROKEN = {
    "tiny/bad.yaml": ("dataset: [tiny", "bad.yaml"),
    "tiny/other.yaml": (
        "dataset: tiny\nversion: v9\nsources: [web]\nlicenses: {allow: [MIT]}\n",
        "write other or move",
    ),
    "tiny/v7.yml": ("dataset: tiny", "rename it"),
    "tiny/V8.yaml": ("dataset: tiny", "is not a name"),
    "raw/v1.yaml": ("dataset: raw", "is reserved"),
    "tiny/bytes.yaml": ("\udcff\udcfe", "bytes.yaml"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_config_takes_no_other_version_away_and_is_named(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    layout = tiny.unbuilt(tmp_path)
    path, (text, words) = layout.configs / name, BROKEN[name]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with graph.loaded(layout) as defs, graph.instance() as instance:
        at_load = caplog.text
        assert keys(defs, "shards") == ["tiny.v1"]
        assert graph.run(defs, instance, None, *graph.INPUTS).success
        for said in (at_load, graph.log_of(instance)):
            assert str(path) in said
            assert words in said


def test_a_config_that_breaks_while_the_graph_is_loaded_is_named_by_the_observation(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    with graph.loaded(layout) as defs, graph.instance() as instance:
        layout.config(tiny.V1).write_text("dataset: [tiny")
        assert graph.run(defs, instance, None, *graph.INPUTS).success
        assert str(layout.config(tiny.V1)) in graph.log_of(instance)


def test_a_source_and_a_version_more_leave_every_other_key_and_edge_alone(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    with graph.loaded(layout) as defs:
        before = make_graph.described(defs)
    tiny.write_config(layout, VersionKey("tiny", "v2"), sources=["tales", "poems"])
    with graph.loaded(layout) as defs:
        after = make_graph.described(defs)
    for name, asset in before.items():
        for parent, edges in asset["upstream"].items():
            kept = after[name]["upstream"][parent]
            assert kept == edges or {key: kept[key] for key in edges} == edges
    assert set(after["ledger"]["keys"]) == {*before["ledger"]["keys"], "poems"}
    assert after["scrubbed_docs"]["upstream"]["dedup_clusters"]["poems@tiny.v2"] == ["tiny.v2"]


def test_keys_of_500_sources_in_20_versions_are_parsed_once_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(tmp_path)
    layout.corpus.mkdir()
    sources = [f"source-{i:03}" for i in range(500)]
    rows = [json.dumps(tiny.ledger_row("web", source_id=source)) for source in sources]
    layout.ledger.write_text("\n".join(rows) + "\n", "utf-8")
    for i in range(20):
        tiny.write_config(layout, VersionKey("tiny", f"v{i}"), sources=sources)
    parsed, parse = [], PairKey.parse
    monkeypatch.setattr(PairKey, "parse", classmethod(lambda _, key: parsed.append(key) or parse(key)))
    with graph.loaded(layout) as defs:
        assert len(keys(defs, "raw_fetch")) == len(set(keys(defs, "raw_fetch"))) == 10_000
    assert len(parsed) == 10_000
    assert len(ledger.read(layout.ledger)) == 500


STEPS = """
import json
from corpus_assets.definitions import defs
job = defs.resolve_implicit_global_asset_job_def()
layer = job.asset_layer
made_by = {k.to_user_string(): layer.get_op_output_handle(k).node_handle.name for k in layer.selected_asset_keys}
print(json.dumps([sorted(job.graph.node_dict), made_by]))
"""


@pytest.mark.slow
def test_every_process_finds_the_same_steps_of_every_asset(tmp_path: Path) -> None:
    """Whatever order sets have: runs are planned in one process and worked off in another."""
    layout, found = roots.make(tmp_path, 40, 5), []
    for seed in ("0", "1", "2"):
        environment = {
            **os.environ,
            "CORPUS_ROOT": str(layout.root),
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": str(PROJECT),
        }
        command = [sys.executable, "-W", "ignore", "-c", STEPS]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=1200)
        found.append(json.loads(ran.stdout.splitlines()[-1]))
    assert found[0] == found[1] == found[2]
    steps, made_by = found[0]
    with graph.loaded(layout) as defs:
        assets = defs.resolve_asset_graph()
        assert set(made_by) == {key.to_user_string() for key in assets.get_all_asset_keys()}
        assert {*made_by.values(), *map(_step_of, assets.asset_check_keys)} == set(steps)


def _step_of(check: dg.AssetCheckKey) -> str:
    return f"{check.asset_key.to_user_string()}_{check.name}"


def test_a_setting_that_only_a_late_stage_reads_leaves_that_stage_stale(tmp_path: Path) -> None:
    """Through the stages before it alone it would look fresh: they are made anew with the data versions they had."""
    layout = tiny.unbuilt(tmp_path)
    with graph.loaded(layout) as defs, graph.instance() as instance:
        assert all(ran.success for ran in graph.build(defs, instance, tiny.V1, layers=4))
        tiny.write_config(layout, pii={"ips": "all"})
        assert all(ran.success for ran in graph.build(defs, instance, tiny.V1, layers=3))
        assert graph.stale(defs, instance, "scrubbed_docs", tiny.PAIRS[0]) == {"corpus_config"}
        assert graph.stale(defs, instance, "minhash_signatures", tiny.PAIRS[0]) == set()

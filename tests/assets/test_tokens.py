"""Token sets in the graph: their partitions, their runs and checks, and that they never touch the corpus."""

import json
import shutil
from pathlib import Path

import dagster as dg
import pytest

from corpus_assets.commands.tokenize import ASSETS
from corpus_assets.plans.snapshot import last_snapshot
from corpus_assets.stages import pack_tokens
from formats import durable
from formats.layout import Layout
from formats.naming import TokensKey, VersionKey
from tests import faults
from tests.assets import graph, tiny, tiny_tokens
from tests.golden import make_graph
from tests.plans.tampering import as_they_lie

KEY, OTHER = tiny_tokens.KEY, tiny_tokens.OTHER
CHECKS = {
    "outputs_as_written",
    "token_shards_conserved",
    "sampled_texts_give_their_tokens",
    "snapshot_digests",
    "snapshot_conserved",
    "ids_below_vocabulary",
}


def keys(defs: dg.Definitions, asset: str) -> list[str]:
    partitions = defs.resolve_asset_graph().get(dg.AssetKey(asset)).partitions_def
    assert partitions
    return list(partitions.get_partition_keys())


def whole(folder: Path) -> dict[str, tuple]:
    """Every file below a folder: how it lies there, and the hash of its bytes."""
    hashes = {str(path): durable.sha256_of(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    return {"hashes": tuple(hashes.items()), "lie": tuple(as_they_lie(folder).items())}


# Partitions.


def test_a_token_set_is_a_partition_below_its_version_and_leaves_all_others_alone(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    tiny.write_config(layout, VersionKey("tiny", "v2"))
    with graph.loaded(layout) as defs:
        before = make_graph.described(defs)
        assert keys(defs, "snapshot") == []
    for key in (OTHER, KEY, TokensKey(VersionKey("tiny", "v2"), "t16")):
        tiny_tokens.write(layout, key)
    with graph.loaded(layout) as defs:
        after = make_graph.described(defs)
    assert after["snapshot"]["keys"] == ["tiny.v1.t16", "tiny.v1.t32", "tiny.v2.t16"]
    assert after["token_shards"]["upstream"]["manifest"] == {
        "tiny.v1.t16": ["tiny.v1"],
        "tiny.v1.t32": ["tiny.v1"],
        "tiny.v2.t16": ["tiny.v2"],
    }
    of_tokens = {*ASSETS, "token_config"}
    assert {name: one for name, one in after.items() if name not in of_tokens} == {
        name: one for name, one in before.items() if name not in of_tokens
    }


BROKEN = {
    "tiny/v1.bad.yaml": ("tokens: [bad", "bad.yaml"),
    "tiny/v1.t64.yaml": (json.dumps(tiny_tokens.config()), "write t64 or move the file"),
    "tiny/v9.t16.yaml": (json.dumps(tiny_tokens.config()), "tiny.v9 has no config that can be read"),
    "tiny/v1.T8.yaml": ("tokens: t8", "is not a name"),
    "tiny/v1.t8.yml": ("tokens: t8", "rename it"),
    "tiny/v1.bytes.yaml": ("\udcff", "is not UTF-8"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_token_set_costs_its_own_partition_alone_and_is_named(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    layout = tiny.unbuilt(tmp_path)
    tiny_tokens.write(layout)
    path, (text, words) = layout.configs / name, BROKEN[name]
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with graph.loaded(layout) as defs, graph.instance() as instance:
        at_load = caplog.text
        assert keys(defs, "snapshot") == ["tiny.v1.t16"]
        assert keys(defs, "shards") == ["tiny.v1"]
        assert graph.run(defs, instance, None, *graph.INPUTS, "token_config").success
        for said in (at_load, graph.log_of(instance)):
            assert str(path) in said
            assert words in said


def test_a_version_that_breaks_takes_its_token_sets_along_and_no_others(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    v2 = VersionKey("tiny", "v2")
    tiny.write_config(layout, v2)
    for key in (KEY, TokensKey(v2, "t16")):
        tiny_tokens.write(layout, key)
    layout.config(v2).write_text("dataset: [tiny")
    with graph.loaded(layout) as defs:
        assert keys(defs, "snapshot") == ["tiny.v1.t16"]


def test_a_token_set_that_breaks_while_the_graph_is_loaded_is_named_by_the_observation(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    tiny_tokens.write(layout)
    with graph.loaded(layout) as defs, graph.instance() as instance:
        layout.token_config(KEY).write_text("tokens: [t16")
        assert graph.run(defs, instance, None, "token_config").success
        assert str(layout.token_config(KEY)) in graph.log_of(instance)


# Runs.


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """The tiny corpus with two token sets, nothing of them made."""
    layout = tiny.copy(tmp_path_factory.mktemp("tokens") / "root")
    tiny_tokens.write(layout)
    tiny_tokens.write(layout, OTHER, seq_len=32, packing="best_fit", seed=7)
    return layout


@pytest.fixture
def layout(made: Layout, tmp_path: Path) -> Layout:
    return Layout(Path(shutil.copytree(made.root, tmp_path / "root")))


def test_a_run_makes_both_assets_passes_every_check_and_shows_what_is_in_them(layout: Layout) -> None:
    corpus = whole(layout.corpus / "tiny")
    with graph.loaded(layout) as defs, graph.instance() as instance:
        assert graph.run(defs, instance, None, "token_config").success
        ran = graph.run(defs, instance, KEY, *ASSETS)
        other = graph.run(defs, instance, OTHER, *ASSETS)
        assert ran.success, graph.failures(ran)
        assert other.success, graph.failures(other)
        assert graph.stale(defs, instance, "snapshot", KEY) == set()
        tiny_tokens.write(layout, seed=99)
        assert graph.run(defs, instance, None, "token_config").success
        assert graph.stale(defs, instance, "snapshot", KEY) == {"token_config"}
        assert graph.stale(defs, instance, "snapshot", OTHER) == set()
    assert set(graph.checks(ran)) == CHECKS
    assert all(check.passed for check in graph.checks(ran).values())
    told = {name for name, check in graph.checks(ran).items() if not check.blocking}
    assert told == {"outputs_as_written"}
    assert graph.materialized(ran) == list(ASSETS)
    shown = {
        event.asset_key.to_user_string(): event.materialization for event in ran.get_asset_materialization_events()
    }
    snapshot = last_snapshot(layout, KEY)
    counts = snapshot.document["counts"]
    assert shown["snapshot"].tags["dagster/data_version"] == snapshot.snapshot_id
    assert shown["snapshot"].metadata["tokens_by_bucket"].value == counts["tokens_by_bucket"]
    tokens = shown["token_shards"].metadata
    assert tokens["tokens"].value == counts["tokens"] == sum(tokens["tokens_by_language"].value.values())
    assert tokens["tokens_by_license"].value == counts["tokens_by_license"]
    assert tokens["padding_share"].value == pytest.approx(counts["padding"] / (counts["padding"] + counts["tokens"]))
    assert {"documents", "cut_documents"} <= set(tokens)
    assert whole(layout.corpus / "tiny") == corpus, "the corpus is only read"
    assert last_snapshot(layout, OTHER).seq_len == 32


def test_equal_bytes_have_equal_data_versions_wherever_and_by_however_many_workers(
    layout: Layout, made: Layout, tmp_path: Path
) -> None:
    elsewhere = Layout(Path(shutil.copytree(made.root, tmp_path / "another" / "root")))
    found = []
    for root, workers in ((layout, "1"), (elsewhere, "2")):
        with graph.loaded(root, CORPUS_WORKERS=workers) as defs, graph.instance() as instance:
            ran = graph.run(defs, instance, KEY, *ASSETS)
            found.append(graph.data_versions(ran))
    assert found[0] == found[1]
    assert len(set(found[0].values())) == 2


def test_the_snapshot_alone_says_what_to_make_first(layout: Layout) -> None:
    with graph.loaded(layout) as defs, graph.instance() as instance:
        ran = graph.run(defs, instance, KEY, "snapshot")
    assert graph.materialized(ran) == []
    assert "materialize tokenized first" in graph.failures(ran)
    assert not layout.snapshots.exists()


def test_a_failed_check_of_the_token_shards_stops_the_snapshot(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """A packer that loses a document and says so nowhere else."""
    as_it_is = pack_tokens.pack_shard

    def one_document_less(shard, batches, **settings):
        notes = yield from as_it_is(shard, batches, **settings)
        return {**notes, "documents": notes["documents"] - 1}

    monkeypatch.setattr(pack_tokens, "pack_shard", one_document_less)
    with graph.loaded(layout) as defs, graph.instance() as instance:
        ran = graph.run(defs, instance, KEY, *ASSETS)
    assert not ran.success
    assert graph.materialized(ran) == ["token_shards"]
    assert not graph.checks(ran)["token_shards_conserved"].passed


def test_a_damaged_shard_is_mended_by_the_next_run_of_the_snapshot(layout: Layout) -> None:
    with graph.loaded(layout) as defs, graph.instance() as instance:
        assert graph.run(defs, instance, KEY, *ASSETS).success
        snapshot = last_snapshot(layout, KEY)
        path = snapshot.folder / snapshot.shards("train")[0].name
        whole_bytes = path.read_bytes()
        faults.flip_byte(path, 3)
        ran = graph.run(defs, instance, KEY, "snapshot")
        assert ran.success, graph.failures(ran)
        assert path.read_bytes() == whole_bytes


def test_a_version_without_a_row_has_an_empty_snapshot(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    tiny.write_config(layout, profiles={"prose": {"too_short": 1_000_000}})
    tiny_tokens.write(layout)
    with graph.loaded(layout) as defs, graph.instance() as instance:
        assert all(ran.success for ran in graph.build(defs, instance, tiny.V1))
        ran = graph.run(defs, instance, KEY, *ASSETS)
    assert ran.success, graph.failures(ran)
    assert all(check.passed for check in graph.checks(ran).values())
    assert last_snapshot(layout, KEY).document["counts"]["tokens"] == 0

"""The n-gram index in the graph: what its materialization says, who depends on it, and what mends it."""

import json
import shutil
from pathlib import Path

import dagster as dg
import pytest

from corpus_assets.commands import contamination, verify
from corpus_assets.commands.tokenize import ASSETS
from corpus_assets.plans import audit_files
from corpus_assets.plans.snapshot import last_snapshot
from formats import ngram_index
from formats.errors import CorruptDataError
from formats.layout import Layout
from tests import faults
from tests.assets import graph, tiny, tiny_tokens
from tests.assets.tiny import V1
from tests.commands import command_line
from tests.plans.tampering import a_build

PUBLISHED = ("shards", "manifest", "datasheet", "ngram_index")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Layout, dict[str, dict[str, object]]]:
    """A version that keeps an exact index and a snapshot of it, and the metadata of what was materialized."""
    layout = tiny.unbuilt(tmp_path_factory.mktemp("index") / "root")
    tiny.write_config(layout, ngram_index={"form": "postings", "rate": 1})
    tiny_tokens.write(layout)
    with graph.loaded(layout) as defs, graph.instance() as instance:
        ran = [*graph.build(defs, instance, V1), graph.run(defs, instance, tiny_tokens.KEY, *ASSETS)]
        assert all(one.success for one in ran), [graph.failures(one) for one in ran]
    events = [event for one in ran for event in one.get_asset_materialization_events()]
    metadata = {
        str(event.asset_key.path[0]): {name: one.value for name, one in event.materialization.metadata.items()}
        for event in events
        if event.asset_key
    }
    return layout, metadata


def head_of(layout: Layout) -> ngram_index.NgramIndex:
    pinned = last_snapshot(layout, tiny_tokens.KEY).document["stage_versions"][ngram_index.FOLDER]
    return ngram_index.read(layout.evidence(V1) / ngram_index.FOLDER, pinned)


def test_the_materialization_says_what_the_pinned_index_holds(built: tuple[Layout, dict]) -> None:
    layout, metadata = built
    index = head_of(layout)
    told = metadata["ngram_index"]
    assert index.head.ngrams > 100
    assert told["dagster/row_count"] == index.head.ngrams
    assert (told["form"], told["rate"], told["ngram"]) == ("postings", 1, 13)
    assert told["bytes"] == sum((index.folder / part.name).stat().st_size for part in index.head.parts)
    assert told["distinct"] == index.head.distinct
    assert told["false_positive_rate"] == 0.0


def test_without_the_setting_it_is_materialized_as_none(tmp_path: Path) -> None:
    layout = tiny.copy(tmp_path / "root")
    with graph.loaded(layout) as defs, graph.instance() as instance:
        ran = graph.run(defs, instance, V1, "ngram_index")
    assert ran.success
    assert graph.data_versions(ran) == {("ngram_index", str(V1)): "none"}
    assert not (layout.evidence(V1) / ngram_index.FOLDER).exists()


def test_a_version_with_an_index_verifies_and_a_benchmark_is_checked_by_command(
    built: tuple[Layout, dict], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout, _ = built
    assert command_line.run(verify, layout.root, "verify", str(V1)) == 0
    quiz = tmp_path / "quiz.jsonl"
    quiz.write_text(json.dumps({"q": tiny.TALES[0]}) + "\n" + json.dumps({"q": "nobody " * 20}) + "\n")
    snapshot_id = last_snapshot(layout, tiny_tokens.KEY).snapshot_id
    capsys.readouterr()
    words = ("contamination", str(quiz), "--snapshot", snapshot_id, "--json")
    assert command_line.run(contamination, layout.root, *words, "--from", "index") == 1
    by_index = json.loads(capsys.readouterr().out)
    assert command_line.run(contamination, layout.root, *words, "--from", "corpus") == 1
    by_corpus = json.loads(capsys.readouterr().out)
    assert [item["line"] for item in by_index["items"]] == [1]
    assert by_index["items"] == by_corpus["items"]


def ngram_index_holds(layout: Layout) -> bool:
    """Whether the check of the index passes; what it cannot read does not."""
    try:
        return audit_files.ngram_index_sealed(a_build(layout), V1).passed
    except CorruptDataError:
        return False


@pytest.mark.parametrize("name", ["index.json", "part-00000.parquet"])
def test_a_build_mends_a_damaged_index_with_the_bytes_that_snapshots_pin(
    built: tuple[Layout, dict], tmp_path: Path, name: str
) -> None:
    shutil.copytree(built[0].root, tmp_path / "root")
    layout = Layout(tmp_path / "root")
    path = layout.evidence(V1) / ngram_index.FOLDER / name
    whole = path.read_bytes()
    assert audit_files.ngram_index_sealed(a_build(layout), V1).passed
    faults.flip_byte(path, 20)
    assert not ngram_index_holds(layout)
    assert audit_files.evidence_sealed(layout, V1).passed, "it would stop the build that mends the index"
    with graph.loaded(layout) as defs, graph.instance() as instance:
        ran: dg.ExecuteInProcessResult = graph.run(defs, instance, V1, *PUBLISHED)
    assert ran.success, graph.failures(ran)
    assert path.read_bytes() == whole
    assert head_of(layout).head == head_of(built[0]).head

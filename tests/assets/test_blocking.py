"""What the ledger's checks stop: a source that may not be used costs no connection and leaves no byte."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from formats.layout import Layout
from formats.naming import PairKey
from tests.assets import graph, tiny
from tests.fault_server import FaultServer

WEB = PairKey("web", tiny.V1)
FIRST_LAYER = ("ledger_entry", "raw_fetch", "doc_signals", "filtered_docs", "minhash_signatures")

REFUSED: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "licence not allowed": (
        {"license_spdx": "GPL-3.0-only"},
        "licence_allowed",
        [
            "GPL-3.0-only is not allowed by tiny.v1",
            "allowed: CC-BY-4.0, CC0-1.0, MIT",
            "take the source out of the config",
        ],
    ),
    "one part not allowed": (
        {"license_spdx": "MIT AND GPL-3.0-only"},
        "licence_allowed",
        ["GPL-3.0-only is not allowed"],
    ),
    "own licence not named": (
        {"license_spdx": "LicenseRef-Forum"},
        "licence_allowed",
        ["LicenseRef-Forum is not allowed by tiny.v1"],
    ),
    "no SPDX expression": (
        {"license_spdx": "MIT AND"},
        "spdx_expression",
        ["not an SPDX licence expression"],
    ),
    "unknown licence": ({"license_spdx": "MITT"}, "spdx_expression", ["is not an SPDX id", "did you mean MIT?"]),
    "nothing known": ({"license_spdx": "NOASSERTION"}, "spdx_expression", ["nothing may be used under it"]),
    "no licence": ({"license_spdx": None}, "ledger_schema", ["license_spdx", "missing"]),
    "no checksum": ({"files": "without sha256"}, "checksums_present", ["file 0 has no valid sha256"]),
    "no files": ({"files": []}, "checksums_present", ["it lists no files", "corpus ledger add"]),
    "unknown field": ({"licence": "MIT"}, "ledger_schema", ["field licence: unknown field"]),
    "unknown kind": ({"kind": "json"}, "ledger_schema", ["field kind", "did you mean jsonl?"]),
}


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        server.put("/web.jsonl", tiny.FILES["web"])
        yield server


def write_row(layout: Layout, server: FaultServer, **changes: Any) -> None:
    """Put the web source on a server, and `changes` into its row."""
    row = tiny.ledger_row("web")
    file = {**row["files"][0], "url": server.url("/web.jsonl")}
    row = {**row, "files": [file], **changes}
    if row["files"] == "without sha256":
        row["files"] = [{name: value for name, value in file.items() if name != "sha256"}]
    tiny.write_ledger(layout, {name: value for name, value in row.items() if value is not None})


def served(root: Path, server: FaultServer) -> Layout:
    """The tiny corpus with its web source on a server."""
    layout = tiny.unbuilt(root)
    write_row(layout, server)
    return layout


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Layout, dg.Definitions, dg.DagsterInstance]]:
    """A root whose web row each test makes wrong in its own way: nothing is ever made there but the pinned row."""
    layout = tiny.unbuilt(tmp_path_factory.mktemp("refusing"))
    with graph.loaded(layout) as defs, graph.instance() as instance:
        yield layout, defs, instance


@pytest.mark.parametrize("case", REFUSED)
def test_a_row_that_may_not_be_used_is_stopped_by_its_check_and_by_raw_fetch_itself_before_anything_is_fetched(
    refusing: tuple[Layout, dg.Definitions, dg.DagsterInstance], server: FaultServer, case: str
) -> None:
    layout, defs, instance = refusing
    changes, check, words = REFUSED[case]
    write_row(layout, server, **changes)
    before = set(layout.corpus.rglob("*"))

    whole = graph.run(defs, instance, WEB, *FIRST_LAYER)
    found = graph.checks(whole)[check]
    assert not found.passed
    assert found.blocking
    assert found.severity == dg.AssetCheckSeverity.ERROR
    for word in ("web@tiny.v1", "source web", *words):
        assert word in str(found.description)
    assert not whole.success
    assert graph.materialized(whole) == ["ledger_entry"]

    alone = graph.run(defs, instance, WEB, "raw_fetch")
    for word in ("source web", *words):
        assert word in graph.failures(alone)
    assert not alone.success
    assert graph.materialized(alone) == []

    assert server.requests == []
    pinned = layout.pinned_row(WEB)
    assert set(layout.corpus.rglob("*")) - before <= {pinned, pinned.parent, pinned.parent.parent}


@pytest.mark.parametrize("asset", ["raw_fetch", "doc_signals", "filtered_docs", "minhash_signatures", "scrubbed_docs"])
def test_no_later_asset_takes_up_a_source_whose_licence_left_the_config(tmp_path: Path, asset: str) -> None:
    """Also where all bytes are there already, and the asset is materialized alone."""
    layout = tiny.copy(tmp_path / "root")
    tiny.write_config(layout, licenses={"allow": ["CC-BY-4.0", "CC0-1.0"]})
    with graph.loaded(layout) as defs, graph.instance() as instance:
        ran = graph.run(defs, instance, WEB, asset)
        assert not ran.success
        assert "MIT is not allowed by tiny.v1" in graph.failures(ran)


@pytest.mark.parametrize("asset", ["dedup_clusters", "shards"])
def test_no_whole_version_takes_up_such_a_source_either(tmp_path: Path, asset: str) -> None:
    layout = tiny.copy(tmp_path / "root")
    tiny.write_config(layout, licenses={"allow": ["CC-BY-4.0", "CC0-1.0"]})
    with graph.loaded(layout) as defs, graph.instance() as instance:
        ran = graph.run(defs, instance, tiny.V1, *(("shards", "manifest") if asset == "shards" else (asset,)))
        assert not ran.success
        assert "MIT is not allowed by tiny.v1" in graph.failures(ran)


def test_raw_fetch_without_a_pinned_row_says_what_to_materialize(tmp_path: Path, server: FaultServer) -> None:
    layout = served(tmp_path, server)
    with graph.loaded(layout) as defs, graph.instance() as instance:
        ran = graph.run(defs, instance, WEB, "raw_fetch")
        assert "ledger_entry of web@tiny.v1 is not materialized; materialize ledger_entry first" in graph.failures(ran)
    assert server.requests == []


@pytest.mark.parametrize("rows", [0, 2])
def test_a_source_with_no_row_or_two_is_named(tmp_path: Path, rows: int) -> None:
    layout = tiny.unbuilt(tmp_path)
    lines = layout.ledger.read_text("utf-8").splitlines()
    layout.ledger.write_text("\n".join([*lines[:2], *(lines[2:] * rows)]) + "\n", "utf-8")
    with graph.loaded(layout) as defs, graph.instance() as instance:
        ran = graph.run(defs, instance, WEB, *FIRST_LAYER)
        assert f"LEDGER.jsonl: {rows} rows of source web, expected 1" in graph.failures(ran)
        assert graph.materialized(ran) == []


def test_an_allowed_source_is_fetched_once_whatever_is_run_again(tmp_path: Path, server: FaultServer) -> None:
    layout = served(tmp_path, server)
    with graph.loaded(layout) as defs, graph.instance() as instance:
        for _ in range(2):
            ran = graph.run(defs, instance, WEB, *FIRST_LAYER)
            assert ran.success, graph.failures(ran)
    assert len(server.requests) == 1


def test_one_bad_source_stops_neither_its_neighbours_nor_lets_the_version_go_on(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    tiny.write_ledger(layout, tiny.ledger_row("web", license_spdx="GPL-3.0-only"))
    with graph.loaded(layout) as defs, graph.instance() as instance:
        for pair in tiny.PAIRS:
            assert graph.run(defs, instance, pair, *FIRST_LAYER).success == (pair != WEB)
        ran = graph.run(defs, instance, tiny.V1, "dedup_clusters")
        assert not ran.success
        assert "GPL-3.0-only is not allowed by tiny.v1" in graph.failures(ran)


def test_assets_and_checks_of_one_source_open_no_file_of_another(tmp_path: Path) -> None:
    """All that was made of its neighbours, and their inputs, are broken: nothing of it is noticed."""
    alone, among = tiny.unbuilt(tmp_path / "alone"), tiny.unbuilt(tmp_path / "among")
    with graph.loaded(alone) as defs, graph.instance() as instance:
        expected = graph.run(defs, instance, WEB, *FIRST_LAYER)
    with graph.loaded(among) as defs, graph.instance() as instance:
        for pair in set(tiny.PAIRS) - {WEB}:
            assert graph.run(defs, instance, pair, *FIRST_LAYER).success
        made = [path for path in among.corpus.rglob("*") if path.is_file() and path.parent != among.configs / "tiny"]
        inputs = [among.root / "inputs" / f"{source}.jsonl" for source in tiny.SOURCES if source != WEB.source]
        assert len(made) > 10
        for path in {*made, *inputs} - {among.ledger}:
            path.write_bytes(b"broken")
        found = graph.run(defs, instance, WEB, *FIRST_LAYER)
    assert found.success, graph.failures(found)
    assert graph.data_versions(found) == graph.data_versions(expected)
    evaluations = found.get_asset_check_evaluations()
    assert len(evaluations) == len(expected.get_asset_check_evaluations()) >= 8
    assert all(one.passed and one.partition == str(WEB) for one in evaluations)


@pytest.mark.parametrize("published", [True, False])
def test_a_row_that_changed_after_it_was_pinned_is_a_warning(tmp_path: Path, published: bool) -> None:
    layout = tiny.copy(tmp_path / "root") if published else tiny.unbuilt(tmp_path / "root")
    with graph.loaded(layout) as defs, graph.instance() as instance:
        before = graph.run(defs, instance, WEB, "ledger_entry")
        assert graph.checks(before)["unchanged_in_ledger"].passed
        tiny.write_ledger(layout, tiny.ledger_row("web", attribution="another house", title="The web, again"))
        after = graph.run(defs, instance, WEB, "ledger_entry")
        assert after.success
        found = graph.checks(after)["unchanged_in_ledger"]
        # A version that is not published yet takes the new row; a published one keeps its own.
        assert found.passed == (not published)
        assert (graph.data_versions(before) == graph.data_versions(after)) == published
        if published:
            assert found.severity == dg.AssetCheckSeverity.WARN
            assert not found.blocking
            assert "web@tiny.v1" in str(found.description)
            assert "changed since it was pinned: attribution, title" in str(found.description)


def test_order_of_files_and_spelled_out_defaults_are_no_change_of_a_row(tmp_path: Path) -> None:
    layout = tiny.copy(tmp_path / "root")
    row = tiny.ledger_row("web", container=None)
    tiny.write_ledger(layout, dict(reversed({**row, "fields": {"url": "url", "text": "text"}}.items())))
    with graph.loaded(layout) as defs, graph.instance() as instance:
        ran = graph.run(defs, instance, WEB, "ledger_entry")
        assert graph.checks(ran)["unchanged_in_ledger"].passed


def test_a_check_that_did_not_pass_says_its_words_in_the_log_of_its_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    layout = tiny.unbuilt(tmp_path)
    tiny.write_ledger(layout, tiny.ledger_row("web", license_spdx="GPL-3.0-only"))
    with graph.loaded(layout) as defs, graph.instance() as instance:
        graph.run(defs, instance, WEB, *FIRST_LAYER)
    (said,) = [record for record in caplog.records if record.name == "corpus.checks"]
    assert said.levelname == "ERROR"
    assert said.getMessage().startswith("did not pass: web@tiny.v1: ")
    assert "source web: licence GPL-3.0-only is not allowed by tiny.v1" in said.getMessage()

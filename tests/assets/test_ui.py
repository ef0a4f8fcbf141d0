"""The UI with its daemon: runs from a browser give the bytes that `corpus build` gives, and alerts arrive."""

import json
import shutil
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from corpus_assets.commands.build import LAYERS, PAIR
from formats.layout import Layout
from formats.naming import VersionKey
from tests.assets import tiny, ui
from tests.receiver import Receiver

pytestmark = pytest.mark.slow
BLOCKED, WARNED = VersionKey("tiny", "v2-blocked"), VersionKey("tiny", "v3-warned")
"""After v1, whose evidence tells of the version before it."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """Three versions: one without fault, one with a source that is not allowed, one with a cluster too large."""
    layout = tiny.unbuilt(tmp_path_factory.mktemp("ui") / "root")
    tiny.write_config(layout, BLOCKED, licenses={"allow": ["CC-BY-4.0", "CC0-1.0"]})
    tiny.write_config(layout, WARNED, dedup={"near": {"max_cluster": 1}})
    return layout


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver(503, 503) as receiver:
        yield receiver


@pytest.fixture(scope="module")
def served(root: Layout, receiver: Receiver) -> Iterator[ui.Ui]:
    with ui.running(root.root, CORPUS_WEBHOOK=receiver.url) as running:
        yield running


def test_a_violation_in_a_build_by_command_is_told_to_the_webhook(
    root: Layout, served: ui.Ui, receiver: Receiver
) -> None:
    ran = ui.corpus(root.root, "build", str(BLOCKED))
    assert ran.returncode == 1
    alert = receiver.wait_for(lambda one: one["version"] == str(BLOCKED), 120)
    assert (alert["source"], alert["status"]) == ("web", "FAILURE")
    (check,) = alert["failed_checks"]
    assert (check["check"], check["severity"]) == ("licence_allowed", "ERROR")
    assert (
        "source web: licence MIT is not allowed by tiny.v2-blocked; allowed: CC-BY-4.0, CC0-1.0" in check["description"]
    )
    asked = served.query("query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }", id=alert["run_id"])
    assert asked["runOrError"]["status"] == "FAILURE"


@pytest.mark.usefixtures("served")
def test_a_warning_in_a_build_that_goes_on_is_told_too(root: Layout, receiver: Receiver) -> None:
    ran = ui.corpus(root.root, "build", str(WARNED))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    alert = receiver.wait_for(lambda one: one["version"] == str(WARNED), 120)
    assert (alert["source"], alert["status"]) == (None, "SUCCESS")
    (check,) = alert["failed_checks"]
    assert (check["check"], check["severity"]) == ("cluster_sizes", "WARN")
    assert "tiny.v3-warned: 2 clusters of 2 or more, the largest of 2; max_cluster is 1" in check["description"]


def test_runs_launched_from_the_ui_give_the_bytes_that_corpus_build_gives(
    root: Layout, served: ui.Ui, tmp_path: Path
) -> None:
    for kind, layers in groupby(LAYERS, lambda layer: layer[0]):
        assets = [name for _, names in layers for name in names]
        runs = [served.launch(str(partition), *assets) for partition in (tiny.PAIRS if kind == PAIR else [tiny.V1])]
        assert {served.end_of(run) for run in runs} == {"SUCCESS"}
    other = tiny.unbuilt(tmp_path / "copy")
    ran = ui.corpus(other.root, "build", str(tiny.V1))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ui.published(root, tiny.V1) == ui.published(other, tiny.V1)


@pytest.fixture(scope="module")
def backfill(root: Layout, served: ui.Ui) -> str:
    """A backfill of all that a version is made of, with nothing left to be taken over; its id, once it ended well."""
    for made in (root.corpus / "raw", root.corpus / "work", root.version(tiny.V1), root.evidence(tiny.V1)):
        shutil.rmtree(made, ignore_errors=True)
    root.lock(tiny.V1).unlink(missing_ok=True)
    of_kind = {PAIR: [str(pair) for pair in tiny.PAIRS]}
    backfill = served.backfill({name: of_kind.get(kind, [str(tiny.V1)]) for kind, names in LAYERS for name in names})
    assert served.end_of_backfill(backfill) == "COMPLETED_SUCCESS"
    return backfill


@pytest.mark.usefixtures("backfill")
def test_a_backfill_of_the_pairs_gives_the_bytes_that_corpus_build_gives(root: Layout, tmp_path: Path) -> None:
    other = tiny.unbuilt(tmp_path / "copy")
    ran = ui.corpus(other.root, "build", str(tiny.V1))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ui.published(root, tiny.V1) == ui.published(other, tiny.V1)


def test_a_backfill_is_a_run_a_partition_and_layer_and_no_layer_begins_in_slices(served: ui.Ui, backfill: str) -> None:
    runs = served.runs_of_backfill(backfill)
    pairs, version = sorted(map(str, tiny.PAIRS)), [str(tiny.V1)]
    layers = [runs[:3], runs[3:4], runs[4:7], runs[7:]]
    assert [sorted(run["partition"] for run in layer) for layer in layers] == [pairs, version, pairs, version]
    for layer, following in pairwise(layers):
        assert max(run["endTime"] for run in layer) <= min(run["startTime"] for run in following)


def test_a_run_from_the_ui_of_a_source_that_is_not_allowed_fails_by_its_check(served: ui.Ui) -> None:
    pair = f"web@{BLOCKED}"
    assert served.end_of(served.launch(pair, "ledger_entry", "raw_fetch")) == "FAILURE"
    checks = served.query(
        """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode { assetChecksOrError {
        ... on AssetChecks { checks { name blocking partitionStatuses {
        ... on AssetCheckDefaultPartitionStatuses { failedPartitions } } } } } } } }""",
        key={"path": ["ledger_entry"]},
    )
    found = {check["name"]: check for check in checks["assetNodeOrError"]["assetChecksOrError"]["checks"]}
    assert pair in json.dumps(found["licence_allowed"]["partitionStatuses"])
    assert found["licence_allowed"]["blocking"]

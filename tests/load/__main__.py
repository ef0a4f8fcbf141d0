"""How the graph carries many sources and versions, beside a project that has one of each.

    python -m tests.load [--sources 500] [--versions 20] [--runs 200] [--only load pages daemon]

`load`: CPU seconds from a fresh process to the definitions. `pages`: wall seconds of what the UI's pages ask, over
HTTP, with every partition of two assets materialized; medians of five, large and small in turn, since the machine may
be busy. `daemon`: memory of daemon, code server and web server over runs launched as the Materialize button does, and
in brackets that of a project that holds nothing, in turn: what both grow by is Dagster's.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from unittest import mock

from formats.layout import Layout
from tests import ports
from tests.assets import ui
from tests.assets.ui import Ui
from tests.load import roots

PROJECT = Path(__file__).resolve().parents[2]
ROUNDS = 5
_LOAD = (
    "import time, dagster as dg\nfrom corpus_assets.definitions import defs\n"
    "dg.Definitions.validate_loadable(defs); print(time.process_time())"
)
MATERIALIZED = ("ledger_entry", "raw_fetch")
_PAGES = {
    "graph of all assets": """{ assetNodes { id assetKey { path } groupName kinds opNames isPartitioned
        dependencyKeys { path } dependedByKeys { path } hasAssetChecks partitionDefinition { name description } } }""",
    "asset: latest and stale": """{ assetNodeOrError(assetKey: {path: ["raw_fetch"]}) { ... on AssetNode { id
        assetMaterializations(limit: 1) { timestamp partition }
        partitionStats { numMaterialized numPartitions numFailed numMaterializing } } } }""",
    "asset: partitions": """{ assetNodeOrError(assetKey: {path: ["raw_fetch"]}) { ... on AssetNode { id
        partitionKeysByDimension { name type partitionKeys } assetPartitionStatuses {
        ... on DefaultPartitionStatuses { materializedPartitions failedPartitions unmaterializedPartitions
        materializingPartitions } } } } }""",
    "asset: one partition": """{ assetNodeOrError(assetKey: {path: ["raw_fetch"]}) { ... on AssetNode { id
        staleStatusByPartition(partitions: ["PARTITION"])
        latestMaterializationByPartition(partitions: ["PARTITION"]) { timestamp runId } } } }""",
}


def load_seconds(layout: Layout) -> float:
    """CPU seconds."""
    environment = {**os.environ, "CORPUS_ROOT": str(layout.root), "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _LOAD], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


def materialize(layout: Layout, sources: int, versions: int) -> None:
    """Events of all partitions of two assets, as runs would have left them."""
    import dagster as dg

    from corpus_assets.commands import history

    keys = [f"source-{s:03d}@large.v{v + 1}" for v in range(versions) for s in range(sources)]
    with (
        mock.patch.dict(os.environ, {"DAGSTER_HOME": str(PROJECT)}),
        chdir(layout.root),
        history.written_quickly(),
        history.open_instance() as instance,
    ):
        for asset in MATERIALIZED:
            for key in keys:
                instance.report_runless_asset_event(dg.AssetMaterialization(asset, partition=key))


def pages(large: Ui, small: Ui) -> None:
    for name, query in _PAGES.items():
        seconds: dict[str, list[float]] = {"large": [], "small": []}
        for _ in range(ROUNDS):
            for size, one in (("large", large), ("small", small)):
                began = time.perf_counter()
                one.query(query.replace("PARTITION", "source-000@large.v1"))
                seconds[size].append(time.perf_counter() - began)
        medians = {size: statistics.median(found) for size, found in seconds.items()}
        print(f"pages   {name:26} {medians['large']:6.2f} s, small {medians['small']:6.2f} s", flush=True)


def resident(root: Path) -> dict[str, float]:
    """MB of each long-lived process of the UI on a root, by what it is."""
    found: dict[str, float] = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            words = (status.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if (status.parent / "cwd").readlink() != root:
                continue
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except (OSError, ValueError):
            continue
        for name, mark in (("daemon", "daemon"), ("web server", "webserver"), ("code server", "grpc")):
            if mark in words and "run_worker" not in words and "execute_run" not in words:
                found[name] = max(found.get(name, 0), int(lines["VmRSS"].split()[0]) / 1000)
                break
    return found


@contextmanager
def empty(folder: Path) -> Iterator[Ui]:
    """`dagster dev` on the empty project, with the settings that `corpus up` gives it."""
    workspace = folder / "workspace.yaml"
    workspace.write_text(
        "load_from:\n  - python_module:\n      module_name: tests.load.empty_project\n      location_name: corpus\n"
    )
    port = ports.free()
    command = [str(Path(sys.executable).with_name("dagster")), "dev", "-w", str(workspace), "-p", str(port)]
    settings = {"DAGSTER_RUN_STATUS_SENSOR_PROCESS_LIMIT": "100", "DAGSTER_GRPC_TIMEOUT_SECONDS": "600"}
    with ui.serving(port, command, folder, DAGSTER_HOME=str(PROJECT), **settings) as one:
        yield one


def daemon(ours: Ui, root: Path, theirs: Ui, folder: Path, runs: int) -> None:
    """A run of ours and one of the empty project in turn."""
    found = []
    for number in range(runs + 1):
        if number % max(1, min(10, runs // 2)) == 0:
            both = resident(root), resident(folder)
            found.append((number, both))
            words = ", ".join(f"{name} {size:.0f} ({both[1][name]:.0f}) MB" for name, size in sorted(both[0].items()))
            print(f"daemon  after {number:4} runs (empty project): {words}", flush=True)
        if number < runs:
            for one in (ours, theirs):
                assert one.end_of(one.launch(roots.PARTITION, "ledger_entry")) == "SUCCESS"
    half = [one for one in found if 2 * one[0] >= runs]
    (first, before), (last, after) = half[0], half[-1]
    for name in sorted(before[0]):
        mine, empty = (1000 * (after[at][name] - before[at][name]) / max(1, last - first) for at in (0, 1))
        print(
            f"daemon  {name:11} from run {first} on: {mine:5.0f} kB a run, the empty project {empty:5.0f}", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load")
    parser.add_argument("--sources", type=int, default=500)
    parser.add_argument("--versions", type=int, default=20)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--only", nargs="+", choices=("load", "pages", "daemon"), default=("load", "pages", "daemon"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="load-") as temporary:
        folder = Path(temporary)
        large = roots.make(folder / "large", args.sources, args.versions)
        small = roots.make(folder / "small", 1, 1)
        if "load" in args.only:
            found = [(load_seconds(large), load_seconds(small)) for _ in range(ROUNDS)]
            medians = [statistics.median(column) for column in zip(*found, strict=True)]
            print(f"load    definitions                {medians[0]:6.2f} CPU s, small {medians[1]:6.2f}", flush=True)
        if "pages" in args.only:
            materialize(large, args.sources, args.versions)
            materialize(small, 1, 1)
            with ui.running(large.root) as first, ui.running(small.root) as second:
                pages(first, second)
        if "daemon" in args.only:
            beside = folder / "empty"
            beside.mkdir()
            with ui.running(small.root) as ours, empty(beside) as theirs:
                daemon(ours, small.root, theirs, beside, args.runs)


if __name__ == "__main__":
    main()

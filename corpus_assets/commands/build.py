"""`corpus build VERSION`: one version, layer by layer, in this process and into the instance that the UI shows."""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.plans.pinned import load_version
from formats.layout import Layout
from formats.naming import VersionKey

if TYPE_CHECKING:
    import dagster as dg

PROJECT = Path(__file__).resolve().parents[2]
PAIR, VERSION = "pair", "version"
LAYERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (PAIR, ("ledger_entry", "raw_fetch", "doc_signals", "filtered_docs", "minhash_signatures")),
    (VERSION, ("dedup_clusters",)),
    (PAIR, ("scrubbed_docs",)),
    (VERSION, ("shards", "manifest", "datasheet")),
)
"""A run cannot mix partitions definitions, so a version is built in layers, each after the one before is done."""


def add_parser(subparsers: Any) -> None:
    """Add `build` to the command line."""
    parser = subparsers.add_parser("build", help="materialize a version, layer by layer, with its checks")
    parser.set_defaults(run=run)
    parser.add_argument("version", metavar="VERSION", help="<dataset>.<version>, such as starter.v1")
    parser.add_argument("--workers", type=int, help="engine workers; changes no byte (default: CORPUS_WORKERS, else 2)")
    parser.add_argument("--memory", help="memory of one sort, such as 1GiB; changes no byte")
    parser.add_argument("--verbose", action="store_true", help="show Dagster's own log")


def run(args: argparse.Namespace) -> int:
    """0: built, every check passed or only warned; 1: a run or check failed. Raises ConfigError before any work."""
    key = VersionKey.parse(args.version)
    if args.workers is not None:
        os.environ["CORPUS_WORKERS"] = str(args.workers)
    if args.memory is not None:
        os.environ["CORPUS_MEMORY"] = args.memory
    return build(args.layout, key, verbose=args.verbose)


def prepare_environment(layout: Layout) -> None:
    """What the code location reads when it loads. Dagster's state lies with the artifacts: its paths are relative to
    the working directory, so that each root has its own history.
    """
    os.environ["CORPUS_ROOT"] = str(layout.root)
    if layout.cache_folder:
        os.environ["CORPUS_CACHE"] = str(layout.cache_folder)
    if not os.environ.get("DAGSTER_HOME"):  # an empty value counts as unset, too
        os.environ["DAGSTER_HOME"] = str(PROJECT)
    layout.root.mkdir(parents=True, exist_ok=True)
    os.chdir(layout.root)


def build(layout: Layout, key: VersionKey, *, verbose: bool = False) -> int:
    """Build one version with progress; stops after the first layer in which something failed."""
    version = load_version(layout, key)  # a bad config stops here, before anything is loaded
    prepare_environment(layout)
    warnings.filterwarnings("ignore", message=".*is currently in (beta|preview).*")
    import dagster as dg

    from corpus_assets.definitions import defs

    # The progress lines have the terminal; the instance keeps every event either way.
    level = "DEBUG" if verbose else "CRITICAL"
    console = {"loggers": {"console": {"config": {"log_level": level}}}}
    job = defs.resolve_implicit_global_asset_job_def()
    began = time.monotonic()
    with dg.DagsterInstance.get() as instance:
        # A partition materialized before the first observation of its inputs would never turn stale.
        inputs = [dg.AssetKey(name) for name in ("ledger", "corpus_config", "eval_sets")]
        job.execute_in_process(instance=instance, asset_selection=inputs, run_config=console)
        for kind, assets in LAYERS:
            partitions = [str(pair) for pair in version.pairs] if kind == PAIR else [str(key)]
            failed = [p for p in partitions if not _materialize(job, instance, console, assets, p)]
            if failed:
                print(
                    f"{key} stopped: {', '.join(failed)} failed; mend what is named above and run again",
                    file=sys.stderr,
                )
                return 1
    print(f"{key} is built, in {time.monotonic() - began:.1f} s: {layout.version(key)}")
    return 0


def _materialize(
    job: "dg.JobDefinition",
    instance: "dg.DagsterInstance",
    run_config: dict[str, Any],
    assets: Sequence[str],
    partition: str,
) -> bool:
    """Run the assets of one partition with their checks; print a line, and the words of what did not pass."""
    import dagster as dg

    from corpus_assets.alerts import failed_checks

    began = time.monotonic()
    print(f"  {partition:40} {' '.join(assets)} …", end="", flush=True)
    result = job.execute_in_process(
        instance=instance,
        partition_key=partition,
        asset_selection=[dg.AssetKey(name) for name in assets],
        run_config=run_config,
        raise_on_error=False,
    )
    print(f"\r  {partition:40} {_outcome(result):60} {time.monotonic() - began:6.1f} s")
    for check in failed_checks(instance, result.run_id):
        print(f"    {check['severity']} {check['asset']}/{check['check']}: {check['description']}")
    for event in result.filter_events(lambda e: e.is_step_failure):
        print(f"    failed: {event.step_key}: {_cause(event)}")
    return result.success


def _outcome(result: "dg.ExecuteInProcessResult") -> str:
    rows = {
        event.asset_key.to_user_string(): event.materialization.metadata.get("dagster/row_count")
        for event in result.get_asset_materialization_events()
        if event.asset_key
    }
    return ", ".join(f"{name} {value.value:,}" for name, value in rows.items() if value is not None) or "done"


def _cause(event: "dg.DagsterEvent") -> str:
    """The innermost error of a failed step, as it words itself."""
    error = event.step_failure_data.error
    while error and error.cause:
        error = error.cause
    return error.message.strip() if error else "no message"

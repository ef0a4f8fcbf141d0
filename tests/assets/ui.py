"""`corpus` as a person runs it: commands in processes of their own, and the UI with its daemon."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from formats import durable, evidence
from formats.layout import Layout
from formats.naming import VersionKey
from tests import ports

PROJECT = Path(__file__).resolve().parents[2]
START_SECONDS = 600
"""Three processes that load Dagster, on a machine that may be busy; an idle one needs some 15."""
BACKFILL_SECONDS = 2400
"""A backfill is some eight runs, each a process that loads everything, under a daemon that looks every 30 seconds."""
_OURS = ("CORPUS_ROOT", "CORPUS_CACHE", "CORPUS_WORKERS", "CORPUS_MEMORY", "DAGSTER_HOME")
_OURS += (
    "CORPUS_WEBHOOK",
    "CORPUS_SLACK_WEBHOOK",
    "CORPUS_SMTP",
    "CORPUS_MAIL_FROM",
    "CORPUS_MAIL_TO",
    "CORPUS_UI_URL",
    "CORPUS_STORE",
)


def _environment(**more: str) -> dict[str, str]:
    """This process's environment without the project's own settings."""
    return {
        **{name: value for name, value in os.environ.items() if name not in _OURS},
        "PYTHONPATH": str(PROJECT),
        **more,
    }


def _command(root: Path, words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "corpus_assets.cli", "--root", str(root), *words]


def corpus(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`corpus --root ROOT WORDS`, run to its end."""
    return subprocess.run(_command(root, words), env=_environment(), capture_output=True, text=True, timeout=1200)


def published(layout: Layout, key: VersionKey) -> dict[str, str]:
    """SHA-256 of every file of a published version, its lock and its evidence, by its place below the corpus folder."""
    folders = (layout.version(key), layout.evidence(key))
    paths = [layout.lock(key), *(path for folder in folders for path in folder.rglob("*") if path.is_file())]
    named = {path.relative_to(layout.corpus).as_posix(): path for path in paths if path.name != evidence.SIDECAR}
    return {name: durable.sha256_of(path) for name, path in sorted(named.items())}


@dataclass
class Ui:
    """A running UI. `lines` is everything it printed so far."""

    port: int
    lines: list[str] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def wait_for_line(self, pattern: str, deadline_seconds: float) -> str:
        """The first line printed so far, or from now on, that matches. Raises TimeoutError."""

        def found() -> list[str]:
            return [line for line in self.lines if re.search(pattern, line)]

        with self.changed:
            if not self.changed.wait_for(found, deadline_seconds):
                raise TimeoutError(f"no line {pattern!r} within {deadline_seconds} s of: {''.join(self.lines[-50:])}")
            return found()[0]

    def wait_until_it_answers(self, deadline_seconds: float) -> None:
        """It says that it serves before it listens. Raises TimeoutError."""
        pause, until = threading.Event(), time.monotonic() + deadline_seconds
        while time.monotonic() < until:
            with suppress(ConnectionError), socket.create_connection(("127.0.0.1", self.port), 5):
                return
            pause.wait(0.2)
        raise TimeoutError(f"nothing listens on port {self.port} within {deadline_seconds} s")

    def query(self, text: str, **variables: Any) -> dict[str, Any]:
        """The data of a GraphQL answer. Raises AssertionError for errors in it."""
        data = json.dumps({"query": text, "variables": variables}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql", data, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=600) as answer:
            found = json.load(answer)
        assert "errors" not in found, found["errors"]
        return found["data"]

    def loaded_at(self) -> float:
        """When the definitions were loaded last, in seconds."""
        (entry,) = self.query(_LOADED)["workspaceOrError"]["locationEntries"]
        return entry["updatedTimestamp"]

    def launch(self, partition: str, *assets: str) -> str:
        """Launch a run of these assets of one partition, as the Materialize button does; returns its id."""
        selector = {
            "repositoryLocationName": "corpus",
            "repositoryName": "__repository__",
            "pipelineName": "__ASSET_JOB",
            "assetSelection": [{"path": [name]} for name in assets],
        }
        tags = [{"key": "dagster/partition", "value": partition}]
        params = {"selector": selector, "executionMetadata": {"tags": tags}, "runConfigData": {}, "mode": "default"}
        launched = self.query(_LAUNCH, params=params)["launchPipelineExecution"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        return launched["run"]["runId"]

    def end_of(self, run_id: str, deadline_seconds: float = 600) -> str:
        """How a run ended. Asks until it has: the server tells of it by nothing but its answers."""
        pause = threading.Event()
        until = time.monotonic() + deadline_seconds
        while time.monotonic() < until:
            status = self.query(_STATUS, id=run_id)["runOrError"]["status"]
            if status in ("SUCCESS", "FAILURE", "CANCELED"):
                return status
            pause.wait(0.5)
        raise TimeoutError(f"run {run_id} did not end within {deadline_seconds} s")

    def start_sensor(self, name: str) -> None:
        """Turn a sensor on, as its switch does."""
        selector = {"repositoryLocationName": "corpus", "repositoryName": "__repository__", "sensorName": name}
        assert self.query(_START_SENSOR, selector=selector)["startSensor"]["__typename"] == "Sensor"

    def backfill(self, asset_partitions: dict[str, list[str]]) -> str:
        """Launch a backfill of these partitions of these assets, as the UI's dialog does; returns its id."""
        by_assets = [
            {
                "assetKey": {"path": [asset]},
                "partitions": {"ranges": [{"start": one, "end": one} for one in partitions]},
            }
            for asset, partitions in asset_partitions.items()
        ]
        launched = self.query(_BACKFILL, params={"partitionsByAssets": by_assets})["launchPartitionBackfill"]
        assert launched["__typename"] == "LaunchBackfillSuccess", launched
        return launched["backfillId"]

    def end_of_backfill(self, backfill_id: str, deadline_seconds: float = BACKFILL_SECONDS) -> str:
        """How a backfill ended."""
        pause = threading.Event()
        until = time.monotonic() + deadline_seconds
        while time.monotonic() < until:
            status = self.query(_BACKFILL_STATUS, id=backfill_id)["partitionBackfillOrError"]["status"]
            if status in ("COMPLETED_SUCCESS", "COMPLETED_FAILED", "COMPLETED", "FAILED", "CANCELED"):
                return status
            pause.wait(1)
        raise TimeoutError(f"backfill {backfill_id} did not end within {deadline_seconds} s")

    def runs_of_backfill(self, backfill_id: str) -> list[dict[str, Any]]:
        """Its runs in the order in which they began, each with its partition, and when it began and ended."""
        found = self.query(_RUNS_OF, filter={"tags": [{"key": "dagster/backfill", "value": backfill_id}]})
        for run in found["runsOrError"]["results"]:
            run["partition"] = {tag["key"]: tag["value"] for tag in run["tags"]}["dagster/partition"]
        return sorted(found["runsOrError"]["results"], key=lambda run: run["startTime"])


_BACKFILL = """mutation($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
_BACKFILL_STATUS = """query($id: String!) { partitionBackfillOrError(backfillId: $id) {
  ... on PartitionBackfill { status } ... on PythonError { message } } }"""
_LOADED = "{ workspaceOrError { ... on Workspace { locationEntries { updatedTimestamp } } } }"
_LAUNCH = """mutation($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
  ... on RunConfigValidationInvalid { errors { message } } } }"""
_RUNS_OF = """query($filter: RunsFilter!) { runsOrError(filter: $filter) { ... on Runs { results {
  runId startTime endTime tags { key value } } } } }"""
_START_SENSOR = """mutation($selector: SensorSelector!) { startSensor(sensorSelector: $selector) {
  __typename ... on PythonError { message } } }"""
_STATUS = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } ... on PythonError { message } } }"


@contextmanager
def running(root: Path, **environment: str) -> Iterator[Ui]:
    """`corpus up` on `root`, from when its pages are served and its sensors have taken up their posts."""
    port = ports.free()
    with serving(port, _command(root, ["up", "--every-tick", "--port", str(port)]), root, **environment) as ui:
        yield ui


@contextmanager
def serving(port: int, command: Sequence[str], folder: Path, **environment: str) -> Iterator[Ui]:
    """A command in a folder that becomes `dagster dev` on the port, with sensors of our sensors' names."""
    ui = Ui(port)
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(PYTHONUNBUFFERED="1", **environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # ended as a group: the UI is a server, a daemon and what runs the code
    )

    def read() -> None:
        assert process.stdout
        for line in process.stdout:
            with ui.changed:
                ui.lines.append(line)
                ui.changed.notify_all()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        ui.wait_for_line(r"Serving dagster-webserver on", START_SECONDS)
        for sensor in ("alert_on_failed_runs", "alert_on_failed_checks"):  # they look at no run before their first tick
            ui.wait_for_line(rf"Sensor {sensor} skipped: Initiating", START_SECONDS)
        ui.wait_until_it_answers(START_SECONDS)
        yield ui
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)
        reader.join(60)

"""What `corpus up` prints of Dagster's lines: what was done and what is wrong, a line each, and as JSON on demand."""

import io
import json
import os

import pytest

from corpus_assets.commands import up_log

TIME = "2026-01-02 03:04:05 +0000"
TICK = f"{TIME} - dagster.daemon.SensorDaemon - INFO - Checking for new runs for sensor: alert_on_failed_runs"
EMPTY = f"{TIME} - dagster.daemon.SensorDaemon - INFO - Sensor x skipped: Sensor function returned an empty result"
RUN = f"{TIME} - dagster.daemon.SensorDaemon - INFO - Launching run for make_new_versions"
NO_RUNS = f"{TIME} - dagster.daemon.QueuedRunCoordinatorDaemon - INFO - Launched 0 runs."
FAILED = [
    f"\x1b[32m{TIME}\x1b[0m - dagster - \x1b[31mERROR\x1b[0m - __ASSET_JOB - ab - RUN_FAILURE - it failed.",
    "formats.errors.ConfigError: the ledger is wrong",
    "",
    "Stack Trace:",
    '  File "x.py", line 1, in f',
]
DOWN = [
    f"{TIME} - dagster.daemon.SensorDaemon - ERROR - Sensor tick caught an error",
    "dagster._core.errors.DagsterUserCodeProcessError: an error occurred",
    "formats.errors.TransientError: CORPUS_WEBHOOK: 3 tries to post an alert failed, the last with: refused",
    '  File "y.py", line 1, in g',
]


def printed(lines: list[str], *, every: bool = False, json_lines: bool = False) -> list[str]:
    """What is printed of lines that came through a pipe."""
    out, (read, write) = io.StringIO(), os.pipe()
    os.write(write, "\n".join(lines).encode() + b"\n")
    os.close(write)
    up_log.pump(read, out, every=every, json_lines=json_lines)
    os.close(read)
    return out.getvalue().splitlines()


def test_ticks_in_which_nothing_was_done_are_left_out_and_runs_are_said() -> None:
    assert printed([TICK, EMPTY, NO_RUNS, RUN, TICK]) == [
        f"{TIME} INFO dagster.daemon.SensorDaemon: Launching run for make_new_versions"
    ]


def test_a_failure_keeps_its_words_and_loses_trace_and_colours() -> None:
    assert printed([*FAILED, TICK]) == [
        f"{TIME} ERROR dagster: __ASSET_JOB - ab - RUN_FAILURE - it failed.",
        "    formats.errors.ConfigError: the ledger is wrong",
    ]


def test_alerts_that_are_not_delivered_are_one_loud_line() -> None:
    assert printed(DOWN) == [
        f"{TIME} ERROR alerts: ALERTS ARE NOT DELIVERED: CORPUS_WEBHOOK: 3 tries to post an alert failed, the last "
        "with: refused; they wait"
    ]


def test_every_tick_has_all_of_it() -> None:
    said = "\n".join(printed([TICK, EMPTY, *FAILED], every=True))
    assert "Checking for new runs" in said
    assert "empty result" in said
    assert 'File "x.py"' in said


def test_json_has_a_record_a_line_with_its_trace() -> None:
    (record,) = map(json.loads, printed([TICK, *FAILED], json_lines=True))
    assert (record["time"], record["level"], record["logger"]) == (TIME, "ERROR", "dagster")
    assert 'File "x.py"' in record["message"]


def test_lines_that_are_no_records_are_kept() -> None:
    assert printed(["Killed"]) == ["Killed"]


@pytest.mark.parametrize(("terminal", "coloured"), [(True, True), (False, False)])
def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch, terminal: bool, coloured: bool) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    out, (read, write) = io.StringIO(), os.pipe()
    monkeypatch.setattr(out, "isatty", lambda: terminal)
    os.write(write, FAILED[0].encode())
    os.close(write)
    up_log.pump(read, out, every=False, json_lines=False)
    os.close(read)
    assert ("\x1b" in out.getvalue()) is coloured

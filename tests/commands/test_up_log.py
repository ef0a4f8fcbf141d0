"""What `corpus up` prints of Dagster's lines: what was done and what is wrong, a line each, and as JSON on demand."""

import io
import json
import os
import threading

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

OF_RUN = f"{TIME} - dagster - ERROR - __ASSET_JOB - 0da8fc9a-eda0-467c-a4d0-d2812aba7b9f"
VIOLATION = [
    f"{OF_RUN} - ledger_entry_licence_allowed - did not pass: web@v1: LEDGER.jsonl: source web: licence X; allow it",
    f'{OF_RUN} - 28955 - ledger_entry_licence_allowed - STEP_FAILURE - Execution of step "x" failed.',
    "",
    "dagster._core.errors.DagsterAssetCheckFailedError: 1 blocking asset check failed with ERROR severity:",
    "ledger_entry: licence_allowed",
    *(
        f"{OF_RUN} - {step} - Dependencies for step {step} were not executed: ['a']. Not executing."
        for step in ("raw_fetch", "doc_signals", "filtered_docs")
    ),
    f"{OF_RUN} - 28955 - RUN_FAILURE - Execution of run failed. Steps failed: ['ledger_entry_licence_allowed'].",
    "",
    "dagster._core.errors.DagsterAssetCheckFailedError: 1 blocking asset check failed with ERROR severity:",
    "ledger_entry: licence_allowed",
]
RUN_ID = "0da8fc9a-eda0-467c-a4d0-d2812aba7b9f"
RAISED = [
    f'{OF_RUN} - 28955 - raw_fetch - STEP_FAILURE - Execution of step "raw_fetch" failed.',
    "formats.errors.CorruptDataError: web.jsonl: sha256 is b, expected a",
    '  File "x.py", line 1, in f',
    f"{OF_RUN} - 28955 - RUN_FAILURE - Execution of run for \"__ASSET_JOB\" failed. Steps failed: ['raw_fetch'].",
    "formats.errors.CorruptDataError: web.jsonl: sha256 is b, expected a",
]
WAITS = (
    f"{TIME} - dagster.daemon.SensorDaemon - INFO - Sensor deliver_waiting_alerts skipped: 2 waiting alerts delivered"
)


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


def test_an_outage_of_alerts_is_said_once_however_often_and_wherever_it_is_met_and_so_is_its_end() -> None:
    down = f"{TIME} ERROR alerts: ALERTS ARE NOT DELIVERED: "
    again = f"{TIME} INFO alerts: alerts are delivered again, those that waited too"
    other = [*DOWN[:-2], "Error: CORPUS_SMTP: the alert for address 1 of CORPUS_MAIL_TO was not taken: away"]
    stumbled = [DOWN[0], "CheckError: Invariant failed. Description: Tick status is SUCCESS, but error was provided"]
    said = printed(
        [*DOWN, *stumbled, *DOWN, f"{WAITS}, 1 wait", *other, *DOWN, f"{WAITS}, 0 wait", f"{WAITS}, 0 wait", *DOWN]
    )
    assert [line[: len(down) + 14] for line in said[:2]] == [f"{down}CORPUS_WEBHOOK", f"{down}CORPUS_SMTP: t"]
    assert said[2] == again
    assert said[3:] == said[:1]


def test_a_check_that_stops_a_run_is_its_words_and_one_line_of_the_run() -> None:
    assert printed(VIOLATION) == [
        f"{TIME} ERROR ledger_entry_licence_allowed: did not pass: web@v1: LEDGER.jsonl: source web: licence X; allow "
        f"it (run {RUN_ID})",
        f"{TIME} ERROR dagster: run {RUN_ID} failed: ledger_entry_licence_allowed; 3 steps after it not executed",
    ]


def test_a_step_that_raised_says_its_words_once() -> None:
    assert printed(RAISED) == [
        f"{TIME} ERROR raw_fetch: failed (run {RUN_ID})",
        "    formats.errors.CorruptDataError: web.jsonl: sha256 is b, expected a",
        f"{TIME} ERROR dagster: run {RUN_ID} failed: raw_fetch",
    ]


def test_every_tick_folds_nothing() -> None:
    said = printed([*VIOLATION, *DOWN], every=True)
    assert sum(line.startswith(TIME) for line in said) == sum(line.startswith(TIME) for line in [*VIOLATION, *DOWN])


def test_whoever_reads_the_output_may_go_away_and_all_that_comes_is_still_taken() -> None:
    (nobody, gone), (read, write) = os.pipe(), os.pipe()
    os.close(nobody)

    def say() -> None:
        for _ in range(2_000):  # some ten times what a pipe holds
            os.write(write, f"{FAILED[0]}{'x' * 300}\n".encode())
        os.close(write)

    writer = threading.Thread(target=say, daemon=True)
    writer.start()
    with open(gone, "w") as out:
        up_log.pump(read, out, every=False, json_lines=False)
    writer.join(60)
    assert not writer.is_alive()
    os.close(read)


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

"""What a person is told of runs and alerts: a line a check that did not pass, with its words, a line a run that failed,
and a line when alerts begin and cease to be undelivered. Dagster prints a line for each step that it therefore leaves
out, and one for each process through which an error goes.
"""

import re
from collections import Counter

from corpus_assets.checks.did_not_pass import SAYS
from corpus_assets.commands.up_records import LOUD, Record
from corpus_assets.commands.words import counted

_OF_RUN = re.compile(r"\S+ - ([0-9a-f]{8}-[0-9a-f-]{27}) - (?:\d+ - )?(.*)")
_STEPS = re.compile(r"Steps failed: \[(.*?)\]")
_BY_CHECK = "DagsterAssetCheckFailedError"
_UNDELIVERED = re.compile(r"Error: ((?:CORPUS_(?:WEBHOOK|SLACK_WEBHOOK|SMTP|MAIL)\w*)\b.*)")
_RECEIVERS = re.compile(r"(?:address \d+ of )?CORPUS_\w+")
_AFTER_IT = "Tick status is SUCCESS, but error was provided"
"""How Dagster's daemon stumbles over a tick in which one of several alerts was not delivered."""
_NONE_WAITS = re.compile(r"Sensor deliver_waiting_alerts skipped: .*\b0 wait")


class Story:
    """Hears every record in its order."""

    def __init__(self) -> None:
        self._left_out: Counter[str] = Counter()
        self._down: set[str] = set()

    def told(self, record: Record) -> Record | None:
        """What is said of a record: itself, clearer words, or nothing."""
        if record.level in LOUD:
            for line in (record.message, *record.more):
                if found := _UNDELIVERED.search(line):
                    return self._undelivered(record, found[1])
                if self._down and _AFTER_IT in line:
                    return None
        if self._down and _NONE_WAITS.search(record.message):
            self._down.clear()
            return Record(record.time, "alerts", "INFO", "alerts are delivered again, those that waited too")
        if of_run := _OF_RUN.fullmatch(record.message):
            return self._of_run(record, of_run[1], of_run[2])
        return record

    def _undelivered(self, record: Record, words: str) -> Record | None:
        """Said once until none waits any more, whichever and however many of Dagster's words it is wrapped in."""
        receivers = set(_RECEIVERS.findall(words))
        if receivers <= self._down:
            return None
        self._down |= receivers
        return Record(record.time, "alerts", "ERROR", f"ALERTS ARE NOT DELIVERED: {words}; they wait")

    def _of_run(self, record: Record, run: str, words: str) -> Record | None:
        step, _, rest = words.partition(" - ")
        if rest.startswith(SAYS):
            return Record(record.time, step, record.level, f"{rest} (run {run})", record.more)
        if rest.startswith("Dependencies for step "):
            self._left_out[run] += 1
            return None
        if rest.startswith("STEP_FAILURE"):
            by_check = any(_BY_CHECK in line for line in record.more)  # which said its words itself
            return None if by_check else Record(record.time, step, record.level, f"failed (run {run})", record.more)
        if step == "RUN_FAILURE":
            left_out = self._left_out.pop(run, 0)
            if steps := _STEPS.search(rest):
                names = steps[1].replace("'", "")
                more = f"; {counted(left_out, 'step')} after it not executed" if left_out else ""
                return Record(record.time, "dagster", record.level, f"run {run} failed: {names}{more}")
        return record

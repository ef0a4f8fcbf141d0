"""An alert in words, for people: what Slack and e-mail say alike.

Texts of an alert come from rows, files and errors that nobody has found right yet, so control characters are taken out:
none can begin a line of a header or hide what is said.
"""

import unicodedata
from collections.abc import Iterator

from resources.outbox import Alert

UI_VARIABLE = "CORPUS_UI_URL"
"""Where people reach the UI, for the links to runs; `corpus up` sets it where it is not set."""
MAX_FAILURES = 20
"""So many checks and steps are told, each; the run's page has them all."""
MAX_WORDS = 1_000
"""Characters of one failure."""
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def one_line(text: object, limit: int) -> str:
    """The text without control and formatting characters, cut to `limit` characters."""
    seen = "".join(" " if unicodedata.category(char) in _UNSEEN else char for char in str(text))
    line = " ".join(seen.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def title(alert: Alert) -> str:
    """What happened, and to which partition."""
    of = alert.get("partition") or "a run without partition"
    if alert.get("status") == "FAILURE":
        return one_line(f"Corpus: run failed: {of}", 140)
    found = alert.get("failed_checks") or []
    what = found[0].get("check") if len(found) == 1 else f"{len(found)} checks"
    return one_line(f"Corpus: {what} did not pass: {of}", 140)


def facts(alert: Alert) -> list[tuple[str, str]]:
    """Name and value of what the alert is about; what is not known is left out."""
    names = {"source": "Source", "version": "Version", "status": "Run ended as", "run_id": "Run"}
    return [(says, one_line(alert[name], 200)) for name, says in names.items() if alert.get(name)]


def failures(alert: Alert) -> list[tuple[str, str]]:
    """A heading and the words of each check and step that failed, with the figures of a check: the rows at fault."""
    checks = [_check(check) for check in alert.get("failed_checks") or []]
    steps = [(f"Step {step['step']} raised", step["error"]) for step in alert.get("failed_steps") or []]
    stopped = any(check.get("blocking") for check in alert.get("failed_checks") or [])
    if not stopped and not steps and alert.get("message"):  # else it says no more than they do
        steps = [("The run said", alert["message"])]
    found = []
    for part, what in ((checks, "checks"), (steps, "steps")):
        found += [(one_line(head, 200), one_line(words, MAX_WORDS)) for head, words in part[:MAX_FAILURES]]
        if len(part) > MAX_FAILURES:
            found.append((f"And {len(part) - MAX_FAILURES} more {what}", "see the run"))
    return found


def _check(check: Alert) -> tuple[str, str]:
    stops = "stops the build" if check.get("blocking") else "does not stop the build"
    figures = "; ".join(_figures(check.get("figures") or {}))
    words = check.get("description") or "no words"
    if figures:  # they are short, and must not fall to the cut
        words = f"{one_line(words, MAX_WORDS - 300)} ({one_line(figures, 250)})"
    return f"{check.get('severity')} {check.get('asset')}/{check.get('check')}, {stops}", words


def _figures(figures: Alert) -> Iterator[str]:
    for name, value in sorted(figures.items()):
        yield (
            f"{name.replace('_', ' ')}: {value:g}" if isinstance(value, float) else f"{name.replace('_', ' ')}: {value}"
        )

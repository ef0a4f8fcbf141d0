"""Alerts to Slack: a message of blocks to an incoming webhook, within Slack's limits.

Limits and escapes: docs.slack.dev, "Blocks" (50 a message; a header has 150 characters, a section 3,000 and ten fields
of 2,000 each) and "Formatting message text" (`&`, `<`, `>`). What comes from outside is plain text, in which Slack
sees no mentions, links or markup.
"""

import json
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import dagster as dg

from resources import alert_words, http_post
from resources.outbox import Alert, Receiver

VARIABLE = "CORPUS_SLACK_WEBHOOK"
MAX_BLOCKS, MAX_HEADER, MAX_TEXT, MAX_FIELDS, MAX_FIELD = 50, 150, 3_000, 10, 2_000
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


class Slack(dg.ConfigurableResource):
    """The incoming webhook that alerts go to; empty means nobody asked. The url is a secret: no message names it."""

    url: str = ""
    tries: int = 3
    timeout_seconds: float = 10.0
    backoff_seconds: float = 1.0

    @property
    def name(self) -> str:
        return "slack"

    def receivers(self) -> Sequence[Receiver]:
        """Itself, or nobody."""
        return [self] if self.url else []

    def send(self, name: str, alert: Alert) -> None:
        """Post the alert as a message. Raises as Receiver.send says."""
        del name
        tries = http_post.Tries(self.tries, self.timeout_seconds, self.backoff_seconds)
        http_post.post(VARIABLE, self.url, json.dumps(message(alert)).encode(), tries)

    @classmethod
    def of_environment(cls) -> "Slack":
        """The url stays in the environment: the UI shows the variable's name in its place."""
        return cls(url=dg.EnvVar(VARIABLE)) if os.environ.get(VARIABLE) else cls()


def message(alert: Alert) -> dict[str, Any]:
    """The message: a title, the facts, a section for each failure, and the link to the run."""
    title = alert_words.title(alert)
    fields = [_plain(f"{name}\n{value}", MAX_FIELD) for name, value in alert_words.facts(alert)][:MAX_FIELDS]
    blocks: list[dict[str, Any]] = [{"type": "header", "text": _plain(title, MAX_HEADER)}]
    if fields:
        blocks.append({"type": "section", "fields": fields})
    for head, words in alert_words.failures(alert):
        blocks.append({"type": "section", "text": _plain(f"{head}\n{words}", MAX_TEXT)})
    if alert.get("run_url"):
        address = quote(alert_words.one_line(alert["run_url"], 200), safe=":/?=%[]@")
        link = f"<{address}|Open the run>"
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": link, "verbatim": True}})
    return {"text": escaped(title, MAX_TEXT), "blocks": blocks}


def escaped(text: str, limit: int) -> str:
    """The text with Slack's three escapes, cut to `limit` characters before one that would not fit whole."""
    parts, length = [], 0
    for char in text:
        part = _ESCAPES.get(char, char)
        if length + len(part) > limit:
            break
        parts.append(part)
        length += len(part)
    return "".join(parts)


def _plain(text: str, limit: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": escaped(text, limit), "emoji": False}

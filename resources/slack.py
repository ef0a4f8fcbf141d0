"""Alerts to Slack: a message of blocks to an incoming webhook, within Slack's limits.

Limits and escapes: docs.slack.dev, "Blocks" (50 a message; a header has 150 characters, a section 3,000 and ten fields
of 2,000 each) and "Formatting message text" (`&`, `<`, `>`). What comes from outside is plain text, in which Slack
sees no mentions, links or markup.
"""

import json
from typing import Any, ClassVar
from urllib.parse import quote

from resources import alert_words
from resources.http_channel import HttpChannel
from resources.outbox import Alert

VARIABLE = "CORPUS_SLACK_WEBHOOK"
MAX_BLOCKS, MAX_HEADER, MAX_TEXT, MAX_FIELDS, MAX_FIELD = 50, 150, 3_000, 10, 2_000
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


class Slack(HttpChannel):
    """Takes the alert as a message of blocks."""

    variable: ClassVar[str] = VARIABLE
    name: ClassVar[str] = "slack"

    def body(self, alert: Alert) -> bytes:
        return json.dumps(message(alert)).encode()


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

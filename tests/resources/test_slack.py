"""What Slack is sent: within its limits, escaped, and with nothing in it that Slack would take for markup."""

import html
import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from resources import slack
from resources.slack import Slack, message
from tests.receiver import Receiver

CHECK = {
    "asset": "ledger_entry",
    "check": "licence_allowed",
    "partition": "web@tiny.v1",
    "severity": "ERROR",
    "blocking": True,
    "description": "web@tiny.v1: source web: licence <!channel> & more",
    "figures": {"rows_at_fault": 3, "share": 0.25},
}
ALERT: dict[str, Any] = {
    "run_id": "0b7e",
    "run_path": "/runs/0b7e",
    "run_url": "https://dagster.example/runs/0b7e",
    "status": "FAILURE",
    "partition": "web@tiny.v1",
    "source": "web",
    "version": "tiny.v1",
    "message": "Steps failed",
    "failed_steps": [{"step": "raw_fetch", "error": "sha256 is 77"}],
    "failed_checks": [CHECK],
}


def texts(value: Any) -> list[dict[str, Any]]:
    """Every text object of a message."""
    if isinstance(value, list):
        return [text for one in value for text in texts(one)]
    if not isinstance(value, dict):
        return []
    if value.get("type") in ("plain_text", "mrkdwn"):
        return [value]
    return [text for one in value.values() for text in texts(one)]


def test_a_message_says_source_version_check_rows_at_fault_words_and_the_run() -> None:
    with Receiver() as receiver:
        Slack(url=receiver.url).send("0b7e", ALERT)
    (sent,) = receiver.taken
    assert sent["text"] == "Corpus: run failed: web@tiny.v1"
    said = "\n".join(text["text"] for text in texts(sent["blocks"]))
    assert "Source\nweb" in said
    assert "Version\ntiny.v1" in said
    assert "ERROR ledger_entry/licence_allowed, stops the build" in said
    assert "source web: licence &lt;!channel&gt; &amp; more (rows at fault: 3; share: 0.25)" in said
    assert "Step raw_fetch raised\nsha256 is 77" in said
    assert "<https://dagster.example/runs/0b7e|Open the run>" in said


def test_only_the_link_is_markup_and_without_an_address_there_is_none() -> None:
    assert [text["text"] for text in texts(message(ALERT)) if text["type"] == "mrkdwn"] == [
        "<https://dagster.example/runs/0b7e|Open the run>"
    ]
    assert {text["type"] for text in texts(message({**ALERT, "run_url": None}))} == {"plain_text"}


def test_an_address_cannot_leave_its_link() -> None:
    sent = message({**ALERT, "run_url": "https://x.example/a|b>&<!here>\n/runs/7"})
    (link,) = [text["text"] for text in texts(sent) if text["type"] == "mrkdwn"]
    assert re.fullmatch(r"<[^<>|\s]+\|Open the run>", link)


ANY = st.text(alphabet=st.characters(codec=None), max_size=60) | st.text("<>&\n\r\x00\ud800`*@!", max_size=20)
LONG = st.sampled_from(["&", "<!channel>", "ü", "x", "a\n"]).flatmap(
    lambda part: st.integers(0, 5_000).map(lambda n: part * n)
)
WORDS = ANY | LONG
CHECKS = st.fixed_dictionaries(
    {
        "asset": WORDS,
        "check": WORDS,
        "partition": WORDS,
        "severity": st.sampled_from(["WARN", "ERROR"]),
        "blocking": st.booleans(),
        "description": st.none() | WORDS,
        "figures": st.dictionaries(ANY, st.integers() | st.floats(allow_nan=False) | WORDS, max_size=5),
    }
)
ALERTS = st.fixed_dictionaries(
    {
        "run_id": WORDS,
        "run_url": st.none() | WORDS,
        "status": st.sampled_from(["FAILURE", "SUCCESS"]),
        "partition": st.none() | WORDS,
        "source": st.none() | WORDS,
        "version": st.none() | WORDS,
        "message": st.none() | WORDS,
        "failed_steps": st.lists(st.fixed_dictionaries({"step": WORDS, "error": WORDS}), max_size=3)
        | st.integers(0, 200).map(lambda n: [{"step": "s", "error": "e"}] * n),
        "failed_checks": st.lists(CHECKS, max_size=3) | st.integers(0, 200).map(lambda n: [CHECK] * n),
    }
)


@given(ALERTS)
def test_any_alert_keeps_to_slacks_limits_and_escapes(alert: dict[str, Any]) -> None:
    sent = message(alert)
    json.dumps(sent).encode("utf-8")
    assert 1 <= len(sent["blocks"]) <= slack.MAX_BLOCKS
    assert len(sent["text"]) <= slack.MAX_TEXT
    for block in sent["blocks"]:
        limit = slack.MAX_HEADER if block["type"] == "header" else slack.MAX_TEXT
        assert 0 < len(block.get("fields", [None])) <= slack.MAX_FIELDS
        for text in texts(block.get("fields")):
            assert 0 < len(text["text"]) <= slack.MAX_FIELD
        for text in texts(block.get("text")):
            assert 0 < len(text["text"]) <= limit
    for text in texts(sent):
        if text["type"] == "plain_text":
            assert not re.search(r"[<>]|&(?!(amp|lt|gt);)", text["text"])
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\ud800-\udfff]", text["text"])


@given(st.text("&<>aü", max_size=50), st.integers(0, 60))
def test_escaped_text_is_a_beginning_of_the_text_and_no_escape_is_cut(text: str, limit: int) -> None:
    found = slack.escaped(text, limit)
    assert len(found) <= limit
    assert text.startswith(html.unescape(found))
    assert html.escape(html.unescape(found), quote=False) == found


def test_of_hundreds_of_failures_the_first_are_told_and_the_rest_counted() -> None:
    said = "\n".join(text["text"] for text in texts(message({**ALERT, "failed_checks": [CHECK] * 300})))
    assert said.count("licence_allowed") == 20
    assert "And 280 more checks\nsee the run" in said

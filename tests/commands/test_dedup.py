"""`corpus dedup` and `corpus plan`: the pages they write, what they print, and a label's way from page to rate."""

import json
import re
from html import unescape

import pytest

from corpus_assets.commands import dedup, plan
from corpus_assets.plans import capacity
from formats.errors import ConfigError
from formats.layout import Layout
from tests.commands import command_line
from tests.plans import tiny_corpus


@pytest.fixture(scope="module")
def layout(tmp_path_factory) -> Layout:
    return tiny_corpus.copy(tmp_path_factory.mktemp("dedup") / "root")


def run(layout: Layout, *words: str) -> int:
    return command_line.run(dedup, layout.root, "dedup", *words)


def test_a_label_goes_from_the_page_to_a_rate(layout, tmp_path, capsys):
    page = tmp_path / "pairs.html"
    assert run(layout, "sample", "tiny.v1", "-n", "10", "--out", str(page)) == 0
    assert "1 pair of 1 near duplicate" in capsys.readouterr().out
    text = page.read_text("utf-8")
    head, *pairs = (json.loads(unescape(one)) for one in re.findall(r'data-(?:head|pair)="([^"]*)"', text))
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps({**head, "labels": [{**pair, "label": "different"} for pair in pairs]}))
    assert run(layout, "labels", str(labels)) == 0
    told = capsys.readouterr().out
    assert "drawn from all alike              1 of 1 (100.0 %), 20.7% to 100.0% at 95 % (Wilson)" in told
    assert "nobody decided on one" in told
    assert "published again" not in told
    labels.write_text(json.dumps({**json.loads(labels.read_text()), "manifest_sha256": "0" * 64}))
    assert run(layout, "labels", str(labels), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["stale"], found["random"]["wrong"]) == (True, 1)


def test_a_version_without_near_duplicates_dropped_gives_a_page_that_says_so(layout, tmp_path):
    page = tmp_path / "pairs.html"
    assert run(layout, "sample", "tiny.v2", "--out", str(page)) == 0
    assert "No near duplicate was dropped" in page.read_text("utf-8")


def test_a_sweep_writes_its_page_and_says_why(layout, tmp_path, capsys):
    page = tmp_path / "sweep.html"
    assert run(layout, "sweep", "tiny.v1", "--threshold", "0.7,0.9", "--out", str(page), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["threshold"] for one in found["settings"]] == [0.7, 0.9] * 3
    assert found["reason"] in unescape(page.read_text("utf-8"))


@pytest.mark.parametrize("words", [("sample", "tiny.v9"), ("sample", "tiny.v1", "--out", "nowhere/at/all.html")])
def test_what_does_not_exist_is_said(layout, words):
    with pytest.raises(ConfigError, match=r"tiny\.v9|is no folder"):
        run(layout, *words)


@pytest.mark.parametrize("words", [("-n", "0"), ("--seed", "x")])
def test_wrong_numbers_are_wrong_usage(layout, words):
    with pytest.raises(SystemExit):
        run(layout, "sample", "tiny.v1", *words)


def test_a_plan_adds_its_steps_up(layout, monkeypatch, capsys):
    monkeypatch.setattr(capacity, "SIZES", (300, 900))
    words = ("plan", "tiny.v1", "--documents", "1.5e10", "--cores", "8", "--json")
    assert command_line.run(plan, layout.root, *words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["documents"] == 15_000_000_000
    assert found["cpu_hours"] == pytest.approx(sum(step["cpu_hours"] for step in found["steps"]))
    assert found["wall_hours_at_least"] == pytest.approx(found["cpu_hours"] / 8)
    assert {step["step"] for step in found["steps"]} >= {"signatures", "bands, candidates, clusters"}
    assert all(step["cpu_hours"] > 0 for step in found["steps"])

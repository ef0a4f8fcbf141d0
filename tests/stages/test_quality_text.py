"""The quality mode's second opinion: the same page gives the same text in any order and process, and says whose."""

import json
import os
import subprocess
import sys

import pytest

from corpus_assets.stages import main_text, quality_text
from formats.errors import ConfigError
from resources.guarded.guard import Guard
from tests.golden.written_pages import written_page

pytest.importorskip("trafilatura", reason="trafilatura is not installed (extra `trafilatura`)")
from corpus_assets.stages import trafilatura_text as module

PAGES = [written_page(2_000 + number).html for number in range(12)]
SAME = b"<body><article>" + 4 * (b"<p>" + 30 * b"The ferryman counted his coins. " + b"</p>") + b"</article></body>"
"""Whoever drops what was seen before would drop from its third time on."""
ITEMS = [(page, True) for page in [*PAGES, *6 * [SAME]]]


def alone(seed: str) -> list:
    """What a process finds whose sets have another order."""
    code = (
        "import json, sys; from tests.stages.test_quality_text import ITEMS, module; "
        "print(json.dumps([module.trafilatura_text(*one) for one in reversed(ITEMS)]))"
    )
    env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True)
    return json.loads(done.stdout)[::-1]


def test_the_same_page_has_the_same_text_in_any_order_and_in_every_process():
    expected = [list(module.trafilatura_text(*one)) for one in ITEMS]
    assert {whose for _, whose in expected} == {"trafilatura"}
    assert len({text for text, _ in expected}) == len(PAGES) + 1
    assert [list(module.trafilatura_text(*one)) for one in reversed(ITEMS)] == expected[::-1]
    assert alone("1") == alone("2") == expected
    with Guard(quality_text.PARSER, workers=2) as guard:
        found = [results for _, results in guard.in_order((n, [one]) for n, one in enumerate(ITEMS))]
    assert [one for results in found for one in results] == expected


@pytest.mark.parametrize(
    ("page", "main_content"),
    [
        (b"", True),
        (b"<body><img src=a>", True),
        (SAME, False),
        (SAME + module.MAX_TAGS * b"<br>", True),
        (SAME + b"<!--" + module.MAX_BYTES * b"a" + b"-->", True),
    ],
    ids=["empty", "without text", "deep", "many tags", "long"],
)
def test_what_trafilatura_has_no_text_of_or_is_not_asked_about_has_resiliparses(page, main_content):
    assert module.trafilatura_text(page, main_content) == (main_text.main_text(page, main_content), "resiliparse")


def test_cells_of_tables_stay_and_comments_go():
    words = 12 * "The ferry leaves at seven and comes back at nine. "
    page = (
        f"<body><article><p>{words}</p><table><tr><td>Monday ferries</td><td>eleven</td></tr></table></article>"
        f"<div class=comments id=comments><p>First! {words}</p></div></body>"
    )
    text, whose = module.trafilatura_text(page.encode(), True)
    assert ("Monday ferries" in text, "First!" in text, whose) == (True, False, "trafilatura")


def test_what_a_page_makes_it_raise_is_no_end_but_a_lack_of_memory_is(monkeypatch):
    def extract(raised, *_, **__):
        raise raised

    monkeypatch.setattr(module, "extract", lambda *_, **__: extract(ValueError("of the page")))
    assert module.trafilatura_text(SAME, True) == (main_text.main_text(SAME, True), "resiliparse")
    monkeypatch.setattr(module, "extract", lambda *_, **__: extract(MemoryError()))
    with pytest.raises(MemoryError):
        module.trafilatura_text(SAME, True)


def test_a_library_that_is_missing_is_told(monkeypatch):
    quality_text.hold_installed()
    monkeypatch.setattr(quality_text, "LIBRARIES", ("trafilatura", "no-such-library"))
    with pytest.raises(ConfigError, match=r"no-such-library is not installed; .*corpus-assets\[trafilatura\]"):
        quality_text.hold_installed()

"""Main text by blocks and a model: lines keep their structure, unsure pages are passed on, no page is lost."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.kernels.html_blocks import html_blocks
from corpus_assets.plans.extractors import shipped_model
from corpus_assets.stages import block_text, extract_text
from corpus_assets.stages.extract_text import Extracted, Page
from formats.errors import ConfigError
from formats.reject_reasons import RejectReason

MODEL = shipped_model()
SURE = replace(MODEL, unsure=2**31 - 1)
"""Never asks for a second opinion, but where it keeps nothing."""
ALL = replace(SURE, nodes=np.array([(-1, 0, 0, 0)], np.int32), roots=np.zeros(1, np.int32), base=2**20)
NOTHING = replace(ALL, base=-(2**20))


def all_of(page: str) -> str:
    found = block_text.prepare(page.encode(), None, ALL)
    assert isinstance(found, Extracted)
    return found.text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<h1>Title</h1><p>One <b>two</b>\n three.</p><p>Four.", "Title\n\nOne two three.\n\nFour."),
        ("<table><tr><th>a<th>b<tr><td>1<td>2</table>after", "a\tb\n1\t2\n\nafter"),
        ("<ul><li>one<li>two</ul><ol><li>three</ol>", "one\ntwo\n\nthree"),
        ("<dl><dt>word<dd>meaning</dl>", "word\nmeaning"),
        ("<p>code:<pre>if x:\n    y = 1\n\n    z &lt; 2\n</pre>", "code:\n\nif x:\n    y = 1\n\n    z < 2"),
        ("<p>a<br>b<br><br>c", "a\nb\n\nc"),
        ("<p>caf&eacute; &#128512; &amp;lt; &nbsp;x&nbsp;", "café 😀 &lt; x"),
        ("<p>a\0b &#0; c", "ab � c"),
        ("<table><tr><td>outer<table><tr><td>in<td>ner</table><td>cell</table>", "outer\n\nin\tner\n\ncell"),
        ("<table><caption>Sizes</caption><tr><td><p>a</p><p>b</p><td>c<br>d<tr><td>e</table>", "Sizes\na b\tc d\ne"),
        ("<table><tr><td>x<td><ul><li>a<li>b</ul><tr><td>y<td>z</table>", "x\ta b\ny\tz"),
        ("<table><tr><th><th>2019<th>2020<tr><th>Boats<td><td>7</table>", "\t2019\t2020\nBoats\t\t7"),
        ("<table><tr><td><p>One.</p><p>Two.</p></table>", "One.\n\nTwo."),
        ("<ul><li>one<ol><li>a<li>b</ol>still one<li>two</ul>", "one\na\nb\nstill one\ntwo"),
        ("<dl><dt>word<dd>meaning<dl><dt>other<dd>thing</dl></dl><menu><li>x", "word\nmeaning\nother\nthing\n\nx"),
        ("<pre><div>if x:</div><div>  y</div>\n</pre><pre>z</pre>", "if x:\n  y\n\nz"),
        ("<pre><ol><li>if x:<li>&nbsp; y</ol></pre>", "if x:\n  y"),
        ("<pre>if x:<br>  y<br><br>z</pre>", "if x:\n  y\n\nz"),
        ("<table><tr><td><pre>1\n2</pre><td><pre>if x:\n  y</pre></table>", "1\n2\n\nif x:\n  y"),
        ("<table><tr><td><pre>x = 1</pre><td>sets x</table>", "x = 1\tsets x"),
        (
            "<div class=syntaxhighlighter><table><tr><td><div>1</div><div>2</div><td><div>if x:</div>"
            "<div>&nbsp; y</div></table></div>",
            "1\n2\nif x:\n  y",
        ),
    ],
)
def test_lines_keep_their_structure(page, text):
    assert all_of(page) == text


def test_columns_by_which_a_page_is_laid_out_are_no_line():
    words = block_text.LONGEST_ROW // 5 * "word "
    page = f"<table><tr><td>Menu<td><p>{words}</p><p>More.</p><tr><td>Below</table>"
    assert all_of(page) == f"Menu\n\n{words.strip()}\n\nMore.\n\nBelow"


def test_a_long_block_is_kept_once_and_a_short_one_as_often_as_it_stands():
    long, short = (block_text.LONG_BLOCK // 5 * "word ").strip() + ".", "Once more."
    assert all_of(f"<p>{long}<p>{short}<div>{long}</div><p>{short}<p>{long}!") == "\n\n".join(
        (long, short, short, f"{long}!")
    )


def test_what_stands_around_an_article_goes():
    words = "The ferryman counted his coins, and the river, which had been low for weeks, said nothing about it. "
    page = (
        "<html><body><nav class=menu><ul><li><a href=/>Home</a><li><a href=/n>News</a><li><a href=/s>Sport</a></ul>"
        f"</nav><article class=post-content><p>{3 * words}</p><p>{2 * words}</p><p>{4 * words}</p><p>{2 * words}"
        "</article><aside class=sidebar><h3>Related</h3><li><a href=/1>Ten ships that never came home</a></aside>"
        "<footer class=footer><a href=/p>Privacy</a> <a href=/t>Terms of use</a><p>© 2020 All rights reserved.</footer>"
    )
    found = block_text.prepare(page.encode(), None, MODEL)
    assert found.text == "\n\n".join((n * words).strip() for n in (3, 2, 4, 2))


def test_a_page_of_which_nothing_is_kept_or_that_is_unsure_gets_a_second_opinion():
    page = b"<p>Only a few words."
    assert block_text.prepare(page, None, NOTHING) == extract_text.prepare(page) == Page(page, main_content=True)
    assert block_text.prepare(page, None, replace(MODEL, unsure=0)) == Page(page, main_content=True)


def test_a_page_is_decoded_as_everywhere():
    page = "<meta charset=windows-1251><p>Привет, мир".encode("cp1251")
    assert block_text.prepare(page, None, ALL).text == "Привет, мир"


def test_a_page_that_is_too_large_is_rejected_with_the_reason():
    rules = replace(extract_text.ExtractRules(), max_page_bytes=10)
    assert block_text.prepare(11 * b"a", None, ALL, rules).reason is RejectReason.PAGE_TOO_LARGE
    assert block_text.prepare(200_001 * b"<p>a", None, ALL).reason is RejectReason.PAGE_TOO_LARGE


@given(st.binary(max_size=400) | st.text("<>/=\"' abpdivtr&;#x0-!\n", max_size=400).map(str.encode))
def test_any_bytes_give_a_text_a_reason_or_a_page_for_the_parser(data):
    for model in (MODEL, ALL):
        found = block_text.prepare(data, None, model)
        if isinstance(found, Extracted):
            assert found.reason or found.text.strip()
            found.text.encode("utf-8")
        assert found == block_text.prepare(data, None, model)


HOSTILE = {
    "a table of 99 thousand rows": (b"<table>" + 99_000 * b"<tr><td>a", 197_999),
    "fifty thousand nested divs": (50_000 * b"<div>" + b"text " + 50_000 * b"</div>", 4),
    "two hundred thousand unclosed tags": (b"<p>text" + 200_000 * b"<a href=x>" + b"end", 7),
    "five megabytes of a class": (b"<div class='" + 5_000_000 * b"a" + b"'>text", 4),
    "a million entities": (b"<p>" + 1_000_000 * b"&amp;", 1_000_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_comes_out_whole(name):
    page, characters = HOSTILE[name]
    found = block_text.prepare(page, None, ALL)
    assert isinstance(found, Extracted)
    assert (found.reason, len(found.text)) == (None, characters)
    assert len(html_blocks(page).text) <= len(page)


def test_a_model_of_other_features_is_refused():
    assert block_text.fitting(MODEL) is MODEL
    for other in (replace(MODEL, features="0"), replace(MODEL, feature_names=("bytes",))):
        with pytest.raises(ConfigError, match="train it again"):
            block_text.fitting(other)

"""Features of blocks against their definitions, over lists and dictionaries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels import block_repeats
from corpus_assets.kernels.block_features import FAR, NAMES, NUM_FEATURES, block_features
from corpus_assets.kernels.html_blocks import html_blocks
from tests.kernels import reference_features
from tests.kernels.test_html_blocks import PIECES

LONG = "Far down the river, where nobody rows, an old boat lies in the reeds and waits for the flood of next year."
LINKS = "<a href=x>Home</a> <a href=y>A longer link of some words</a>"
MORE = (
    LONG, LONG, f"<p>{LONG}", f"<p>{LONG} {LONG}", LINKS, f"<li>{LINKS}", "<h1>Title", "<h2>Part", "<img>",
    "<b>Bold</b>", "<div class=article-body>", "<div class=comments>", "<div hidden>", "<main>", "<article>",
    "</article>", "<p>Short.", "<p>See:", '<p>He said "go."', "<p>© 2020 | @me #1", "<p>一句话，还有一句。",
    "<p>JSON 12 345", "<p>Share", "<p>Far down the river, where…", "<div>An old boat lies in the reeds</div>",
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(st.sampled_from([*PIECES, *3 * MORE]), max_size=40).map("".join))
def test_features_equal_the_twins(text):
    page = html_blocks(text.encode())
    rows = block_features(page).tolist()
    for row, wanted in zip(rows, reference_features.features(page, rows), strict=True):
        assert dict(zip(NAMES, row, strict=True)) == wanted


def of_text(text, **wanted):
    row = block_features(html_blocks(text.encode()))[0]
    found = dict(zip(NAMES, row.tolist(), strict=True))
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "<p>Two words.",
            {"bytes": 9, "words": 2, "ending": 2, "sentences": 1, "begins_small": 0, "bytes_per_word": 4},
        ),
        ("<p>one, two, three:", {"commas": 2, "ending": 1, "words": 3, "begins_small": 1, "sentences": 0}),
        ("<p>He said “no.”", {"ending": 2}),
        ('<p>He said "no?"', {"ending": 2}),
        ("<p>你好，世界。再见！", {"commas": 1, "ending": 2, "sentences": 2}),
        ("<p>هل،؟", {"commas": 1, "ending": 2}),
        ("<p>ABC def 12", {"capital_permille": 375, "digit_permille": 250, "capital_word_permille": 333}),
        ("<p>ab <a>cd</a>", {"link_permille": 500, "links": 1}),
        ("<p><b>ab</b> cd", {"bold_permille": 500}),
        ("<p>Share this photo", {"furniture": 2, "furniture_permille": 666, "begins_with_furniture": 1}),
        ("<p>| @ # ©", {"signs": 3, "words": 1}),
        ("<p>é", {"beyond_ascii_permille": 1000}),
        ("<p>a<br>b", {"breaks": 1, "words": 2}),
        ("<p>And then…", {"trails_off": 1, "ending": 0}),
        ("<p>And then ...", {"trails_off": 1}),
        ("<p>And then [&hellip;]", {"trails_off": 1}),
        ("<p>And then&#8230;", {"trails_off": 1}),
        ("<p>And … then.", {"trails_off": 0}),
        ("<p>.", {"trails_off": 0}),
        ("<p>]", {"trails_off": 0}),
    ],
)
def test_what_is_counted_in_a_text(text, wanted):
    of_text(text, **wanted)


def test_a_text_that_stands_twice_is_told_from_its_first_place_on():
    page = html_blocks(b"<p>one two three four five six<p>seven<div>zero One two three, four five. seven")
    found = block_features(page)[:, [NAMES.index("said_again_permille"), NAMES.index("said_before_permille")]]
    assert found.tolist() == [[500, 0], [0, 0], [333, 333]]


def test_parts_that_are_built_alike_are_numbered():
    page = html_blocks(b"<div><p>a</div><div><p>b<p>c</div><section><div><p>d</div></section>")
    names = [NAMES.index(name) for name in ("container_number", "container_alike", "most_number")]
    assert block_features(page)[:, names].tolist() == [[0, 2, 0], [1, 2, 1], [1, 2, 1], [0, 1, 0]]


def test_runs_behind_the_most_words_are_not_looked_for():
    words = np.arange(1, 13, dtype=np.uint64)
    for between, before in ((20, 8), (block_repeats.MOST_WORDS - 24, 8), (block_repeats.MOST_WORDS, 0)):
        parts = [words, np.full(between, 99, np.uint64), words]
        again, found = np.zeros(3, np.int32), np.zeros(3, np.int32)
        block_repeats.repeats(np.concatenate(parts), np.array([12, between, 12], np.int32), again, found)
        assert (again.tolist(), found.tolist()) == ([before, 0, before], [0, 0, before])


@pytest.mark.parametrize(
    ("page", "good"),
    [
        (f"<p>{LONG}</p><div class=comments><p>{LONG} {LONG}</div><p>{LONG}", [0, 500, 500]),
        (f"<div class=comments><p>{LONG}</p><p>{LONG}</div>", [0, 500]),
        (f"<p>Short.</p><div class=comments><p>{LONG}</p><p>{LONG}</div>", [0, 0, 500]),
    ],
    ids=["behind a text", "and nothing else", "behind a word"],
)
def test_comments_are_no_good_text_but_where_there_is_no_other(page, good):
    """Of a page's good text, how much stands before each block."""
    found = block_features(html_blocks(page.encode()))[:, NAMES.index("good_before_permille")].tolist()
    assert found == good


def test_a_page_without_text_has_no_features():
    assert block_features(html_blocks(b"<div><p></p></div>")).shape == (0, NUM_FEATURES)


def test_far_is_as_far_as_it_gets():
    page = html_blocks((f"<p>{LONG}" + 80 * "<p>x").encode())
    found = block_features(page)[:, NAMES.index("blocks_since_good")]
    assert found.tolist() == [FAR, *range(1, FAR), *(81 - FAR) * [FAR]]


@pytest.mark.parametrize(("around", "levels"), [(0, 0), (1, 1), (3, 3), (12, 9)])
def test_it_is_counted_how_often_a_part_is_named_around_a_block(around, levels):
    of_text(around * "<div class=comments>" + "<p>Words.", levels_3=levels, levels_5=0, group_3=int(around > 0))


@pytest.mark.parametrize(
    ("page", "alike"),
    [
        (b"<div><p>One.</p><section>Two.</section><p>Three.", [2, 1, 2]),
        (b"Nowhere.<div>In the first tag there is.</div>Nowhere.", [2, 1, 2]),
        (b"<div>One.<div>Below.</div></div><div>Two.</div>", [2, 1, 2]),
    ],
)
def test_paths_that_differ_in_one_bit_or_in_length_are_told_apart(page, alike):
    found = block_features(html_blocks(page))
    assert found[:, NAMES.index("path_blocks")].tolist() == alike

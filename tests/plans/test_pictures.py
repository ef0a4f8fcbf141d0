"""Pictures: what is drawn is well-formed SVG of the numbers given, whatever the words are."""

import base64
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets import pictures as metadata
from corpus_assets.plans import pictures
from corpus_assets.plans.pictures import Limit, Picture, Step

SVG = "{http://www.w3.org/2000/svg}"
words = st.text(max_size=60)
counts = st.integers(0, 10**12)


def parsed(picture: Picture) -> ElementTree.Element:
    return ElementTree.fromstring(picture.standalone())


def texts(picture: Picture) -> list[str]:
    return [element.text or "" for element in parsed(picture).iter(f"{SVG}text")]


def widths(picture: Picture, kind: str) -> list[float]:
    return [float(e.get("width", 0)) for e in parsed(picture).iter(f"{SVG}rect") if e.get("class") == kind]


@given(words, st.dictionaries(words, counts, max_size=6))
def test_bars_are_well_formed_whatever_the_names_are(title, rows):
    picture = pictures.bars(title, rows)
    assert len(widths(picture, "bar") + widths(picture, "kept")) == len(rows)
    for n in rows.values():
        assert f"{n:,}" in texts(picture)


def test_bars_put_the_highlighted_one_first_then_the_largest():
    drawn = texts(pictures.bars("t", {"few": 1, "many": 5, "kept": 2, "also": 5}))
    assert [name for name in drawn if name.isalpha()] == ["t", "kept", "also", "many", "few"]


def test_bars_are_as_long_as_their_counts():
    assert widths(pictures.bars_in_order("t", [("a", 50), ("b", 100), ("c", 0)]), "bar") == [210, 420, 0]


@given(words, st.lists(st.tuples(st.lists(counts, min_size=3, max_size=3), st.none() | counts), max_size=5), words)
def test_funnels_are_well_formed_and_say_every_number(title, steps, name):
    drawn = pictures.funnel(title, [Step(name, left, took) for left, took in steps], [name, "b", "c"])
    said = texts(drawn)
    for left, took in steps:
        assert f"{sum(left):,}" in said
        assert took is None or f"−{took:,}" in said


def test_what_a_step_took_is_seen_however_small():
    picture = pictures.funnel("t", [Step("all", [10**9]), Step("rule", [10**9 - 1], 1)], ["s"])
    assert widths(picture, "drop") == [2.0]


def test_more_series_than_colours_share_the_last_one():
    series = [f"s{i}" for i in range(12)]
    drawn = parsed(pictures.funnel("t", [Step("all", [1] * 12)], series))
    assert {e.get("class") for e in drawn.iter(f"{SVG}rect")} <= {None, *(f"s{i}" for i in range(8))}


@given(st.lists(counts, min_size=1, max_size=30), st.booleans())
def test_a_histogram_draws_a_column_for_each_count_but_zero(numbers, logarithmic):
    edges = [str(i) for i in range(len(numbers) + 1)]
    limit = Limit(len(numbers) // 2, "limit", below=True)
    picture = pictures.histogram("t", numbers, edges, unit="u", limit=limit, logarithmic=logarithmic)
    failed, passed = len(widths(picture, "drop")), len(widths(picture, "bar"))
    assert failed == sum(n > 0 for n in numbers[: limit.edge])
    assert passed == sum(n > 0 for n in numbers[limit.edge :])


@pytest.mark.parametrize(("below", "failing"), [(True, [True, False]), (False, [False, True])])
def test_a_limit_fails_the_bins_on_its_side(below, failing):
    assert [Limit(1, "", below).fails(i) for i in (0, 1)] == failing


def test_an_inline_picture_has_no_colours_of_its_own_and_a_standalone_one_refers_to_nothing_outside():
    picture = pictures.bars("t", {"a": 1})
    assert "<style" not in picture.inline()
    assert "#" not in picture.inline()
    assert set(re.findall(r"https?://[^\"]+", picture.standalone())) == {"http://www.w3.org/2000/svg"}


def test_metadata_is_markdown_of_the_picture():
    picture = pictures.bars("t", {"a": 1})
    found = re.fullmatch(r"!\[\]\(data:image/svg\+xml;base64,(.+)\)", metadata.as_metadata(picture).md_str)
    assert found
    assert base64.b64decode(found[1]).decode() == picture.standalone()

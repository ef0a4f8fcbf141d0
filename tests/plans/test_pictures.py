"""Pictures: what is drawn is well-formed SVG of the numbers given, whatever the words are."""

import base64
import itertools
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets import pictures as metadata
from corpus_assets.plans import pictures
from corpus_assets.plans.datasheet_style import CSS as PAGE_CSS
from corpus_assets.plans.pictures import BAR, DROP, KEPT, SERIES, WAS, Limit, Picture, Step

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


@pytest.mark.parametrize("half", [1, 82_162_773, 10**12])
def test_numbers_behind_a_full_bar_have_room(half):
    drawn = pictures.funnel("t", [Step("all", [2 * half]), Step("rule", [half], half)], ["s"])
    (last,) = [e for e in parsed(drawn).iter(f"{SVG}text") if e.text == f"−{half:,}"]
    assert float(last.get("x")) + 7.6 * len(last.text) <= drawn.width


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


EYES = {
    "all cones": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
"""What linear sRGB becomes: Machado, Oliveira and Fernandes 2009, severity 1."""
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(color: str) -> np.ndarray:
    channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* at D65."""
    x, y, z = XYZ @ np.clip(rgb, 0, 1) / [0.95047, 1.0, 1.08883]
    x, y, z = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def in_dark(name: str) -> str:
    dark = PAGE_CSS[PAGE_CSS.index("prefers-color-scheme:dark") :]
    return re.search(rf"--{name}:(#[0-9a-f]{{6}})", dark)[1]


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_that_meet_are_told_apart_by_all_eyes(eyes, scheme):
    kept, drop, bar = (KEPT, DROP, BAR) if scheme == "light" else map(in_dark, ("kept", "drop", "bar"))
    meet = [*itertools.combinations((*SERIES, drop), 2), *itertools.combinations((kept, drop, bar), 2), (WAS, bar)]
    seen = {color: lab(np.array(EYES[eyes]) @ linear(color)) for pair in meet for color in pair}
    worst = min((float(np.linalg.norm(seen[a] - seen[b])), a, b) for a, b in meet)
    assert worst[0] > 15, worst


def test_colours_of_bars_stand_out_from_both_grounds():
    for ground, colors in (("#ffffff", (*SERIES, WAS, BAR, KEPT, DROP)), ("#14181f", (*SERIES, WAS, in_dark("bar")))):
        for color in colors:
            dark, bright = sorted(float(XYZ[1] @ linear(one)) for one in (color, ground))
            assert (bright + 0.05) / (dark + 0.05) > 1.9, (color, ground)


def test_a_page_in_the_light_has_the_colours_of_a_picture_that_stands_alone():
    light = PAGE_CSS[: PAGE_CSS.index("prefers-color-scheme:dark")]
    assert f"--bar:{BAR};--kept:{KEPT};--drop:{DROP};--drop-ink:{pictures.DROP_INK}" in light

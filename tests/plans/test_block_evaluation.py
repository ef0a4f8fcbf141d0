"""How far F1 may be off, and whether the error that a model expects of a page is told beside the one it makes."""

from dataclasses import replace

import numpy as np
import pytest

from corpus_assets.plans.block_evaluation import BANDS, bands, interval
from corpus_assets.plans.extractors import shipped_model
from corpus_assets.plans.labelled_pages import LabelledPage
from tests.golden.written_pages import KINDS, written_page

PAGES = [written_page(1_000 + number) for number in range(60)]
MODEL = shipped_model()
MODELS = dict.fromkeys((page.name for page in PAGES), MODEL)


def test_pages_that_are_all_alike_leave_nothing_open():
    assert interval(30 * [(0.9, 0.9)], [f"{n}" for n in range(30)]) == pytest.approx((0.9, 0.9))
    assert interval([(0.0, 0.0)], ["a"]) == (0, 0)


def test_the_interval_holds_f1_and_narrows_with_more_groups_but_not_with_more_pages_of_a_group():
    sides = [(n % 2 / 1, n % 2 / 1) for n in range(400)]
    low, high = interval(sides, [f"{n}" for n in range(400)])
    assert low < 0.5 < high
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 400), rel=0.1)
    low, high = interval(sides, [f"{n % 2} {n // 200}" for n in range(400)])
    assert high - low > 0.5


def test_every_page_is_in_one_band_and_those_of_higher_bands_are_worse():
    found = bands(PAGES, MODELS)
    assert sum(band.pages for band in found) == len(PAGES)
    assert [band.from_permille for band in found] == sorted({band.from_permille for band in found} & set(BANDS))
    assert [band.expected for band in found] == sorted(band.expected for band in found)
    assert found[0].measured < found[-1].measured


def test_a_model_that_keeps_nothing_expects_and_has_it_all_wrong():
    nothing = replace(MODEL, nodes=np.array([(-1, 0, 0, 0)], np.int32), roots=np.zeros(1, np.int32), base=-(2**20))
    (band,) = bands(PAGES, dict.fromkeys(MODELS, nothing))
    assert (band.from_permille, band.pages, band.measured) == (500, len(PAGES), 1)
    assert band.expected == pytest.approx(1, abs=0.01)


def test_a_page_with_too_many_blocks_is_in_no_band():
    page = LabelledPage("many", "many", 200_001 * b"<p>a", "a")
    assert bands([page], {"many": MODEL}) == []


@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS], ids=lambda kind: kind.__name__)
def test_a_page_of_a_kind_is_always_the_same(kind):
    assert written_page(7, kind) == written_page(7, kind)
    assert len({written_page(7, other).html for other, _ in KINDS}) == len(KINDS)

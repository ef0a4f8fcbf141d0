"""A sweep says of every setting what a build with it would drop, and suggests one for a reason that it gives."""

import pytest

from corpus_assets.plans import curves, dedup_sweep, dedup_sweep_advice, dedup_sweep_page
from corpus_assets.plans.curves import Line
from corpus_assets.plans.dedup_sweep_settings import Grid, Measured, Setting
from corpus_assets.plans.pinned import Build, load_pairs
from formats.errors import ConfigError
from formats.layout import Layout
from resources.engines.local import LocalEngine
from tests.plans import dedup_runs, naive_dedup
from tests.plans.dedup_runs import V1
from tests.plans.naive_dedup import Rules
from tests.plans.test_dedup_plan import drawn

SOURCES = drawn(11, size=40)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = tmp_path_factory.mktemp("sweep") / "root"
    dedup_runs.run(root, SOURCES, Rules())
    return Build(Layout(root), LocalEngine(scratch=root / "scratch", workers=1)), load_pairs(Layout(root), V1)


def test_each_setting_drops_what_the_naive_twin_drops(built):
    grid = Grid((1, 5), (0.7, 0.8, 0.95), "word")
    sweep = dedup_sweep.measure(*built, grid, num_docs=1_000, seed=1)
    for one in sweep.settings:
        rules = Rules(round(one.setting.threshold * 1_000_000), one.setting.shingle)
        fates, _ = naive_dedup.decide(SOURCES, rules)
        near = sum(fate.verdict == "near_duplicate" for fate in fates.values())
        assert (one.dropped, one.setting) == (near, one.setting)
    same = next(one for one in sweep.settings if one.setting == sweep.present)
    assert same.changed == 0
    assert sweep.suggested in sweep.settings
    assert str(sweep.suggested.setting) in sweep.reason


def test_an_edit_is_tolerated_from_so_many_words_on(built):
    sweep = dedup_sweep.measure(*built, Grid((5,), (0.8,), "word"), num_docs=1_000, seed=1)
    least = sweep.settings[0].words_for_an_edit
    for words, near in ((least, True), (least - 1, False)):
        shingles = words - 4
        assert (10 * (shingles - 5) >= 8 * (shingles + 5)) == near


def test_a_smaller_sample_holds_pairs(built):
    sweep = dedup_sweep.measure(*built, Grid((5,), (0.8,), "word"), num_docs=20, seed=1)
    assert sweep.num_docs <= 20 < sweep.of_docs
    assert sweep.settings[0].dropped > 0


def test_neighbours_are_one_step_away():
    grid = Grid((3, 5, 9), (0.7, 0.8), "word")
    assert set(grid.neighbours(Setting(5, 0.7))) == {Setting(3, 0.7), Setting(9, 0.7), Setting(5, 0.8)}


@pytest.mark.parametrize(
    ("shingles", "thresholds"), [((0,), (0.8,)), ((101,), (0.8,)), ((5,), (0.49,)), ((5,), (1.1,))]
)
def test_what_the_config_refuses_is_refused(shingles, thresholds):
    with pytest.raises(ConfigError, match="expected"):
        Grid(shingles, thresholds, "word")


def test_a_threshold_that_rounds_to_one_tolerates_no_edit(built):
    sweep = dedup_sweep.measure(*built, Grid((5,), (0.9999999,), "word"), num_docs=1_000, seed=1)
    assert sweep.settings[0].words_for_an_edit == 0
    assert "no neighbour" in sweep.reason


def one(threshold, unsettled, *, recall=1.0, dropped=100):
    return Measured(Setting(5, threshold), dropped, 1, 2, 0, 3, unsettled, 40, recall)


@pytest.mark.parametrize(
    ("settings", "threshold", "words"),
    [
        ([one(0.7, 0.08), one(0.8, 0.1), one(0.9, 0.2)], 0.8, "Suggested: shingle 5, threshold 0.8"),
        ([one(0.7, 0.02), one(0.8, 0.1), one(0.9, 0.2)], 0.7, "Suggested: shingle 5, threshold 0.7"),
        ([one(0.7, 0.0, recall=0.4), one(0.8, 0.1), one(0.9, 0.2)], 0.8, "Suggested: shingle 5, threshold 0.8"),
        ([one(0.7, 0.3), one(0.8, 0.4)], 0.7, "No clear default; the steadiest: shingle 5, threshold 0.7"),
        ([one(0.7, 0.0, recall=0.4), one(0.8, 0.0, recall=0.5)], 0.8, "None suggested"),
        ([one(0.7, 0.0, dropped=0), one(0.8, 0.0, dropped=0)], 0.8, "No setting drops anything"),
        ([one(0.7, 0.0, dropped=29), one(0.8, 0.4, dropped=9)], 0.8, "No setting drops more than 29 documents"),
    ],
)
def test_a_setting_is_suggested_that_the_bands_find_and_that_is_clearly_steadier(settings, threshold, words):
    found, reason = dedup_sweep_advice.suggest(settings, Setting(5, 0.8), "word")
    assert found.setting.threshold == threshold
    assert words in reason


@pytest.mark.parametrize(
    ("most", "ticks"), [(0, "0 1"), (2, "0 1 2"), (7, "0 2 4 6 8 10"), (3000, "0 1,000 2,000 3,000 4,000 5,000")]
)
def test_axes_of_counts_have_round_ticks_that_differ(most, ticks):
    axis = curves.counts(most, "pairs")
    assert [words for _, words in axis.ticks] == ticks.split()
    assert axis.high >= most


def test_a_colour_that_comes_again_is_dashed():
    lines = [Line(str(n), [(0, n), (1, n)]) for n in range(9)]
    drawn = curves.drawn("nine", lines, curves.counts(1, "x"), curves.counts(9, "y")).inline()
    assert drawn.count('stroke-dasharray="8 4"') == 2
    assert (
        "stroke-dasharray" not in curves.drawn("one", lines[:8], curves.counts(1, "x"), curves.counts(9, "y")).inline()
    )


def test_the_page_has_a_row_a_setting_and_the_reason(built):
    sweep = dedup_sweep.measure(*built, Grid((5, 12), (0.7, 0.9), "char"), num_docs=1_000, seed=1)
    page = dedup_sweep_page.render(V1, sweep)
    assert page.count("<tr>") == 1 + 4
    assert page.count("<svg") == 4
    assert sweep.suggested.setting.threshold in (0.7, 0.9)
    assert ": shingle" in page
    assert "chars *" in page

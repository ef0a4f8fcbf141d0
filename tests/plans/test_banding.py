"""A banding that misses pairs at its threshold is told, with one that does not."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.kernels.bands import collision_probability
from corpus_assets.plans import banding
from formats.dedup_rules import NearRules


def test_the_default_and_what_finds_more_are_nothing_to_talk_about():
    assert banding.advice(NearRules()) is None
    assert banding.advice(NearRules(bands=64, rows=2)) is None


def test_a_lower_threshold_under_the_same_bands_is_told_in_figures_with_a_better_setting():
    assert banding.advice(NearRules(jaccard_threshold=0.7)) == (
        "dedup.near: 16 bands of 8 rows compare 61.3% of the pairs whose Jaccard is just the threshold 0.7; expected "
        "90% or more; bands: 21, rows: 6 would compare 92.8%"
    )
    assert "take a higher threshold" in str(banding.advice(NearRules(jaccard_threshold=1e-6, bands=128, rows=1)))


@given(st.floats(0.05, 1.0))
def test_the_better_setting_finds_enough_and_one_row_more_does_not(threshold):
    near = replace(NearRules(), jaccard_threshold=threshold)
    bands, rows = banding.better(near)
    assert bands * rows <= near.num_perm
    assert collision_probability(threshold, bands, rows) >= banding.LEAST
    more = rows + 1
    assert more > near.num_perm or collision_probability(threshold, near.num_perm // more, more) < banding.LEAST

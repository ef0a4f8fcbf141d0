import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.arrow import fixed_binaries
from corpus_assets.kernels.bands import CandidatePairs, band_keys, collision_probability
from formats.errors import ConfigError, NotConvergedError
from tests.kernels import reference

rows = st.lists(st.tuples(st.sampled_from([-(2**63), -5, 0, 7, 2**63 - 1]), st.integers(0, 40)), max_size=80)


def fed(pairs, *batches):
    """All pairs of the batches of (key, rank) rows, in order."""
    out = []
    for batch in batches:
        table = np.array(batch, np.int64).reshape(-1, 2)
        out += zip(*(side.tolist() for side in pairs.feed(table[:, 0], table[:, 1])), strict=True)
    return out + list(zip(*(side.tolist() for side in pairs.finish()), strict=True))


@settings(max_examples=300, deadline=None)
@given(rows, st.integers(1, 12), st.data())
def test_pairs_equal_the_reference_however_the_stream_is_cut(rows, max_bucket, data):
    hot_keepers = data.draw(st.integers(1, max_bucket))
    rows = sorted(rows)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=6)))
    batches = [rows[i:j] for i, j in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    kernel = CandidatePairs(max_bucket, hot_keepers)
    expected, skipped, hot = reference.candidate_pairs(rows, max_bucket, hot_keepers)
    assert fed(kernel, *batches) == expected
    assert (kernel.pairs_skipped, kernel.hot_buckets) == (skipped, hot)


def test_a_bucket_of_exactly_the_limit_gives_every_pair():
    kernel = CandidatePairs(4, 1)
    assert len(fed(kernel, [(0, rank) for rank in range(4)])) == 6
    assert (kernel.pairs_skipped, kernel.hot_buckets) == (0, 0)


def test_a_hot_bucket_meets_its_first_members_only_and_says_what_it_left_out():
    kernel = CandidatePairs(1_000, 16)
    keys, ranks = np.zeros(100_000, np.int64), np.arange(100_000)
    found = sum(len(kernel.feed(keys[i : i + 7_000], ranks[i : i + 7_000])[0]) for i in range(0, 100_000, 7_000))
    found += len(kernel.finish()[0])
    assert found == 16 * 15 // 2 + (100_000 - 16) * 16
    assert found + kernel.pairs_skipped == 100_000 * 99_999 // 2
    assert kernel.hot_buckets == 1


def test_one_document_twice_in_a_bucket_makes_no_pair_with_itself():
    assert fed(CandidatePairs(8, 2), [(3, 1), (3, 1)], [(3, 1), (3, 2)]) == [(1, 2)]


def test_a_finished_stream_leaves_nothing_to_the_next():
    kernel = CandidatePairs(8, 2)
    assert fed(kernel, [(5, 1), (5, 9)]) == [(1, 9)]
    assert fed(kernel, [(1, 3), (5, 4)]) == []


@pytest.mark.parametrize("after", [(4, 9), (5, 6)])
def test_rows_out_of_order_are_refused(after):
    kernel = CandidatePairs(8, 2)
    kernel.feed(np.array([1, 5]), np.array([2, 7]))
    with pytest.raises(NotConvergedError, match="row 1 of a batch"):
        kernel.feed(np.array([5, after[0]]), np.array([8, after[1]]))


@pytest.mark.parametrize(("max_bucket", "hot_keepers"), [(4, 0), (4, 5), (0, 0)])
def test_limits_that_keep_no_member_or_more_than_the_bucket_are_refused(max_bucket, hot_keepers):
    with pytest.raises(ConfigError, match="hot_keepers"):
        CandidatePairs(max_bucket, hot_keepers)


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 2**32 - 1), min_size=12, max_size=12), max_size=5),
    st.sampled_from([(3, 4), (4, 3), (12, 1), (2, 5)]),
)
def test_band_keys_equal_the_reference(signatures, how):
    column = fixed_binaries(np.array(signatures, np.uint32).reshape(-1, 12))
    assert band_keys(column, *how).tolist() == [reference.band_keys(values, *how) for values in signatures]


def test_equal_rows_in_different_bands_do_not_meet():
    keys = band_keys(fixed_binaries(np.full((1, 128), 7, np.uint32)))
    assert len(set(keys[0].tolist())) == 16


def test_more_rows_than_a_signature_has_are_refused():
    with pytest.raises(ConfigError, match="16 bands of 8 rows"):
        band_keys(fixed_binaries(np.zeros((1, 64), np.uint32)), 16, 8)


@pytest.mark.parametrize("threshold", [i / 100 for i in range(50, 101)])
@pytest.mark.parametrize(("bands", "rows"), [(16, 8), (8, 16), (32, 4), (128, 1), (1, 128)])
def test_the_s_curve_is_what_random_signatures_of_that_similarity_do(threshold, bands, rows):
    draw = np.random.default_rng(0)
    left = draw.integers(0, 2**32, (800, 128), dtype=np.uint32)
    right = np.where(draw.random((800, 128)) < threshold, left, draw.integers(0, 2**32, (800, 128), dtype=np.uint32))
    met = (band_keys(fixed_binaries(left), bands, rows) == band_keys(fixed_binaries(right), bands, rows)).any(axis=1)
    assert abs(met.mean() - collision_probability(threshold, bands, rows)) < 0.08

"""Growth is measured by the stages themselves, and extrapolated by what sorting costs."""

import math

import pyarrow as pa
import pytest

from corpus_assets.plans import scale
from formats.dedup_rules import NearRules
from resources.engines.local import LocalEngine


def test_the_law_of_sorting_is_found_again():
    law = scale.fit([(n, 0.5 + 2e-7 * n * math.log2(n)) for n in (1_000, 50_000, 1_000_000)])
    assert law.start == pytest.approx(0.5)
    assert law.seconds(1e10) == pytest.approx(0.5 + 2e-7 * 1e10 * math.log2(1e10))


def test_a_law_never_starts_below_nothing():
    assert scale.fit([(1_000, 0.001), (1_000_000, 100.0)]).start == 0.0


def test_one_size_gives_no_law():
    with pytest.raises(ValueError, match="two sizes"):
        scale.fit([(10, 1.0), (10, 2.0)])


def test_about_as_many_pairs_meet_as_copies_were_made(tmp_path):
    engine = LocalEngine(scratch=tmp_path / "scratch", workers=1, processes=False)
    took = scale.measure(engine, 3_000, tmp_path, NearRules())
    assert 0.8 * 600 < took.num_pairs < 1.3 * 600
    assert took.seconds > 0


def test_signatures_are_those_of_their_seed():
    firsts = pa.RecordBatch.from_pydict({"k": [7], "num_docs": [50]})
    assert scale.signatures_from_seed(firsts).equals(scale.signatures_from_seed(firsts))

"""A build takes the memory it is given, whatever the data: four times the text, nearly the same peak."""

import pyarrow as pa
import pytest

from tests.bench.bench_pipeline import BESIDE_MB, MEMORY_MB, MOST_GROWTH, peak_mb
from tests.bench.documents import first_bytes, made

TEXT_BYTES = 40_000_000


@pytest.mark.slow
def test_four_times_the_data_takes_nearly_the_same_memory_and_no_more_than_was_given(tmp_path):
    """The documents are made from a seed; every fifth one is a copy of an earlier one with some words changed."""
    peaks = []
    for times in (1, 4):
        text = pa.array(first_bytes(made(), times * TEXT_BYTES), pa.large_string())
        peaks.append(peak_mb(tmp_path / str(times), text))
    assert max(peaks) < MEMORY_MB + BESIDE_MB
    assert max(peaks) < MOST_GROWTH * min(peaks)

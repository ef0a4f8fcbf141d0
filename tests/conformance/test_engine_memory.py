"""Sorts of several times their budget stay near it, in processes of their own so that the peak is theirs."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from resources.engines.runs import sort_batches

REPOSITORY = Path(__file__).parents[2]
MIB = 1024 * 1024
BESIDE_MIB = 128
"""What a process takes beside the budget: row groups being read, batches on their way, the sorter's own code."""


@pytest.mark.slow
@pytest.mark.parametrize(("row_bytes", "total_mib"), [(0, 300), (500, 600), (200_000, 600), (5_000_000, 800)])
def test_numbers_thin_texts_books_and_huge_texts_are_sorted_within_128_mib(tmp_path, row_bytes, total_mib):
    settings = [str(tmp_path), str(row_bytes), str(total_mib), "128"]
    command = [sys.executable, "-m", "tests.conformance.big_sort", *settings]
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr
    rows_in, rows_out, peak_mib = map(int, run.stdout.split())
    assert rows_in == rows_out > 0
    assert peak_mib < 128 + BESIDE_MIB


@pytest.mark.slow
def test_a_column_with_32_bit_offsets_and_more_than_2_gib_is_sorted_under_any_budget(tmp_path):
    """Joining such a column in one piece would overflow its offsets; a larger budget must not lead there."""
    schema = pa.schema([("key", pa.int64()), ("text", pa.string())])
    texts = 2_300

    def batches():
        for key in range(texts, 0, -1):
            yield pa.record_batch([[key], pa.array([chr(97 + key % 26) * MIB])], schema)

    made = sort_batches(batches(), schema, ["key"], memory_bytes=2**40, threads=2, scratch=tmp_path)
    seen = [(row["key"], len(row["text"]), row["text"][-1]) for batch in made for row in batch.to_pylist()]
    assert seen == [(key, MIB, chr(97 + key % 26)) for key in range(1, texts + 1)]

"""Texts that took others minutes or memory without end: every stage that reads text comes to its end on them, in time
and memory that grow with the text. How fast is measured, not tested (tests/bench/bench_growth.py).
"""

import pyarrow as pa
import pytest

from corpus_assets.kernels.shingles import shingle_sets
from corpus_assets.stages.decontaminate import decontaminate
from corpus_assets.stages.eval_items import EvalText, build_index
from corpus_assets.stages.measure_documents import measure_documents
from corpus_assets.stages.normalize_documents import normalize_documents
from corpus_assets.stages.scrub_pii import scrub
from corpus_assets.stages.sign_documents import sign_documents
from formats.benchmark_rules import DecontaminationRules, EvalSet
from formats.stage_tables import RAW
from tests.bench.bench_growth import SHAPES

EIGHT = "one two three four five six seven eight"
EVALS = EvalSet("quiz", "quiz.jsonl", "0" * 64, "jsonl", ("q",))
INDEX, _ = build_index([EvalText("quiz", 0, "q", f"{EIGHT} nine")], DecontaminationRules(eval_sets=(EVALS,)))
REGIONS = ("US", "GB", "FR", "DE")


def through_every_stage(text: str) -> dict[str, object]:
    """One document through all that reads its text; what was measured of it."""
    row = {"raw_line": 0, "url": "u", "fetched_at": "2026-01-01T00:00:00Z", "license_spdx": "MIT", "text": text}
    batch = pa.RecordBatch.from_pylist([row], RAW)
    documents = normalize_documents(batch, source_id="s", raw_part=0, first_k=0)
    (signals,) = measure_documents(documents).to_pylist()
    column = documents.column("text")
    assert sign_documents(documents).num_rows == (signals["n_words"] > 0)
    assert len(shingle_sets(column)) == 1
    assert decontaminate(documents, INDEX)["eval_set"].to_pylist() == [None]
    scrubbed, _ = scrub(column, ips="public", phone_regions=REGIONS, code=False)
    again, counts = scrub(scrubbed, ips="public", phone_regions=REGIONS, code=False)
    assert again.equals(scrubbed)
    assert all(count.to_pylist() == [0] for count in counts.values())
    return {**signals, "normalized": documents.column("n_chars")[0].as_py()}


@pytest.mark.parametrize("name", SHAPES)
def test_two_hundred_kilobytes_of_it_come_to_their_end(name):
    unit = SHAPES[name]
    signals = through_every_stage(unit * (200_000 // len(unit.encode())))
    assert signals["n_chars"] == signals["normalized"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["plain words", "one word", "dots", "an address without end", "ideographs", "marks without end"]
)
def test_fifty_megabytes_of_it_come_to_their_end(name):
    unit = SHAPES[name]
    signals = through_every_stage(unit * (50_000_000 // len(unit.encode())))
    assert signals["n_chars"] == signals["normalized"] > 0

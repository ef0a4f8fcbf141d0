"""What is looked for in published texts is what decontamination would have dropped, lists of options among it."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.kernels.exact_text import normalize
from corpus_assets.kernels.ngram_places import ngram_places
from corpus_assets.plans import benchmark as benchmarks
from corpus_assets.stages.decontaminate import hits
from corpus_assets.stages.eval_items import EvalText, build_index
from corpus_assets.stages.look_for_ngrams import both_ways, ngrams_looked_for
from formats.corpus_config import from_document
from formats.errors import CorruptDataError
from tests.stages.test_decontaminate import FILLER, MARKS, options

SET = {"name": "quiz", "path": "quiz.jsonl", "sha256": "0" * 64, "format": "jsonl", "fields": ["q"]}
RULES = from_document(
    {"dataset": "d", "version": "v1", "sources": ["s"], "licenses": {"allow": ["MIT"]},
     "decontaminate": {"eval_sets": [SET]}}
).decontaminate  # fmt: skip


def column(*texts):
    return normalize(pa.array(texts, pa.large_string()))


def looked_for(folder, item, *texts):
    """id -> spans of the texts in which n-grams of the item stand."""
    path = folder / "quiz.jsonl"
    path.write_text(json.dumps({"q": item}) + "\n", "utf-8")
    grams = benchmarks.grams(benchmarks.read(path), RULES.ngram, whole_from=RULES.min_item_words)
    keys = np.unique(grams.hash).astype("<i8").tobytes()
    (folder / "wanted").write_bytes(keys)
    batch = pa.RecordBatch.from_arrays([pa.array([str(i) for i in range(len(texts))]), column(*texts)], ["id", "text"])
    args = {"path": str(folder / "wanted"), "sha256": hashlib.sha256(keys).hexdigest()}
    widths = list(range(RULES.min_item_words, RULES.ngram + 1))
    return ngrams_looked_for(batch, widths=widths, **args).to_pylist()


@pytest.mark.parametrize("text", MARKS)
@pytest.mark.parametrize("item", MARKS)
def test_an_item_is_looked_for_whatever_marks_its_options_there_and_in_the_text(tmp_path, item, text):
    index, _ = build_index([EvalText("quiz", 0, "q", options(item))], RULES)
    holds = f"{FILLER}\n{options(text)}\n{FILLER}"
    entry, _, _ = hits(column(FILLER, holds), index)
    assert (entry >= 0).tolist() == [False, True]
    found = looked_for(tmp_path, options(item), FILLER, holds)
    assert {one["id"] for one in found} == {"1"}
    assert all(holds.index("Which") <= one["start"] <= one["start"] + one["length"] <= len(holds) for one in found)


def test_a_run_without_markers_stands_once_though_it_is_found_both_ways():
    text = column(f"1) one 2) two 3) {FILLER}")
    keys = ngram_places(text, [13]).hash
    both = both_ways(text, [13], keys)
    places = list(zip(both.row.tolist(), both.hash.tolist(), both.start.tolist(), strict=True))
    assert len(places) == len(set(places)) == len(keys)


def test_a_file_of_hashes_that_is_not_the_one_told_is_refused(tmp_path):
    (tmp_path / "wanted").write_bytes(b"\0" * 16)
    batch = pa.RecordBatch.from_arrays([pa.array(["0"]), column("a b")], ["id", "text"])
    with pytest.raises(CorruptDataError, match="ask again"):
        ngrams_looked_for(batch, widths=[1], path=str(tmp_path / "wanted"), sha256="0" * 64)

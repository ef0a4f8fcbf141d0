"""Labels of pairs: what is refused, and the rate of wrong drops with its interval."""

import json

import pytest

from formats import dedup_labels
from formats.dedup_labels import LENGTH, RANDOM, Label, false_positives, wilson
from formats.errors import ConfigError

LABEL = {"dropped": "web:1", "keeper": "books:0", "drawn": "random", "jaccard": 812_345, "label": "different"}
FILE = {
    "format": "dedup-labels", "version": 1, "corpus": "small.v1", "manifest_sha256": "a" * 64, "seed": 1,
    "labels": [LABEL, {**LABEL, "dropped": "web:2", "label": "duplicate"}],
}  # fmt: skip


def test_labels_are_read_as_they_were_saved(tmp_path):
    path = tmp_path / "labels.json"
    path.write_text(json.dumps(FILE))
    found = dedup_labels.read(path)
    assert found.labels[0] == Label("web:1", "books:0", "random", 812_345, "different")
    assert (found.corpus, found.seed, len(found.labels)) == ("small.v1", 1, 2)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 2}, "version"),
        ({"format": "labels"}, "format"),
        ({"labels": []}, "labels"),
        ({"labels": [{**LABEL, "label": "same"}]}, "label: expected"),
        ({"labels": [{**LABEL, "jaccard": 1_000_001}]}, "jaccard"),
        ({"labels": [{**LABEL, "dropped": "../web:1"}]}, "dropped"),
        ({"labels": [LABEL, {**LABEL, "label": "unsure"}]}, "the pair web:1 and books:0 stands twice"),
        ({"more": 1}, "more: unknown"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_field(tmp_path, change, says):
    path = tmp_path / "labels.json"
    path.write_text(json.dumps({**FILE, **change}))
    with pytest.raises(ConfigError, match=says):
        dedup_labels.read(path)


@pytest.mark.parametrize("content", [b"", b"[1", b"\xff\xff"])
def test_what_is_no_json_is_refused(tmp_path, content):
    path = tmp_path / "labels.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="save the labels from the page again"):
        dedup_labels.read(path)


@pytest.mark.parametrize(
    ("hits", "draws", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 100, 0.0215, 0.1118), (1, 2, 0.0945, 0.9055), (0, 0, 0.0, 1.0)],
)
def test_the_interval_is_wilsons(hits, draws, low, high):
    assert wilson(hits, draws) == pytest.approx((low, high), abs=5e-5)


def test_pairs_drawn_for_their_length_are_counted_apart_and_unsure_ones_in_neither():
    said = [(RANDOM, "different"), (RANDOM, "duplicate"), (RANDOM, "unsure"), (LENGTH, "different")]
    labels = [Label(f"web:{n}", "web:9", drawn, 900_000, label) for n, (drawn, label) in enumerate(said)]
    at_random, for_length = (false_positives(labels, name) for name in (RANDOM, LENGTH))
    assert (at_random.wrong, at_random.decided, at_random.unsure, at_random.value) == (1, 2, 1, 0.5)
    assert (for_length.wrong, for_length.decided) == (1, 1)
    assert false_positives([], RANDOM).value is None

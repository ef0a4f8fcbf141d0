"""The drift audit: it names language or length, source, both values and the limit; and says where there is nothing to
compare.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from corpus_assets.plans import audit_drift
from formats.layout import Layout
from formats.naming import VersionKey
from tests.assets import tiny
from tests.plans import tampering

V1, V0 = tiny.V1, VersionKey("tiny", "v0")


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """The tiny corpus with a version before it, of the same evidence; seven documents of a source say something."""
    monkeypatch.setattr(audit_drift, "MIN_DRIFT_DOCS", 7)
    layout = tiny.copy(tmp_path / "root")
    shutil.copytree(layout.evidence(V1), layout.evidence(V0))
    shutil.copyfile(layout.lock(V1), layout.lock(V0))
    return layout


def column(name: str, change: Callable[[pa.Table], pa.Array]) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: rows.set_column(rows.column_names.index(name), rows.schema.field(name), change(rows))


def of_source(rows: pa.Table, source: str, then: pa.Scalar | pa.Array, otherwise: pa.ChunkedArray) -> pa.Array:
    return pc.if_else(pc.equal(rows.column("source_id"), source), then, otherwise)


def test_a_version_like_the_one_before_it_has_not_moved(layout: Layout) -> None:
    found = audit_drift.drift(layout, V1)
    assert found.passed
    assert found.words.startswith("against tiny.v0: languages and lengths are about the same (all sources, notes, ")
    assert (found.figures["compared"], found.figures["moved"]) == (4, 0)
    assert found.figures["largest_language_drift"] == 0
    assert found.figures["length_median"] == found.figures["length_median_before"] > 100


def test_a_language_that_moved_is_named_with_both_shares_and_the_limit(layout: Layout) -> None:
    lang = column("lang", lambda rows: of_source(rows, "web", pa.scalar("de", pa.large_string()), rows.column("lang")))
    tampering.edit_evidence(layout, V0, "documents", lang)
    found = audit_drift.drift(layout, V1)
    assert not found.passed
    assert "all sources: de 33.3% -> 0.0% of the documents (-33.3 points)" in found.words
    assert "web: en 0.0% -> 100.0% of the documents (+100.0 points)" in found.words
    assert "notes: " not in found.words
    assert found.words.endswith("a language may move by 10 points, a length by a factor of 1.25")
    assert found.figures["largest_language_drift"] == 1


@pytest.mark.parametrize(("factor", "moved"), [(2, True), (1.2, False)])
def test_lengths_that_moved_are_named_with_both_values_and_the_change(
    layout: Layout, factor: float, moved: bool
) -> None:
    def longer(rows: pa.Table) -> pa.Array:
        lengths = rows.column("n_chars")
        return of_source(rows, "tales", pc.cast(pc.multiply(lengths, factor), pa.int64(), safe=False), lengths)

    tampering.edit_evidence(layout, V1, "documents", column("n_chars", longer))
    found = audit_drift.drift(layout, V1)
    assert found.passed == (not moved)
    assert ("tales: median length " in found.words) == moved
    assert "web: " not in found.words
    if moved:
        assert " characters (+" in found.words


def test_a_few_documents_are_compared_with_nothing(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_drift, "MIN_DRIFT_DOCS", 22)
    found = audit_drift.drift(layout, V1)
    assert found.passed
    assert "nothing is compared" in found.words


def test_the_first_version_has_nothing_to_be_held_against() -> None:
    assert audit_drift.drift(tiny.built(), V1).words == "no earlier version of the dataset is published"


def test_quantiles_are_those_of_the_lengths_to_a_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = np.random.default_rng(7).lognormal(7, 1.5, 5_000).astype(np.int64) + 1
    parts = [
        pa.record_batch(
            {
                "source_id": pa.array(["web"] * len(part)),
                "verdict": pa.array(["kept"] * len(part)),
                "lang": pa.array(["en"] * len(part)),
                "n_chars": pa.array(part),
            }
        )
        for part in np.array_split(lengths, 3)
    ]
    monkeypatch.setattr(audit_drift.evidence, "read", lambda *_, **__: iter(parts))
    shape = audit_drift.shapes(Layout(Path()), V1)["web"]
    assert shape.documents == len(lengths)
    for quantile in audit_drift.QUANTILES.values():
        assert shape.length(quantile) == pytest.approx(np.quantile(lengths, quantile), rel=0.015)

"""The funnel: how many records became documents, and what became of each document, by source and reason."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from formats import dataset
from formats.dataset import Dataset
from formats.raw_set import RawSet
from formats.reasons import FILTER_BY_REASON, Reason
from formats.stage_tables import PII_KINDS


@dataclass
class SourceCounts:
    """One source: records = documents + rejects; documents = the sum of verdicts. `chars` are those of kept rows."""

    records: int = 0
    rejects: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    splits: Counter[str] = field(default_factory=Counter)
    pii: Counter[str] = field(default_factory=Counter)
    chars: int = 0

    @property
    def documents(self) -> int:
        return sum(self.verdicts.values())

    @property
    def kept(self) -> int:
        return self.verdicts[Reason.KEPT.value]

    def as_json(self) -> dict[str, Any]:
        counters = ("rejects", "verdicts", "languages", "splits", "pii")
        counted = {name: dict(sorted(getattr(self, name).items())) for name in counters}
        return {"records": self.records, "documents": self.documents, "kept": self.kept, "chars": self.chars, **counted}


@dataclass(frozen=True)
class Funnel:
    """The counts of a version, by source; sums over sources are properties."""

    sources: Mapping[str, SourceCounts]

    def total(self, name: str) -> Counter[str]:
        """A counter of SourceCounts, summed over sources."""
        total: Counter[str] = Counter()
        for counts in self.sources.values():
            total.update(getattr(counts, name))
        return total

    @property
    def dropped(self) -> dict[str, int]:
        """Documents dropped, by reason."""
        return {reason: n for reason, n in sorted(self.total("verdicts").items()) if reason != Reason.KEPT}

    @property
    def by_filter(self) -> dict[str, int]:
        """Documents dropped by filter rules, by filter."""
        found: Counter[str] = Counter()
        for reason, n in self.dropped.items():
            if reason in FILTER_BY_REASON:
                found[FILTER_BY_REASON[reason]] += n
        return dict(found)

    @property
    def pii(self) -> dict[str, int]:
        """Replacements in published rows, by kind."""
        return dict(self.total("pii"))

    @property
    def records(self) -> int:
        return sum(counts.records for counts in self.sources.values())

    @property
    def documents(self) -> int:
        return sum(counts.documents for counts in self.sources.values())

    @property
    def kept(self) -> int:
        return sum(counts.kept for counts in self.sources.values())

    def as_json(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "documents": self.documents,
            "kept": self.kept,
            "dropped": self.dropped,
            "rejects": dict(sorted(self.total("rejects").items())),
            "sources": {name: counts.as_json() for name, counts in sorted(self.sources.items())},
        }


COLUMNS = ("source_id", "verdict", "lang", "split", "n_chars", *(f"pii_{kind}" for kind in PII_KINDS))


def count(raw: Iterable[RawSet], outcomes: Dataset) -> Funnel:
    """The funnel of the evidence's documents, and of the raw sets they came from."""
    sources = {one.source_id: SourceCounts(sum(f.records for f in one.files), Counter(one.rejects)) for one in raw}
    for batch in dataset.read(outcomes.select(*COLUMNS), columns=COLUMNS):
        for source in pc.unique(batch.column("source_id")).to_pylist():
            _add(sources[source], batch.filter(pc.equal(batch.column("source_id"), source)))
    return Funnel(sources)


def _add(counts: SourceCounts, rows: pa.RecordBatch) -> None:
    counts.verdicts.update(_values(rows.column("verdict")))
    kept = rows.filter(pc.equal(rows.column("verdict"), Reason.KEPT.value))
    counts.languages.update(_values(kept.column("lang")))
    counts.splits.update(_values(kept.column("split")))
    counts.chars += pc.sum(kept.column("n_chars")).as_py() or 0
    for kind in PII_KINDS:
        counts.pii[kind] += pc.sum(kept.column(f"pii_{kind}")).as_py() or 0


def _values(column: pa.Array) -> dict[str, int]:
    return {entry["values"]: entry["counts"] for entry in pc.value_counts(column).to_pylist()}


def verdict_counts(judged: Dataset) -> Counter[str]:
    """Rows by verdict, of any stage output that has one."""
    counts: Counter[str] = Counter({Reason.KEPT.value: 0})
    for batch in dataset.read(judged, columns=("verdict",)):
        counts.update(_values(batch.column("verdict")))
    return counts

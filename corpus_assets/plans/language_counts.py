"""Documents of a source by language: how many, how sure their labels are, and what became of them. No text is read."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.pictures import Picture, bars, histogram
from corpus_assets.plans.pinned import Build, Pair
from corpus_assets.plans.source_stages import counted_signals, verdicts
from formats import dataset
from formats.dataset import Dataset
from formats.reasons import Reason
from formats.stage_tables import SIGNALS, VERDICTS

SHOWN = 20
_TENTHS, _TENTH = 10, 100


@dataclass(frozen=True)
class LanguageCounts:
    """Documents by label; by tenth of lang_score, from low to high, where there is a score."""

    languages: Counter[str]
    scores: Sequence[int]

    def largest(self) -> Picture:
        """The languages with most documents, all others as one."""
        most = dict(self.languages.most_common(SHOWN))
        if others := self.languages.total() - sum(most.values()):
            most["others"] = others
        return bars("documents by language", most, highlight="")

    def of_scores(self) -> Picture:
        edges = [f"{i / _TENTHS:g}" for i in range(_TENTHS + 1)]
        return histogram("documents by lang_score", list(self.scores), edges, unit="documents")


def language_counts(signals: Dataset) -> LanguageCounts:
    """Of SIGNALS."""
    languages: Counter[str] = Counter()
    scores = [0] * _TENTHS
    for batch in dataset.read(signals, columns=("lang", "lang_score")):
        for one in pc.value_counts(batch.column("lang")).to_pylist():
            languages[one["values"]] += one["counts"]
        for one in pc.value_counts(pc.divide(batch.column("lang_score").drop_null(), _TENTH)).to_pylist():
            scores[min(one["values"], _TENTHS - 1)] += one["counts"]
    return LanguageCounts(languages, scores)


def verdicts_by_language(build: Build, pair: Pair) -> dict[str, Counter[str]]:
    """Language -> verdict -> documents of one source."""
    found: dict[str, Counter[str]] = {}
    measured, judged = counted_signals(build, pair).open(), verdicts(build, pair).open()
    for mine, theirs in zip(measured.shards, judged.shards, strict=True):
        lang = pa.Table.from_batches(dataset.read_shard(mine, columns=["lang"]), pa.schema([SIGNALS.field("lang")]))
        verdict = pa.Table.from_batches(
            dataset.read_shard(theirs, columns=["verdict"]), pa.schema([VERDICTS.field("verdict")])
        )
        rows = lang.append_column("verdict", verdict["verdict"]).group_by(["lang", "verdict"])
        for row in rows.aggregate([([], "count_all")]).to_pylist():
            found.setdefault(row["lang"], Counter())[row["verdict"]] += row["count_all"]
    return found


def kept_by_language(counts: dict[str, Counter[str]]) -> Picture:
    """What is kept of the largest languages, in thousandths."""
    kept = Reason.KEPT.value
    most = sorted(counts, key=lambda code: (-counts[code].total(), code))[:SHOWN]
    shares = {code: round(1000 * counts[code][kept] / counts[code].total()) for code in most}
    return bars("kept of a language's documents, in thousandths", shares, highlight="")

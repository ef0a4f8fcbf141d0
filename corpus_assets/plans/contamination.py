"""A benchmark against a snapshot that was trained on: which items stand in its documents, where, and at which steps a
run was served them.

Asked of the n-gram index that the snapshot pins, which needs no text; or looked for in the published texts, which is
exact. The rule is that of decontamination. Memory: the benchmark's n-grams, and up to `MAX_PLACES` places of each.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Literal

import numpy as np

from corpus_assets.kernels.fuse_filter import FALSE_POSITIVE_RATE
from corpus_assets.kernels.words import word_count
from corpus_assets.plans import benchmark as benchmarks
from corpus_assets.plans import ngram_hits
from corpus_assets.plans.benchmark import Benchmark, Grams
from corpus_assets.plans.contaminated_items import HitItem, items_hit
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.ngram_hits import MAX_PLACES, Hits
from corpus_assets.plans.published_version import PublishedVersion
from corpus_assets.plans.snapshot_corpus import corpus_of, version_of
from corpus_assets.plans.trained_documents import TrainedDocuments, trained_documents
from formats import ngram_index, yank
from formats.corpus_manifest import NAME_ON_DISK
from formats.errors import ConfigError
from formats.layout import Layout
from formats.ngram_index import FOLDER, NgramIndex
from formats.run_record import RunRecord
from formats.snapshot import manifest
from formats.snapshot.manifest import Snapshot
from resources.engines.contract import Engine

Source = Literal["index", "corpus"]
Z = 1.959963984540054
"""Of a two-sided interval of 95 %."""
LIMIT = "copied text alone is found: no paraphrase, no translation"


@dataclass(frozen=True)
class Rule:
    """How it was looked: runs of `ngram` words, one in `rate` by hash; texts of `whole_from` words up to these as a
    whole, None where no such text was looked for. `false_positive_rate` is that of one n-gram.
    """

    read_from: Source
    ngram: int
    rate: int
    whole_from: int | None
    false_positive_rate: float
    index_sha256: str | None

    def miss_chance(self, num_ngrams: int) -> float:
        """That none of so many copied n-grams is among those looked for."""
        return float((1 - 1 / self.rate) ** num_ngrams)


@dataclass(frozen=True)
class Counts:
    """items = checked + too_short + short + not_sampled + without_field, and hit is part of checked. `too_short`: no
    text of the item has the words that the rule asks for; `short`: a text has them, and only the corpus could tell;
    `not_sampled`: no n-gram of the item is among those that the index holds one of; `without_field`: it has none of
    the fields that were named.
    """

    items: int
    checked: int
    hit: int
    too_short: int
    short: int
    not_sampled: int
    without_field: int = 0

    @property
    def rate(self) -> float | None:
        return self.hit / self.checked if self.checked else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's score interval, 95 %, of the share of such items: those checked are taken as a sample of them."""
        if not self.checked:
            return None
        n, share = self.checked, self.hit / self.checked
        middle, spread = share + Z * Z / (2 * n), Z * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
        low, high = (middle - spread) / (1 + Z * Z / n), (middle + spread) / (1 + Z * Z / n)
        return (0.0 if self.hit == 0 else low, 1.0 if self.hit == n else high)


@dataclass(frozen=True)
class Contamination:
    """What was found. `expected_false` of the items hit are so by chance, for a filter; `documents` is None for one."""

    snapshot_id: str
    version: str
    benchmark: str
    benchmark_sha256: str
    fields: tuple[str, ...]
    rule: Rule
    counts: Counts
    expected_false: float
    items: tuple[HitItem, ...]
    documents: TrainedDocuments | None
    notes: tuple[str, ...]

    @property
    def numbers(self) -> frozenset[int]:
        return frozenset(item.item for item in self.items)


@dataclass(frozen=True)
class _Where:
    """What can be asked: each is None where it is not there, and `why_not` says why of the corpus."""

    index: NgramIndex | None
    corpus: PublishedVersion | None
    why_no_index: str
    why_no_corpus: str


def check(
    layout: Layout,
    snapshot_id: str,
    benchmark: Benchmark,
    engine: Callable[[], Engine],
    *,
    read_from: Source | None = None,
    index_folder: Path | None = None,
    record: RunRecord | None = None,
) -> Contamination:
    """Check a benchmark. By default the corpus is read where it is there and can say more (there is no index, or a text
    is too short for it), else the index.

    Raises ConfigError where nothing can be asked, or not what `read_from` wants; CorruptDataError for files that are
    not what snapshot, lock and seal say; OrderError for a record of another snapshot.
    """
    snapshot = manifest.read(layout.root, snapshot_id)
    where = _where(layout, snapshot, index_folder, read_from)
    rule = _rule(where, benchmark, read_from)
    grams = benchmarks.grams(benchmark, rule.ngram, rate=rule.rate, whole_from=rule.whole_from)
    if rule.read_from == "index" and where.index:
        hits = ngram_hits.of_index(where.index, grams.hash)
    elif where.corpus:
        hits = ngram_hits.of_texts(engine(), where.corpus, _widths(benchmark, rule), grams.hash)
    items = items_hit(benchmark, grams, hits)
    ids = None if hits.places is None else hits.places["id"]
    return Contamination(
        snapshot_id=snapshot_id,
        version=str(version_of(snapshot)),
        benchmark=str(benchmark.path),
        benchmark_sha256=benchmark.sha256,
        fields=benchmark.fields,
        rule=rule,
        counts=_counts(benchmark, grams, rule, _min_words(where), len(items)),
        expected_false=_expected_false(benchmark, grams, rule),
        items=items,
        documents=None if ids is None else trained_documents(layout, snapshot, ids, record),
        notes=(*_yanked(layout, snapshot), *_notes(benchmark, rule, _min_words(where), hits)),
    )


def _yanked(layout: Layout, snapshot: Snapshot) -> list[str]:
    return [str(record)] if (record := yank.of_snapshot(layout.root, snapshot)) else []


def _where(layout: Layout, snapshot: Snapshot, folder: Path | None, read_from: Source | None) -> _Where:
    key = version_of(snapshot)
    index, corpus = None, None
    why_no_index = f"the snapshot pins none: the config of {key} asked for none when it was made"
    why_no_corpus = f"version {key} is not below {layout.root}"
    pinned = snapshot.document["stage_versions"].get(FOLDER)
    if pinned is None and folder is not None:
        raise ConfigError(f"--index {folder}: {why_no_index}; leave it out")
    if pinned is not None and read_from != "corpus":
        place = layout.evidence(key) / FOLDER if folder is None else folder
        if place.is_dir():
            index = ngram_index.read(place, pinned)
        else:
            why_no_index = f"{place} is missing; copy the index there, or name its folder with --index"
    if (layout.version(key) / NAME_ON_DISK).exists() and read_from != "index":
        found = corpus_of(layout, snapshot)
        corpus, why_no_corpus = found.version, found.why_not
    return _Where(index, corpus, why_no_index, why_no_corpus)


def _rule(where: _Where, benchmark: Benchmark, read_from: Source | None) -> Rule:
    if read_from == "index" and where.index is None:
        raise ConfigError(f"the index cannot be asked: {where.why_no_index}")
    if read_from == "corpus" and where.corpus is None:
        raise ConfigError(f"the corpus cannot be read: {where.why_no_corpus}")
    if where.index is None and where.corpus is None:
        raise ConfigError(
            f"nothing can be asked: of the index, {where.why_no_index}; of the corpus, {where.why_no_corpus}"
        )
    head = where.index.head if where.index else None
    if where.corpus is not None:
        rules = where.corpus.config().decontaminate
        is_short = (benchmark.words >= rules.min_item_words) & (benchmark.words < rules.ngram)
        if head is None or is_short.any():
            return Rule("corpus", rules.ngram, 1, rules.min_item_words, 0.0, None)
    if where.index is None or head is None:  # one of them is there
        raise ConfigError(f"the index cannot be asked: {where.why_no_index}")
    chance = FALSE_POSITIVE_RATE if head.form == "filter" else 0.0
    return Rule("index", head.ngram, head.rate, None, chance, where.index.sha256)


def _min_words(where: _Where) -> int:
    """From how many words a text counts as a whole."""
    if where.index is not None:
        return where.index.head.min_item_words
    if where.corpus is None:
        raise ConfigError(f"nothing can be asked: {where.why_no_corpus}")
    return where.corpus.config().decontaminate.min_item_words


def _widths(benchmark: Benchmark, rule: Rule) -> list[int]:
    """How many words the n-grams have that are looked for."""
    shortest = rule.ngram if rule.whole_from is None else rule.whole_from
    words = np.concatenate([benchmark.words, word_count(benchmark.unmarked).to_numpy()])
    return sorted({rule.ngram, *np.minimum(words[words >= shortest], rule.ngram).tolist()})


def _counts(benchmark: Benchmark, grams: Grams, rule: Rule, min_words: int, hit: int) -> Counts:
    item_of = benchmark.item_of
    checked = np.unique(item_of[np.unique(grams.text)])
    long = np.setdiff1d(item_of[benchmark.words >= rule.ngram], checked)
    short = np.setdiff1d(item_of[(benchmark.words >= min_words) & (benchmark.words < rule.ngram)], checked)
    short = np.setdiff1d(short, long)
    without = benchmark.num_without_field
    rest = benchmark.num_items - len(checked) - len(long) - len(short) - without
    return Counts(benchmark.num_items, len(checked), hit, rest, len(short), len(long), without)


def _expected_false(benchmark: Benchmark, grams: Grams, rule: Rule) -> float:
    """Items that a filter would say are hit if none was."""
    if not rule.false_positive_rate or not grams.hash.size:
        return 0.0
    pairs = np.unique(np.stack([benchmark.item_of[grams.text], grams.hash]), axis=1)
    _, distinct = np.unique(pairs[0], return_counts=True)
    return float((1 - (1 - rule.false_positive_rate) ** distinct).sum())


def _notes(benchmark: Benchmark, rule: Rule, min_words: int, hits: Hits) -> list[str]:
    notes = []
    if not benchmark.num_items:
        notes.append("the benchmark is empty: it has no item, so nothing was looked for")
    if some := benchmark.num_with_some_fields:
        notes.append(f"of {plural(some, 'item')} some of the named fields are missing: looked for by those they have")
    short = benchmark.item_of[(benchmark.words >= min_words) & (benchmark.words < rule.ngram)]
    if rule.read_from == "index" and short.size:
        told = "the index holds none so short; the corpus could tell (--from corpus, where it is there)"
        where = plural(len(np.unique(short)), "item")
        notes.append(f"texts of {min_words} to {rule.ngram - 1} words in {where} were not looked for: {told}")
    if rule.read_from == "index" and (lists := benchmark.item_of[benchmark.unmarked_of]).size:
        has = "has a list of options" if (items := len(np.unique(lists))) == 1 else "have lists of options"
        notes.append(
            f"{plural(items, 'item')} {has}, looked for with their letters and numbers and without; a document whose "
            "list has others is found by the corpus alone (--from corpus, where it is there)"
        )
    if rule.read_from == "index" and hits.places is None:
        notes.append("the index is a filter: it says which items are hit, not by which documents")
    if hits.num_cut:
        notes.append(
            f"{hits.num_cut:,} n-grams stand in more than {MAX_PLACES} places; the first {MAX_PLACES} of each are told"
        )
    return notes

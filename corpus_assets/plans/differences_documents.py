"""Which documents differ between two versions or two snapshots, by their indexes: on request, since they are large.

Documents are the same where their content is: by doc_id, the n-th of equal ones with the n-th. Snapshots name documents
by place, `<source>:<k>`; where the raw set of a source is another, its places are looked up in the corpus, if it is
there. Memory: names and fates of one source of two versions; of two snapshots those of all documents.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.differences_scores import scores_of
from corpus_assets.plans.published_version import PublishedVersion
from corpus_assets.plans.snapshot_corpus import SnapshotCorpus, names_of
from formats import evidence
from formats.languages import UNDETERMINED
from formats.reasons import Reason
from formats.snapshot.manifest import SPLITS, Snapshot
from formats.snapshot.pieces import Pieces
from formats.stage_tables import PII_KINDS

MAX_EXAMPLES = 20
"""Documents of each kind of change that are named; all are counted."""
ROWS = pa.schema(
    [("key", pa.large_string()), ("id", pa.large_string()), ("fate", pa.large_string()), ("more", pa.large_string())]
)
"""A document: what tells it from others, its id, what became of it, and what may differ where the fate does not."""
_LANG = pa.field("lang", pa.large_string())
"""Of a version's document, beside ROWS."""

Pair = tuple[str | None, str | None]
"""The ids of a document on either side."""


@dataclass(frozen=True)
class Example:
    """A document by its id on either side; None where it is not there. Scores are those of models, by name."""

    source: str
    left: str | None
    right: str | None
    change: str
    left_scores: dict[str, float] = field(default_factory=dict)
    right_scores: dict[str, float] = field(default_factory=dict)


@dataclass
class DocumentDifferences:
    """`changes`: source -> what changed -> documents; `same`: how many did not change. `kept`: of two versions, how
    many documents `both` publish, `A alone` and `B alone`; `languages`: the same by language.
    """

    num_same: int = 0
    kept: dict[str, int] = field(default_factory=dict)
    languages: dict[str, dict[str, int]] = field(default_factory=dict)
    changes: dict[str, dict[str, int]] = field(default_factory=dict)
    examples: list[Example] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def same(self) -> bool:
        return not self.changes

    def add(self, source: str, left: pa.Table, right: pa.Table, more_words: str) -> None:
        """Compare the documents of one source, two tables of ROWS."""
        at_left, at_right = _matched(left["key"], right["key"])
        counts: Counter[str] = Counter()
        for side, mine, matched in (("A", left, at_left), ("B", right, at_right)):
            alone = mine.take(pa.array(np.setdiff1d(np.arange(mine.num_rows), matched)))
            for fate in sorted(pc.unique(alone["fate"]).to_pylist()):
                ids = alone.filter(pc.equal(alone["fate"], fate))["id"].to_pylist()
                pairs = [(i, None) if side == "A" else (None, i) for i in ids]
                self._note(source, f"only in {side}: {fate}", pairs, counts)
        one, other = left.take(pa.array(at_left)), right.take(pa.array(at_right))
        fate = pc.not_equal(one["fate"], other["fate"])
        more = pc.and_(pc.invert(fate), pc.not_equal(one["more"], other["more"]))
        self.num_same += int(pc.sum(pc.invert(pc.or_(fate, more))).as_py() or 0)
        moved, moved_to = one.filter(fate), other.filter(fate)
        words = pc.binary_join_element_wise(moved["fate"], moved_to["fate"], pa.scalar(" -> ", pa.large_string()))
        changed = list(zip(moved["id"].to_pylist(), moved_to["id"].to_pylist(), strict=True))
        for change in pc.unique(words).to_pylist():
            chosen = np.flatnonzero(pc.equal(words, change).to_numpy())
            self._note(source, change, [changed[i] for i in chosen], counts)
        others = list(zip(one.filter(more)["id"].to_pylist(), other.filter(more)["id"].to_pylist(), strict=True))
        self._note(source, more_words, others, counts)
        if counts:
            self.changes[source] = dict(sorted(counts.items()))

    def _note(self, source: str, change: str, pairs: Sequence[Pair], counts: Counter[str]) -> None:
        if pairs:
            counts[change] += len(pairs)
            room = MAX_EXAMPLES - sum(one.change == change for one in self.examples)
            self.examples += [Example(source, left, right, change) for left, right in pairs[:room]]


def _matched(left: pa.ChunkedArray, right: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Which rows of either side are the same document: the n-th of a key with the n-th."""
    both = pa.chunked_array([*left.chunks, *right.chunks], pa.large_string()).combine_chunks()
    codes = pc.dictionary_encode(both).indices.to_numpy().astype(np.int64)
    sides = []
    for mine in (codes[: len(left)], codes[len(left) :]):
        by_key = np.argsort(mine, kind="stable")
        begins = np.searchsorted(mine[by_key], mine[by_key])
        nth = np.empty(len(mine), np.int64)
        nth[by_key] = np.arange(len(mine)) - begins
        sides.append(mine * (len(both) + 1) + nth)
    _, at_left, at_right = np.intersect1d(sides[0], sides[1], assume_unique=True, return_indices=True)
    order = np.argsort(at_left)
    return at_left[order], at_right[order]


def documents_of_versions(left: PublishedVersion, right: PublishedVersion) -> DocumentDifferences:
    """Every raw document of either version, kept or not: content that came or went, fates, splits, replaced PII."""
    result = DocumentDifferences(kept=dict.fromkeys(("both", "A alone", "B alone"), 0))
    for source, one, other in _merged(_sources_of(left), _sources_of(right)):
        result.add(source, one, other, "same fate, other PII replaced")
        _add_kept(result, one, other)
    languages = sorted(result.languages.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    result.languages = {lang: {name: counts[name] for name in result.kept} for lang, counts in languages}
    scores = [
        scores_of(version, (name for one in result.examples if (name := getattr(one, side)) is not None))
        for version, side in ((left, "left"), (right, "right"))
    ]
    result.examples = [
        replace(one, left_scores=scores[0].get(one.left or "", {}), right_scores=scores[1].get(one.right or "", {}))
        for one in result.examples
    ]
    return result


def _add_kept(result: DocumentDifferences, left: pa.Table, right: pa.Table) -> None:
    """Counts what both sides publish, and what one alone does; the language is that of the side that does, A first."""
    one, other = (side.filter(pc.starts_with(side["fate"], Reason.KEPT.value)) for side in (left, right))
    at_left, at_right = _matched(one["key"], other["key"])
    alone = [np.setdiff1d(np.arange(side.num_rows), at) for side, at in ((one, at_left), (other, at_right))]
    for name, side, rows in (("both", one, at_left), ("A alone", one, alone[0]), ("B alone", other, alone[1])):
        result.kept[name] += len(rows)
        if len(rows):
            for entry in pc.value_counts(side["lang"].take(pa.array(rows))).to_pylist():
                counts = result.languages.setdefault(entry["values"] or UNDETERMINED, dict.fromkeys(result.kept, 0))
                counts[name] += entry["counts"]


def _sources_of(version: PublishedVersion) -> Iterator[tuple[str, pa.Table]]:
    """(source, its ROWS), sources by name, as the evidence has them."""
    columns = ["source_id", "doc_id", "id", "verdict", "split", "lang", *(f"pii_{kind}" for kind in PII_KINDS)]
    batches = evidence.read(version.evidence, "documents", columns=columns)
    pieces = (
        (source, batch.filter(pc.equal(batch["source_id"], source)))
        for batch in batches
        for source in pc.unique(batch["source_id"]).to_pylist()
    )
    for source, group in groupby(pieces, key=lambda piece: piece[0]):
        table = pa.Table.from_batches([rows for _, rows in group])
        kept = pc.binary_join_element_wise(table["verdict"], table["split"], pa.scalar(", ", pa.large_string()))
        fate = pc.if_else(pc.equal(table["verdict"], "kept"), kept, table["verdict"])
        counts = [pc.fill_null(pc.cast(table[f"pii_{kind}"], pa.large_string()), "-") for kind in PII_KINDS]
        pii = pc.binary_join_element_wise(*counts, pa.scalar(" ", pa.large_string()))
        rows = pa.table([table["doc_id"], table["id"], fate, pii], schema=ROWS)
        yield source, rows.append_column(_LANG, table["lang"].cast(_LANG.type))


def _merged(
    left: Iterable[tuple[str, pa.Table]], right: Iterable[tuple[str, pa.Table]]
) -> Iterator[tuple[str, pa.Table, pa.Table]]:
    """Two streams sorted by source side by side, with an empty table where only one has a source."""
    sides = [iter(left), iter(right)]
    heads = [next(side, None) for side in sides]
    empty = ROWS.append(_LANG).empty_table()
    while any(head is not None for head in heads):
        source = min(head[0] for head in heads if head is not None)
        mine = [head[1] if head is not None and head[0] == source else empty for head in heads]
        heads = [
            next(side, None) if head is not None and head[0] == source else head
            for side, head in zip(sides, heads, strict=True)
        ]
        yield source, mine[0], mine[1]


def documents_of_snapshots(
    left: tuple[Snapshot, SnapshotCorpus, dict[str, str]], right: tuple[Snapshot, SnapshotCorpus, dict[str, str]]
) -> DocumentDifferences:
    """Every document of either snapshot: which one has it, in which split, with how many tokens. A side is the
    snapshot, its corpus, and the raw sets of its sources.
    """
    result = DocumentDifferences()
    for source, one, other in _merged(*(sorted(_held(snapshot).items()) for snapshot, _, _ in (left, right))):
        raw_sets = left[2].get(source), right[2].get(source)
        if (raw_sets[0] != raw_sets[1] or raw_sets[0] is None) and one.num_rows and other.num_rows:
            gone = [side[1].why_not for side in (left, right) if side[1].version is None]
            if gone:
                why = f"its raw sets are others, and {gone[0]}"
                result.notes.append(f"documents of {source} cannot be compared: {why}")
                continue
            one, other = _by_content(one, left[1]), _by_content(other, right[1])
        result.add(source, one, other, "other number of tokens")
    return result


def _held(snapshot: Snapshot) -> dict[str, pa.Table]:
    """source -> its ROWS: the fate is the split, and `more` the tokens."""
    parts = []
    for split in SPLITS:
        for shard in snapshot.shards(split):
            pieces = Pieces(snapshot, shard)
            columns = {"id": pieces.ids.cast(pa.large_string()), "tokens": pa.array(pieces.length)}
            sums = pa.table(columns).group_by("id").aggregate([("tokens", "sum")])
            parts.append(sums.append_column("fate", pa.array([split] * sums.num_rows, pa.large_string())))
    if not parts:
        return {}
    whole = pa.concat_tables(parts).group_by(["id", "fate"]).aggregate([("tokens_sum", "sum")]).sort_by("id")
    sources = pc.replace_substring_regex(whole["id"], ":[^:]*$", "")
    rows = pa.table(
        [whole["id"], whole["id"], whole["fate"], whole["tokens_sum_sum"].cast(pa.large_string())], schema=ROWS
    )
    return {source: rows.filter(pc.equal(sources, source)) for source in pc.unique(sources).to_pylist()}


def _by_content(rows: pa.Table, corpus: SnapshotCorpus) -> pa.Table:
    names = names_of(corpus, rows["id"].to_pylist())
    keys = pa.array([names[one].doc_id for one in rows["id"].to_pylist()], pa.large_string())
    return rows.set_column(0, ROWS.field("key"), keys)

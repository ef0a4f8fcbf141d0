"""Pairs of a published version for people to look at: near duplicates beside the documents that stayed instead.

Pairs are drawn by the hash of seed and id: the same version and seed give the same pairs. Memory: some 30 bytes for
each document that has a duplicate, and the texts of the pairs.
"""

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.exact_text import normalize, text_digests
from corpus_assets.plans.dedup_report import key_of, unlike_their_cluster
from corpus_assets.plans.evidence_lookup import DocumentRows
from corpus_assets.plans.published_version import PublishedVersion
from formats import evidence, raw_set_rows
from formats.dedup_labels import LENGTH, RANDOM
from formats.errors import ConfigError, CorruptDataError
from formats.reasons import Reason

LENGTH_SHARE = 4
"""One pair in so many is drawn for its keeper's length, where there are any."""
_COLUMNS = ("id", "n_chars", "verdict", "cluster", "keeper_id")
_TODO = "it and the evidence are of two builds; restore both from a copy, or build the version again"


@dataclass(frozen=True)
class Side:
    """One document of a pair."""

    id: str
    url: str
    crawl_date: str
    source_rank: int
    quality: int | None
    doc_id: str
    n_words: int
    n_chars: int
    text: str


@dataclass(frozen=True)
class SampledPair:
    """A dropped document and its keeper; `jaccard` in millionths. `length_alarm`: the keeper is unlike its cluster."""

    dropped: Side
    keeper: Side
    jaccard: int
    cluster: str
    drawn: str
    length_alarm: bool

    @property
    def why(self) -> str:
        """What puts the keeper first in keeper order, in words."""
        mine, other = self.keeper, self.dropped
        if mine.source_rank != other.source_rank:
            return f"source_rank {mine.source_rank} comes before {other.source_rank}"
        if (mine.quality or 0) != (other.quality or 0):
            return f"quality {mine.quality} is above {other.quality}"
        if mine.crawl_date != other.crawl_date:
            return f"crawled {mine.crawl_date}, before {other.crawl_date}"
        return f"same rank, quality and date; doc_id {mine.doc_id[:8]}… comes before {other.doc_id[:8]}…"


@dataclass(frozen=True)
class Drawn:
    """The pairs, and how many there are to draw from: near duplicates, and those of them with a length alarm."""

    pairs: list[SampledPair]
    num_near: int
    num_alarmed: int


def draw(version: PublishedVersion, n: int, seed: int) -> Drawn:
    """`n` pairs, or all where there are fewer: one in LENGTH_SHARE drawn for a length alarm, the others from all alike.

    A pair that is drawn both ways counts as drawn from all alike, else that sample would be no fair one.
    Raises ConfigError where a raw set is gone, CorruptDataError for what changed since the version was published.
    """
    alarmed = _alarmed_keepers(version)
    at_random: list[tuple[int, str]] = []
    for_length: list[tuple[int, str]] = []
    num_near = num_alarmed = 0
    for one, keeper in _near(version):
        place = -int.from_bytes(hashlib.sha256(f"{seed} {one}".encode()).digest()[:8], "big")
        num_near += 1
        _keep(at_random, (place, one), n)
        if keeper in alarmed:
            num_alarmed += 1
            _keep(for_length, (place, one), n)
    drawn = _both_ways(_in_order(for_length), _in_order(at_random), n)
    return Drawn(_pairs(version, drawn, alarmed), num_near, num_alarmed)


def _in_order(held: list[tuple[int, str]]) -> list[str]:
    """Ids by ascending hash, which is held negated."""
    return [one for _, one in sorted(held, reverse=True)]


def _both_ways(for_length: list[str], at_random: list[str], n: int) -> dict[str, str]:
    """{id: how it was drawn}, those for their length first. Each list is the first `n` in the order of drawing."""
    quota, alarmed = n // LENGTH_SHARE, set(for_length)
    taken = n - quota
    waiting = len(alarmed.difference(at_random[:taken]))
    while taken < len(at_random) and taken + min(quota, waiting) < n:
        waiting -= at_random[taken] in alarmed
        taken += 1
    fair = dict.fromkeys(at_random[:taken], RANDOM)
    beside = [one for one in for_length if one not in fair][: n - taken]
    return dict.fromkeys(beside, LENGTH) | fair


def _keep(held: list[tuple[int, str]], one: tuple[int, str], n: int) -> None:
    """Hold the `n` largest: those of the smallest hashes."""
    if len(held) < n:
        heapq.heappush(held, one)
    elif n:
        heapq.heappushpop(held, one)


def _near(version: PublishedVersion) -> Iterator[tuple[str, str]]:
    """(id, keeper's id) of every near duplicate."""
    for batch in evidence.read(version.evidence, "documents", columns=_COLUMNS):
        rows = batch.filter(pc.equal(batch.column("verdict"), Reason.NEAR_DUPLICATE.value))
        yield from zip(rows.column("id").to_pylist(), rows.column("keeper_id").to_pylist(), strict=True)


def _alarmed_keepers(version: PublishedVersion) -> set[str]:
    """Ids of documents with duplicates that stayed and are unlike their cluster in length."""
    clusters = np.unique(np.concatenate([np.zeros(0, np.int64), *_clusters_with_drops(version)]))
    cluster, chars, kept, ids = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.bool_)], list[str]()
    for batch in evidence.read(version.evidence, "documents", columns=_COLUMNS):
        batch = batch.filter(pc.is_valid(batch.column("cluster")))
        key = key_of(batch.column("cluster"))
        mine = np.flatnonzero(np.isin(key, clusters))
        rows = batch.take(pa.array(mine))
        stays = pc.is_null(rows.column("keeper_id")).to_numpy(zero_copy_only=False)
        cluster.append(key[mine])
        chars.append(rows.column("n_chars").to_numpy())
        kept.append(stays)
        ids += rows.column("id").filter(pa.array(stays)).to_pylist()
    stays = np.concatenate(kept)
    ratio = version.config().dedup.near.max_keeper_length_ratio
    far = unlike_their_cluster(np.concatenate(cluster), np.concatenate(chars), ratio)[stays]
    return {one for one, unlike in zip(ids, far, strict=True) if unlike}


def _clusters_with_drops(version: PublishedVersion) -> Iterator[np.ndarray]:
    for batch in evidence.read(version.evidence, "documents", columns=_COLUMNS):
        dropped = pc.and_(pc.is_valid(batch.column("cluster")), pc.is_valid(batch.column("keeper_id")))
        yield np.unique(key_of(batch.column("cluster").filter(dropped)))


def _pairs(version: PublishedVersion, drawn: Mapping[str, str], alarmed: set[str]) -> list[SampledPair]:
    found = DocumentRows(version)
    dropped = {one: _row(found, one) for one in drawn}
    keepers = {row["keeper_id"]: _row(found, row["keeper_id"]) for row in dropped.values()}
    texts = _texts(version, [*dropped.values(), *keepers.values()])
    pairs = []
    for one, how in drawn.items():
        row = dropped[one]
        keeper = keepers[row["keeper_id"]]
        one_side, other_side = (_side(version, each, *texts[each["id"]]) for each in (row, keeper))
        alarm = keeper["id"] in alarmed
        jaccard = int(row["keeper_jaccard"])
        pairs.append(SampledPair(one_side, other_side, jaccard, row["cluster"], how, alarm))
    return pairs


def _row(found: DocumentRows, one: str) -> dict[str, Any]:
    source, _, k = one.partition(":")
    row = found.at(source, int(k))
    if row is None:
        raise ConfigError(f"{one} has no row in the evidence; build the version again")
    return row


def _side(version: PublishedVersion, row: Mapping[str, Any], text: str, crawl_date: str) -> Side:
    named = {name: row[name] for name in ("id", "url", "quality", "doc_id", "n_words", "n_chars")}
    return Side(crawl_date=crawl_date, source_rank=version.rows[row["source_id"]].source_rank, text=text, **named)


def _texts(version: PublishedVersion, rows: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """{id: (normalized text, crawl date)}; each raw part is read once."""
    wanted: dict[tuple[str, int], dict[int, Mapping[str, Any]]] = {}
    for row in rows:
        wanted.setdefault((row["source_id"], row["raw_part"]), {})[row["raw_line"]] = row
    found = {}
    for (source, number), lines in sorted(wanted.items()):
        raw = version.raw_set(source)
        if raw is None:
            raise ConfigError(
                f"the raw set of {source} that {version.key} was made of is gone; build the version again"
            )
        part = raw.parts[number]
        for batch in raw_set_rows.read_part(part, columns=("raw_line", "fetched_at", "text")):
            at = np.flatnonzero(np.isin(batch.column("raw_line").to_numpy(), list(lines)))
            some = batch.take(pa.array(at))
            texts = normalize(some.column("text").cast(pa.large_string()))
            for line, date, text, digest in zip(
                *(some.column(name).to_pylist() for name in ("raw_line", "fetched_at")),
                texts.to_pylist(),
                text_digests(texts).to_pylist(),
                strict=True,
            ):
                row = lines[line]
                if digest != row["text_digest"]:
                    said = row["text_digest"].hex()
                    raise CorruptDataError(part.path, f"digest of line {line}", said, digest.hex(), _TODO)
                found[row["id"]] = (text, date)
    return found

"""What one published version holds of what is to be taken down: rows of shards, copies found elsewhere, raw sets.

Read are seven columns of the evidence's documents (of a source: its own parts alone), not one text.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.evidence_lookup import DocumentRows, anywhere
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.published_version import PublishedVersion
from corpus_assets.plans.takedown_target import Target
from corpus_assets.plans.web_addresses import names_places, what_to_do
from corpus_assets.stages.web_addresses import has_address
from formats.reasons import Reason

MAX_LISTED = 100_000
"""Rows of a version that are listed; all are counted."""
_COLUMNS = ("id", "url", "source_id", "verdict", "shard", "row", "keeper_id")


@dataclass
class HeldShard:
    """`rows` of one shard; the first of them with place in the shard, from 0, and id."""

    shard: str
    rows: int = 0
    listed: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Copy:
    """A published document elsewhere, of which one that is taken down was dropped as a duplicate."""

    id: str
    url: str
    of: str


@dataclass
class VersionHolding:
    """What one version holds: documents = published + dropped; `sources` counts all of them by source. `copies` are
    texts that stay because they were found elsewhere, too; `raw` says in which raw sets documents lie, of all;
    `other_pages` counts documents under a URL that are not exactly that page.
    """

    version: str
    documents: int = 0
    published: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    shards: list[HeldShard] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    raw: dict[str, int] = field(default_factory=dict)
    other_pages: int = 0

    @property
    def is_held(self) -> bool:
        return bool(self.published or self.copies or self.raw)


def held_by(version: PublishedVersion, target: Target, not_searched: list[str]) -> tuple[VersionHolding, pa.Array]:
    """What a version holds, and the ids of what it published of that. What could not be searched is told in
    `not_searched`.
    """
    holding, rows = VersionHolding(str(version.key)), DocumentRows(version)
    found = (
        rows.of_source(target.source, _COLUMNS)
        if target.source is not None
        else _of_site(version, rows, target, not_searched)
    )
    shards: dict[int, HeldShard] = {}
    first_rows = _first_rows(version)
    published, listed = [pa.array([], pa.large_string())], 0
    keepers: dict[str, str] = {}
    sources: Counter[str] = Counter()
    for batch in found:
        holding.documents += batch.num_rows
        holding.other_pages += target.other_pages(batch.column("url"))
        for entry in pc.value_counts(batch.column("verdict")).to_pylist():
            holding.dropped[entry["values"]] = holding.dropped.get(entry["values"], 0) + entry["counts"]
        sources.update({e["values"]: e["counts"] for e in pc.value_counts(batch.column("source_id")).to_pylist()})
        copied = batch.filter(pc.is_valid(batch.column("keeper_id")))
        keepers |= dict(zip(copied.column("keeper_id").to_pylist(), copied.column("id").to_pylist(), strict=True))
        kept = batch.filter(pc.is_valid(batch.column("shard")))
        published.append(kept.column("id"))
        for entry in pc.value_counts(kept.column("shard")).to_pylist():
            shard = shards.setdefault(entry["values"], HeldShard(_shard_name(version, entry["values"])))
            shard.rows += entry["counts"]
        few = kept.slice(0, MAX_LISTED - listed)
        listed += few.num_rows
        for number, row, name in zip(*(few.column(c).to_pylist() for c in ("shard", "row", "id")), strict=True):
            shards[number].listed.append((row - first_rows[number], name))
    ids = pa.concat_arrays(published)
    holding.published = holding.dropped.pop(Reason.KEPT.value, 0)
    holding.dropped = dict(sorted(holding.dropped.items()))
    holding.shards = [shards[number] for number in sorted(shards)]
    for shard in holding.shards:
        shard.listed.sort()
    holding.copies = [
        Copy(row["id"], row["url"], keepers[row["id"]])
        for row in rows.of_ids(_outside(keepers, ids), ("id", "url", "verdict"))
        if row["verdict"] == Reason.KEPT
    ]
    holding.sources = dict(sorted(sources.items()))
    for source, n in holding.sources.items():
        if (lies := version.raw_set(source)) is not None:
            holding.raw[lies.folder.relative_to(version.layout.root).as_posix()] = n
    return holding, ids


def _of_site(
    version: PublishedVersion, rows: DocumentRows, target: Target, not_searched: list[str]
) -> Iterator[pa.RecordBatch]:
    """The rows under the site; documents that no site can be found in are told once all are read."""

    def wanted(urls: pa.Array) -> pa.Array:
        return pc.or_(target.of_urls(urls), pc.invert(has_address(urls)))

    without = Counter({name: rows.of(name) for name, row in version.rows.items() if names_places(row)})
    places = set(without)
    for batch in rows.where(wanted, anywhere, _COLUMNS):
        mine = target.of_urls(batch.column("url"))
        found, other = batch.filter(mine), batch.filter(pc.invert(mine))
        for entry in pc.value_counts(found.column("source_id")).to_pylist():
            if entry["values"] in places:
                without[entry["values"]] -= entry["counts"]
        for entry in pc.value_counts(other.column("source_id")).to_pylist():
            if entry["values"] not in places:
                without[entry["values"]] += entry["counts"]
        if found.num_rows:
            yield found
    for source, n in sorted(without.items()):
        if n:
            have = "has" if n == 1 else "have"
            not_searched.append(
                f"{version.key}: {plural(n, 'document')} of source {source} {have} no web address, so a site cannot be "
                f"found in {'it' if n == 1 else 'them'}; {what_to_do(version.rows[source])}"
            )


def _outside(keepers: Iterable[str], ids: pa.Array) -> list[str]:
    """The keepers that are not among the ids."""
    names = pa.array(sorted(keepers), pa.large_string())
    outside: list[str] = names.filter(pc.invert(pc.is_in(names, ids))).to_pylist()
    return outside


def _first_rows(version: PublishedVersion) -> list[int]:
    """The row of the version with which each shard begins."""
    first, starts = 0, []
    for entry in version.manifest["shards"]:
        starts.append(first)
        first += entry["rows"]
    return starts


def _shard_name(version: PublishedVersion, shard: int) -> str:
    path = version.folder / version.manifest["shards"][shard]["name"]
    return path.relative_to(version.layout.root).as_posix()

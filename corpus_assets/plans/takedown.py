"""Where a site or a source is held, so that it can be taken down: rows of published versions, tokens of snapshots,
steps of a training run; what is left of it beside them, and which models were trained on it.

Read are seven columns of the evidence's documents (of a source: its own parts alone) and the snapshots' indexes, not
one text. A site means here what the same words mean in an opt-out list, so that what is found is what the entry leaves
out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.url_paths import url_paths
from corpus_assets.plans.evidence_lookup import DocumentRows, anywhere
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.published_version import PublishedVersion, open_published, published_versions
from corpus_assets.plans.snapshot_corpus import corpus_of, snapshots_below
from corpus_assets.plans.token_trace_back import SnapshotHolding, Wanted, trace_back
from corpus_assets.plans.web_addresses import names_places, what_to_do
from corpus_assets.stages.match_sites import SiteIndex, key_of, url_parts
from corpus_assets.stages.site_names import parse_site
from corpus_assets.stages.web_addresses import has_address
from corpus_assets.validation import model_config
from formats import durable, ledger, model_record, raw_set
from formats.errors import ConfigError, CorruptDataError
from formats.json_words import described
from formats.layout import Layout
from formats.naming import NAME, VersionKey
from formats.reasons import Reason
from formats.run_record import RunRecord
from formats.snapshot import manifest
from formats.stage_tables import SITE_ENTRIES

MAX_LISTED = 100_000
"""Rows of a version that are listed; all are counted."""
_COLUMNS = ("id", "url", "source_id", "verdict", "shard", "row", "keeper_id")


_PATHS = ("/", "./", "../", "~")
"""How a file is named that lies here: its documents have that name for a URL, which no list can hold."""


@dataclass(frozen=True)
class Target:
    """What is to be taken down: a source of the ledger, or a site as an opt-out list names it."""

    words: str
    source: str | None = None
    sites: SiteIndex | None = None
    path: str | None = None
    """Of a URL, in the one form of url_paths."""

    @classmethod
    def parse(cls, words: str) -> "Target":
        """A name without a dot is a source; anything else a domain or a URL. Raises ConfigError for what is neither."""
        if NAME.fullmatch(words):
            return cls(words, source=words)
        if words.startswith(_PATHS):
            raise ConfigError(
                f"{described(words)} is a path, and documents of a file lie at no site; take its source down, by "
                "name, or look one document up with `corpus trace`"
            )
        site = parse_site(words)
        row = {"reason": Reason.OPT_OUT.value, "list": "", "line": 1, "what": words, "is_domain": site.is_domain}
        row |= {"host": site.host, "key": key_of(site)}
        path = None if site.path is None else url_paths(pa.array([site.path], pa.large_string()))[0].as_py()
        return cls(words, sites=SiteIndex(pa.Table.from_pylist([row], SITE_ENTRIES)), path=path)

    @property
    def kind(self) -> str:
        return "source" if self.source is not None else "site"

    def of_urls(self, urls: pa.Array) -> pa.Array:
        """True where a URL falls under the site."""
        if self.sites is None:
            raise ConfigError(f"{self.words} is a source, which is not found by URL")
        return pa.array(self.sites.first_entries(urls) >= 0)

    def other_pages(self, urls: pa.Array) -> int:
        """Of URLs under a prefix, how many go on after it, so that they are other pages than the one named."""
        if self.path is None:
            return 0
        return len(urls) - (pc.sum(pc.equal(url_paths(url_parts(urls).rest), self.path)).as_py() or 0)


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


@dataclass
class Takedown:
    """What holds it, what was looked through, and what could not be: rows, copies that were found elsewhere, raw sets
    and snapshots all hold it. `raw_sets` are those of a source that no version above was made of. Nothing holds it
    only where `held` is false and nothing is `not_searched`.
    """

    asked: str
    kind: str
    versions: list[VersionHolding] = field(default_factory=list)
    snapshots: list[SnapshotHolding] = field(default_factory=list)
    raw_sets: list[str] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    not_searched: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def held(self) -> bool:
        return any(one.is_held for one in self.versions) or bool(self.snapshots or self.raw_sets)


def find(layout: Layout, target: Target, record: RunRecord | None = None, named: VersionKey | None = None) -> Takedown:
    """Everything below the root that holds the target, or of one version with its snapshots; with `record` the steps
    that served it.

    Raises ConfigError for a source that nobody knows, CorruptDataError for damaged files, OrderError for a record that
    does not fit its snapshot.
    """
    result = Takedown(target.words, target.kind)
    keys = [named] if named else published_versions(layout)
    versions = [open_published(layout, key) for key in keys]
    ids: dict[str, pa.Array] = {}
    for version in versions:
        holding, ids[version.digest] = _version(version, target, result)
        result.searched.append(f"{version.key}: {version.counts['documents']:,} documents")
        if holding.documents:
            result.versions.append(holding)
    _snapshots(layout, target, ids, record, named, result)
    if named is None:
        _other_raw_sets(layout, target, versions, result)
    _models(layout, target, result)
    if not result.searched and not result.not_searched:
        raise ConfigError(f"nothing is published below {layout.root}, so nothing was searched; name it by --root")
    if target.source is not None and not result.held:
        _hold_known(layout, target.source, versions)
    return result


def _hold_known(layout: Layout, source: str, versions: list[PublishedVersion]) -> None:
    """A name that is misspelt must not be called held by nobody."""
    known = {name for version in versions for name in version.rows}
    if layout.ledger.is_file():
        known |= {row.source_id for _, row in ledger.scan(layout.ledger)[0]}
    if source not in known:
        names = ", ".join(sorted(known)) or "none"
        raise ConfigError(
            f"{source!r} is no source of the ledger or of a published version; there are {names}. A domain has a dot, "
            "and a URL begins with https://"
        )


def _other_raw_sets(layout: Layout, target: Target, versions: list[PublishedVersion], result: Takedown) -> None:
    """Raw sets that no published version was made of: those of the source hold it, of others nobody knows by URL."""
    made_of = {digest for version in versions for digest in version.stage_versions.get("raw_sets", {}).values()}
    for lock in sorted(layout.raw_sets("").glob(f"{target.source or '*'}/*/{raw_set.LOCK}")):
        folder = lock.parent.relative_to(layout.root).as_posix()
        if lock.parent.name.startswith(".") or durable.read_lock(lock) in made_of:
            continue
        if target.source is not None:
            result.raw_sets.append(folder)
        else:
            result.not_searched.append(f"{folder} is a raw set of no published version, so it was not searched by URL")


def _version(version: PublishedVersion, target: Target, result: Takedown) -> tuple[VersionHolding, pa.Array]:
    """What a version holds, and the ids of what it published of that."""
    holding, rows = VersionHolding(str(version.key)), DocumentRows(version)
    found = (
        rows.of_source(target.source, _COLUMNS)
        if target.source is not None
        else _of_site(version, rows, target, result)
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
    version: PublishedVersion, rows: DocumentRows, target: Target, result: Takedown
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
            result.not_searched.append(
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


def _snapshots(
    layout: Layout,
    target: Target,
    ids: dict[str, pa.Array],
    record: RunRecord | None,
    named: VersionKey | None,
    result: Takedown,
) -> None:
    for snapshot_id in _searched_ids(layout, named, record):
        snapshot = manifest.read(layout.root, snapshot_id)
        digest = snapshot.document["corpus_manifest_sha256"]
        if target.source is not None:
            wanted = Wanted.source(target.source)
        elif digest in ids:
            wanted = _with_ids(target.words, ids[digest])
        else:
            why = corpus_of(layout, snapshot).why_not
            result.not_searched.append(f"{snapshot_id} could not be searched by URL: {why}")
            continue
        told = trace_back(
            layout, wanted, [snapshot_id], record if record and record.snapshot_id == snapshot_id else None
        )
        result.snapshots += told.snapshots
        result.searched += told.searched
        result.notes += told.notes


def _models(layout: Layout, target: Target, result: Takedown) -> None:
    """Classifiers and language models that were trained on documents of its sources. Their records name no documents,
    so that a site may be in one or not.
    """
    of = {target.source} if target.source else {source for one in result.versions for source in one.sources}
    for name in model_config.discover(layout)[0]:
        path = layout.model_record(name)
        if not path.is_file():
            continue
        try:
            record = model_record.read(path)
        except CorruptDataError as error:
            result.not_searched.append(str(error))
            continue
        settings = record.made_of["settings"]
        if found := sorted(of & {*settings["positive"], *settings["negative"]}):
            was = "was" if target.source else "may have been"
            result.notes.append(
                f"{layout.models.name}/{record.file} {was} trained on it, among documents of {', '.join(found)}; "
                f"train {name} again without, and pin that in the next version"
            )


def _with_ids(words: str, ids: pa.Array) -> Wanted:
    return Wanted(words, lambda names: pc.is_in(names, ids.cast(names.type)))


def _searched_ids(layout: Layout, named: VersionKey | None, record: RunRecord | None) -> Iterator[str]:
    """All snapshots below the root, or those of one version; that of the record always."""
    for snapshot_id in snapshots_below(layout):
        of = manifest.read(layout.root, snapshot_id).document
        mine = named is None or (of["dataset"], of["corpus_version"]) == (named.dataset, named.version)
        if mine or (record is not None and record.snapshot_id == snapshot_id):
            yield snapshot_id


def steps_of(holdings: Iterable[SnapshotHolding]) -> list[int] | None:
    """The steps that served some of it, rising; None where no run was asked for."""
    served = [row for holding in holdings for row in holding.served or ()]
    if all(holding.served is None for holding in holdings):
        return None
    return sorted({one.step for row in served for one in row.servings})

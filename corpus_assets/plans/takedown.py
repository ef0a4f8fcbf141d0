"""Where a site or a source is held, so that it can be taken down: rows of published versions, tokens of snapshots,
steps of a training run; what is left of it beside them, and which models were trained on it.

Versions are searched by takedown_version, snapshots by their indexes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.published_version import PublishedVersion, open_published, published_versions
from corpus_assets.plans.snapshot_corpus import corpus_of, snapshots_below
from corpus_assets.plans.takedown_target import Target
from corpus_assets.plans.takedown_version import VersionHolding, held_by
from corpus_assets.plans.token_trace_back import SnapshotHolding, Wanted, trace_back
from corpus_assets.validation import model_config
from formats import durable, ledger, model_record, raw_set
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.naming import VersionKey
from formats.run_record import RunRecord
from formats.snapshot import manifest


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
        holding, ids[version.digest] = held_by(version, target, result.not_searched)
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

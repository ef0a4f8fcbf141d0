"""How far a version is: each asset of each of its partitions, told from the files on disk. Reads manifests and sizes,
hashes no data, writes nothing, and costs some milliseconds a source.

What an asset would be made of now names what it is looked for under, so what was made of other inputs, settings or code
is found to be stale, not taken for it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from corpus_assets.plans import ngram_index
from corpus_assets.plans.clusters import dedup_clusters
from corpus_assets.plans.keepers import ranks
from corpus_assets.plans.made_before import MadeBefore
from corpus_assets.plans.near_edges import edges
from corpus_assets.plans.pinned import (
    Build,
    Pair,
    Version,
    hold_to_published_config,
    once_a_build,
    pinned_value,
    row_to_pin,
)
from corpus_assets.plans.raw_set import find_raw_set
from corpus_assets.plans.scrub import scrubbed_docs
from corpus_assets.plans.source_stages import measuring, signatures, verdicts
from corpus_assets.plans.work import Output, being_made_now, nothing_is_made
from corpus_assets.validation.ledger import check_row_for_version
from formats import corpus_manifest, evidence, ledger
from formats.errors import ConfigError, CorpusError, CorruptDataError, NotMadeError, PublishedError
from formats.layout import Layout
from formats.naming import PairKey
from formats.parquet_file import Shard

OF_SOURCE = ("ledger_entry", "raw_fetch", "doc_signals", "filtered_docs", "minhash_signatures", "scrubbed_docs")
OF_VERSION = ("dedup_clusters", "shards", "manifest", "datasheet")
PUBLISHED = ("shards", "manifest", "datasheet")
"""Of a version that is published, these are its own, and the n-gram index where its config asks for one; the rest was
on the way, and may be deleted."""


class State(StrEnum):
    """In the order of what a person should see first."""

    DAMAGED = "damaged"
    REFUSED = "refused"
    FAILED = "failed"
    STALE = "stale"
    MISSING = "missing"
    RUNNING = "running"
    NOT_KEPT = "not kept"
    DONE = "done"

    @property
    def is_there(self) -> bool:
        """Nothing is to be done about it."""
        return self in (State.DONE, State.NOT_KEPT)


@dataclass(frozen=True)
class Standing:
    """One asset of one partition; `why` is for people, empty where the state says it all."""

    asset: str
    state: State
    why: str = ""


@dataclass(frozen=True)
class VersionStanding:
    """A version by its sources, and as a whole."""

    sources: Mapping[str, Sequence[Standing]]
    whole: Sequence[Standing]
    published: bool

    @property
    def all(self) -> list[Standing]:
        return [*(one for of_source in self.sources.values() for one in of_source), *self.whole]

    @property
    def state(self) -> State:
        return worst(self.all)


def worst(standings: Sequence[Standing]) -> State:
    """What a person should see first of them."""
    order = list(State)
    return min((one.state for one in standings), key=order.index, default=State.DONE)


def of_version(build: Build, version: Version, *, steps: bool = True) -> VersionStanding:
    """How far a version is. Of a published one, its sources are told only with `steps`."""
    published = build.layout.lock(version.key).exists()
    if published and not steps:
        return VersionStanding({}, list(_published(build, version)), True)
    with nothing_is_made():
        return _by_steps(build, version, published)


@once_a_build
def at_first(build: Build, version: Version) -> VersionStanding:
    """The same, as it was when it was first asked with this `build`: for what is said before anything is made."""
    return of_version(build, version)


def _by_steps(build: Build, version: Version, published: bool) -> VersionStanding:
    before = MadeBefore(build.layout)
    pairs: list[Pair] = []
    sources = {pair.source: _source(build, version, pair, before, pairs) for pair in version.pairs}
    complete = len(pairs) == len(version.pairs)
    whole = [_clusters(build, version, pairs if complete else [], before)]
    decided = whole[0].state is State.DONE
    known = {pair.key.source: pair for pair in pairs}
    for source, found in sources.items():
        found.append(_scrubbed(build, pairs if decided else [], known.get(source), source, before))
    if published:
        kept = {source: [_not_needed(one) for one in found] for source, found in sources.items()}
        return VersionStanding(kept, [_not_needed(whole[0]), *_published(build, version)], True)
    begun = {pair.source: build.layout.pinned_row(pair).exists() for pair in version.pairs}
    if not all(begun.values()):  # what needs all sources was never made of this version either
        whole = [_not_begun(one) for one in whole]
        sources = {
            source: [*(found[:-1] if begun[source] else map(_not_begun, found[:-1])), _not_begun(found[-1])]
            for source, found in sources.items()
        }
    lies_there = build.layout.version(version.key).exists()
    why = "shards without a lock: a build was killed while it published them" if lies_there else ""
    of_its_own = (*PUBLISHED, *_index_asked_for(version))
    return VersionStanding(sources, [*whole, *(Standing(asset, State.MISSING, why) for asset in of_its_own)], False)


def _not_needed(found: Standing) -> Standing:
    """What was on the way to a published version, and is not there or would be made otherwise today."""
    return found if found.state in (State.DONE, State.RUNNING) else replace(found, state=State.NOT_KEPT, why="")


def _not_begun(found: Standing) -> Standing:
    """Of a source whose row this version never pinned: what lies there was made for other versions, so that nothing of
    this one is stale.
    """
    return replace(found, state=State.MISSING, why="") if found.state is State.STALE else found


def _source(build: Build, version: Version, key: PairKey, before: MadeBefore, pairs: list[Pair]) -> list[Standing]:
    """The assets of one source up to its signatures; the pair joins `pairs` when all of them are there."""
    try:
        row = row_to_pin(build.layout, key)
        refused = check_row_for_version(row, version.config)
    except CorpusError as error:
        refused = [str(error)]
    if refused:
        wrong = Standing("ledger_entry", State.REFUSED, "; ".join(refused))
        return [wrong, *(Standing(asset, State.MISSING) for asset in OF_SOURCE[1:-1])]
    pair = Pair(key, version, ledger.from_json(row))
    found = [_pinned(build, pair, row), _raw(build, pair)]
    stages: dict[str, Callable[[], list[Output]]] = {
        "doc_signals": lambda: [*measuring(build, pair)],
        "filtered_docs": lambda: [verdicts(build, pair)],
        "minhash_signatures": lambda: [signatures(build, pair)],
    }
    found += [
        _stored(asset, outputs, partial(before.of_source, asset, key.source)) for asset, outputs in stages.items()
    ]
    if all(one.state is State.DONE for one in found[1:]):
        pairs.append(pair)
    return found


def _pinned(build: Build, pair: Pair, row: object) -> Standing:
    if not build.layout.pinned_row(pair.key).exists():
        return Standing("ledger_entry", State.MISSING)
    try:
        same = pinned_value(build.layout, pair.key) == row
    except CorpusError as error:
        return Standing("ledger_entry", State.DAMAGED, str(error))
    return Standing("ledger_entry", State.DONE) if same else Standing("ledger_entry", State.STALE, "the row changed")


def _raw(build: Build, pair: Pair) -> Standing:
    try:
        _lie_whole(find_raw_set(build.layout, pair.row, pair.config.extract).shards)
    except NotMadeError:
        folder = build.layout.raw_sets(pair.row.source_id)
        if any(folder.glob("[0-9]*")):
            return Standing("raw_fetch", State.STALE, "its raw sets are of another row or extractor")
        return Standing("raw_fetch", State.MISSING)
    except ConfigError as error:
        return Standing("raw_fetch", State.REFUSED, str(error))
    except CorpusError as error:
        return Standing("raw_fetch", State.DAMAGED, str(error))
    return Standing("raw_fetch", State.DONE)


def _stored(asset: str, outputs: Callable[[], list[Output]], made_before: Callable[[], bool]) -> Standing:
    made: list[Output] = []
    try:
        for output in (made := outputs()):
            _lie_whole(output.open().shards)
    except ConfigError:
        if any(being_made_now(output.folder) for output in made):
            return Standing(asset, State.RUNNING)
        return Standing(asset, State.STALE if made_before() else State.MISSING)
    except CorpusError as error:
        return Standing(asset, State.DAMAGED, str(error))
    return Standing(asset, State.DONE)


def _clusters(build: Build, version: Version, pairs: list[Pair], before: MadeBefore) -> Standing:
    def outputs() -> list[Output]:
        if not pairs:
            raise ConfigError("not all sources are there")
        return [ranks(build, pairs), edges(build, pairs), dedup_clusters(build, pairs)]

    return _stored("dedup_clusters", outputs, lambda: before.of_sources(version.config.sources))


def _scrubbed(build: Build, pairs: list[Pair], pair: Pair | None, source: str, before: MadeBefore) -> Standing:
    def outputs() -> list[Output]:
        if pair is None or not pairs:
            raise ConfigError("not all before it is there")
        return [scrubbed_docs(build, pairs, pair)]

    return _stored("scrubbed_docs", outputs, lambda: before.of_source("scrubbed_docs", source))


def _lie_whole(shards: Sequence[Shard]) -> None:
    """Raises CorruptDataError for a file that is missing or has another length than its manifest says."""
    for shard in shards:
        path = Path(shard.path)
        found = path.stat().st_size if path.is_file() else "missing"
        if found != shard.num_bytes:
            raise CorruptDataError(path, "length", shard.num_bytes, found, "`corpus build` says what to do about it")


def _published(build: Build, version: Version) -> Iterator[Standing]:
    """Shards, manifest and datasheet of a version that has a lock."""
    layout, key = build.layout, version.key
    folder, told = layout.version(key), layout.evidence(key)
    try:
        hold_to_published_config(layout, version)
        manifest, _ = corpus_manifest.read_locked(folder, layout.lock(key))
        missing = [entry["name"] for entry in manifest["shards"] if not (folder / entry["name"]).is_file()]
        sealed = evidence.read_seal(told)
        for name, entry in sealed.items():
            _lie_whole([Shard(0, str(told / name), 0, entry["bytes"], entry["sha256"])])
    except PublishedError as error:
        yield from (Standing(asset, State.STALE, str(error)) for asset in PUBLISHED)
    except CorpusError as error:
        yield from (Standing(asset, State.DAMAGED, str(error)) for asset in PUBLISHED)
    else:
        lost = f"{folder}: {missing[0]} is missing; run `corpus build {key}`" if missing else ""
        yield Standing("shards", State.DAMAGED if missing else State.DONE, lost)
        yield Standing("manifest", State.DONE)
        todo = "a run ended between publication and it; `corpus build` makes it, and so does Materialize on its page"
        for asset in ("datasheet", *_index_asked_for(version)):
            there = AFTER_THE_LOCK[asset] in sealed
            yield Standing(asset, State.DONE if there else State.MISSING, "" if there else f"{asset}: {todo}")


AFTER_THE_LOCK = {"datasheet": evidence.DATASHEET_HTML, "ngram_index": ngram_index.HEAD}
"""What is made after the lock -> the file of the evidence that is there once it is."""


def _index_asked_for(version: Version) -> tuple[str, ...]:
    return () if version.config.ngram_index.form == ngram_index.NOT_KEPT else ("ngram_index",)


def lacks(layout: Layout, version: Version, asset: str) -> bool:
    """Whether the evidence of a published version has not what this asset makes after the lock."""
    if asset not in AFTER_THE_LOCK or (asset == "ngram_index" and not _index_asked_for(version)):
        return False
    return AFTER_THE_LOCK[asset] not in evidence.read_seal(layout.evidence(version.key))

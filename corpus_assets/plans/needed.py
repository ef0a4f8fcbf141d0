"""What must stay when room is made: all that any version, pin, lock or evidence below the root could ask for.

What cannot be read cannot say what it needs, so it stops the whole: nothing is guessed to be free. So does a version to
come whose extractor is not here, since its raw sets are named by it. Of a published version the evidence says it, and
what its config pins may be gone.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpus_assets.plans.clusters import dedup_clusters
from corpus_assets.plans.eval_index import counts_path, index_path
from corpus_assets.plans.evidence import outcomes
from corpus_assets.plans.keepers import ranks
from corpus_assets.plans.mixed_texts import mixed_texts
from corpus_assets.plans.near_edges import band_parts, edges
from corpus_assets.plans.near_items import near_items
from corpus_assets.plans.ngram_hits import STAGE as LOOKED_FOR
from corpus_assets.plans.ngram_index import NOT_KEPT, indexed_parts
from corpus_assets.plans.pinned import Build, Pair, Version, load_version, pinned_value, row_to_pin
from corpus_assets.plans.placement import placed_rows, withheld
from corpus_assets.plans.published_version import PublishedVersion, open_published, published_versions
from corpus_assets.plans.raw_set import extractor_identity
from corpus_assets.plans.scrub import scrubbed_docs
from corpus_assets.plans.source_stages import documents, signals, signatures, verdicts
from corpus_assets.plans.token_build import open_build
from corpus_assets.plans.token_shards import corpus_rows, packed, tokenized
from corpus_assets.plans.work import folders_asked_for, nothing_is_made
from corpus_assets.validation import corpus_config, token_config
from formats import canonical, dataset, ledger, raw_set
from formats.errors import ConfigError, CorpusError, NotMadeError, PublishedError
from formats.ledger import LedgerRow

TOKEN_STAGES = ("tokenized", "packed")


@dataclass
class Needed:
    """`folders`: stage outputs and files in `corpus/work`; `raw_sets`: digests of them or of their rows, and identities
    of those that rows would have; `files`: SHA-256 of fetched files; `whole_stages`: those of which nobody could say
    what is needed.
    """

    folders: set[Path] = field(default_factory=set)
    raw_sets: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    whole_stages: set[str] = field(default_factory=set)

    def row(self, row: LedgerRow) -> None:
        """A row's files, and the raw set that they would become today."""
        self.files |= {file.sha256 for file in row.files}
        self.raw_sets.add(raw_set.identity_of(row.digest, extractor_identity(row)))


def needed(build: Build) -> Needed:
    """Raises ConfigError for a ledger or config that is wrong, and for a version to come of which a model or library
    that names its raw sets is missing; CorruptDataError for evidence that is damaged.
    """
    layout, found = build.layout, Needed()
    for path in (layout.ledger, layout.corpus / "configs"):
        if not path.exists() and (layout.corpus / "raw").exists():
            raise ConfigError(f"{path}: is missing, and without it nobody can say what is needed; put it back")
    configs, misplaced = corpus_config.discover(layout)
    if misplaced:
        raise ConfigError("\n".join(misplaced))
    for row in ledger.read(layout.ledger) if layout.ledger.exists() else ():
        found.row(row)
    for row in _pinned_rows(build):
        found.row(row)
    published = [open_published(layout, key) for key in published_versions(layout)]
    for version in published:
        _of_published(build, version, found)
    found.folders |= set(_looked_for_in(build, published))
    with nothing_is_made(), folders_asked_for() as seen:
        for key in configs:
            _walk(build, load_version(layout, key), found)
        for version in published:
            _index(build, version)
        _tokens(build, found)
    found.folders |= seen
    return found


def _pinned_rows(build: Build) -> Iterator[LedgerRow]:
    """Every row that is pinned; one that breaks a rule stopped its version before anything of it was fetched."""
    for path in build.layout.work("ledger_entry", "").glob("*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            yield ledger.from_json(json.loads(path.read_bytes())["row"])


def _of_published(build: Build, version: PublishedVersion, found: Needed) -> None:
    found.raw_sets |= set(version.stage_versions.get("raw_sets", {}).values())
    for row in version.rows.values():
        found.row(row)
    found.folders |= {build.layout.work(one["stage"], canonical.digest(one)) for one in _identities(version)}


def _identities(version: PublishedVersion) -> Iterator[dict[str, Any]]:
    """The identities of stages that the evidence holds, however deep."""
    waiting: list[Any] = [version.stage_versions]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if {"stage", "code_version", "inputs"} <= set(value):
                yield value
            waiting += value.values()


def _looked_for_in(build: Build, published: Sequence[PublishedVersion]) -> Iterator[Path]:
    """What was found when a benchmark was looked for in the texts of a version that stands: it is asked again."""
    corpora = {corpus_rows(version).select("id", "text").digest for version in published}
    for folder in build.layout.work(LOOKED_FOR, "").glob("*"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            if json.loads((folder / dataset.MANIFEST).read_bytes())["identity"]["inputs"]["corpus"] in corpora:
                yield folder


def _index(build: Build, version: PublishedVersion) -> None:
    config = version.config()
    if config.ngram_index.form != NOT_KEPT:
        indexed_parts(build, version, config)


def _walk(build: Build, version: Version, found: Needed) -> None:
    """Name every output that a build of the version would look for, by the rows pinned and by those of today."""
    index = index_path(build.layout, version)
    found.folders |= {index, counts_path(index)}
    unsaid = ConfigError if build.layout.lock(version.key).exists() else NotMadeError
    by_rows = [list(rows) for rows in (_rows(build, version, pinned_value), _rows(build, version, row_to_pin))]
    for pairs in by_rows:
        for pair in pairs:
            with suppress(unsaid):
                found.raw_sets.add(documents(build, pair).identity.inputs["raw_set"])
            for stage in (verdicts, signals, mixed_texts, signatures, band_parts):
                with suppress(unsaid):  # of what comes before it, something is not made; others may be
                    stage(build, pair)
        if len(pairs) == len(version.pairs):
            with suppress(unsaid):
                _walk_whole(build, pairs)


def _rows(build: Build, version: Version, value_of: Any) -> Iterator[Pair]:
    for key in version.pairs:
        with suppress(ConfigError, PublishedError):
            value = value_of(build.layout, key)
            if not ledger.problems(value):
                yield Pair(key, version, ledger.from_json(value))


def _walk_whole(build: Build, pairs: list[Pair]) -> None:
    ranks(build, pairs)
    edges(build, pairs)
    dedup_clusters(build, pairs)
    for pair in pairs:
        scrubbed_docs(build, pairs, pair)
    for pair in pairs:
        near_items(build, pairs, pair)
    withheld(build, pairs)
    placed_rows(build, pairs)
    outcomes(build, pairs)


def _tokens(build: Build, found: Needed) -> None:
    """Of a token set whose tokenizer or version cannot be asked, nobody knows what is needed: all stays."""
    for key in token_config.discover(build.layout):
        if not build.layout.lock(key.version).exists():
            continue
        try:
            tokens = open_build(build.layout, build.engine, key)
            tokenized(tokens)
        except CorpusError:
            found.whole_stages |= set(TOKEN_STAGES)
            continue
        with suppress(NotMadeError):
            packed(tokens)


def unneeded(paths: Iterable[Path], found: Needed) -> list[Path]:
    """Those of the outputs in `corpus/work` that nothing asks for, sorted."""
    return sorted(path for path in paths if path not in found.folders and path.parent.name not in found.whole_stages)

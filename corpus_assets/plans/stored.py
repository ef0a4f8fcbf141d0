"""What each asset of a version has on disk: the data version that it would report, and every file behind it."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus_assets.plans import ngram_index
from corpus_assets.plans.audit_snapshot import all_shards
from corpus_assets.plans.clusters import dedup_clusters
from corpus_assets.plans.evidence import outcomes
from corpus_assets.plans.keepers import ranks
from corpus_assets.plans.near_edges import edges
from corpus_assets.plans.pinned import Build, Pair, load_pair, load_pairs, pinned_value, row_to_pin
from corpus_assets.plans.placement import placed_rows, withheld
from corpus_assets.plans.published_version import open_published
from corpus_assets.plans.raw_set import find_raw_set
from corpus_assets.plans.scrub import scrubbed_docs
from corpus_assets.plans.snapshot import last_snapshot
from corpus_assets.plans.source_stages import measuring, signatures, verdicts
from corpus_assets.plans.token_build import TokenBuild
from corpus_assets.plans.token_shards import packed, tokenized
from corpus_assets.plans.work import Output
from formats import canonical, corpus_manifest, evidence, parquet_file
from formats.errors import ConfigError, CorruptDataError
from formats.naming import PairKey, VersionKey
from formats.parquet_file import Shard


@dataclass(frozen=True)
class Stored:
    """One asset of one partition: `data_version` is what its next materialization would report, were nothing made anew;
    `files` are to have the length and hash that their manifests say. A run makes those of `made_again` anew, where they
    do not, from what is stored before them; of the others a person has to delete what is damaged.
    """

    data_version: str
    files: tuple[Shard, ...] = ()
    made_again: frozenset[str] = frozenset()
    """Paths."""

    @property
    def num_bytes(self) -> int:
        return sum(file.num_bytes for file in self.files)


def of_pair(build: Build, key: PairKey, asset: str) -> Stored:
    """What lies there of an asset of one source. Raises ConfigError for what was not made, or would be made anew;
    CorruptDataError for a manifest that is damaged.
    """
    if asset == "ledger_entry":
        return _pinned_row(build, key)
    pair = load_pair(build.layout, key)
    if asset == "raw_fetch":
        raw = find_raw_set(build.layout, pair.row, pair.config.extract)
        return Stored(raw.digest, raw.shards)
    return _outputs(*_OF_SOURCE[asset](build, pair))


def of_version(build: Build, key: VersionKey, asset: str) -> Stored:
    """The same of an asset of the whole version."""
    if asset == "dedup_clusters":
        pairs = load_pairs(build.layout, key)
        return _outputs(ranks(build, pairs), edges(build, pairs), dedup_clusters(build, pairs))
    return _PUBLISHED[asset](build, key)


def of_tokens(build: TokenBuild, asset: str) -> Stored:
    """The same of an asset of a token set."""
    if asset == "token_shards":
        return _outputs(tokenized(build), packed(build))
    snapshot = last_snapshot(build.layout, build.key)
    row_bytes = snapshot.seq_len * snapshot.dtype.itemsize
    named: list[tuple[str, dict[str, Any]]] = []
    for shard in all_shards(snapshot):
        named.append((shard.name, {"sha256": shard.sha256, "bytes": shard.sequences * row_bytes}))
        named.append((shard.index_name, {"sha256": shard.index_sha256}))
    return _made_again(snapshot.snapshot_id, [_file(snapshot.folder / name, entry) for name, entry in named])


def published(build: Build, key: VersionKey) -> Stored:
    """Every file of a published version: shards, manifest and evidence, whatever it was made of. Raises as `of_version`
    does.
    """
    folder, manifest, digest = _locked(build, key)
    shards = [_file(folder / entry["name"], entry) for entry in manifest["shards"]]
    return _made_again(digest, [*shards, *_sealed(build, key)])


def damaged(stored: Iterable[Stored]) -> list[CorruptDataError]:
    """Why files are not what their manifests say, if any; every one of them is hashed."""
    with ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="hash") as pool:  # hashing lets go of the GIL
        found = pool.map(_wrong_with, [(file, file.path in one.made_again) for one in stored for file in one.files])
        return [error for error in found if error]


def _wrong_with(held: tuple[Shard, bool]) -> CorruptDataError | None:
    file, is_made_again = held
    try:
        parquet_file.verified(file)
    except CorruptDataError as error:
        expected = f"one with sha256 {file.sha256}" if error.field == "file" and not file.num_bytes else error.expected
        todo = "it is made again" if is_made_again else error.todo
        return CorruptDataError(error.path, error.field, expected, error.found, todo)
    return None


def _made_again(data_version: str, files: Sequence[Shard]) -> Stored:
    return Stored(data_version, tuple(files), frozenset(file.path for file in files))


def _outputs(*stages: Output) -> Stored:
    """The last stage's data version; the files of all."""
    opened = [stage.open() for stage in stages]
    return Stored(opened[-1].digest, tuple(shard for one in opened for shard in one.shards))


def _pinned_row(build: Build, key: PairKey) -> Stored:
    pinned = pinned_value(build.layout, key)
    if pinned != row_to_pin(build.layout, key):
        raise ConfigError(f"ledger_entry of {key} pins another row than it would now; materialize ledger_entry")
    return Stored(canonical.digest(pinned))


def _scrubbed(build: Build, pair: Pair) -> Sequence[Output]:
    return [scrubbed_docs(build, load_pairs(build.layout, pair.key.version), pair)]


_OF_SOURCE: dict[str, Callable[[Build, Pair], Sequence[Output]]] = {
    "doc_signals": lambda build, pair: [*measuring(build, pair)],
    "filtered_docs": lambda build, pair: [verdicts(build, pair)],
    "minhash_signatures": lambda build, pair: [signatures(build, pair)],
    "scrubbed_docs": _scrubbed,
}


def _shards(build: Build, key: VersionKey) -> Stored:
    """The published shards, and the stage outputs that they and the evidence come from."""
    folder, manifest, digest = _locked(build, key)
    listed = manifest["shards"]
    strangers = {path.name for path in folder.iterdir()} - {entry["name"] for entry in listed}
    if extra := sorted(strangers - {corpus_manifest.NAME_ON_DISK}):
        raise CorruptDataError(folder, "files", "shards and manifest alone", extra, "remove the others")
    pairs = load_pairs(build.layout, key)
    steps = _outputs(withheld(build, pairs), placed_rows(build, pairs), outcomes(build, pairs))
    own = _made_again(digest, [_file(folder / entry["name"], entry) for entry in listed])
    return Stored(digest, (*own.files, *steps.files), own.made_again)


def _manifest(build: Build, key: VersionKey) -> Stored:
    """The manifest, which the lock holds by its hash, and the evidence, which its seal holds."""
    _, _, digest = _locked(build, key)
    return _made_again(digest, _sealed(build, key))


def _datasheet(build: Build, key: VersionKey) -> Stored:
    folder = build.layout.evidence(key)
    sealed = evidence.read_seal(folder)
    if evidence.DATASHEET_HTML not in sealed:
        raise ConfigError(f"datasheet of {key} is not materialized; materialize datasheet first")
    return Stored(str(sealed[evidence.DATASHEET_HTML]["sha256"]))  # a file of the evidence, hashed with it


def _ngram_index(build: Build, key: VersionKey) -> Stored:
    """Its files are those of the evidence, hashed with it."""
    version = open_published(build.layout, key)
    return Stored(ngram_index.pinned(version).get(ngram_index.FOLDER, ngram_index.NOT_KEPT))


_PUBLISHED = {"shards": _shards, "manifest": _manifest, "datasheet": _datasheet, "ngram_index": _ngram_index}


def _locked(build: Build, key: VersionKey) -> tuple[Path, dict[str, Any], str]:
    """The version's folder, its manifest and the manifest's digest, once lock and manifest agree."""
    folder, lock = build.layout.version(key), build.layout.lock(key)
    if not lock.exists():
        raise ConfigError(f"{key} is not published; materialize shards first")
    return folder, *corpus_manifest.read_locked(folder, lock)


def _sealed(build: Build, key: VersionKey) -> tuple[Shard, ...]:
    folder = build.layout.evidence(key)
    sealed = evidence.read_seal(folder)
    if strangers := sorted(evidence.names_in(folder) - set(sealed)):
        raise CorruptDataError(folder, "files", "those of the seal", strangers, "remove the others")
    return tuple(_file(folder / name, entry) for name, entry in sealed.items())


def _file(path: Path, entry: dict) -> Shard:
    """Not every manifest says how long a file is: then only its hash is held."""
    return Shard(0, str(path), 0, entry.get("bytes", path.stat().st_size if path.is_file() else 0), entry["sha256"])

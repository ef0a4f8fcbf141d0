"""Snapshot: packed token sequences of one corpus version, named by the SHA-256 of its manifest. Spec: snapshot.md.

The manifest keeps shards in columns: ten thousand of them are read in some 20 ms.
"""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from formats import canonical, durable
from formats.corpus_doc import SPLITS
from formats.errors import ConfigError, CorruptDataError, SchemaMismatchError
from formats.json_words import described
from formats.order.order import Bucket
from formats.snapshot.manifest_rules import COLUMNS, problems

NAME_ON_DISK = "manifest.json"
ID_PREFIX = "sha256:"
_TODO = "restore the snapshot from a copy, or build it again"
_ELSEWHERE = "copy the snapshot there, or name another root: the folder whose snapshots/ holds it"
_DIGEST = re.compile("[0-9a-f]{64}")


def folder_of(root: Path, snapshot_id: str) -> Path:
    """Where a snapshot lies: the hex digits of its id below `snapshots/`. Raises ConfigError for what is no id."""
    if not is_id(snapshot_id):
        raise ConfigError(
            f"snapshot id is {described(snapshot_id)}, expected {ID_PREFIX} and 64 hex digits; copy it whole"
        )
    return root / "snapshots" / snapshot_id.removeprefix(ID_PREFIX)


def is_id(text: object) -> bool:
    """Whether it is a text of the form of a snapshot's id."""
    return (
        isinstance(text, str) and text.startswith(ID_PREFIX) and bool(_DIGEST.fullmatch(text.removeprefix(ID_PREFIX)))
    )


@dataclass(frozen=True)
class TokenShard:
    """One shard of a snapshot: its files relative to the snapshot's folder, what they hold and their digests."""

    split: str
    bucket: str
    number: int
    sequences: int
    tokens: int
    documents: int
    sha256: str
    index_sha256: str

    @property
    def name(self) -> str:
        return f"{self.split}/{self.bucket}/{self.number:05d}.bin"

    @property
    def index_name(self) -> str:
        return f"{self.split}/{self.bucket}/{self.number:05d}.docs.parquet"


@dataclass(frozen=True)
class Snapshot:
    """A snapshot whose manifest was read and checked; `document` is the manifest itself."""

    folder: Path
    snapshot_id: str
    document: dict[str, Any]

    @property
    def seq_len(self) -> int:
        return int(self.document["seq_len"])

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.document["dtype"])

    def buckets(self, split: str) -> list[Bucket]:
        """What the loader's order is made of: the split's buckets in name order, without empty ones."""
        self._split(split)
        return list(self._buckets[split])

    @cached_property
    def _buckets(self) -> dict[str, list[Bucket]]:
        return {
            split: [
                Bucket(name, tuple(columns["sequences"]))
                for name, columns in sorted(self._split(split).items())
                if sum(columns["sequences"])
            ]
            for split in SPLITS
        }

    def shards(self, split: str) -> list[TokenShard]:
        """The shards of a split, numbered as `Order.shards` numbers them."""
        return self._shards[split]

    @cached_property
    def _shards(self) -> dict[str, list[TokenShard]]:
        found: dict[str, list[TokenShard]] = {split: [] for split in SPLITS}
        for split in SPLITS:
            for name, columns in sorted(self._split(split).items()):
                if sum(columns["sequences"]):
                    rows = zip(*(columns[column] for column in COLUMNS), strict=True)
                    found[split] += [TokenShard(split, name, number, *row) for number, row in enumerate(rows)]
        return found

    def num_shards(self, split: str) -> int:
        return self._firsts(split)[-1]

    def shard(self, split: str, number: int) -> TokenShard:
        """One of `shards`, made alone: ten thousand take 30 ms."""
        firsts = self._firsts(split)
        which = bisect_right(firsts, number) - 1
        bucket, columns = self.buckets(split)[which].name, self._split(split)
        own = number - firsts[which]
        return TokenShard(split, bucket, own, *(columns[bucket][column][own] for column in COLUMNS))

    def _firsts(self, split: str) -> list[int]:
        """The number of each bucket's first shard, and the number of shards."""
        return [0, *accumulate(len(bucket.shard_rows) for bucket in self.buckets(split))]

    def _split(self, split: str) -> dict[str, Any]:
        if split not in SPLITS:
            raise ConfigError(f"split is {split!r}, expected one of {', '.join(SPLITS)}; mend the request")
        buckets: dict[str, Any] = self.document["splits"][split]
        return buckets


def columns_of(shards: Sequence[TokenShard]) -> dict[str, Any]:
    """The manifest's `splits` of these shards, which come in the order of their numbers in each bucket."""
    splits: dict[str, dict[str, Any]] = {split: {} for split in SPLITS}
    for shard in shards:
        columns = splits[shard.split].setdefault(shard.bucket, {column: [] for column in COLUMNS})
        if shard.number != len(columns["sequences"]):
            raise ValueError(f"{shard.name} comes as number {len(columns['sequences'])} of its bucket")
        for column in COLUMNS:
            columns[column].append(getattr(shard, column))
    return splits


def to_bytes(document: dict[str, Any]) -> bytes:
    """The one byte form of a manifest: canonical JSON."""
    return canonical.to_bytes(document)


def id_of(document: dict[str, Any]) -> str:
    return ID_PREFIX + hashlib.sha256(to_bytes(document)).hexdigest()


def write(folder: Path, document: dict[str, Any]) -> str:
    """Write the manifest of a finished folder, after `validate`; returns the snapshot's id."""
    validate(document, folder / NAME_ON_DISK)
    durable.write_file(folder / NAME_ON_DISK, to_bytes(document))
    return id_of(document)


def read(root: Path, snapshot_id: str) -> Snapshot:
    """The snapshot of that id below an artifacts root. Raises ConfigError for what is no id, CorruptDataError where the
    manifest is missing or not the one that the id names.
    """
    folder = folder_of(root, snapshot_id)
    path = folder / NAME_ON_DISK
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise CorruptDataError(path, "manifest", snapshot_id, "missing", _ELSEWHERE) from None
    if (found := ID_PREFIX + hashlib.sha256(data).hexdigest()) != snapshot_id:
        raise CorruptDataError(path, "sha256", snapshot_id, found, _TODO)
    try:
        document = durable.json_value(data)
    except (ValueError, RecursionError) as error:
        raise CorruptDataError(path, "manifest", "JSON", durable.why_no_json(error), _TODO) from None
    validate(document, path)
    return Snapshot(folder, snapshot_id, document)


def validate(document: Any, where: object = NAME_ON_DISK) -> None:
    """Raises SchemaMismatchError that names the first key that is missing, foreign, of another type or in
    contradiction.
    """
    for key, expected, found in problems(document):
        raise SchemaMismatchError(where, key, expected, found, _TODO)

"""Raw set: the documents of one source as they were extracted, before any rule. Spec: raw_set.md.

`part-<nnnnn>.jsonl.zst`, `rejects.jsonl.zst`, `manifest.json` and its lock. Immutable; written by raw_set_writer, its
documents and rejects read by raw_set_rows.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formats import canonical, durable, judged_pages
from formats.dataset import Dataset
from formats.errors import CorruptDataError
from formats.json_fields import MAX_WHOLE
from formats.parquet_file import Shard
from formats.stage_tables import RAW

VERSION = 1
WITH_JUDGED = 2
"""The version of a set that has judged pages: VERSION and one key more."""
MANIFEST, LOCK, REJECTS = "manifest.json", "manifest.json.lock", "rejects.jsonl.zst"
PART_BYTES = 8 * 1024 * 1024
"""A part is cut before the line that would take it beyond this many uncompressed bytes. Workers share parts and hold
one each, so a source of some tens of megabytes has several.
"""
_HEAD = {"source_id": str, "ledger_row_digest": str, "extractor": dict}
REMAKE = "delete the raw set's folder and materialize raw_fetch again"


@dataclass(frozen=True)
class RawFile:
    """What came of one fetched file: records = documents + rejects; its documents are k = first_k, first_k + 1, …"""

    url: str
    sha256: str
    bytes: int
    decompressed_bytes: int
    records: int
    documents: int
    rejects: int
    first_k: int


@dataclass(frozen=True)
class RawSet:
    """A raw set whose lock was checked. `parts[i]` is part i; the rows of a set, part after part, are k = 0, 1, 2, …"""

    folder: Path
    source_id: str
    ledger_row_digest: str
    extractor: dict[str, Any]
    files: tuple[RawFile, ...]
    parts: tuple[Shard, ...]
    rejects: dict[str, int]
    """How many records became no document, by reason."""
    rejects_shard: Shard
    digest: str
    """SHA-256 of manifest.json: names every byte of the set."""
    judged: Shard | None = None
    """The judged pages, where there are any (formats.judged_pages)."""

    @property
    def shards(self) -> tuple[Shard, ...]:
        """Every file beside manifest and lock."""
        return (*self.parts, self.rejects_shard, *((self.judged,) if self.judged else ()))

    @property
    def documents(self) -> int:
        return sum(part.rows for part in self.parts)

    def as_dataset(self) -> Dataset:
        """The parts as a dataset that engines read; shard i is part i."""
        return Dataset(RAW, self.parts, reader="formats.raw_set_rows:read_part")

    @property
    def identity(self) -> str:
        return identity_of(self.ledger_row_digest, self.extractor)

    def first_k(self, part: int) -> int:
        """k of the first document of a part."""
        return sum(shard.rows for shard in self.parts[:part])


def identity_of(ledger_row_digest: str, extractor: dict[str, Any]) -> str:
    """What decides the bytes of a raw set: equal identity, equal set."""
    return canonical.digest({"ledger_row_digest": ledger_row_digest, "extractor": extractor})


def part_name(number: int) -> str:
    return f"part-{number:05d}.jsonl.zst"


def open_set(folder: Path) -> RawSet:
    """The raw set in `folder`, once its manifest has the digest of its lock. Parts are checked when they are read.
    Raises CorruptDataError.
    """
    path = folder / MANIFEST
    data, digest = durable.read_locked(folder / LOCK, path, REMAKE)
    try:
        manifest = durable.json_value(data)
        form = (manifest["format"], manifest["version"])
        has_judged = form == ("raw_set", WITH_JUDGED)
        judged = _shard(folder, 0, manifest["judged"], "documents", judged_pages.NAME) if has_judged else None
        parts = tuple(_shard(folder, i, part, "documents", part_name(i)) for i, part in enumerate(manifest["parts"]))
        rejects = _shard(folder, 0, manifest["rejects"], "rejects", REJECTS)
        files = tuple(_file(file) for file in manifest["files"])
        head = {name: of_kind(kind, manifest[name]) for name, kind in _HEAD.items()}
        reasons = {of_kind(str, reason): of_kind(int, n) for reason, n in manifest["rejects"]["reasons"].items()}
        identity_of(head["ledger_row_digest"], head["extractor"])  # half a surrogate pair has none
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptDataError(path, "manifest", "a raw set's manifest", durable.why_no_json(error), REMAKE) from None
    if form != ("raw_set", VERSION) and not has_judged:
        raise CorruptDataError(
            path, "format", f"raw_set {VERSION} or {WITH_JUDGED}", f"{form!r:.200}", "use the release that made it"
        )
    return RawSet(
        folder, **head, files=files, parts=parts, rejects=reasons, rejects_shard=rejects, digest=digest, judged=judged
    )


def _shard(folder: Path, number: int, entry: dict[str, Any], rows: str, name: str) -> Shard:
    """An entry of the manifest as a shard. Raises ValueError for a name that is not the one its place gives it."""
    if entry["name"] != name:
        raise ValueError(f"{entry['name']!r} where {name} belongs")
    return Shard(
        number,
        str(folder / name),
        of_kind(int, entry[rows]),
        of_kind(int, entry["bytes"]),
        of_kind(str, entry["sha256"]),
    )


def _file(entry: dict[str, Any]) -> RawFile:
    """An entry of the manifest's `files`. Raises TypeError or ValueError where it is none."""
    return RawFile(**{name: of_kind(str if name in ("url", "sha256") else int, value) for name, value in entry.items()})


def of_kind(kind: type, value: Any) -> Any:
    """The value. Raises TypeError where it is of another kind, ValueError where it is a number below 0 or too large."""
    if type(value) is not kind:
        raise TypeError(f"a {type(value).__name__} where a {kind.__name__} belongs")
    if isinstance(value, int) and not 0 <= value <= MAX_WHOLE:
        raise ValueError("a number that counts nothing")
    return value

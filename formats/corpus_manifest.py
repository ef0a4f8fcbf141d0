"""Corpus manifest: `_MANIFEST.json` names every shard of a version by SHA-256 and rows. Spec: corpus_manifest.md.

The keys and their order are a fixed contract. There is no timestamp: equal corpora have equal manifests.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from formats import durable
from formats.errors import ConfigError, CorruptDataError, SchemaMismatchError
from formats.json_fields import Kind, Number, Problem, Text, Whole
from formats.json_fields import Listing as ListOf
from formats.json_kinds import HEX_SHA256
from formats.json_tables import table
from formats.json_words import described
from formats.naming import MAX_LENGTH, NAME, check_name
from formats.parquet_file import Shard
from formats.stage_tables import PII_KINDS

NAME_ON_DISK = "_MANIFEST.json"
LEDGER_REF = "corpus/LEDGER.jsonl"
DEDUP_DEFAULTS: dict[str, int | float] = {
    "exact_dropped": 0,
    "near_dropped": 0,
    "decontaminated": 0,
    "jaccard_threshold": 0.8,
    "num_perm": 128,
    "bands": 16,
    "ngram": 13,
}
_TODO = "restore the version's folder from a copy, or build the version again"
DISAGREE = (
    "either of the two may be damaged, so delete neither: restore the one that differs from a copy, or run "
    "`corpus build`, which makes the manifest again if it is the damaged one, and says so if it is the lock"
)
"""What to do where lock and manifest disagree."""
_LINE = r"[^\x00-\x1f\x7f]+"


def shard_name(i: int, n: int) -> str:
    """The file name of shard i of n: `shard-00000-of-00002.parquet`. Raises ConfigError unless 0 <= i < n."""
    if not 0 <= i < n:
        raise ConfigError(f"shard {i} of {n} does not exist; expected 0 <= i < n")
    return name_pattern(n).format(id=i)


def name_pattern(n: int) -> str:
    """Names of n shards as a pattern of `id`, as engines take it."""
    return f"shard-{{id:05d}}-of-{n:05d}.parquet"


class Counts(Kind):
    """An object of any names, each with a whole number; the names keep their order."""

    _name, _count = Text(_LINE, "a filter's name, one line", max_length=MAX_LENGTH), Whole()

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield path, f"expected an object of counts, found {described(value)}"
            return
        for key, count in value.items():
            yield from self._name.problems(key, path)
            yield from self._count.problems(count, f"{path}.{key}")

    def build(self, value: Any) -> Any:
        return dict(value)

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "propertyNames": self._name.schema(), "additionalProperties": self._count.schema()}


def _name(kind: str) -> Text:
    def wrong(name: str) -> str | None:
        try:
            check_name(kind, name)
        except ConfigError as error:
            return str(error)
        return None

    return Text(NAME.pattern, f"a {kind} name", wrong, MAX_LENGTH)


@dataclass(frozen=True)
class ShardEntry:
    name: Annotated[str, Text(r"shard-[0-9]{5,}-of-[0-9]{5,}\.parquet", "shard-<iiiii>-of-<nnnnn>.parquet")]
    sha256: Annotated[str, HEX_SHA256]
    rows: Annotated[int, Whole()]


@dataclass(frozen=True)
class Dedup:
    exact_dropped: Annotated[int, Whole()]
    near_dropped: Annotated[int, Whole()]
    decontaminated: Annotated[int, Whole()]
    jaccard_threshold: Annotated[float, Number(0, 1)]
    num_perm: Annotated[int, Whole(1)]
    bands: Annotated[int, Whole(1)]
    ngram: Annotated[int, Whole(1)]


@dataclass(frozen=True)
class Pii:
    emails: Annotated[int, Whole()]
    phones: Annotated[int, Whole()]
    cards: Annotated[int, Whole()]
    ips: Annotated[int, Whole()]
    keys: Annotated[int, Whole()]


@dataclass(frozen=True)
class Manifest:
    """Describes the document; code passes the document itself, a plain dict, around."""

    dataset: Annotated[str, _name("dataset")]
    version: Annotated[str, _name("version")]
    n_docs: Annotated[int, Whole()]
    n_shards: Annotated[int, Whole(1)]
    shards: Annotated[tuple[ShardEntry, ...], ListOf(table(ShardEntry), min_items=1)]
    filters: Annotated[dict[str, int], Counts()]
    dedup: Dedup
    pii: Pii
    ledger_ref: Annotated[str, Text(_LINE)]
    config_sha256: Annotated[str, HEX_SHA256]

    def rules(self) -> Iterator[Problem]:
        """What one key says about another: counts, names in order, every shard but the last of equal length."""
        if self.n_shards != len(self.shards):
            yield "n_shards", f"is {self.n_shards}, but {len(self.shards)} shards are listed"
        if self.n_docs != (rows := sum(shard.rows for shard in self.shards)):
            yield "n_docs", f"is {self.n_docs}, but the shards' rows sum to {rows}"
        for i, shard in enumerate(self.shards):
            if shard.name != (expected := shard_name(i, len(self.shards))):
                yield f"shards[{i}].name", f"is {shard.name}, expected {expected}"
        full, last = self.shards[0].rows, self.shards[-1].rows
        for i, shard in enumerate(self.shards[:-1]):
            if shard.rows != full:
                yield f"shards[{i}].rows", f"is {shard.rows}, but shard 0 has {full}; only the last may be shorter"
        if len(self.shards) > 1 and not 0 < last <= full:
            yield f"shards[{len(self.shards) - 1}].rows", f"is {last}, expected 1 to {full}"


PII_KEYS = dict(zip(PII_KINDS, Pii.__annotations__, strict=True))
"""The manifest's key of each kind: `email` is counted under `emails`."""


def json_schema() -> dict[str, Any]:
    """What corpus_manifest.schema.json holds. Order of keys and sums are beyond JSON Schema: `validate` checks them."""
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "_MANIFEST.json of a corpus version"}
    return {**about, **table(Manifest).schema()}


def build(
    shards: Sequence[Shard],
    *,
    dataset: str,
    version: str,
    filters: Mapping[str, int] | None = None,
    dedup: Mapping[str, int | float] | None = None,
    pii: Mapping[str, int] | None = None,
    ledger_ref: str = LEDGER_REF,
    config_sha256: str = "0" * 64,
) -> dict[str, Any]:
    """The manifest of finished shards, in order. `dedup` overrides DEDUP_DEFAULTS key by key; `pii` counts by kind.

    Raises ConfigError that names every argument that is wrong.
    """
    manifest = {
        "dataset": dataset,
        "version": version,
        "n_docs": sum(shard.rows for shard in shards),
        "n_shards": len(shards),
        "shards": [{"name": Path(s.path).name, "sha256": s.sha256, "rows": s.rows} for s in shards],
        "filters": _over({}, filters),
        "dedup": _over(DEDUP_DEFAULTS, dedup),
        "pii": _over(dict.fromkeys(PII_KINDS, 0), pii),
        "ledger_ref": ledger_ref,
        "config_sha256": config_sha256,
    }
    if isinstance(manifest["pii"], dict):
        manifest["pii"] = {PII_KEYS.get(kind, kind): count for kind, count in manifest["pii"].items()}
    kind = table(Manifest)
    if found := list(kind.problems(manifest, "")):
        raise ConfigError("\n".join(f"{path}: {wrong}" for path, wrong in found))
    document: dict[str, Any] = kind.dump(kind.build(manifest))
    return document


def _over(defaults: Mapping[str, Any], given: Any) -> Any:
    """The defaults with what is given over them; what is no mapping goes on as it is, to be refused by name."""
    return {**defaults, **(given or {})} if given is None or isinstance(given, Mapping) else given


def to_bytes(manifest: Mapping[str, Any]) -> bytes:
    """The one byte form of a manifest."""
    return (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def validate(manifest: Any, where: object = NAME_ON_DISK) -> None:
    """Raises SchemaMismatchError that names the first key that is wrong, out of place or in contradiction."""
    kind = table(Manifest)
    for path, wrong in kind.problems(manifest, ""):
        raise SchemaMismatchError(where, path or "manifest", "what corpus_manifest.md says", f"wrong ({wrong})", _TODO)
    if (exact := to_bytes(kind.dump(kind.build(manifest)))) != to_bytes(manifest):
        lines = zip(exact.splitlines(), to_bytes(manifest).splitlines(), strict=True)
        expected, found = next((a.strip().decode(), b.strip().decode()) for a, b in lines if a != b)
        raise SchemaMismatchError(where, "order of keys or form of a number", expected, found, _TODO)


def write(folder: Path, manifest: Mapping[str, Any]) -> Path:
    """Write `_MANIFEST.json` whole or not at all, after `validate`; returns its path."""
    validate(manifest, folder / NAME_ON_DISK)
    durable.write_file(folder / NAME_ON_DISK, to_bytes(manifest))
    return folder / NAME_ON_DISK


def read(folder: Path) -> dict[str, Any]:
    """The manifest in a version's folder. Raises CorruptDataError when it is missing, is no JSON or has other bytes
    than `to_bytes` gives, SchemaMismatchError when a key is wrong.
    """
    path = folder / NAME_ON_DISK
    try:
        data = path.read_bytes()
    except durable.NO_FILE:
        raise CorruptDataError(path, "manifest", "a file", durable.instead_of_a_file(path), _TODO) from None
    return parse(data, path)


def read_locked(folder: Path, lock: Path) -> tuple[dict[str, Any], str]:
    """The manifest in a version's folder and its SHA-256, which is the one in `lock`. Raises as `read` does, and
    CorruptDataError where lock and manifest disagree.
    """
    path = folder / NAME_ON_DISK
    data, digest = durable.read_locked(lock, path, disagree=DISAGREE)
    return parse(data, path), digest


def parse(data: bytes, path: Path) -> dict[str, Any]:
    """The manifest in what was read of `path`. Raises as `read` does."""
    try:
        manifest = durable.json_value(data)
    except (ValueError, RecursionError) as error:
        raise CorruptDataError(path, "manifest", "JSON in UTF-8", durable.why_no_json(error), _TODO) from None
    validate(manifest, path)
    if data != to_bytes(manifest):
        raise CorruptDataError(path, "bytes", "json.dumps(…, indent=2) and a newline", "another form", _TODO)
    return manifest


if __name__ == "__main__":  # writes the schema again
    exported = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    durable.write_file(Path(__file__).with_name("corpus_manifest.schema.json"), exported.encode())

"""n-gram index: which n-grams of words a published corpus holds, so that a later benchmark can be checked against it,
also when the texts are gone. Spec: ngram_index.md.

Parts are Parquet, cut by ranges of the hash; `index.json` names each by length and SHA-256, and its own SHA-256 is what
a snapshot pins.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from formats import canonical, durable, parquet_file, row_groups
from formats.errors import CorruptDataError, SchemaMismatchError
from formats.json_fields import Choice, Listing, Text, Whole
from formats.json_kinds import HEX_SHA256, name_of
from formats.json_tables import Rules, table
from formats.json_words import described
from formats.parquet_file import Shard

FORMAT, VERSION = "ngram-index", 1
FOLDER, NAME_ON_DISK = "ngram_index", "index.json"
"""Where it lies in the evidence of its version."""
FORMS = ("postings", "filter")
PART_PATTERN = "part-{id:05d}.parquet"
MAX_RATE, MAX_PARTS = 1 << 32, 1 << 20
_TODO = "restore the evidence folder from a copy, or build the version again"


def _schema(form: str, *fields: tuple[str, pa.DataType]) -> pa.Schema:
    about = {"format": f"{FORMAT}.{form}", "version": str(VERSION)}
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in fields], metadata=about)


POSTINGS = _schema(
    "postings",
    ("hash", pa.int64()),
    ("id", pa.large_string()),
    ("start", pa.int64()),
    ("length", pa.int32()),
)
"""n-grams of documents, sorted by (hash, id, start). `start` and `length` count code points of the published text."""

FILTER = _schema(
    "filter",
    ("num_keys", pa.int64()),
    ("seed", pa.int64()),
    ("segment_length", pa.int64()),
    ("segments", pa.int64()),
    ("fingerprints", pa.large_binary()),
)
"""One row a part: the binary fuse filter of its hashes (corpus_assets/kernels/fuse_filter.md)."""

SCHEMAS = {"postings": POSTINGS, "filter": FILTER}


@dataclass(frozen=True)
class WordTables(Rules):
    """The Unicode versions of the tables that say what a word is and what its lower case: another one, other hashes."""

    unicode: Annotated[str, Text()]
    case: Annotated[str, Text()]


@dataclass(frozen=True)
class Part(Rules):
    """One file; numbers without n-grams have none."""

    number: Annotated[int, Whole(0, MAX_PARTS - 1)]
    rows: Annotated[int, Whole(1)]
    bytes: Annotated[int, Whole(1)]
    sha256: Annotated[str, HEX_SHA256]

    @property
    def name(self) -> str:
        return PART_PATTERN.format(id=self.number)


@dataclass(frozen=True)
class Head(Rules):
    """What `index.json` says. `ngrams` counts those indexed over all documents, `distinct` their different hashes."""

    format: Annotated[str, Choice((FORMAT,))]
    version: Annotated[int, Whole(VERSION, VERSION)]
    dataset: Annotated[str, name_of("dataset")]
    corpus_version: Annotated[str, name_of("version")]
    corpus_manifest_sha256: Annotated[str, HEX_SHA256]
    form: Annotated[str, Choice(FORMS)]
    ngram: Annotated[int, Whole(1, 100)]
    min_item_words: Annotated[int, Whole(1, 100)]
    rate: Annotated[int, Whole(1, MAX_RATE)]
    words: WordTables
    documents: Annotated[int, Whole()]
    ngrams: Annotated[int, Whole()]
    distinct: Annotated[int, Whole()]
    num_parts: Annotated[int, Whole(1, MAX_PARTS)]
    parts: Annotated[tuple[Part, ...], Listing(table(Part))]

    def rules(self) -> Iterator[tuple[str, str]]:
        numbers = [part.number for part in self.parts]
        if numbers != sorted(set(numbers)) or (numbers and numbers[-1] >= self.num_parts):
            yield "parts", f"expected numbers that ascend below {self.num_parts}, found {described(numbers)}"
        if not self.distinct <= self.ngrams:
            yield "distinct", f"expected at most {self.ngrams} (ngrams), found {self.distinct}"
        rows = sum(part.rows for part in self.parts)
        if rows != (expected := self.ngrams if self.form == "postings" else len(self.parts)):
            yield "parts", f"expected {expected} rows in all, found {rows}"

    @property
    def num_bytes(self) -> int:
        return sum(part.bytes for part in self.parts)


@dataclass(frozen=True)
class NgramIndex:
    """An index whose head was read and checked; parts are checked when they are read."""

    folder: Path
    sha256: str
    head: Head

    def postings(self, part: Part) -> Iterator[pa.RecordBatch]:
        """The rows of a part of the form `postings`, in order.

        Raises CorruptDataError for another length, hash, order, range or rate; SchemaMismatchError for other columns.
        """
        last = None
        for batch in self._rows(part):
            _check_postings(self.folder / part.name, batch, self.head, part.number, last)
            last = batch.column("hash")[-1].as_py()
            yield batch

    def filter(self, part: Part) -> dict[str, Any]:
        """The one row of a part of the form `filter`; `fingerprints` is a read-only array. Raises as `postings`."""
        path, rows = self.folder / part.name, [row for batch in self._rows(part) for row in batch.to_pylist()]
        if len(rows) != 1:
            raise CorruptDataError(path, "rows", 1, len(rows), _TODO)
        (row,) = rows
        room, found = 2 * (row["segments"] + 2) * row["segment_length"], len(row["fingerprints"])
        length = row["segment_length"]
        if min(row["segments"], length, row["num_keys"]) < 1 or length & (length - 1) or found != room:
            shape = {name: row[name] for name in ("num_keys", "segment_length", "segments")}
            raise CorruptDataError(path, "fingerprints", f"{room} bytes", f"{found} of {shape}", _TODO)
        return {**row, "fingerprints": np.frombuffer(row["fingerprints"], "<u2")}

    def _rows(self, part: Part) -> Iterator[pa.RecordBatch]:
        path = self.folder / part.name
        try:
            parquet_file.verified(Shard(part.number, str(path), part.rows, part.bytes, part.sha256))
        except CorruptDataError as error:
            raise CorruptDataError(error.path, error.field, error.expected, error.found, _TODO) from None
        yield from parquet_file.read_groups(path, schema=SCHEMAS[self.head.form], rows=part.rows, todo=_TODO)


def part_of(hashes: np.ndarray, num_parts: int) -> np.ndarray:
    """int64: the part that holds each hash (int64): parts share the range of hashes evenly, in its order."""
    upper = (hashes.view(np.uint64) ^ np.uint64(1 << 63)) >> np.uint64(32)
    return (upper * np.uint64(num_parts) >> np.uint64(32)).astype(np.int64)


def is_sampled(hashes: np.ndarray, rate: int) -> np.ndarray:
    """bool: whether each hash (int64), as an unsigned number, is one that an index of this rate holds."""
    return hashes.view(np.uint64) % np.uint64(rate) == 0


def write_part(
    part: int, path: Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, row_group_bytes: int
) -> Shard:
    """Write one part whole or not at all; the signature is that of a stage's writer. Kept for years, so smaller than a
    stage's output: hashes ascend, and lengths are few.
    """
    groups = row_groups.cut_row_groups(batches, schema, row_group_bytes)
    options: dict[str, Any] = {"use_dictionary": False, "compression_level": 3}
    if "hash" in schema.names:
        options |= {"column_encoding": {"hash": "DELTA_BINARY_PACKED", "start": "DELTA_BINARY_PACKED"}}
    return parquet_file.write_groups(part, path, groups, schema, **options)


def to_bytes(head: Head) -> bytes:
    """The one byte form of `index.json`: canonical JSON. Raises SchemaMismatchError for a head that is none."""
    document = head.as_json()
    validate(document)
    return canonical.to_bytes(document)


def validate(document: Any, where: object = NAME_ON_DISK) -> None:
    """Raises SchemaMismatchError that names the first key that is missing, foreign or wrong."""
    for field, wrong in table(Head).problems(document, ""):
        raise SchemaMismatchError(where, field or "index", "what ngram_index.md says", f"wrong ({wrong})", _TODO)


def read(folder: Path, sha256: str) -> NgramIndex:
    """The index in `folder`, once its head has this SHA-256. Raises CorruptDataError where it is missing or another."""
    path = folder / NAME_ON_DISK
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise CorruptDataError(path, "file", f"sha256 {sha256}", "missing", _TODO) from None
    if (found := hashlib.sha256(data).hexdigest()) != sha256:
        raise CorruptDataError(path, "sha256", sha256, found, _TODO)
    try:
        document = durable.json_value(data)
    except (ValueError, RecursionError) as error:
        raise CorruptDataError(path, "content", "JSON", durable.why_no_json(error), _TODO) from None
    validate(document, path)
    return NgramIndex(folder, sha256, table(Head).build(document))


def _check_postings(path: Path, batch: pa.RecordBatch, head: Head, number: int, last: int | None) -> None:
    hashes = batch.column("hash").to_numpy()
    before = hashes[:-1] if last is None else np.concatenate(([last], hashes[:-1]))
    ascend = (hashes[-len(before) :] >= before).all() if len(before) else True
    for field, right in (
        ("order of hashes", ascend),
        ("part of hashes", (part_of(hashes, head.num_parts) == number).all()),
        ("rate of hashes", is_sampled(hashes, head.rate).all()),
        ("start", (batch.column("start").to_numpy() >= 0).all()),
        ("length", (batch.column("length").to_numpy() >= 1).all()),
    ):
        if not right:
            raise CorruptDataError(path, field, "as ngram_index.md says", "another", _TODO)

"""Corpus shards: the Parquet files of a version, and the code that writes and reads them. Spec: corpus_shard.md.

`write_shards` takes documents and holds them while it sorts; the pipeline hands sorted rows to `write_shard`, which
holds one row group. Both give the same bytes.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from formats import corpus_manifest, durable, yank
from formats.corpus_doc import SPLITS, Doc, check_whole, first_rows, lang_of, pii_counts, redactions_of, sorted_by_id
from formats.corpus_manifest import DEDUP_DEFAULTS, LEDGER_REF, name_pattern, shard_name
from formats.errors import ConfigError, CorruptDataError, NotConvergedError, SchemaMismatchError
from formats.parquet_file import Shard, read_groups, write_groups
from formats.row_groups import MAX_STRING_BYTES, cut_row_groups

__all__ = [
    "DEDUP_DEFAULTS",
    "DEFAULT_ROW_GROUP_BYTES",
    "SCHEMA",
    "Doc",
    "name_pattern",
    "num_shards",
    "permilles",
    "read_shard",
    "read_shards",
    "shard_name",
    "split_of",
    "write_shard",
    "write_shards",
]

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("text", pa.string()),
        ("source_id", pa.string()),
        ("url", pa.string()),
        ("license_spdx", pa.string()),
        ("lang", pa.string()),
        ("n_chars", pa.int32()),
        ("sha256", pa.binary(32)),
        ("minhash_cluster", pa.int64()),
        ("pii_redactions", pa.int32()),
        ("split", pa.string()),
    ]
)
DEFAULT_ROW_GROUP_BYTES = 64 * 1024 * 1024
BATCH_ROWS = 1024
_TODO = "restore the version's folder from a copy, or build the version again"


def split_of(sha256: bytes, val_permille: int) -> str:
    """`val` or `train`, of the SHA-256 (32 bytes) of the text. Raises ConfigError for other arguments."""
    if not isinstance(sha256, bytes) or len(sha256) != 32:
        raise ConfigError(f"sha256 is {sha256!r}, expected the 32 bytes of a digest")
    check_whole("val_permille", val_permille, 0, 1000)
    return "val" if int.from_bytes(sha256[:8], "big") % 1000 < val_permille else "train"


def permilles(sha256: pa.FixedSizeBinaryArray) -> np.ndarray:
    """What `split_of` compares with val_permille, 0 to 999, for each row of a column without nulls."""
    _, data = sha256.buffers()
    if len(sha256) == 0:
        return np.zeros(0, np.int64)
    rows = np.frombuffer(data, np.uint8).reshape(-1, 32)[sha256.offset : sha256.offset + len(sha256), :8]
    return (np.ascontiguousarray(rows).view(">u8")[:, 0] % 1000).astype(np.int64)


def num_shards(num_docs: int, shard_rows: int) -> int:
    """Shards of a version: an empty corpus has one, too."""
    return max(1, -(-num_docs // shard_rows))


def write_shard(
    shard_id: int, path: Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, row_group_bytes: int
) -> Shard:
    """Write one shard from rows in their final order, holding one row group; has the signature of dataset.write_shard.

    The columns are SCHEMA's, strings large or not. Row groups are cut by the bytes of `text` alone. Raises
    SchemaMismatchError for other columns and for nulls, NotConvergedError when an id does not follow the one before,
    ConfigError when the urls or ids of a row group are longer together than a column holds.
    """
    if schema != SCHEMA:
        raise SchemaMismatchError(path, "schema", SCHEMA, schema, "hand over formats.corpus_shard.SCHEMA")
    groups = cut_row_groups(batches, SCHEMA, row_group_bytes, _text_bytes)
    return write_groups(shard_id, path, _checked(path, groups), SCHEMA)


def write_shards(
    docs: Iterable[Doc],
    out: Path | str,
    *,
    dataset: str,
    version: str,
    shard_rows: int,
    val_permille: int = 5,
    row_group_bytes: int = DEFAULT_ROW_GROUP_BYTES,
    filters: Mapping[str, int] | None = None,
    dedup: Mapping[str, int | float] | None = None,
    ledger_ref: str = LEDGER_REF,
    config_sha256: str = "0" * 64,
) -> dict[str, Any]:
    """Write the documents as a version's folder `out`, in place of what is there, and return its manifest.

    The order of `docs` does not matter. A kill or failure at any point leaves the old folder or the new one; a start
    puts back what a killed one left aside. Raises ConfigError for a bad argument or document, with nothing written.
    """
    out = _output(out)
    durable.restore_folder(out)
    check_whole("shard_rows", shard_rows, 1)
    check_whole("val_permille", val_permille, 0, 1000)
    check_whole("row_group_bytes", row_group_bytes, 1, MAX_STRING_BYTES)
    settings: dict[str, Any] = {
        "dataset": dataset,
        "version": version,
        "filters": filters,
        "dedup": dedup,
        "ledger_ref": ledger_ref,
        "config_sha256": config_sha256,
    }
    corpus_manifest.build([_EMPTY], **settings)  # checks the settings before the first document is asked for
    rows = sorted_by_id(docs)
    clusters = first_rows(rows)
    n = num_shards(len(rows), shard_rows)
    temporary = out.with_name(out.name + ".tmp")
    try:
        shards = []
        for i in range(n):
            of_shard = range(i * shard_rows, min((i + 1) * shard_rows, len(rows)))
            batches = _batches(rows, clusters, of_shard, val_permille)
            path = temporary / shard_name(i, n)
            shards.append(write_shard(i, path, batches, SCHEMA, row_group_bytes=row_group_bytes))
        manifest = corpus_manifest.build(shards, pii=pii_counts(rows), **settings)
        corpus_manifest.write(temporary, manifest)
        durable.swap_folder(temporary, out)
    except BaseException:  # whatever ended it, what was there before is there again
        durable.restore_folder(out)
        raise
    return manifest


def read_shard(
    out: Path, entry: Mapping[str, Any], *, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of one shard that the manifest lists as `entry`, holding one row group at a time.

    Raises CorruptDataError before any row is given when its hash or number of rows is another, SchemaMismatchError for
    other columns than SCHEMA.
    """
    path = out / entry["name"]
    try:
        found = durable.sha256_of(path)
    except durable.NO_FILE:
        found = durable.instead_of_a_file(path)
        raise CorruptDataError(path, "file", f"sha256 {entry['sha256']}", found, _TODO) from None
    if found != entry["sha256"]:
        raise CorruptDataError(path, "sha256", entry["sha256"], found, _TODO)
    yield from read_groups(path, schema=SCHEMA, rows=entry["rows"], columns=columns, todo=_TODO)


def read_shards(out: Path | str, split: str | None = None, *, allow_yanked: bool = False) -> Iterator[Doc]:
    """The documents in `out` in order, all or those of one split; each shard is verified before its first document.

    Raises ConfigError for a split that does not exist and for a version that is yanked (yank.md), CorruptDataError for
    a missing or changed manifest or shard, or a mark that cannot be read.
    """
    if split is not None and split not in SPLITS:
        raise ConfigError(f"split is {split!r}, expected one of {', '.join(SPLITS)}, or None for all")
    folder = Path(out)
    manifest = corpus_manifest.read(folder)
    if not allow_yanked and (record := _yanked(folder)):
        raise yank.refusal(record, f"the version in {folder}", "read_shards(…, allow_yanked=True)")
    return _docs(folder, manifest["shards"], split)


def _yanked(folder: Path) -> yank.Yank | None:
    record = yank.read(folder.with_name(folder.name + yank.SUFFIX))
    same = record and record.manifest_sha256 == durable.sha256_of(folder / corpus_manifest.NAME_ON_DISK)
    return record if same else None


def _docs(folder: Path, entries: Sequence[Mapping[str, Any]], split: str | None) -> Iterator[Doc]:
    names = ("url", "license_spdx", "lang", "minhash_cluster", "pii_redactions")
    for entry in entries:
        for batch in read_shard(folder, entry):
            kept = batch if split is None else batch.filter(pc.equal(batch.column("split"), split))
            columns = [kept.column(name).to_pylist() for name in ("id", "text", "source_id", *names)]
            for doc_id, text, source_id, *meta in zip(*columns, strict=True):
                yield Doc(doc_id, text, source_id, dict(zip(names, meta, strict=True)))


_EMPTY = Shard(0, shard_name(0, 1), 0, 0, "0" * 64)


def _text_bytes(batch: pa.RecordBatch) -> np.ndarray:
    if "text" not in batch.schema.names:
        raise SchemaMismatchError("rows to write", "columns", SCHEMA.names, batch.schema.names, "hand over SCHEMA's")
    lengths = pc.fill_null(pc.binary_length(batch.column("text")), 0)
    return lengths.to_numpy(zero_copy_only=False).astype(np.int64)


def _checked(path: Path, groups: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The groups as they are, once they hold no null and ids that ascend."""
    last = None
    for group in groups:
        for name, column in zip(SCHEMA.names, group.columns, strict=True):
            if column.null_count:
                raise SchemaMismatchError(path, name, "a value in every row", f"null in {column.null_count}", _TODO)
        ids = group.column("id").chunk(0)
        if not pc.all(pc.less(ids[:-1], ids[1:]), min_count=0).as_py():
            raise NotConvergedError(f"{path}: ids do not ascend; sort the rows by id as bytes, each id once")
        if last is not None and not last < ids[0].as_py():
            raise NotConvergedError(f"{path}: id {ids[0]} follows {last}; sort the rows by id as bytes, each id once")
        last = ids[-1].as_py()
        yield group


def _output(out: Path | str) -> Path:
    """The folder as an absolute path, so that it has a name beside which `.tmp` and `.old` can lie."""
    path = Path(out).absolute()
    if not path.name or path.name == ".." or (path.exists() and not path.is_dir()):
        raise ConfigError(f"out is {str(out)!r}, expected a folder or a name that is still free")
    return path


def _batches(
    rows: Sequence[Doc], clusters: Sequence[int], of_shard: range, val_permille: int
) -> Iterator[pa.RecordBatch]:
    """Rows of SCHEMA, but with large strings: those of a batch may be longer together than a string column holds."""
    schema = pa.schema([(f.name, pa.large_string() if f.type == pa.string() else f.type) for f in SCHEMA])
    for start in range(of_shard.start, of_shard.stop, BATCH_ROWS):
        docs = rows[start : min(start + BATCH_ROWS, of_shard.stop)]
        digests = [hashlib.sha256(doc.text.encode()).digest() for doc in docs]
        columns = [
            [doc.id for doc in docs],
            [doc.text for doc in docs],
            [doc.source_id for doc in docs],
            [doc.meta["url"] for doc in docs],
            [doc.meta["license_spdx"] for doc in docs],
            [lang_of(doc) for doc in docs],
            [len(doc.text) for doc in docs],
            digests,
            clusters[start : start + len(docs)],
            [redactions_of(doc) for doc in docs],
            [split_of(digest, val_permille) for digest in digests],
        ]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)

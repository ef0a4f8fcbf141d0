"""What the manifest of a snapshot may say, and what its keys say about each other. Spec: snapshot.md."""

import re
from collections.abc import Iterator
from typing import Any

from formats import naming
from formats.corpus_doc import SPLITS
from formats.json_words import described

FORMAT, VERSION = "snapshot", 1
DTYPES = ("<u2", "<u4")
_KEYS = {
    "format": str,
    "version": int,
    "dataset": str,
    "corpus_version": str,
    "tokens": str,
    "corpus_manifest_sha256": str,
    "token_config_sha256": str,
    "tokenizer": dict,
    "vocab_size": int,
    "eos_id": int,
    "pad_id": int,
    "seq_len": int,
    "dtype": str,
    "packing": str,
    "stage_versions": dict,
    "counts": dict,
    "splits": dict,
}
_MAX_SEQ_LEN, _MAX_VOCAB, _MAX_COUNT = (1 << 31) - 1, 1 << 32, (1 << 53) - 1
_DIGESTS = re.compile("(?:[0-9a-f]{64}\n)*")
COLUMNS = ("sequences", "tokens", "documents", "sha256", "index_sha256")


def dtype_for(vocab_size: int) -> str:
    """uint16 where every id of the vocabulary fits, else uint32; both little-endian."""
    return DTYPES[0] if vocab_size <= 1 << 16 else DTYPES[1]


def problems(document: Any) -> Iterator[tuple[str, object, object]]:
    if not isinstance(document, dict) or set(document) != set(_KEYS):
        found = sorted(document) if isinstance(document, dict) else type(document).__name__
        yield "keys", sorted(_KEYS), found
        return
    for key, kind in _KEYS.items():
        if type(document[key]) is not kind:
            yield key, kind.__name__, type(document[key]).__name__
            return
    if (form := (document["format"], document["version"])) != (FORMAT, VERSION):
        yield "format and version", (FORMAT, VERSION), form
    for key, largest in (("seq_len", _MAX_SEQ_LEN), ("vocab_size", _MAX_VOCAB)):
        if not 1 <= document[key] <= largest:
            yield key, f"1 to {largest}", described(document[key])
    if document["dtype"] != (expected := dtype_for(document["vocab_size"])):
        yield "dtype", expected, described(document["dtype"])
    for key in ("eos_id", "pad_id"):
        if not 0 <= document[key] < document["vocab_size"]:
            yield key, f"an id below {document['vocab_size']}", described(document[key])
    if set(document["splits"]) != set(SPLITS):
        yield "splits", SPLITS, sorted(document["splits"])
        return
    for split, buckets in document["splits"].items():
        if not isinstance(buckets, dict):
            yield f"splits.{split}", "an object of buckets", described(buckets)
            return
        for bucket, columns in buckets.items():
            if not naming.NAME.fullmatch(bucket) or len(bucket) > naming.MAX_LENGTH:  # it becomes a folder's name
                yield f"splits.{split}", f"buckets with names {naming.NAME.pattern}", described(bucket)
                return
            yield from _column_problems(f"splits.{split}.{bucket}", columns, document["seq_len"])


def _column_problems(where: str, columns: Any, seq_len: int) -> Iterator[tuple[str, object, object]]:
    if not isinstance(columns, dict) or set(columns) != set(COLUMNS):
        yield where, COLUMNS, described(columns) if not isinstance(columns, dict) else sorted(columns)
        return
    if not all(isinstance(columns[name], list) for name in COLUMNS):
        yield where, "a list a column", "something else"
        return
    if len({len(columns[name]) for name in COLUMNS}) != 1:
        yield where, "columns of one length", {name: len(columns[name]) for name in COLUMNS}
        return
    for name in ("sequences", "tokens", "documents"):
        counts = columns[name]
        if set(map(type, counts)) - {int} or (counts and not 0 <= min(counts) <= max(counts) <= _MAX_COUNT):
            yield f"{where}.{name}", "whole numbers from 0", "others"
            return
    for name in ("sha256", "index_sha256"):
        if not _are_digests(columns[name]):
            yield f"{where}.{name}", "64 hex digits each", "others"
    pairs = zip(columns["tokens"], columns["sequences"], strict=True)
    if any(tokens > sequences * seq_len for tokens, sequences in pairs):
        yield f"{where}.tokens", "no more than the sequences hold", "more"


def _are_digests(column: list[Any]) -> bool:
    """One look at all: ten thousand are some 2 ms, not 15."""
    if set(map(type, column)) - {str}:
        return False
    joined = "\n".join([*column, ""])
    return len(joined) == 65 * len(column) and bool(_DIGESTS.fullmatch(joined))

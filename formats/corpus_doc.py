"""Documents as a caller hands them to formats.corpus_shard: each is checked before the first is written."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NoReturn

from formats.corpus_manifest import PII_KEYS
from formats.errors import ConfigError
from formats.json_fields import MAX_WHOLE
from formats.languages import UNDETERMINED

SPLITS = ("train", "val")
_INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class Doc:
    """One document. `meta` holds `url`, `license_spdx`, and, where known, `lang`, `minhash_cluster` (the id of the
    cluster's root), `pii` ({kind: count}) and `pii_redactions`; other keys are ignored. From `read_shards` it holds
    what a shard does: no `pii`, and `minhash_cluster` as the row index. Equal values of it name one cluster.
    """

    id: str
    text: str
    source_id: str
    meta: Mapping[str, Any]


def check_whole(name: str, value: object, minimum: int, maximum: int = MAX_WHOLE) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise ConfigError(f"{name} is {value!r}, expected a whole number from {minimum} to {maximum}")


def sorted_by_id(docs: Iterable[Doc]) -> list[Doc]:
    """All documents, checked, by id. Code points order strings as their UTF-8 bytes do."""
    rows = []
    for doc in docs:
        _check_doc(doc)
        rows.append(doc)
    rows.sort(key=attrgetter("id"))
    for before, after in itertools.pairwise(rows):
        if before.id == after.id:
            raise ConfigError(f"document {after.id!r}: the id occurs twice; ids are unique in a version")
    return rows


def _check_doc(doc: object) -> None:
    if not isinstance(doc, Doc):
        raise ConfigError(f"found {type(doc).__name__} among the documents, expected formats.corpus_shard.Doc")

    def refuse(field: str, found: object, expected: str) -> NoReturn:
        raise ConfigError(f"document {doc.id!a}: {field} is {ascii(found)[:100]}, expected {expected}")

    if not isinstance(doc.meta, Mapping):
        refuse("meta", doc.meta, "a mapping")
    named = {"id": doc.id, "source_id": doc.source_id, "lang": lang_of(doc), "text": doc.text}
    for field, value in {**named, **{name: doc.meta.get(name) for name in ("url", "license_spdx")}}.items():
        if not isinstance(value, str) or (not value and field != "text"):
            refuse(field, value, "text" if field == "text" else "text that is not empty")
        try:
            num_bytes = len(value.encode())
        except UnicodeEncodeError as error:
            refuse(field, value[error.start], f"Unicode text; a lone surrogate stands at character {error.start}")
        if num_bytes > _INT32_MAX:
            refuse(field, f"{num_bytes} bytes", f"at most {_INT32_MAX}")
    cluster, pii, redactions = (doc.meta.get(name) for name in ("minhash_cluster", "pii", "pii_redactions"))
    if not (cluster is None or (isinstance(cluster, str | int) and not isinstance(cluster, bool))):
        refuse("minhash_cluster", cluster, "the id of the cluster's root")
    if not (pii is None or isinstance(pii, Mapping)):
        refuse("pii", pii, "a mapping of kinds to counts")
    for kind, count in (pii or {}).items():
        if kind not in PII_KEYS:
            refuse("pii", kind, f"kinds of {', '.join(PII_KEYS)}")
        check_whole(f"document {doc.id!a}: pii {kind}", count, 0, _INT32_MAX)
    check_whole(f"document {doc.id!a}: pii_redactions", redactions_of(doc), 0, _INT32_MAX)
    if pii is not None and redactions not in (None, sum(pii.values())):
        refuse("pii_redactions", redactions, f"{sum(pii.values())}, the sum of pii")


def lang_of(doc: Doc) -> str:
    lang: str | None = doc.meta.get("lang")
    return UNDETERMINED if lang is None else lang


def redactions_of(doc: Doc) -> int:
    stated: int | None = doc.meta.get("pii_redactions")
    return sum((doc.meta.get("pii") or {}).values()) if stated is None else stated


def pii_counts(rows: Sequence[Doc]) -> dict[str, int]:
    counts = dict.fromkeys(PII_KEYS, 0)
    for doc in rows:
        for kind, count in (doc.meta.get("pii") or {}).items():
            counts[kind] += count
    return counts


def first_rows(rows: Sequence[Doc]) -> list[int]:
    """Per row the smallest row index of its cluster. A row that names no cluster is the root of its own."""
    first: dict[Any, int] = {}
    clusters = []
    for i, doc in enumerate(rows):
        named = doc.meta.get("minhash_cluster")
        clusters.append(first.setdefault(doc.id if named is None else named, i))
    return clusters

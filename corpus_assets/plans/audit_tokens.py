"""Whether every document of a version became its tokens, in its token shards and in its snapshot; all read back."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import pyarrow as pa

from corpus_assets.plans import audit_snapshot
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.snapshot import last_snapshot
from corpus_assets.plans.token_build import TokenBuild
from corpus_assets.plans.token_shards import corpus_rows, packed, tokenized
from corpus_assets.stages.loaded_tokenizer import MAX_PART_BYTES
from formats import dataset
from formats.dataset import Dataset

SHOWN = 5
"""Problems that the words of a finding name."""
SAMPLED = 200
"""About so many documents of a version are encoded again; of large versions one in RARE."""
RARE = 1_000
_MODULUS = 1 << 64


@dataclass(frozen=True)
class Sums:
    """Documents, tokens, and the sum of their fingerprints: equal sums, equal documents with equal tokens."""

    documents: int = 0
    tokens: int = 0
    fingerprints: int = 0

    def __str__(self) -> str:
        return f"{self.documents} documents, {self.tokens} tokens (fingerprint {self.fingerprints:016x})"


def sums_of(documents: Iterable[tuple[str, bytes]], width: int) -> Sums:
    """The sums of documents given as id and bytes of their tokens, `width` a token."""
    number = num_bytes = fingerprints = 0
    for name, tokens in documents:
        number += 1
        num_bytes += len(tokens)
        fingerprints = (fingerprints + audit_snapshot.fingerprint(name, tokens)) % _MODULUS
    return Sums(number, num_bytes // width, fingerprints)


def token_shards_conserved(build: TokenBuild) -> Finding:
    """Every published document is tokenized once, in its place, and every token is in one sequence."""
    sums, notes = _tokenized_sums(build), packed(build).open().notes
    rows = corpus_rows(build.version)
    pairs = zip_longest(_column(rows, "id"), _column(tokenized(build).open(), "id"))
    problems = []
    if wrong := next(((n, one, other) for n, (one, other) in enumerate(pairs) if one != other), None):
        problems.append(f"row {wrong[0]} is {wrong[1]} in the published shards and {wrong[2]} among the tokenized")
    in_sequences = (notes.get("documents", 0), notes.get("tokens", 0))
    if in_sequences != (sums.documents, sums.tokens):
        problems.append(f"{sums} tokenized, {in_sequences[0]} documents, {in_sequences[1]} tokens in sequences")
    figures = {"documents": sums.documents, "tokens": sums.tokens, "padding": notes.get("padding", 0)}
    return _finding(problems, f"{rows.rows} documents published = tokenized; {sums.tokens} tokens = packed", figures)


def sampled_texts_give_their_tokens(build: TokenBuild) -> Finding:
    """Some documents, chosen by the hash of their id, are encoded again, each whole, by the library itself."""
    rows, loaded = corpus_rows(build.version), build.loaded()
    one_in = max(1, min(RARE, rows.rows // SAMPLED))
    number, problems = 0, []
    for (name, text), (_, tokens) in zip(
        _columns(rows, "id", "text"), _columns(tokenized(build).open(), "id", "tokens"), strict=False
    ):
        if not _chosen(name.as_py(), one_in) or len(text.as_buffer()) > MAX_PART_BYTES:
            continue
        number += 1
        expected = [*loaded.library.encode(text.as_py(), add_special_tokens=False).ids, loaded.end]
        if (at := _first_difference(np.frombuffer(tokens.as_buffer(), loaded.dtype), expected)) is not None:
            problems.append(f"{name}: token {at} is not what the tokenizer gives for its text")
    return _finding(
        problems, f"{number} documents (one in {one_in}) encoded again: the same ids", {"documents": number}
    )


def snapshot_digests(build: TokenBuild) -> Finding:
    """The snapshot has the id that its lock names; every file has its length and hash, and no other lies there."""
    snapshot = last_snapshot(build.layout, build.key)
    problems = list(audit_snapshot.file_problems(snapshot))
    num_shards = len(audit_snapshot.all_shards(snapshot))
    return _finding(problems, f"{num_shards} shards, {snapshot.snapshot_id}", {"shards": num_shards})


def snapshot_conserved(build: TokenBuild) -> Finding:
    """The snapshot's documents, put together from its shards, are the tokenized ones, token for token."""
    snapshot = last_snapshot(build.layout, build.key)
    problems: list[str] = []
    for shard in audit_snapshot.all_shards(snapshot):
        problems += audit_snapshot.shard_problems(snapshot, shard, audit_snapshot.piece_problems)
    problems += audit_snapshot.sum_problems(snapshot)
    sums = Sums()
    if not problems:
        backs = (audit_snapshot.read_back(snapshot, shard) for shard in audit_snapshot.all_shards(snapshot))
        documents = (one for back in backs for one in back.documents())
        sums, expected = sums_of(documents, snapshot.dtype.itemsize), _tokenized_sums(build)
        if sums != expected:
            problems.append(f"{expected} tokenized, {sums} in the snapshot")
    return _finding(problems, f"{sums} tokenized = in the snapshot", {"tokens": sums.tokens})


def ids_below_vocabulary(build: TokenBuild) -> Finding:
    """Every id of the snapshot is one of the vocabulary, and what belongs to no document is padding."""
    snapshot = last_snapshot(build.layout, build.key)
    problems: list[str] = []
    for shard in audit_snapshot.all_shards(snapshot):
        problems += audit_snapshot.shard_problems(snapshot, shard, audit_snapshot.id_problems)
    vocab_size = snapshot.document["vocab_size"]
    return _finding(problems, f"every id is below {vocab_size}", {"vocab_size": vocab_size})


def _tokenized_sums(build: TokenBuild) -> Sums:
    columns = _columns(tokenized(build).open(), "id", "tokens")
    return sums_of(((name.as_py(), tokens.as_py()) for name, tokens in columns), build.loaded().dtype.itemsize)


def _columns(rows: Dataset, *names: str) -> Iterator[tuple[pa.Scalar, ...]]:
    """The values of these columns, row by row, decoded only when they are looked at."""
    for batch in dataset.read(rows, columns=names):
        yield from zip(*(batch[name] for name in names), strict=True)


def _column(rows: Dataset, name: str) -> Iterator[str]:
    for batch in dataset.read(rows, columns=[name]):
        yield from batch[name].to_pylist()


def _chosen(name: str, one_in: int) -> bool:
    return int.from_bytes(hashlib.sha256(f"encode again:{name}".encode()).digest()[:8], "big") % one_in == 0


def _first_difference(found: np.ndarray, expected: list[int]) -> int | None:
    if found.tolist() == expected:
        return None
    pairs = zip(found.tolist(), expected, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(found), len(expected)))


def _finding(problems: list[str], words: str, figures: dict[str, int]) -> Finding:
    if not problems:
        return Finding(True, words, figures)
    more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    return Finding(False, "; ".join(problems[:SHOWN]) + more, {**figures, "problems": len(problems)})

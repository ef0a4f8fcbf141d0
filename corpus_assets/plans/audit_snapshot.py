"""A snapshot read back: its files, the pieces of its documents, its ids and its sums, held to its manifest alone."""

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from formats.errors import CorruptDataError
from formats.snapshot import manifest, token_shard
from formats.snapshot.manifest import SPLITS, Snapshot, TokenShard

Problems = Iterator[str]
FINGERPRINT_BYTES = 8


def all_shards(snapshot: Snapshot) -> list[TokenShard]:
    return [shard for split in SPLITS for shard in snapshot.shards(split)]


def damaged_files(root: Path, snapshot_id: str) -> list[str]:
    """What is wrong with the files of a snapshot, its manifest included; every one of them is hashed."""
    try:
        snapshot = manifest.read(root, snapshot_id)
    except CorruptDataError as error:
        return [str(error)]
    return list(file_problems(snapshot))


def file_problems(snapshot: Snapshot) -> Problems:
    """Each file that is missing, short or changed, by its name, and each that the manifest does not name."""
    yield from wrong_files(snapshot).values()
    yield from folder_problems(snapshot)


def wrong_files(snapshot: Snapshot) -> dict[str, str]:
    """What is wrong with each file of another hash than the manifest says, by its name there. Hashes all of them."""
    named = _named(snapshot)
    with ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="hash") as pool:  # hashing lets go of the GIL
        found = pool.map(lambda one: _wrong_with(snapshot.folder / one[0], one[1]), named.items())
        return {name: wrong for name, wrong in zip(named, found, strict=True) if wrong}


def _named(snapshot: Snapshot) -> dict[str, str]:
    """The files of a snapshot -> their SHA-256."""
    return {
        name: digest
        for shard in all_shards(snapshot)
        for name, digest in ((shard.name, shard.sha256), (shard.index_name, shard.index_sha256))
    }


def folder_problems(snapshot: Snapshot) -> Problems:
    """Shards whose length is not that of their sequences, and files that the manifest does not name."""
    for shard in all_shards(snapshot):
        path, expected = snapshot.folder / shard.name, shard.sequences * snapshot.seq_len * snapshot.dtype.itemsize
        if path.is_file() and path.stat().st_size != expected:
            yield f"{path}: has {path.stat().st_size} bytes, its sequences have {expected}"
    lie_there = {path.relative_to(snapshot.folder).as_posix() for path in snapshot.folder.rglob("*") if path.is_file()}
    for name in sorted(lie_there - set(_named(snapshot)) - {manifest.NAME_ON_DISK}):
        yield f"{snapshot.folder / name}: is no file of the snapshot; remove it"


def _wrong_with(path: Path, sha256: str) -> str | None:
    try:
        token_shard.hold(path, sha256)
    except CorruptDataError as error:
        return str(error)
    return None


@dataclass(frozen=True)
class ShardBack:
    """One shard as it was read back: its ids (tokens,) and the pieces of its documents, int64 [piece] and ids."""

    shard: TokenShard
    tokens: np.ndarray
    start: np.ndarray
    length: np.ndarray
    first: np.ndarray
    ids: pa.ChunkedArray

    def documents(self) -> Iterator[tuple[str, bytes]]:
        """Each document's id and its tokens' bytes, put together from its pieces."""
        pieces: dict[str, list[int]] = {}
        for number, name in enumerate(self.ids.to_pylist()):
            pieces.setdefault(name, []).append(number)
        for name, numbers in pieces.items():
            numbers.sort(key=lambda number: int(self.first[number]))
            parts = [self.tokens[self.start[one] : self.start[one] + self.length[one]] for one in numbers]
            yield name, b"".join(part.tobytes() for part in parts)


def read_back(snapshot: Snapshot, shard: TokenShard) -> ShardBack:
    """Raises CorruptDataError for a file of another length or an index of other bytes."""
    tokens = token_shard.open_sequences(snapshot, shard).reshape(-1)
    index = token_shard.read_index(snapshot, shard)
    start, length, first = (index[name].to_numpy() for name in ("start", "length", "first"))
    return ShardBack(shard, tokens, start, length, first, index["id"])


def piece_problems(snapshot: Snapshot, back: ShardBack) -> Problems:
    """Pieces that leave the shard, overlap, or do not make up whole documents as counted."""
    shard, start, length, first = back.shard, back.start, back.length, back.first
    end = start + length
    if start.size and (start.min() < 0 or length.min() < 1 or first.min() < 0 or end.max() > back.tokens.size):
        yield f"{shard.index_name}: a piece lies outside the shard's {back.tokens.size} tokens"
        return
    if (start[1:] < end[:-1]).any():
        yield f"{shard.index_name}: pieces overlap or do not rise"
    if (total := int(length.sum())) != shard.tokens:
        yield f"{shard.index_name}: {total} tokens in its pieces, {shard.tokens} in the manifest"
    names = back.ids.combine_chunks().dictionary_encode()
    codes = names.indices.to_numpy()
    if len(names.dictionary) != shard.documents:
        yield f"{shard.index_name}: {len(names.dictionary)} documents, {shard.documents} in the manifest"
    order = np.lexsort((first, codes))
    same = codes[order][1:] == codes[order][:-1]
    follows = first[order][1:] == np.where(same, (first + length)[order][:-1], 0)
    broken = np.flatnonzero(~follows) + 1
    if (order.size and first[order[0]] != 0) or broken.size:
        name = names.dictionary[int(codes[order[broken[0]]] if broken.size else codes[order[0]])]
        yield f"{shard.index_name}: the pieces of {name} do not make up a whole document"
        return
    last = order[np.append(~same, True)] if order.size else order
    ends = back.tokens[end[last] - 1]
    if (wrong := np.flatnonzero(ends != snapshot.document["eos_id"])).size:
        name = names.dictionary[int(codes[last[wrong[0]]])]
        yield f"{shard.name}: {name} ends with token {ends[wrong[0]]}, not with that of the end of a document"


def id_problems(snapshot: Snapshot, back: ShardBack) -> Problems:
    """Ids of the vocabulary's size or more, and tokens of no document that are not padding."""
    vocab_size, pad = snapshot.document["vocab_size"], snapshot.document["pad_id"]
    tokens, name = back.tokens, back.shard.name
    if tokens.size and (largest := int(tokens.max())) >= vocab_size:
        at = int(np.argmax(tokens >= vocab_size))
        yield f"{name}: token {at} is {int(tokens[at])} (the largest is {largest}), the vocabulary has {vocab_size} ids"
    edges = np.zeros(tokens.size + 1, np.int64)
    inside = (back.start >= 0) & (back.start + back.length <= tokens.size)  # what is outside, piece_problems names
    np.add.at(edges, back.start[inside], 1)
    np.add.at(edges, (back.start + back.length)[inside], -1)
    strange = (np.cumsum(edges[:-1]) == 0) & (tokens != pad)
    if strange.any():
        at = int(np.argmax(strange))
        yield f"{name}: token {at} is {int(tokens[at])} and belongs to no document, expected padding ({pad})"


def sum_problems(snapshot: Snapshot) -> Problems:
    """Counts of the manifest that are not the sums of its shards."""
    shards, counts = all_shards(snapshot), snapshot.document["counts"]
    by_bucket: dict[str, int] = {}
    for shard in shards:
        by_bucket[shard.bucket] = by_bucket.get(shard.bucket, 0) + shard.tokens
    tokens = sum(shard.tokens for shard in shards)
    expected = {
        "documents": sum(shard.documents for shard in shards),
        "tokens": tokens,
        "padding": sum(shard.sequences for shard in shards) * snapshot.seq_len - tokens,
        "tokens_by_bucket": by_bucket,
    }
    for name, value in expected.items():
        if counts.get(name) != value:
            yield f"counts.{name} is {counts.get(name)}, its shards have {value}"
    for name in ("tokens_by_lang", "tokens_by_license"):
        if (found := sum(counts.get(name, {}).values())) != tokens:
            yield f"counts.{name} sums up to {found}, its shards have {tokens}"


def shard_problems(
    snapshot: Snapshot, shard: TokenShard, *finders: Callable[[Snapshot, ShardBack], Problems]
) -> Problems:
    """What the finders say of a shard; or why it cannot be read."""
    try:
        back = read_back(snapshot, shard)
    except CorruptDataError as error:
        yield str(error)
        return
    for finder in finders:
        yield from finder(snapshot, back)


def fingerprint(name: str, tokens: bytes) -> int:
    """What a document and its tokens add to a sum modulo 2^64 that no order changes."""
    digest = hashlib.sha256(f"{name}\n".encode() + tokens).digest()
    return int.from_bytes(digest[:FINGERPRINT_BYTES], "big")

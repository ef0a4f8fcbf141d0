"""Documents as token ids, each ended by the end-of-document token, with the shard and place that its hash gives it.

The tokenizers library is the reference; where fastokens encodes, one document in a thousand is encoded again by the
library, and a difference fails the shard. Special tokens that occur in a text are encoded as they are written there, as
any other text: a document must not be able to end itself. Cost: the library's, some 2 MB a CPU second, and some hundred
bytes of memory a byte of what it gets at once; a long document goes to it in parts where that keeps the ids.
"""

import hashlib
import json
import os
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.arrow import fixed_binaries, large_binaries
from corpus_assets.stages import exact_cuts, fast_tokenizer
from formats.errors import ConfigError, CorruptDataError
from formats.snapshot.manifest import dtype_for

CODE_VERSION = "2"


def libraries(fast: bool) -> tuple[str, ...]:
    """The distributions whose versions decide the ids."""
    return ("tokenizers", *(fast_tokenizer.LIBRARIES if fast else ()))


BATCH_CHARS = 256 * 1024
"""Text given to the library at once, which takes some 100 bytes a byte meanwhile: four times as much is a twentieth
slower, since the memory goes back to the system after each call.
"""
CACHED_WORDS = 300_000
"""Words whose ids a BPE of the library keeps, in some 50 MB. By itself it keeps the first 10,000 for good; with so many
it takes a fourteenth less time.
"""
MAX_PART_BYTES = 16 * 1024 * 1024
"""The largest text that the library gets in one piece; it takes up to 2 GB of memory for that."""
ORDER_BYTES = 8
AGAIN_ONE_IN = 1000
"""Of the documents that fastokens encodes, so many are encoded again by the library."""

CORPUS_ROWS = pa.schema(
    [pa.field(name, pa.large_string()) for name in ("id", "text", "source_id", "license_spdx", "lang", "split")]
)
"""What is read of a corpus shard."""
TOKENIZED = pa.schema([
    pa.field("token_shard", pa.int64(), nullable=False),
    pa.field("order", pa.binary(ORDER_BYTES), nullable=False),
    pa.field("id", pa.large_string(), nullable=False),
    pa.field("lang", pa.large_string(), nullable=False),
    pa.field("license_spdx", pa.large_string(), nullable=False),
    pa.field("tokens", pa.large_binary(), nullable=False),
])  # fmt: skip
"""`tokens`: little-endian ids of the snapshot's dtype. Sorted by (token_shard, order, id)."""


@dataclass(frozen=True)
class LoadedTokenizer:
    """A tokenizer file with what a token set says about it; `fast` is fastokens' form of it, where that encodes."""

    library: Any
    has_exact_cuts: bool
    vocab_size: int
    end: int
    pad: int
    fast: Any = None

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(dtype_for(self.vocab_size))

    def encode(self, texts: list[str], names: list[str] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The ids of all texts one after the other, each ended by the end-of-document token, in the snapshot's dtype;
        and int64 [text]: how many are each one's. `names` are for errors.

        Raises ConfigError for a text that is too long in one piece, and for one that the library cannot encode.
        """
        names = names or [f"text {place}" for place in range(len(texts))]
        found: list[np.ndarray] = []
        lengths = np.ones(len(texts), np.int64)
        for owners, parts in self._batches(texts, names):
            encode = partial(fast_tokenizer.encode, self.fast) if self.fast else self._encode
            ids, sizes = _by_library(encode, parts, f"{names[owners[0]]} to {names[owners[-1]]}: cannot be encoded")
            found.append(ids)
            np.add.at(lengths, owners, sizes)
        flat = np.concatenate(found) if found else np.zeros(0, np.uint32)
        if flat.size and (largest := int(flat.max())) >= self.vocab_size:
            raise CorruptDataError("tokenizer", "an id", f"below {self.vocab_size}", largest, "report this")
        ends = np.cumsum(lengths - 1)
        return np.insert(flat.astype(self.dtype), ends, self.end), lengths

    def check_again(
        self, names: list[str], texts: list[str], tokens: np.ndarray, lengths: np.ndarray, hashes: np.ndarray
    ) -> None:
        """Encode some documents, chosen by the hashes of their ids, again by the library. Raises CorruptDataError,
        which names document and place, for another id.
        """
        ends = np.cumsum(lengths)
        reference = replace(self, fast=None)
        for place in np.flatnonzero(hashes[:, -1] % np.uint64(AGAIN_ONE_IN) == 0).tolist():
            name = names[place]
            expected = reference.encode([texts[place]])[0].tolist()
            found = tokens[ends[place] - lengths[place] : ends[place]].tolist()
            if found != expected:
                at = fast_tokenizer.first_difference(expected, found)
                todo = "take `fast` out of the token set's config, and report this"
                raise CorruptDataError(name, f"token {at}", expected[at : at + 1], found[at : at + 1], todo)

    def _encode(self, parts: list[str]) -> tuple[np.ndarray, list[int]]:
        encoded = self.library.encode_batch_fast(parts, add_special_tokens=False)
        # By way of array, which takes a list of whole numbers in a fifth of numpy's time.
        ids = [np.frombuffer(array("I", one.ids), np.uint32) for one in encoded]
        return np.concatenate(ids), [len(one) for one in ids]

    def _batches(self, texts: list[str], names: list[str]) -> Iterator[tuple[np.ndarray, list[str]]]:
        """Texts in parts: int64 [part], the place of each part's text, and the parts. Nearly every text is one part."""
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        at = 0
        for long in [*np.flatnonzero(sizes > min(exact_cuts.PART_CHARS, MAX_PART_BYTES // 4)).tolist(), len(texts)]:
            ends = np.cumsum(sizes[at:long])
            begin, taken = 0, 0
            while begin < ends.size:
                stop = max(begin + 1, int(np.searchsorted(ends, taken + BATCH_CHARS, "right")))
                yield np.arange(at + begin, at + stop), texts[at + begin : at + stop]
                begin, taken = stop, int(ends[stop - 1])
            if long < len(texts):
                yield from self._parts_of(long, texts[long], names[long])
            at = long + 1

    def _parts_of(self, place: int, text: str, name: str) -> Iterator[tuple[np.ndarray, list[str]]]:
        """As `_batches`, of one long text."""
        parts: list[str] = []
        chars = 0
        for part in exact_cuts.parts(text, exact_cuts.PART_CHARS) if self.has_exact_cuts else [text]:
            if 4 * len(part) > MAX_PART_BYTES and (size := len(part.encode())) > MAX_PART_BYTES:
                raise ConfigError(
                    f"{name}: has {size} bytes in which it cannot be cut without changing its tokens, at most "
                    f"{MAX_PART_BYTES} are given to the tokenizer; drop such documents in a new version, by the rule "
                    "too_long of their profile"
                )
            if parts and chars + len(part) > BATCH_CHARS:
                yield np.full(len(parts), place), parts
                parts, chars = [], 0
            parts.append(part)
            chars += len(part)
        yield np.full(len(parts), place), parts


def _by_library(call: Callable[..., Any], given: Any, words: str) -> Any:
    """What the library gives. Raises ConfigError, which begins with `words`, for whatever it raises."""
    try:
        return call(given)
    except BaseException as error:  # it raises bare ones, and its panics are no Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ConfigError(f"{words} ({str(error)[:200]}); pin another tokenizer") from None


@lru_cache(maxsize=2)
def load_file(path: str, sha256: str) -> tuple[Any, bool]:
    """The pinned tokenizer, and whether it has exact cuts. Raises CorruptDataError for a file of other bytes,
    ConfigError for one that is no tokenizer, that draws at random or drops characters, and where the library is not
    installed.
    """
    require_library()
    from tokenizers import Tokenizer  # only here: the graph loads without it

    # One thread a call: the engine already has a worker a core.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    data = _verified(path, sha256)
    library = _by_library(Tokenizer.from_buffer, data, f"{path}: is no tokenizer of the tokenizers library")
    document = json.loads(data)
    if document["model"].get("dropout"):
        raise ConfigError(f"{path}: has dropout, so equal texts would get different ids; pin one without")
    if lost := _bytes_lost(document):
        raise ConfigError(
            f"{path}: would drop {lost} of the 256 bytes of texts in silence, since its vocabulary has no token for "
            "them and no unknown token; pin one that was trained with the whole alphabet of bytes"
        )
    library.no_truncation()
    library.no_padding()
    if hasattr(
        library.model, "_resize_cache"
    ):  # of a BPE; another release may have no such call, and gives the same ids
        library.model._resize_cache(CACHED_WORDS)
    library.encode_special_tokens = True
    return library, exact_cuts.has_exact_cuts(document)


def _bytes_lost(tokenizer: dict[str, Any]) -> int:
    """Of how many bytes a BPE makes no token: it drops what it has none for, unless it has an unknown token."""
    from tokenizers import pre_tokenizers

    model = tokenizer["model"]
    if model.get("type", "BPE") != "BPE" or model.get("unk_token") is not None:
        return 0
    if model.get("byte_fallback"):
        return sum(f"<0x{byte:02X}>" not in model["vocab"] for byte in range(256))
    return sum(symbol not in model["vocab"] for symbol in pre_tokenizers.ByteLevel.alphabet())


@lru_cache(maxsize=2)
def load_fast(path: str, sha256: str) -> Any:
    """fastokens' form of the pinned tokenizer. Raises what `load_file` raises, and ConfigError for a file of no known
    shape, and where fastokens is not installed.
    """
    _, is_known = load_file(path, sha256)
    if not is_known:
        raise ConfigError(
            f"{path}: is no byte-level BPE with the pattern of GPT-2, Llama 3, Qwen 2 or tekken, which `fast` is for; "
            "take `fast` out of the config"
        )
    return fast_tokenizer.load(_verified(path, sha256))


def _verified(path: str, sha256: str) -> bytes:
    file = Path(path)
    data = file.read_bytes() if file.is_file() else None
    found = "missing" if data is None else hashlib.sha256(data).hexdigest()
    if data is None or found != sha256:
        raise CorruptDataError(file, "sha256", sha256, found, "restore the file, or pin the one you mean in the config")
    return data


def require_library() -> None:
    """Raises ConfigError where the tokenizers library is not installed."""
    try:
        import tokenizers  # noqa: F401  only whether it can be
    except ImportError:
        raise ConfigError(
            "the tokenizers library is not installed; install it with: pip install 'corpus-assets[tokens]'"
        ) from None


@lru_cache(maxsize=2)
def load_tokenizer(
    path: str, sha256: str, end_of_document: str, pad: str | None, fast: bool = False
) -> LoadedTokenizer:
    """The pinned tokenizer with what a token set says about it. Raises what `load_file` and `load_fast` raise, and
    ConfigError where it lacks a token.
    """
    library, has_exact_cuts = load_file(path, sha256)
    ids = {}
    for name in (end_of_document, pad or end_of_document):
        if (number := library.token_to_id(name)) is None:
            raise ConfigError(f"{path}: has no token {name!r}; name one of its tokens in the config")
        ids[name] = number
    vocab_size = max(library.get_vocab(with_added_tokens=True).values()) + 1
    end, padding = ids[end_of_document], ids[pad or end_of_document]
    return LoadedTokenizer(library, has_exact_cuts, vocab_size, end, padding, load_fast(path, sha256) if fast else None)


def tokenize_documents(
    batch: pa.RecordBatch,
    *,
    shards: dict[str, tuple[int, int]],
    seed: int,
    tokenizer: dict[str, Any],
) -> pa.RecordBatch:
    """CORPUS_ROWS -> TOKENIZED rows in the same order.

    `shards`: `<split>/<source>` -> (number of the bucket's first token shard, how many it has). A document's hash says
    which of them it goes to, and where in it: neighbours of the corpus part.
    """
    loaded = load_tokenizer(**tokenizer)
    names, texts = _strings(batch["id"]), _strings(batch["text"])
    hashes = document_hashes(names, seed)
    tokens, lengths = loaded.encode(texts, names)
    if loaded.fast:
        loaded.check_again(names, texts, tokens, lengths, hashes)
    offsets = np.concatenate([[0], np.cumsum(lengths)]) * tokens.itemsize
    columns = [
        pa.array(_token_shards(batch, hashes[:, 0], shards)),
        fixed_binaries(hashes[:, :1].astype(">u8")),
        batch["id"],
        batch["lang"],
        batch["license_spdx"],
        large_binaries(offsets, tokens),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=TOKENIZED)


def document_hashes(names: list[str], seed: int) -> np.ndarray:
    """H(id, seed), uint64 (document, 4): the first number is a document's place in its bucket's order, which its eight
    bytes sort by; the last one chooses what is encoded again.
    """
    digests = b"".join([hashlib.sha256(f"{seed}:{name}".encode()).digest() for name in names])
    return np.frombuffer(digests, ">u8").reshape(-1, 4).astype(np.uint64)


def _token_shards(batch: pa.RecordBatch, order: np.ndarray, shards: dict[str, tuple[int, int]]) -> np.ndarray:
    """int64 [document]: its token shard, one of its bucket's. They are equal ranges of the hash, so that shards follow
    each other in the order of the whole bucket.
    """
    slash = pa.scalar("/", pa.large_string())
    groups = pc.binary_join_element_wise(batch["split"], batch["source_id"], slash).dictionary_encode()
    ranges = np.array([shards[group] for group in groups.dictionary.to_pylist()], np.uint64).reshape(-1, 2)
    first, size = ranges[groups.indices.to_numpy()].T
    half = np.uint64(32)  # order * size >> 64 has 96 bits on the way, so it is taken by halves
    low = (order & np.uint64(0xFFFF_FFFF)) * size >> half
    return (first + ((order >> half) * size + low >> half)).astype(np.int64)


def _strings(column: pa.Array) -> list[str]:
    """As `to_pylist`, in a third of its time."""
    strings: list[str] = column.to_numpy(zero_copy_only=False).tolist()
    return strings

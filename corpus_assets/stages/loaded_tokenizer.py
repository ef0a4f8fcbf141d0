"""Texts as token ids, each ended by the end-of-document token.

The tokenizers library is the reference; where fastokens encodes, one document in a thousand is encoded again by the
library, and a difference fails the shard. Cost: the library's, some 2 MB a CPU second, and some hundred bytes of memory
a byte of what it gets at once; a long document goes to it in parts where that keeps the ids.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from corpus_assets.stages import exact_cuts, fast_tokenizer
from corpus_assets.stages.tokenizer_file import by_library, load_fast, load_file
from formats.errors import ConfigError, CorruptDataError
from formats.snapshot.manifest_rules import dtype_for

BATCH_CHARS = 256 * 1024
"""Text given to the library at once, which takes some 100 bytes a byte meanwhile: four times as much is a twentieth
slower, since the memory goes back to the system after each call.
"""
MAX_PART_BYTES = 16 * 1024 * 1024
"""The largest text that the library gets in one piece; it takes up to 2 GB of memory for that."""
AGAIN_ONE_IN = 1000
"""Of the documents that fastokens encodes, so many are encoded again by the library."""


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
            ids, sizes = by_library(encode, parts, f"{names[owners[0]]} to {names[owners[-1]]}: cannot be encoded")
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

"""Which documents lie in a stretch of a shard's tokens: its index, ready to be asked many times."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from formats.errors import CorruptDataError
from formats.snapshot.manifest import Snapshot, TokenShard
from formats.snapshot.token_shard import read_index


@dataclass(frozen=True)
class Piece:
    """Tokens [begin, end) of what was asked for are those of document `id` from its token `first` on."""

    begin: int
    end: int
    id: str
    first: int


class Pieces:
    """The document index of one shard. Raises CorruptDataError for one of another digest, or whose pieces overlap."""

    def __init__(self, snapshot: Snapshot, shard: TokenShard) -> None:
        index = read_index(snapshot, shard)
        self.ids: pa.ChunkedArray = index["id"]
        self.start, self.length, self.first = (index[name].to_numpy() for name in ("start", "length", "first"))
        self.end = self.start + self.length
        inside = not len(self.end) or (self.start[0] >= 0 and self.end[-1] <= shard.sequences * snapshot.seq_len)
        if not inside or (self.length < 1).any() or (self.start[1:] < self.end[:-1]).any():
            expected = f"pieces apart and rising within {shard.sequences} sequences"
            path = snapshot.folder / shard.index_name
            raise CorruptDataError(path, "start and length", expected, "others", "build the snapshot again")

    def at(self, token: int) -> Piece | None:
        """The whole piece that holds a token of the shard, counted over the shard; None for padding."""
        row = int(np.searchsorted(self.end, token, side="right"))
        if row == len(self.end) or self.start[row] > token:
            return None
        return Piece(int(self.start[row]), int(self.end[row]), self.ids[row].as_py(), int(self.first[row]))

    def between(self, begin: int, end: int) -> list[Piece]:
        """The pieces of tokens [begin, end) of the shard, cut to them and counted from `begin`. What lies in none is
        padding.
        """
        if begin >= end:
            return []
        rows = slice(int(np.searchsorted(self.end, begin, side="right")), int(np.searchsorted(self.start, end)))
        found = zip(
            self.start[rows].tolist(),
            self.end[rows].tolist(),
            self.first[rows].tolist(),
            self.ids[rows].to_pylist(),
            strict=True,
        )
        return [
            Piece(max(start, begin) - begin, min(stop, end) - begin, name, first + max(0, begin - start))
            for start, stop, first, name in found
        ]

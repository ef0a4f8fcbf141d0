"""Buckets' streams: which row stands at a stream position, and back. Spec: order.md, "A bucket's stream".

A stream is a bucket's rows epoch after epoch: a short piece, whole chunks in the epoch's own permutation, a rest.
"""

from collections.abc import Sequence

import numpy as np

from formats.order.permutation import key_of, permute, subkey


class Streams:
    """The streams of buckets of these names and numbers of rows (int64 [bucket]) under a seed."""

    def __init__(self, names: Sequence[str], rows: np.ndarray, seed: int, chunk: int) -> None:
        self.rows, self.chunk = rows, chunk
        self._keys = np.array([key_of(seed, "chunks", name) for name in names], np.uint64)

    def rows_at(self, bucket: np.ndarray, streamed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(row, how far rows and stream rise together from here on) of stream positions; 1: with this row alone."""
        n = self.rows[bucket]
        epoch = streamed // n
        place = streamed - epoch * n
        head, num_chunks = self._cuts(n, epoch)
        key = subkey(self._keys[bucket], epoch)
        chunk = (place - head) // self.chunk
        offset = place - head - chunk * self.chunk
        is_head, is_rest = place < head, chunk >= num_chunks
        row = np.where(is_head, num_chunks * self.chunk + place, place)
        left = np.where(is_head, head - place, n - place)
        whole = np.flatnonzero(~(is_head | is_rest))
        if whole.size:
            row[whole] = permute(chunk[whole], num_chunks[whole], key[whole]) * self.chunk + offset[whole]
            left[whole] = self.chunk - offset[whole]
        row = (row + _turn(key, n)) % n
        return row, np.minimum(left, n - row)

    def places_of(self, bucket: int, row: int, epochs: np.ndarray) -> np.ndarray:
        """Where in each epoch a row stands, counted from the epoch's begin: the inverse of `rows_at`."""
        n = self.rows[bucket]
        head, num_chunks = self._cuts(n, epochs)
        key = subkey(self._keys[bucket], epochs)
        unturned = (row - _turn(key, n)) % n
        chunk, offset = np.divmod(unturned, self.chunk)
        in_head = unturned < num_chunks * self.chunk + head
        place = np.where(in_head, unturned - num_chunks * self.chunk, unturned)
        whole = np.flatnonzero(chunk < num_chunks)
        moved = permute(chunk[whole], num_chunks[whole], key[whole], inverse=True)
        place[whole] = head[whole] + moved * self.chunk + offset[whole]
        return place

    def _cuts(self, n: np.ndarray, epoch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(rows before the first whole chunk, whole chunks): chunks stay on the grid of the stream."""
        head = np.minimum(-(epoch * n) % self.chunk, n)
        return head, (n - head) // self.chunk


def _turn(key: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Where an epoch starts to count rows: moves the chunks' borders and the short pieces to other rows."""
    return (subkey(key, 1) % np.asarray(n).astype(np.uint64)).astype(np.int64)

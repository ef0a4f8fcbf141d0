"""Rows put in another order and left as they are: what a stage's output needs to be cut like its source again."""

from collections.abc import Iterator

import pyarrow as pa

CODE_VERSION = "1"


def as_they_come(_bucket: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A sort that changes nothing but the order."""
    yield from batches

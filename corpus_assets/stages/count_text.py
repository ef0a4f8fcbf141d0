"""Rows of a corpus shard on their way to disk, and the bytes of text that each source has among them.

Beside place_rows, not in it: the rows are its own, and what is counted here decides no byte of them.
"""

from collections import Counter
from collections.abc import Generator, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.stages.place_rows import as_shard

CODE_VERSION = "1"


def as_counted_shard(bucket: int, batches: Iterator[pa.RecordBatch]) -> Generator[pa.RecordBatch, None, dict[str, int]]:
    """OUTPUT rows sorted by row -> rows of the corpus shard. Its notes: the bytes of text by source."""
    num_bytes: Counter[str] = Counter()
    for batch in as_shard(bucket, batches):
        num_bytes.update(text_bytes(batch))
        yield batch
    return dict(num_bytes)


def text_bytes(batch: pa.RecordBatch) -> dict[str, int]:
    """Source -> UTF-8 bytes of its texts among rows of a corpus shard."""
    lengths = pc.cast(pc.binary_length(batch.column("text")), pa.int64())
    texts = pa.table({"source": batch.column("source_id"), "bytes": lengths})
    sums = texts.group_by("source").aggregate([("bytes", "sum")]).to_pylist()
    return {row["source"]: row["bytes_sum"] for row in sums}

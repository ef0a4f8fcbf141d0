"""The rows of a published version as Parquet files that hold one split each, for readers that know splits by files.

A shard of a version holds both splits, in the order of ids. Its rows of a split are written in that order, by the
writer of the shards themselves: equal shards give equal files. Memory: one row group.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.published_version import PublishedVersion
from formats import corpus_shard
from formats.errors import CorruptDataError

DATA = "data"
_TODO = "restore the version's folder or its evidence from a copy, or build the version again"


@dataclass(frozen=True)
class DataFile:
    """One file; `path` is relative to the folder of the data set, `shard` the shard that its rows are of; `num_bytes`
    is its length, `arrow_bytes` that of its columns in memory.
    """

    split: str
    path: str
    sha256: str
    num_bytes: int
    arrow_bytes: int
    num_docs: int
    shard: str


def pattern(split: str) -> str:
    """A glob of the files of one split."""
    return f"{DATA}/{split}-*.parquet"


def splits_of(version: PublishedVersion) -> list[str]:
    """The splits that have documents; `train` alone where there is none."""
    held = [split for split in corpus_shard.SPLITS if docs_in(version, split)]
    return held or [corpus_shard.SPLITS[0]]


def docs_in(version: PublishedVersion, split: str) -> int:
    """How many documents of a split the evidence counts."""
    return sum(one["splits"].get(split, 0) for one in version.counts["sources"].values())


def write(version: PublishedVersion, out: Path, splits: Sequence[str]) -> list[DataFile]:
    """A file per split and shard below `out`, also where a shard has no row of a split, so that names count on.

    Raises CorruptDataError for a shard that is not the manifest's, and where a split's rows are not those counted.
    """
    (out / DATA).mkdir()
    entries, row_group_bytes = version.manifest["shards"], version.config().row_group_bytes
    files = []
    for split in splits:
        for i, entry in enumerate(entries):
            name = f"{DATA}/{split}-{i:05d}-of-{len(entries):05d}.parquet"
            rows = _Rows(version.folder, entry, split)
            written = corpus_shard.write_shard(
                i, out / name, rows, corpus_shard.SCHEMA, row_group_bytes=row_group_bytes
            )
            told = DataFile(split, name, written.sha256, written.num_bytes, rows.num_bytes, written.rows, entry["name"])
            files.append(told)
        found, counted = sum(one.num_docs for one in files if one.split == split), docs_in(version, split)
        if found != counted:
            raise CorruptDataError(version.folder, f"rows of {split}", counted, found, _TODO)
    return files


class _Rows:
    """The rows of a shard in one split; once they were read, how many bytes they take in memory."""

    def __init__(self, folder: Path, entry: Mapping[str, Any], split: str) -> None:
        self.folder, self.entry, self.split = folder, entry, split
        self.num_bytes = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in corpus_shard.read_shard(self.folder, self.entry):
            rows = batch.filter(pc.equal(batch.column("split"), self.split))
            self.num_bytes += rows.nbytes
            yield rows

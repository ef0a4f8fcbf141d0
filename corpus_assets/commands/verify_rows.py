"""The shards of a version, read once: hashes, values, and what one row says about the others. Rows stream by, one row
group at a time.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.commands.verify_report import Say, VerifyReport
from corpus_assets.plans.for_people import plural
from corpus_assets.stages.count_text import text_bytes
from corpus_assets.validation import tables
from formats import corpus_manifest, corpus_shard
from formats.errors import CorruptDataError

_DIGEST_BYTES = 16
_SUM_LIMIT = 1 << (8 * _DIGEST_BYTES)
COMPARED = ("id", "row", "lang", "split", "pii_redactions", "url")
"""What shards and evidence both say of a row; the url, which alone may hold a space, is last."""


class Published:
    """What the shards hold, for the evidence to be held against: rows by (shard, source, licence); per shard a digest
    of its rows that does not depend on their order; which permilles are val; the bytes of their files, and those of
    the texts by source.
    """

    def __init__(self, num_shards: int) -> None:
        self.rows: Counter[tuple[int, str, str]] = Counter()
        self.digests = [0] * num_shards
        self.largest_val, self.smallest_train = -1, 1000
        self.num_bytes = 0
        self.text_bytes: Counter[str] = Counter()

    def add(self, shard: int, first_row: int, batch: pa.RecordBatch) -> None:
        """Rows of a shard; `first_row` counts over the whole version."""
        pairs = pa.Table.from_batches([batch.select(["source_id", "license_spdx"])])
        for found in pairs.group_by(pairs.column_names).aggregate([([], "count_all")]).to_pylist():
            self.rows[shard, found["source_id"], found["license_spdx"]] += found["count_all"]
        self.text_bytes.update(text_bytes(batch))
        number = pa.array(np.arange(first_row, first_row + batch.num_rows))
        columns = {**dict(zip(batch.schema.names, batch.columns, strict=True)), "row": number}
        add_rows(self.digests, np.full(batch.num_rows, shard), columns)


def add_rows(digests: list[int], shards: np.ndarray, columns: Mapping[str, pa.Array]) -> None:
    """Add each row's digest, over COMPARED, to that of its shard: a sum, so that any order of rows gives the same."""
    texts = [columns[name].cast(pa.large_string()) for name in COMPARED]
    rows = pc.binary_join_element_wise(*texts, pa.scalar(" ", pa.large_string())).cast(pa.large_binary())
    for shard, row in zip(shards.tolist(), rows.to_pylist(), strict=True):
        digest = int.from_bytes(hashlib.blake2b(row, digest_size=_DIGEST_BYTES).digest(), "big")
        digests[shard] = (digests[shard] + digest) % _SUM_LIMIT


def check_manifest(folder: Path, report: VerifyReport) -> dict[str, Any] | None:
    """The manifest, or None when it cannot be used."""
    key = report.version
    check = report.check("manifest", "the manifest is whole and the folder holds its shards and nothing else")
    try:
        manifest = corpus_manifest.read(folder)
    except CorruptDataError as error:
        check.add(error)
        return None
    if (found := f"{manifest['dataset']}.{manifest['version']}") != str(key):
        check.add(f"{folder}: the manifest is of {found}, expected {key}")
    expected = {corpus_manifest.NAME_ON_DISK, *(shard["name"] for shard in manifest["shards"])}
    for path in sorted(folder.iterdir()):
        if path.name not in expected:
            check.add(f"{path}: is not listed in the manifest; move it away, nothing else belongs here")
    return manifest


def check_shards(folder: Path, manifest: dict[str, Any], report: VerifyReport, say: Say | None) -> "Published | None":
    """Check every shard and every row; what the rows are for the evidence, None where not all of them were read."""
    hashes = report.check("shards", "every shard has the hash, the columns and the number of rows the manifest says")
    rows = Rows(report, manifest)
    start = num_unread = 0
    for i, entry in enumerate(manifest["shards"]):
        if say:
            say(entry["name"])
        rows.shard, rows.index = i, start
        try:
            for batch in corpus_shard.read_shard(folder, entry):
                rows.look_at(batch, folder / entry["name"])
            rows.published.num_bytes += (folder / entry["name"]).stat().st_size
        except CorruptDataError as error:
            hashes.add(error)
            num_unread += 1
        start += entry["rows"]
    if not hashes.ok:
        rows.left_out(f"of {plural(len(manifest['shards']), 'shard')}, those that could not be read: {num_unread}")
        return None
    if not rows.values.ok:
        rows.left_out("rows with values that they may not hold")
        return None
    if rows.redactions != (counted := sum(manifest["pii"].values())):
        rows.pii.add(f"{folder}: pii_redactions sum to {rows.redactions}, the manifest's pii to {counted}")
    return rows.published


class Rows:
    """What one row says about the others: state of fixed size, but for one bit a row."""

    def __init__(self, report: VerifyReport, manifest: dict[str, Any]) -> None:
        self.values = report.check("values", "every column holds values that it may hold")
        self.order = report.check("order", "ids ascend as bytes over the whole version, so each occurs once")
        self.texts = report.check("texts", "sha256 and n_chars are those of the text")
        self.splits = report.check("splits", "one val_permille explains every split")
        self.clusters = report.check("clusters", "minhash_cluster is the first row of its cluster")
        self.pii = report.check("pii", "redactions sum to the manifest's pii counts")
        self.published = Published(len(manifest["shards"]))
        self.shard, self.index, self.redactions = 0, 0, 0
        self.last_id: bytes | None = None
        num_rows = sum(entry["rows"] for entry in manifest["shards"])
        self.not_first = np.zeros(-(-num_rows // 8), np.uint8)

    def left_out(self, why: str) -> None:
        """What no check saw: where the other rows show no problem, nothing is known."""
        for check in (self.values, self.order, self.texts, self.splits, self.clusters, self.pii):
            check.unread = why

    def look_at(self, batch: pa.RecordBatch, path: Path) -> None:
        try:
            tables.validate(batch, "corpus_shard", path)
        except CorruptDataError as error:
            self.values.add(error)
        else:
            self._order(batch.column("id"), path)
            self._texts(batch, path)
            self._splits(batch, path)
            self.look_at_clusters(batch.column("minhash_cluster").to_numpy(), path)
            self.redactions += pc.sum(batch.column("pii_redactions")).as_py() or 0
            self.published.add(self.shard, self.index, batch)
        self.index += batch.num_rows

    def _order(self, ids: pa.StringArray, path: Path) -> None:
        for found in ids.cast(pa.binary()).to_pylist():
            if self.last_id is not None and found <= self.last_id:
                self.order.add(f"{path}: id {found.decode()} follows {self.last_id.decode()}")
            self.last_id = found

    def _texts(self, batch: pa.RecordBatch, path: Path) -> None:
        texts, digests = batch.column("text").cast(pa.binary()).to_pylist(), batch.column("sha256").to_pylist()
        for i, (text, digest) in enumerate(zip(texts, digests, strict=True)):
            if hashlib.sha256(text).digest() != digest:
                self.texts.add(f"{path}: row {batch.column('id')[i]}: sha256 is not that of its text")
        n_chars = pc.utf8_length(batch.column("text")).to_numpy()
        for i in np.flatnonzero(n_chars != batch.column("n_chars").to_numpy()).tolist():
            found = batch.column("n_chars")[i]
            self.texts.add(f"{path}: row {batch.column('id')[i]}: n_chars is {found}, its text has {n_chars[i]}")

    def _splits(self, batch: pa.RecordBatch, path: Path) -> None:
        permilles = corpus_shard.permilles(batch.column("sha256"))
        is_val = pc.equal(batch.column("split"), "val").to_numpy(zero_copy_only=False)
        found = self.published
        found.largest_val = max(found.largest_val, int(permilles[is_val].max(initial=-1)))
        found.smallest_train = min(found.smallest_train, int(permilles[~is_val].min(initial=1000)))
        if found.largest_val >= found.smallest_train and self.splits.ok:
            self.splits.add(
                f"{path}: a val row has permille {found.largest_val}, a train row {found.smallest_train}; "
                f"no val_permille gives both"
            )

    def look_at_clusters(self, clusters: np.ndarray, path: Path) -> None:
        """The minhash_cluster of the next rows."""
        own = np.arange(self.index, self.index + len(clusters))
        others = np.flatnonzero(clusters != own)
        np.bitwise_or.at(self.not_first, own[others] >> 3, (1 << (own[others] & 7)).astype(np.uint8))
        # A row before another one was marked by now, and a later one is wrong in any case.
        first = np.minimum(clusters[others], own[others])
        wrong = (clusters[others] > own[others]) | (self.not_first[first >> 3] >> (first & 7) & 1).astype(np.bool_)
        for i in others[wrong].tolist():
            self.clusters.add(
                f"{path}: row {own[i]} has cluster {clusters[i]}, which is no earlier first row of a cluster"
            )

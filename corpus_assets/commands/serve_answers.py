"""What `corpus serve` answers, as JSON values: snapshots, and where a token came from. No HTTP here."""

from typing import Any

from corpus_assets.plans.snapshot_corpus import snapshots_below
from corpus_assets.plans.token_trace import trace_token
from formats import yank
from formats.errors import CorruptDataError
from formats.layout import Layout
from formats.snapshot import manifest
from formats.snapshot.manifest import SPLITS, Snapshot

_NAMES = (
    "dataset", "corpus_version", "tokens", "corpus_manifest_sha256", "token_config_sha256", "tokenizer", "vocab_size",
    "eos_id", "pad_id", "seq_len", "dtype", "packing", "counts",
)  # fmt: skip


def of_all(layout: Layout) -> dict[str, Any]:
    """The snapshots that lie here, by id; of one whose manifest cannot be used the id alone, and why."""
    return {"snapshots": [_listed(layout, snapshot_id) for snapshot_id in snapshots_below(layout)]}


def _listed(layout: Layout, snapshot_id: str) -> dict[str, Any]:
    names = ("dataset", "corpus_version", "tokens")
    try:
        of = manifest.read(layout.root, snapshot_id).document
    except CorruptDataError as error:
        return {"snapshot_id": snapshot_id, **dict.fromkeys(names), "damage": f"{error.field} is {error.found}"}
    return {"snapshot_id": snapshot_id, **{name: of[name] for name in names}, "damage": None}


def of_snapshot(layout: Layout, snapshot: Snapshot) -> dict[str, Any]:
    """What it is, whether it is yanked, and the sums of each bucket; the shards are in the manifest."""
    splits: dict[str, dict[str, dict[str, int]]] = {split: {} for split in SPLITS}
    for split in SPLITS:
        for shard in snapshot.shards(split):
            sums = splits[split].setdefault(shard.bucket, {"shards": 0, "sequences": 0, "tokens": 0})
            sums["shards"] += 1
            sums["sequences"] += shard.sequences
            sums["tokens"] += shard.tokens
    named = {name: snapshot.document[name] for name in _NAMES}
    return {"snapshot_id": snapshot.snapshot_id, "yanked": _yanked(layout, snapshot), **named, "splits": splits}


def _yanked(layout: Layout, snapshot: Snapshot) -> dict[str, str] | None:
    record = yank.of_snapshot(layout.root, snapshot)
    return {"of": record.of, "reason": record.reason, "yanked_on": record.yanked_on} if record else None


def of_token(layout: Layout, snapshot: Snapshot, shard: str, offset: int) -> dict[str, Any]:
    """The document of a token. What cannot be told is null, and `notes` say why. Raises what `trace_token` raises."""
    found = trace_token(layout, snapshot.snapshot_id, shard, offset)
    place, span, document = found.place, found.span, found.document
    published = document.published if document else None
    return {
        "snapshot": place.snapshot_id,
        "shard": place.shard,
        "offset": place.offset,
        "row": place.row,
        "token_of_row": place.token_of_row,
        "split": place.split,
        "bucket": place.bucket,
        "bucket_row": place.bucket_row,
        "version": found.version,
        "yanked": _yanked(layout, snapshot),
        "padding": span is None,
        "id": span.id if span else None,
        "source_id": span.source_id if span else None,
        "span": {"token": span.token, "first": span.first, "end": span.end} if span else None,
        "doc_id": document.doc_id if document else None,
        "source_url": document.url if document else None,
        "crawl_date": found.crawl_date,
        "filters_passed": list(document.filters_passed) if document else None,
        "dedup_cluster": published.minhash_cluster if published else None,
        "license": published.license_spdx if published else None,
        "ledger_row_digest": document.ledger.digest if document else found.ledger_row_digest,
        "raw_part": document.raw.part if document and document.raw else None,
        "raw_line": document.raw.line if document and document.raw else None,
        "notes": list(found.notes),
    }

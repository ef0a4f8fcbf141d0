"""Audits of a raw set: every record is a document or a reject, and few are damaged."""

from collections.abc import Mapping

from corpus_assets.plans import raw_set as raw_sets
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.pinned import Pair
from formats import dataset, parquet_file
from formats.layout import Layout
from formats.reject_reasons import DAMAGED, RejectReason


def records_accounted_for(layout: Layout, pair: Pair) -> Finding:
    """Records = documents + rejects in every file of the raw set; every part reads back with its hash and rows,
    and the rejects and judged pages have their hashes.
    """
    raw = raw_sets.find_raw_set(layout, pair.row, pair.config.extract)
    for file in raw.shards[len(raw.parts) :]:
        parquet_file.verified(file)
    read = sum(batch.num_rows for batch in dataset.read(raw.as_dataset()))
    records, rejects = sum(file.records for file in raw.files), sum(file.rejects for file in raw.files)
    uneven = [file.url for file in raw.files if file.records != file.documents + file.rejects]
    listed = {(file.url, file.sha256) for file in pair.row.files}
    missing = listed - {(file.url, file.sha256) for file in raw.files}
    passed = records == read + rejects and not missing and not uneven
    words = f"{records} records = {read} documents + {rejects} rejects"
    if uneven:
        words += f"; not so in {len(uneven)} files, such as {uneven[0]}"
    if missing:
        words += f"; {len(missing)} files of the ledger row are not in the raw set, such as {sorted(missing)[0][0]}"
    return Finding(passed, words, {"records": records, "documents": read, "rejects": rejects, "files": len(raw.files)})


def few_records_damaged(layout: Layout, pair: Pair) -> Finding:
    """At most the config's share of the records that should be documents are broken, there are records, and some are
    documents. A file cut short, or read with the wrong field mapping or as another kind, shows here, where each of its
    lines is only one more reject; so does a source of empty files, which has not even those.
    """
    raw, limit = raw_sets.find_raw_set(layout, pair.row, pair.config.extract), pair.config.max_damaged_ratio
    rejects = {reason: count for reason, count in raw.rejects.items() if count}
    damaged = {reason: count for reason, count in rejects.items() if reason in DAMAGED}
    total, records = sum(damaged.values()), raw.documents + sum(rejects.values())
    expected = raw.documents + total
    if not records:
        plural = "s" * (len(raw.files) != 1)
        words = (
            f"no record in {len(raw.files)} file{plural}; look whether they were fetched whole, or take the source out"
        )
    elif not raw.documents:
        words = f"none of {records} records is a document: {_told(rejects)}; {_todo(rejects)}"
    else:
        words = f"{total} of {expected} records are damaged, {limit:.2%} may be"
        if damaged:
            words += f": {_told(damaged)}; see rejects.jsonl.zst"
    passed = limit >= 1 or (raw.documents > 0 and total <= limit * expected)
    return Finding(passed, words, {"damaged": total, "records": expected, "limit": limit})


def _told(rejects: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in sorted(rejects.items()))


def _todo(rejects: Mapping[str, int]) -> str:
    """What to do about a source without a document, by what most of its records are."""
    if max(sorted(rejects), key=rejects.__getitem__) == RejectReason.UNSAFE_MEMBER_NAME:
        return "pack the archive anew with relative names, without a leading / and without .. in them"
    return "look at kind, container, fields and files of the ledger row"

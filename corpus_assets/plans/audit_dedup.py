"""Audits of dedup over all sources. None of them stops a build: they say where a person should look."""

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans import dedup_report
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.evidence_tables import cluster_rows
from corpus_assets.plans.for_people import plural, share
from corpus_assets.plans.pinned import Build, Pair


def source_survival(build: Build, pairs: list[Pair]) -> Finding:
    """The share of each source that dedup over all sources took away, against `max_source_loss_ratio`."""
    limit = pairs[0].config.dedup.near.max_source_loss_ratio
    found = dedup_report.survival(build, pairs)
    worst = max(found, key=lambda one: one.loss_ratio)
    over = [one for one in found if one.loss_ratio > limit]
    told = "; ".join(
        f"{one.source} loses {share(one.exact + one.near, one.entered)} of {one.entered:,} documents "
        f"({one.exact:,} exact, {one.near:,} near)"
        for one in (over or [worst])
    )
    words = f"{told}; max_source_loss_ratio is {limit:g}"
    if over:
        words += "; look at `corpus dedup sample`, then at source_rank in the ledger or at the threshold"
    return Finding(not over, words, {"sources_over": len(over), "largest_loss_ratio": worst.loss_ratio})


def keeper_lengths(build: Build, pairs: list[Pair]) -> Finding:
    """Keepers whose length is far from the median of their cluster: what stays may be the worse copy."""
    limit = pairs[0].config.dedup.near.max_keeper_length_ratio
    found = dedup_report.keeper_lengths(build, pairs)
    words = (
        f"{found.num_unlike:,} of {plural(found.keepers, 'keeper')} that something was dropped onto "
        f"{'differs' if found.num_unlike == 1 else 'differ'} in length from the median of the cluster by more than "
        f"{limit:g} of it"
    )
    if found.unlike:
        words += f", such as {', '.join(found.unlike)}; `corpus dedup sample` shows them beside what they replace"
    return Finding(not found.num_unlike, words, {"keepers": found.keepers, "keepers_unlike": found.num_unlike})


def cluster_sizes(build: Build, pairs: list[Pair]) -> Finding:
    """The largest cluster against max_cluster; how many there are of each size class."""
    table = pa.Table.from_batches([cluster_rows(build, pairs)])
    limit = pairs[0].config.dedup.near.max_cluster
    largest = pc.max(table.column("size")).as_py() or 0
    words = f"{table.num_rows} clusters of 2 or more, the largest of {largest}; max_cluster is {limit}"
    return Finding(largest <= limit, words, {"clusters": table.num_rows, "largest": largest})

"""The steps of a build by the plans alone, in their order: what `corpus build` does, without Dagster around it."""

from collections.abc import Callable, Iterator

from corpus_assets.plans import clusters, keepers, near_edges, scrub
from corpus_assets.plans.datasheet import write_datasheet
from corpus_assets.plans.pinned import Build, load_pairs, load_version, pin_row
from corpus_assets.plans.publish import publish
from corpus_assets.plans.source_stages import documents, measuring, signatures, verdicts
from formats.ledger import LedgerRow
from formats.naming import VersionKey

Step = tuple[str, Callable[[], object]]
"""A step's name, which is its asset's or its stage's, and its work. Those of a source come once a source."""

PINNED = "ledger_entry"


def steps(build: Build, key: VersionKey, fetch: Callable[[LedgerRow], object]) -> Iterator[Step]:
    """Every step from the ledger to the datasheet; `fetch` makes the raw set of a row. Run each before the next one."""
    for one in load_version(build.layout, key).pairs:
        yield PINNED, lambda one=one: pin_row(build.layout, one)
    pairs = load_pairs(build.layout, key)
    for pair in pairs:
        yield "raw_fetch", lambda pair=pair: fetch(pair.row)
        yield "documents", lambda pair=pair: documents(build, pair).make()
        yield "doc_signals", lambda pair=pair: [stage.make() for stage in measuring(build, pair)]
        yield "filtered_docs", lambda pair=pair: verdicts(build, pair).make()
        yield "minhash_signatures", lambda pair=pair: signatures(build, pair).make()
    yield "keeper_ranks", lambda: keepers.ranks(build, pairs).make()
    yield "near_edges", lambda: near_edges.edges(build, pairs).make()
    yield "dedup_clusters", lambda: clusters.dedup_clusters(build, pairs).make()
    for pair in pairs:
        yield "scrubbed_docs", lambda pair=pair: scrub.scrubbed_docs(build, pairs, pair).make()
    yield "publish", lambda: publish(build, pairs)
    yield "datasheet", lambda: write_datasheet(build.layout, key)

"""Which documents go because their registered domain has enough in the version: two sorts over all sources."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.keepers import shards_of
from corpus_assets.plans.pinned import Build, Pair
from corpus_assets.plans.raw_order import in_raw_order
from corpus_assets.plans.work import Output, buckets_for, identity
from corpus_assets.stages import domain_caps, match_sites, site_names, sorted_rows
from corpus_assets.stages.place_rows import make_ids
from formats import dataset, evidence_schemas
from formats.dataset import Dataset
from resources.engines.contract import Dest, Task

_STAGES = "corpus_assets.stages"


def capped(build: Build, pairs: list[Pair], scrubbed: Dataset, withheld: Dataset, texts: Dataset) -> Output:
    """CAPPED of the version, cut like its documents `texts`. Memory: one bucket's sort, no more."""
    cap = pairs[0].config.domain_cap
    leaving = withheld.select("k")
    ident = identity(
        "domain_caps",
        f"{domain_caps.CODE_VERSION}.{match_sites.CODE_VERSION}.{sorted_rows.CODE_VERSION}",
        settings={**cap.as_json(), "public_suffixes": site_names.suffix_list_digest()},
        inputs={"scrubbed_docs": scrubbed.digest, "withheld": leaving.digest, "documents": texts.digest},
        libraries=(*domain_caps.LIBRARIES, *site_names.LIBRARIES),
    )

    def make(folder: Path) -> Dataset:
        per_shard = {shard: {"shard": shard} for mine in shards_of(build, pairs) for shard in mine}
        drawn = build.engine.map_batches(
            scrubbed.select("k", "verdict", "text"),
            Task(
                f"{_STAGES}.domain_caps:draws",
                {"seed": cap.seed, "num_buckets": buckets_for(scrubbed.rows)},
                per_shard,
            ),
            Dest(folder / "draws", domain_caps.DRAWS),
            sides=(leaving, texts.select("k", "doc_id", "url")),
        )
        over = build.engine.sort_reduce(
            drawn,
            Task(f"{_STAGES}.domain_caps:over_caps", {"max_documents": cap.max_documents, "max_bytes": cap.max_bytes}),
            Dest(folder / "over", domain_caps.CAPPED),
            bucket="bucket",
            keys=("domain", "draw", "shard", "k"),
        )
        return in_raw_order(build.engine, over, folder)

    return Output(build.layout, ident, domain_caps.CAPPED, make, str(pairs[0].version))


def capped_documents(build: Build, pairs: list[Pair], found: Dataset) -> Iterator[pa.RecordBatch]:
    """The evidence's rows of CAPPED: sources by name, then by k."""
    for pair, mine in zip(pairs, shards_of(build, pairs), strict=True):
        for shard in found.shards:
            if shard.id in mine:
                for batch in dataset.read_shard(shard, columns=found.schema.names):
                    columns = [
                        make_ids(pair.row.source_id, batch.column("k")),
                        batch.column("domain"),
                        batch.column("place"),
                    ]
                    yield pa.RecordBatch.from_arrays(
                        [pc.cast(c, f.type) for c, f in zip(columns, evidence_schemas.CAPPED_DOCUMENTS, strict=True)],
                        schema=evidence_schemas.CAPPED_DOCUMENTS,
                    )

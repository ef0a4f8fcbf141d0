"""Scrubbed documents of one source: what dedup kept, decontaminated, then with personal data replaced."""

from collections import Counter
from pathlib import Path

import pyarrow.compute as pc

from corpus_assets.plans.clusters import dedup_clusters, of_source
from corpus_assets.plans.eval_index import eval_index
from corpus_assets.plans.keepers import shards_of
from corpus_assets.plans.pinned import Build, Pair, once_a_build
from corpus_assets.plans.source_stages import documents
from corpus_assets.plans.work import Output, identity
from corpus_assets.stages import decontaminate, scrub_documents, survivors
from formats import dataset
from formats.dataset import Dataset
from formats.stage_tables import PII_KINDS, SCRUBBED
from resources.engines.contract import Dest, Task


@once_a_build
def scrubbed_docs(build: Build, pairs: list[Pair], pair: Pair) -> Output:
    """SCRUBBED rows of one source of the version that `pairs` make up, cut like its documents."""
    texts = documents(build, pair).open()
    mine = shards_of(build, pairs)[pair.source_number]
    decided = of_source(dedup_clusters(build, pairs).open(), mine)
    index = eval_index(build, pair.version)
    settings = {
        "ips": pair.config.pii.ips,
        "phone_regions": list(pair.config.pii.phone_regions),
        "code": pair.row.profile == "code",
        "val_permille": pair.config.val_permille,
    }
    ident = identity(
        "scrubbed_docs",
        f"{decontaminate.CODE_VERSION}.{scrub_documents.CODE_VERSION}.{survivors.CODE_VERSION}",
        settings=settings,
        inputs={"documents": texts.digest, "dedup_clusters": decided.digest, "eval_index": index.digest},
        libraries=(*decontaminate.LIBRARIES, *scrub_documents.LIBRARIES),
    )

    def make(folder: Path) -> Dataset:
        task = Task("corpus_assets.stages.scrub_documents:scrub_kept", {"index_path": str(index.path), **settings})
        kept = decided.select("k", "verdict")
        return build.engine.map_batches(texts.select("k", "text"), task, Dest(folder, SCRUBBED), sides=(kept,))

    return Output(build.layout, ident, SCRUBBED, make, str(pair))


def contaminated_by_set(scrubbed: Dataset) -> dict[str, int]:
    """Eval set -> documents of one source that repeat an item of it, by name."""
    counts: Counter[str] = Counter()
    for batch in dataset.read(scrubbed, columns=("eval_set",)):
        counts.update(batch.column("eval_set").drop_null().to_pylist())
    return dict(sorted(counts.items()))


def pii_counts(scrubbed: Dataset) -> tuple[dict[str, int], dict[str, float]]:
    """Replacements by kind in one source's scrubbed documents; and in a million characters of them. A source of code or
    tables with many phones or cards in a million is one whose profile or regions to look at.
    """
    counts, num_chars = dict.fromkeys(PII_KINDS, 0), 0
    for batch in dataset.read(scrubbed, columns=["n_chars", *(f"pii_{kind}" for kind in PII_KINDS)]):
        num_chars += pc.sum(batch.column("n_chars")).as_py() or 0
        for kind in PII_KINDS:
            counts[kind] += pc.sum(batch.column(f"pii_{kind}")).as_py() or 0
    return counts, {kind: round(1e6 * n / max(num_chars, 1), 2) for kind, n in counts.items()}

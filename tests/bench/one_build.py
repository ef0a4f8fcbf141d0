"""One build of one version by the plans alone, as a program: what bench_pipeline measures.

python -m tests.bench.one_build ROOT VERSION WORKERS        prints its report as JSON

It starts as the `corpus` command does. pandas is hidden: this package does not need it, but pyarrow imports it where
another package brought it.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import corpus_assets.start  # noqa: F401
from tests.bench.measure import cpu_of, cpu_seconds

if TYPE_CHECKING:
    import pyarrow as pa

WRITTEN = "kept documents written"
"""Not a stage: what a tool that only removes near duplicates would still do."""


class _Hidden:
    """A finder to which pandas is not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(name)


def kept(batch: "pa.RecordBatch", decided: "pa.Table") -> "pa.RecordBatch":
    """The documents that dedup kept."""
    import pyarrow as pa

    from corpus_assets.stages.side_rows import kept_among

    return batch.take(pa.array(kept_among(batch, decided)))


def build(root: Path, version: str, workers: int) -> dict[str, Any]:
    """Build a version: CPU seconds of each stage and of WRITTEN, wall seconds of all stages, documents read and
    published.
    """
    from corpus_assets.plans import clusters, keepers, near_edges, scrub
    from corpus_assets.plans.datasheet import write_datasheet
    from corpus_assets.plans.pinned import Build, load_pairs, load_version, pin_row
    from corpus_assets.plans.publish import publish
    from corpus_assets.plans.raw_set import make_raw_set
    from corpus_assets.plans.source_stages import documents, signals, signatures, verdicts
    from formats.layout import Layout
    from formats.naming import VersionKey
    from formats.stage_tables import DOCUMENTS
    from resources.engines.contract import Dest, Task
    from resources.engines.local import LocalEngine

    layout, key = Layout(root), VersionKey("bench", version)
    made = Build(layout, LocalEngine(scratch=layout.corpus / "work" / "scratch", workers=workers))
    for one in load_version(layout, key).pairs:
        pin_row(layout, one)
    pairs = load_pairs(layout, key)
    [pair] = pairs
    steps: dict[str, Callable[[], object]] = {
        "raw_fetch": lambda: make_raw_set(layout, pair.row, [layout.corpus / file.url for file in pair.row.files]),
        "documents": lambda: documents(made, pair).make(),
        "doc_signals": lambda: signals(made, pair).make(),
        "filtered_docs": lambda: verdicts(made, pair).make(),
        "minhash_signatures": lambda: signatures(made, pair).make(),
        "keeper_ranks": lambda: keepers.ranks(made, pairs).make(),
        "near_edges": lambda: near_edges.edges(made, pairs).make(),
        "dedup_clusters": lambda: clusters.dedup_clusters(made, pairs).make(),
        "scrubbed_docs": lambda: scrub.scrubbed_docs(made, pairs, pair).make(),
        "publish": lambda: publish(made, pairs),
        "datasheet": lambda: write_datasheet(layout, key),
    }

    def write_kept() -> None:
        decided = clusters.dedup_clusters(made, pairs).open().select("k", "verdict")
        task, out = Task("tests.bench.one_build:kept"), Dest(root / "kept", DOCUMENTS)
        made.engine.map_batches(documents(made, pair).open(), task, out, sides=(decided,))

    cpu: dict[str, float] = {}
    began, start = time.perf_counter(), cpu_seconds()
    for name, step in steps.items():
        step()
        cpu[name] = cpu_seconds() - start
        start += cpu[name]
    wall = time.perf_counter() - began
    written = cpu_of(write_kept)
    published = json.loads((layout.version(key) / "_MANIFEST.json").read_bytes())["n_docs"]
    return {
        "cpu": cpu,
        WRITTEN: written,
        "wall": wall,
        "documents": documents(made, pair).open().rows,
        "published": published,
    }


if __name__ == "__main__":
    sys.meta_path.insert(0, _Hidden())
    print(json.dumps(build(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))

"""One build of one version by the plans alone, as a program: what bench_pipeline measures.

python -m tests.bench.one_build ROOT VERSION WORKERS        prints its report as JSON

It starts as the `corpus` command does. pandas and scipy are hidden: this package does not need them, but pyarrow and
numba import them where another package brought them.
"""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import corpus_assets.start  # noqa: F401  first, as in the command
from tests.bench.measure import cpu_of, cpu_seconds

if TYPE_CHECKING:
    import pyarrow as pa

WRITTEN = "kept documents written"
"""Not a stage: what a tool that only removes near duplicates would still do."""


class _Hidden:
    """A finder to which they are not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] in ("pandas", "scipy"):
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
    from corpus_assets.plans import clusters
    from corpus_assets.plans.pinned import Build, load_pairs
    from corpus_assets.plans.raw_set import make_raw_set
    from corpus_assets.plans.source_stages import documents
    from formats.layout import Layout
    from formats.ledger import LedgerRow
    from formats.naming import VersionKey
    from formats.stage_tables import DOCUMENTS
    from resources.engines.contract import Dest, Task
    from resources.engines.local import LocalEngine
    from tests.build_by_plans import PINNED, steps

    layout, key = Layout(root), VersionKey("bench", version)
    made = Build(layout, LocalEngine(scratch=layout.corpus / "work" / "scratch", workers=workers))

    def read_where_it_lies(row: LedgerRow) -> object:
        return make_raw_set(layout, row, [layout.corpus / file.url for file in row.files])

    def write_kept() -> None:
        decided = clusters.dedup_clusters(made, pairs).open().select("k", "verdict")
        task, out = Task("tests.bench.one_build:kept"), Dest(root / "kept", DOCUMENTS)
        made.engine.map_batches(documents(made, pair).open(), task, out, sides=(decided,))

    cpu: dict[str, float] = {}
    began, start = time.perf_counter(), cpu_seconds()
    for name, step in steps(made, key, read_where_it_lies):
        step()
        if name != PINNED:
            cpu[name] = cpu_seconds() - start
        start = cpu_seconds()
    wall = time.perf_counter() - began
    [pair] = pairs = load_pairs(layout, key)
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

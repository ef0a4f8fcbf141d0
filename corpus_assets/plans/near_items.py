"""Documents of a version that hold much of a protected item without being dropped for it, for the evidence."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.eval_index import eval_index
from corpus_assets.plans.pinned import Build, Pair, once_a_build
from corpus_assets.plans.scrub import scrubbed_docs
from corpus_assets.plans.work import Output, identity
from corpus_assets.stages import near_items as stage
from corpus_assets.stages.place_rows import make_ids
from formats import dataset, evidence_schemas
from formats.dataset import Dataset
from formats.stage_tables import NEAR_ITEMS
from resources.engines.contract import Dest, Task

_MILLION = 1_000_000


@once_a_build
def near_items(build: Build, pairs: list[Pair], pair: Pair) -> Output | None:
    """NEAR_ITEMS of one source; None where the version protects nothing."""
    if not pair.config.decontaminate.eval_sets:
        return None
    texts = scrubbed_docs(build, pairs, pair).open().select("k", "text")
    index = eval_index(build, pair.version)
    ident = identity(
        "near_items",
        stage.CODE_VERSION,
        settings={},
        inputs={"scrubbed_docs": texts.digest, "eval_index": index.digest},
        libraries=stage.LIBRARIES,
    )

    def make(folder: Path) -> Dataset:
        task = Task("corpus_assets.stages.near_items:near_items", {"index_path": str(index.path)})
        return build.engine.map_batches(texts, task, Dest(folder, NEAR_ITEMS))

    return Output(build.layout, ident, NEAR_ITEMS, make, str(pair))


def near_rows(build: Build, pairs: list[Pair]) -> list[pa.RecordBatch]:
    """The evidence's rows: sources by name, then by k. None where no document is near an item."""
    found = [(pair, stage.make()) for pair in pairs if (stage := near_items(build, pairs, pair))]
    return [rows for pair, near in found for rows in _named(pair, near) if rows.num_rows]


def _named(pair: Pair, near: Dataset) -> Iterator[pa.RecordBatch]:
    for batch in dataset.read(near):
        share = pc.divide(pc.multiply(batch.column("shared_ngrams"), _MILLION), batch.column("item_ngrams"))
        columns = {name: batch.column(name) for name in batch.schema.names if name != "k"}
        columns |= {"id": make_ids(pair.row.source_id, batch.column("k")), "share": share}
        schema = evidence_schemas.NEAR_ITEMS
        yield pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)

"""Documents that are `und` for being in two languages: the stage that tells which, and rows of the evidence."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpus_assets.plans.evidence_lookup import rows_about
from corpus_assets.plans.pinned import Build, Pair, once_a_build
from corpus_assets.plans.published_version import PublishedVersion
from corpus_assets.plans.source_stages import counted_signals, documents, measure_settings
from corpus_assets.plans.work import Output, identity
from corpus_assets.stages import mixed_languages as stage
from corpus_assets.stages.place_rows import make_ids
from formats import dataset, evidence_schemas
from formats.dataset import Dataset
from formats.stage_tables import MIXED_LANGUAGES
from resources.engines.contract import Dest, Task


@once_a_build
def mixed_texts(build: Build, pair: Pair) -> Output | None:
    """MIXED_LANGUAGES of one source; None where the version gives mixed texts a label."""
    if "mixed" not in measure_settings(pair.config):
        return None
    texts, signals = documents(build, pair).open(), counted_signals(build, pair).open()
    ident = identity(
        "mixed_languages",
        stage.CODE_VERSION,
        settings={},
        inputs={"documents": texts.digest, "doc_signals": signals.digest},
        libraries=stage.LIBRARIES,
    )

    def make(folder: Path) -> Dataset:
        task = Task("corpus_assets.stages.mixed_languages:mixed_languages")
        sides = (signals.select("k", "lang"),)
        return build.engine.map_batches(texts.select("k", "text"), task, Dest(folder, MIXED_LANGUAGES), sides=sides)

    return Output(build.layout, ident, MIXED_LANGUAGES, make, str(pair))


def mixed_rows(found: list[tuple[Pair, Dataset]]) -> Iterator[pa.RecordBatch]:
    """The evidence's rows of the MIXED_LANGUAGES of all sources: sources by name, then by k."""
    schema = evidence_schemas.MIXED_LANGUAGES
    for pair, mixed in found:
        for batch in dataset.read(mixed):
            ids = make_ids(pair.row.source_id, batch.column("k"))
            yield pa.RecordBatch.from_arrays([ids, *(batch.column(name) for name in schema.names[1:])], schema=schema)


@dataclass(frozen=True)
class MixedLanguages:
    """Two languages of a document, and the share of its letters in pieces of each, in thousandths."""

    certain: str
    certain_share: int
    likely: str
    likely_share: int

    @property
    def words(self) -> str:
        shares = ((self.certain, self.certain_share), (self.likely, self.likely_share))
        return "in two languages: " + ", ".join(f"{code} {share / 10:g} %" for code, share in shares)


def mixed_languages(version: PublishedVersion, row: dict[str, Any]) -> MixedLanguages | None:
    """What the version's evidence says of a row of the documents table."""
    if not evidence_schemas.table_names("mixed_languages", version.sealed):
        return None
    for found in rows_about(version, "mixed_languages", row["id"]):
        return MixedLanguages(**{name: found[name] for name in MixedLanguages.__dataclass_fields__})
    return None

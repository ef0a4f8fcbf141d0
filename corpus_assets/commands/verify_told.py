"""What the files of a version's evidence say, read through once for its checks."""

from collections import Counter
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.commands.verify_report import Check
from corpus_assets.commands.verify_rows import COMPARED, add_rows
from corpus_assets.validation import tables
from formats import durable, evidence, evidence_schemas, ledger
from formats.errors import ConfigError, CorruptDataError
from formats.languages import UNDETERMINED
from formats.ledger import LedgerRow
from formats.reasons import Reason
from formats.stage_tables import PII_KINDS

_KINDS = tuple(f"pii_{kind}" for kind in PII_KINDS)
_THROUGH = (Reason.KEPT.value, Reason.TRAIN_NEAR_VAL.value, Reason.OVER_DOMAIN_CAP.value)
"""What may become of a document that decontamination kept."""


@dataclass
class Told:
    """What the files of the evidence say, in state whose size does not depend on the number of documents."""

    folder: Path
    counts: dict[str, Any]
    stages: dict[str, Any]
    rows: dict[str, LedgerRow]
    digests: list[int]
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    pii: Counter[str] = field(default_factory=Counter)
    files: Counter[tuple[str, str]] = field(default_factory=Counter)
    lineage: list[dict[str, Any]] = field(default_factory=list)
    listed: Counter[str] = field(default_factory=Counter)
    wordy: set[str] = field(default_factory=set)
    near_items: set[str] = field(default_factory=set)
    mixed: set[str] = field(default_factory=set)
    strange_shards: int = 0

    def of_verdict(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for (_, verdict), n in self.verdicts.items():
            found[verdict] += n
        return found

    def add_documents(self, batch: pa.RecordBatch) -> None:
        pairs = pa.Table.from_batches([batch.select(["source_id", "verdict"])])
        for found in pairs.group_by(pairs.column_names).aggregate([([], "count_all")]).to_pylist():
            self.verdicts[found["source_id"], found["verdict"]] += found["count_all"]
        if self.near_items:
            through = pc.is_in(batch.column("verdict"), pa.array(_THROUGH, pa.large_string()))
            self.near_items -= set(batch.filter(through).column("id").to_pylist())
        if self.mixed:
            undetermined = pc.equal(batch.column("lang"), UNDETERMINED)
            self.mixed -= set(batch.filter(undetermined).column("id").to_pylist())
        kept = batch.filter(pc.equal(batch.column("verdict"), Reason.KEPT.value))
        kinds = [pc.fill_null(kept.column(name), 0) for name in _KINDS]
        self.pii.update({kind: pc.sum(n).as_py() or 0 for kind, n in zip(PII_KINDS, kinds, strict=True)})
        known = pc.less(kept.column("shard"), len(self.digests))
        self.strange_shards += kept.num_rows - (pc.sum(known).as_py() or 0)
        columns = {name: kept.column(name) for name in COMPARED if name != "pii_redactions"}
        columns["pii_redactions"] = reduce(pc.add, kinds)
        columns = {name: column.filter(known) for name, column in columns.items()}
        add_rows(self.digests, kept.column("shard").filter(known).to_numpy(zero_copy_only=False), columns)

    def add_files(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            for name in ("records", "documents", "rejects"):
                self.files[row["source_id"], name] += row[name]


def read(folder: Path, num_shards: int, check: Check) -> Told | None:
    """None, and a problem of the check, for a file that holds what it may not hold."""
    try:
        counts, stages = (_object(folder / name) for name in (evidence.COUNTS, evidence.STAGE_VERSIONS))
        rows = {row.source_id: row for row in ledger.read(folder / evidence.LEDGER_ROWS)}
        told = Told(folder, counts, stages, rows, [0] * num_shards)
        sealed = evidence.read_seal(folder)
        # documents come last: they are held to the others
        for name in sorted(evidence_schemas.TABLES, key=lambda name: name == "documents"):
            if not evidence_schemas.table_names(name, sealed):
                continue
            for batch in evidence.read(folder, name):
                tables.validate(batch, name, folder / name)
                if name == "documents":
                    told.add_documents(batch)
                elif name == "files":
                    told.add_files(batch)
                elif name == "lineage":
                    told.lineage += batch.to_pylist()
                elif name == "listed_words":
                    told.wordy.update(batch.filter(batch.column("too_many")).column("id").to_pylist())
                elif name == "near_items":
                    told.near_items.update(batch.column("id").to_pylist())
                elif name == "mixed_languages":
                    told.mixed.update(batch.column("id").to_pylist())
                elif name == "listed_sites":
                    told.listed.update(batch.column("reason").to_pylist())
    except (CorruptDataError, ConfigError) as error:
        check.add(error)
        return None
    return told


def _object(path: Path) -> dict[str, Any]:
    value = durable.json_of(path)
    if not isinstance(value, dict):
        raise CorruptDataError(path, "content", "a JSON object", type(value).__name__, "restore it from a copy")
    return value

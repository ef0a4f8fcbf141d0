"""`corpus verify VERSION`: read a published version back and hold it to everything that it promises.

Everything is hashed again; rows stream by, one row group at a time.
"""

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.validation import tables
from formats import corpus_manifest, corpus_shard, durable, evidence
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.naming import VersionKey
from formats.reasons import Reason

MAX_PROBLEMS = 20
"""Problems kept of one check; the rest are counted."""
_Say = Callable[[str], None]


@dataclass
class Check:
    """One thing that was looked at, and what was wrong with it."""

    name: str
    says: str
    problems: list[str] = field(default_factory=list)
    num_problems: int = 0

    @property
    def ok(self) -> bool:
        return self.num_problems == 0

    def add(self, problem: object) -> None:
        self.num_problems += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(str(problem))

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "ok": self.ok, "num_problems": self.num_problems, "problems": self.problems}


@dataclass
class VerifyReport:
    """What was checked of a version. `notes` say what could not be checked, and are no failure."""

    version: VersionKey
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)

    def check(self, name: str, says: str) -> Check:
        self.checks.append(Check(name, says))
        return self.checks[-1]

    def as_json(self) -> dict[str, Any]:
        checks = [check.as_json() for check in self.checks]
        return {"version": str(self.version), "ok": self.ok, "checks": checks, "notes": self.notes}


def verify_version(
    layout: Layout, key: VersionKey, pin: Path | None = None, *, say: _Say | None = None
) -> VerifyReport:
    """Check lock (against `pin` too), manifest, every shard's bytes and rows, and the sealed evidence.

    Every check runs that can; a problem becomes part of the report. `say` hears what is being read. Raises ConfigError
    for a version that does not exist and for a pin that is no lock.
    """
    folder = layout.version(key)
    if not folder.is_dir() and not layout.lock(key).exists():
        raise ConfigError(f"there is no version {key} below {layout.root}; corpus status lists those there are")
    report = VerifyReport(key)
    _check_lock(layout, key, _pinned(pin), report)
    manifest = _check_manifest(folder, key, report)
    if manifest is None:
        return report
    _check_shards(folder, manifest, report, say)
    _check_evidence(layout.evidence(key), manifest, report, say)
    return report


def _pinned(pin: Path | None) -> str | None:
    if pin is None:
        return None
    try:
        return durable.read_lock(pin)
    except (CorruptDataError, OSError) as error:
        raise ConfigError(f"--pin: {error}") from None


def _check_lock(layout: Layout, key: VersionKey, pinned: str | None, report: VerifyReport) -> None:
    lock, folder = layout.lock(key), layout.version(key)
    check = report.check("lock", "the lock is the SHA-256 of the manifest")
    path = folder / corpus_manifest.NAME_ON_DISK
    try:
        durable.check_lock(lock, path)
    except CorruptDataError as error:
        check.add(error)
    if pinned is not None:
        check = report.check("pin", "the manifest is the one that was pinned")
        found = durable.sha256_of(path) if path.exists() else "missing"
        if found != pinned:
            check.add(f"{path}: sha256 is {found}, expected {pinned} (the pin)")


def _check_manifest(folder: Path, key: VersionKey, report: VerifyReport) -> dict[str, Any] | None:
    """The manifest, or None when it cannot be used."""
    check = report.check("manifest", "the manifest is whole and the folder holds its shards and nothing else")
    try:
        manifest = corpus_manifest.read(folder)
    except CorruptDataError as error:
        check.add(error)
        return None
    if (found := f"{manifest['dataset']}.{manifest['version']}") != str(key):
        check.add(f"{folder}: the manifest is of {found}, expected {key}")
    expected = {corpus_manifest.NAME_ON_DISK, *(shard["name"] for shard in manifest["shards"])}
    for path in sorted(folder.iterdir()):
        if path.name not in expected:
            check.add(f"{path}: is not listed in the manifest; move it away, nothing else belongs here")
    return manifest


def _check_shards(folder: Path, manifest: dict[str, Any], report: VerifyReport, say: _Say | None) -> None:
    hashes = report.check("shards", "every shard has the hash, the columns and the number of rows the manifest says")
    rows = _Rows(report)
    start = 0
    for entry in manifest["shards"]:
        if say:
            say(entry["name"])
        rows.index = start
        try:
            for batch in corpus_shard.read_shard(folder, entry):
                rows.look_at(batch, folder / entry["name"])
        except CorruptDataError as error:
            hashes.add(error)
        start += entry["rows"]
    if not hashes.ok:
        report.notes.append("rows of shards that could not be read were not checked")
    elif rows.values.ok and rows.redactions != (counted := sum(manifest["pii"].values())):
        rows.pii.add(f"{folder}: pii_redactions sum to {rows.redactions}, the manifest's pii to {counted}")


class _Rows:
    """What one row says about the others: state of fixed size, but for the rows that are not the first of their
    cluster.
    """

    def __init__(self, report: VerifyReport) -> None:
        self.values = report.check("values", "every column holds values that it may hold")
        self.order = report.check("order", "ids ascend as bytes over the whole version, so each occurs once")
        self.texts = report.check("texts", "sha256 and n_chars are those of the text")
        self.splits = report.check("splits", "one val_permille explains every split")
        self.clusters = report.check("clusters", "minhash_cluster is the first row of its cluster")
        self.pii = report.check("pii", "redactions sum to the manifest's pii counts")
        self.index, self.redactions = 0, 0
        self.last_id: bytes | None = None
        self.largest_val, self.smallest_train = -1, 1000
        self.not_first: set[int] = set()

    def look_at(self, batch: pa.RecordBatch, path: Path) -> None:
        try:
            tables.validate(batch, "corpus_shard", path)
        except CorruptDataError as error:
            self.values.add(error)
        else:
            self._order(batch.column("id"), path)
            self._texts(batch, path)
            self._splits(batch, path)
            self._clusters(batch.column("minhash_cluster").to_numpy(), path)
            self.redactions += pc.sum(batch.column("pii_redactions")).as_py() or 0
        self.index += batch.num_rows

    def _order(self, ids: pa.StringArray, path: Path) -> None:
        for found in ids.cast(pa.binary()).to_pylist():
            if self.last_id is not None and found <= self.last_id:
                self.order.add(f"{path}: id {found.decode()} follows {self.last_id.decode()}")
            self.last_id = found

    def _texts(self, batch: pa.RecordBatch, path: Path) -> None:
        texts, digests = batch.column("text").cast(pa.binary()).to_pylist(), batch.column("sha256").to_pylist()
        for i, (text, digest) in enumerate(zip(texts, digests, strict=True)):
            if hashlib.sha256(text).digest() != digest:
                self.texts.add(f"{path}: row {batch.column('id')[i]}: sha256 is not that of its text")
        n_chars = pc.utf8_length(batch.column("text")).to_numpy()
        for i in np.flatnonzero(n_chars != batch.column("n_chars").to_numpy()).tolist():
            found = batch.column("n_chars")[i]
            self.texts.add(f"{path}: row {batch.column('id')[i]}: n_chars is {found}, its text has {n_chars[i]}")

    def _splits(self, batch: pa.RecordBatch, path: Path) -> None:
        permilles = corpus_shard.permilles(batch.column("sha256"))
        is_val = pc.equal(batch.column("split"), "val").to_numpy(zero_copy_only=False)
        self.largest_val = max(self.largest_val, int(permilles[is_val].max(initial=-1)))
        self.smallest_train = min(self.smallest_train, int(permilles[~is_val].min(initial=1000)))
        if self.largest_val >= self.smallest_train and self.splits.ok:
            self.splits.add(
                f"{path}: a val row has permille {self.largest_val}, a train row {self.smallest_train}; "
                f"no val_permille gives both"
            )

    def _clusters(self, clusters: np.ndarray, path: Path) -> None:
        own = np.arange(self.index, self.index + len(clusters))
        for i in np.flatnonzero(clusters != own).tolist():
            row, first = int(own[i]), int(clusters[i])
            self.not_first.add(row)
            if first > row or first in self.not_first:
                self.clusters.add(f"{path}: row {row} has cluster {first}, which is no earlier first row of a cluster")


def _check_evidence(folder: Path, manifest: dict[str, Any], report: VerifyReport, say: _Say | None) -> None:
    """The sealed files, the values of the tables, and their sums against the manifest."""
    if not (folder / evidence.SEAL).exists():
        report.notes.append(f"{folder / evidence.SEAL} is missing, so the evidence was not checked")
        return
    check = report.check(
        "evidence", "every sealed file is unchanged, its values are allowed, its sums are the manifest's"
    )
    try:
        files = evidence.read_seal(folder)
    except CorruptDataError as error:
        check.add(error)
        return
    held = evidence.names_in(folder)
    report.notes += [f"{folder / name} is not sealed, so it was not checked" for name in sorted(held - set(files))]
    for name, entry in files.items():
        if say:
            say(name)
        try:
            evidence.verified(folder, name, entry)
        except CorruptDataError as error:
            check.add(error)
    if check.ok:
        for problem in _evidence_problems(folder, files, manifest):
            check.add(problem)


def _evidence_problems(folder: Path, files: dict[str, Any], manifest: dict[str, Any]) -> Iterator[str]:
    verdicts: Counter[str] = Counter()
    of_shard: Counter[int] = Counter()
    for name in evidence.SCHEMAS:
        if not evidence.table_names(name, files):
            yield f"{folder}: table {name} is missing"
            continue
        try:
            for batch in evidence.read(folder, name):
                tables.validate(batch, name, folder / name)
                if name == "documents":
                    verdicts.update(batch.column("verdict").to_pylist())
                elif name == "lineage":
                    for shard, rows in zip(*(batch.column(c).to_pylist() for c in ("shard", "rows")), strict=True):
                        of_shard[shard] += rows
        except CorruptDataError as error:
            yield str(error)
            return
    dedup = manifest["dedup"]
    near = verdicts[Reason.NEAR_DUPLICATE] + verdicts[Reason.TRAIN_NEAR_VAL]
    expected = {
        "kept documents": (verdicts[Reason.KEPT], manifest["n_docs"]),
        "exact duplicates": (verdicts[Reason.EXACT_DUPLICATE], dedup["exact_dropped"]),
        "near duplicates": (near, dedup["near_dropped"]),
        "contaminated documents": (verdicts[Reason.CONTAMINATED], dedup["decontaminated"]),
        "documents in all": (
            sum(verdicts.values()),
            sum((manifest["n_docs"], *(dedup[d] for d in ("exact_dropped", "near_dropped", "decontaminated"))))
            + sum(manifest["filters"].values()),
        ),
    }
    for what, (found, said) in expected.items():
        if found != said:
            yield f"{folder}: {what} are {found}, the manifest says {said}"
    for i, entry in enumerate(manifest["shards"]):
        if of_shard[i] != entry["rows"]:
            yield f"{folder}: lineage of shard {i} has {of_shard[i]} rows, the manifest says {entry['rows']}"


def add_parser(subparsers: Any) -> None:
    """Add `verify` to the command line."""
    parser = subparsers.add_parser("verify", help="read a version back: hashes, rows, order, splits, texts, evidence")
    parser.set_defaults(run=run)
    parser.add_argument("version", metavar="VERSION", help="<dataset>.<version>, such as starter.v1")
    parser.add_argument("--pin", type=Path, metavar="FILE", help="a copy of the version's .lock kept elsewhere")
    parser.add_argument("--json", action="store_true", help="print {version, ok, checks, notes} as JSON")


def run(args: argparse.Namespace) -> int:
    """0: every check passed; 1: one failed. Raises ConfigError."""
    say = (lambda name: print(f"reading {name}", file=sys.stderr)) if sys.stderr.isatty() else None
    report = verify_version(args.layout, VersionKey.parse(args.version), args.pin, say=say)
    if args.json:
        print(json.dumps(report.as_json(), indent=2, ensure_ascii=False))
        return 0 if report.ok else 1
    for check in report.checks:
        print(f"{'ok    ' if check.ok else 'FAILED'} {check.name}: {check.says}")
        for problem in check.problems:
            print(f"       {problem}")
        if check.num_problems > len(check.problems):
            print(f"       and {check.num_problems - len(check.problems)} more")
    for note in report.notes:
        print(f"note   {note}")
    print(f"{report.version}: {'every check passed' if report.ok else 'a check failed'}")
    return 0 if report.ok else 1

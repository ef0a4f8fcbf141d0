"""`corpus verify KEY`: read a published version, or a snapshot, back and hold it to everything that it promises.

Everything is hashed again; rows stream by, one row group at a time.
"""

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus_assets.commands import verify_snapshot, verify_store
from corpus_assets.commands.verify_evidence import check_evidence
from corpus_assets.commands.verify_report import Report, Say, VerifyReport
from corpus_assets.commands.verify_rows import check_manifest, check_shards
from corpus_assets.plans import yanking
from corpus_assets.plans.published_version import CONFIG_COPY, published_versions
from formats import corpus_manifest, durable, evidence
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.naming import VersionKey
from resources.remote.address import VARIABLE, named
from resources.remote.s3 import S3Store

_PIN = re.compile(rb"([0-9a-f]{64})(?:\n([0-9a-f]{64}) {1,2}evidence)?\n?")


@dataclass(frozen=True)
class Pin:
    """What a person kept elsewhere: the SHA-256 of the manifest and, perhaps, of the evidence's seal."""

    manifest: str
    evidence: str | None = None

    @classmethod
    def read(cls, path: Path) -> "Pin":
        """Raises ConfigError for a file that is no pin."""
        try:
            found = _PIN.fullmatch(path.read_bytes())
        except OSError as error:
            raise ConfigError(f"--pin: {error}") from None
        if not found:
            raise ConfigError(
                f"--pin: {path} is no pin; expected 64 hex digits and, on a second line, perhaps {_SECOND}"
            )
        return cls(found[1].decode(), found[2].decode() if found[2] else None)


_SECOND = "64 more and the word evidence"


def verify_version(
    layout: Layout,
    key: VersionKey,
    pin: Path | None = None,
    *,
    shards_only: bool = False,
    deep: bool = False,
    say: Say | None = None,
) -> VerifyReport:
    """Check lock (against `pin` too), manifest, every shard's bytes and rows, and the evidence against all of them;
    `shards_only` leaves the evidence out, `deep` also puts the texts through the rules again.

    Every check runs that can; a problem becomes part of the report. `say` hears what is being read. Raises ConfigError
    for a version that does not exist and for a pin that is no pin.
    """
    folder, told = layout.version(key), layout.evidence(key)
    if not folder.is_dir() and not layout.lock(key).exists():
        names = ", ".join(map(str, published_versions(layout))) or "none"
        raise ConfigError(f"there is no version {key} below {layout.root}; published are: {names}")
    if deep and shards_only:
        raise ConfigError("--deep needs the evidence, which --shards-only leaves out; give one of them")
    report = VerifyReport(key)
    report.manifest = _digest(folder / corpus_manifest.NAME_ON_DISK)
    report.seal = None if shards_only else _digest(told / evidence.SEAL)
    _check_lock(layout, report, Pin.read(pin) if pin else None, shards_only)
    _tell_yank(layout, report)
    manifest = check_manifest(folder, report)
    if manifest is None:
        left_out = ("shards", "rows") if shards_only else ("shards", "rows", "evidence")
        report.leave_out(left_out, "the manifest cannot be used")
        return report
    published = check_shards(folder, manifest, report, say)
    if shards_only:
        report.notes.append("the evidence was left out: --shards-only")
        return report
    check_evidence(told, manifest, published, report, say)
    if deep:
        _check_texts(layout, report, say)
    return report


def _tell_yank(layout: Layout, report: VerifyReport) -> None:
    """A mark is no damage: it is told, and the bytes are held to their promises all the same."""
    try:
        record = yanking.of_version(layout, report.version)
    except CorruptDataError as error:
        report.check("yank", "the mark beside the version can be read").add(error)
        return
    if record is not None:
        report.notes.append(str(record))


def _digest(path: Path) -> str | None:
    return durable.sha256_of(path) if path.is_file() else None


def _check_lock(layout: Layout, report: VerifyReport, pin: Pin | None, shards_only: bool) -> None:
    check = report.check("lock", "the lock is the SHA-256 of the manifest")
    path = layout.version(report.version) / corpus_manifest.NAME_ON_DISK
    try:
        durable.check_lock(layout.lock(report.version), path, disagree=corpus_manifest.DISAGREE)
    except CorruptDataError as error:
        check.add(error)
    if pin is None:
        return
    check = report.check("pin", "manifest and, where it is pinned, evidence are those that were pinned")
    seal = layout.evidence(report.version) / evidence.SEAL
    pinned = [(path, report.manifest, pin.manifest)]
    if pin.evidence and not shards_only:
        pinned.append((seal, report.seal, pin.evidence))
    for path, found, expected in pinned:
        if found != expected:
            check.add(f"{path}: sha256 is {found or 'missing'}, expected {expected} (the pin)")


class _Sealed(Layout):
    """A root whose versions have for a config the one they were published with."""

    def config(self, key: VersionKey) -> Path:
        return self.evidence(key) / CONFIG_COPY


def _check_texts(layout: Layout, report: VerifyReport, say: Say | None) -> None:
    """The audits of the texts. One that cannot be made fails, since it was asked for."""
    from corpus_assets.plans import audit_text  # compiles kernels, which nothing else here needs

    audits = {
        "residual_pii": ("scrubbing the rows again finds nothing", audit_text.no_residual_pii),
        "contamination": ("no row holds a protected item", audit_text.no_contamination),
        "leakage": ("no train row is near a val row", audit_text.no_leakage),
    }
    for name, (says, audit) in audits.items():
        check = report.check(name, says)
        if say:
            say(f"texts: {name}")
        try:
            finding = audit(_Sealed(layout.root, layout.cache_folder), report.version)
        except (ConfigError, CorruptDataError) as error:
            check.add(f"not checked: {error}")
            continue
        if finding.passed:
            check.says += f": {finding.words}"
        else:
            check.add(finding.words)


def add_parser(subparsers: Any) -> None:
    """Add `verify` to the command line."""
    parser = subparsers.add_parser("verify", help="read a version or a snapshot back, and hold it to its promises")
    parser.set_defaults(run=run)
    parser.add_argument(
        "key",
        metavar="KEY",
        help="a version, such as starter.v1; or a snapshot: its id (sha256:…), or the token set it was made of",
    )
    parser.add_argument(
        "--pin",
        type=Path,
        metavar="FILE",
        help="a copy of the version's .lock kept elsewhere; a second line `<64 hex>  evidence` pins the evidence, too",
    )
    parser.add_argument(
        "--store",
        nargs="?",
        const="",
        metavar="URL",
        help=f"read back what an object store has of it: s3://BUCKET/PREFIX (default: {VARIABLE})",
    )
    parser.add_argument("--shards-only", action="store_true", help="leave the evidence out, for who has shards alone")
    parser.add_argument(
        "--deep", action="store_true", help="also scrub, match and compare the texts again (needs the eval sets)"
    )
    parser.add_argument("--json", action="store_true", help="print the checks, notes and digests as JSON")


def run(args: argparse.Namespace) -> int:
    """0: every check passed; 1: one failed. Raises ConfigError."""
    say = (lambda name: print(f"reading {name}", file=sys.stderr)) if sys.stderr.isatty() else None
    report: Report
    if args.store is not None:
        _refuse_options_of_versions(args, "is for a version here; --store reads back what lies there")
        report = verify_store.verify(S3Store(named(args.store)), args.layout, args.key, say=say)
    elif verify_snapshot.is_meant(args.key):
        _refuse_options_of_versions(args, "is for versions; the id of a snapshot is its own pin")
        report = verify_snapshot.verify(args.layout, args.key, say=say)
    else:
        key = VersionKey.parse(args.key)
        report = verify_version(args.layout, key, args.pin, shards_only=args.shards_only, deep=args.deep, say=say)
    if args.json:
        print(json.dumps(report.as_json(), indent=2, ensure_ascii=False))
        return 0 if report.ok else 1
    print(*report.lines(), sep="\n")
    if isinstance(report, VerifyReport):
        _print_pin(report, args.deep)
    print(report.verdict)
    return 0 if report.ok else 1


def _refuse_options_of_versions(args: argparse.Namespace, why: str) -> None:
    for name in ("pin", "shards_only", "deep"):
        if getattr(args, name):
            raise ConfigError(f"--{name.replace('_', '-')} {why}")


def _print_pin(report: VerifyReport, deep: bool) -> None:
    if not deep:
        print("note   the texts were not put through the rules again; --deep does that")
    if report.ok:
        print("pin    keep what follows elsewhere, and give it back with --pin FILE:")
        print(report.manifest)
        print(*([f"{report.seal}  evidence"] if report.seal else []), sep="\n")

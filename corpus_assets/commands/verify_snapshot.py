"""`corpus verify SNAPSHOT`: hash every file of a snapshot again, and hold its pieces, ids and counts to its manifest.

It needs the snapshot's folder alone. Where the version that it was made of lies here too, it is held to that as well.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus_assets.commands.verify_report import Report, Say
from corpus_assets.plans import audit_snapshot, named_snapshot, yanking
from corpus_assets.plans.for_people import plural
from formats import corpus_manifest, durable
from formats.errors import CorpusError, CorruptDataError
from formats.layout import Layout
from formats.naming import VersionKey
from formats.snapshot import manifest
from formats.snapshot.manifest import Snapshot


@dataclass
class SnapshotReport(Report):
    """Of a snapshot, by its id."""

    of: str

    def as_json(self) -> dict[str, Any]:
        return {"snapshot": self.of, **super().as_json()}


def is_meant(key: str) -> bool:
    """Whether a key of the command line names a snapshot or its token set, and no version."""
    return named_snapshot.is_meant(key)


def verify(layout: Layout, key: str, *, say: Say | None = None) -> SnapshotReport:
    """Check every file, every piece of a document, every id and every count. A problem becomes part of the report;
    `say` hears what is being read. Raises ConfigError for what names no snapshot that was made here.
    """
    snapshot_id = named_snapshot.id_of(layout, key)
    report = SnapshotReport(snapshot_id)
    check = report.check("manifest", "it is the one that the id names, and says what a snapshot's has to say")
    try:
        snapshot = manifest.read(layout.root, snapshot_id)
    except CorruptDataError as error:
        check.add(error)
        report.leave_out(("files", "documents", "ids", "counts"), "the manifest cannot be used")
        return report
    try:
        record = yanking.of_snapshot(layout, snapshot_id)
        report.notes += [str(record)] if record else []
    except CorruptDataError as error:
        report.check("yank", "the mark beside the snapshot or its version can be read").add(error)
    wrong = _check_files(snapshot, report, say)
    _check_shards(snapshot, report, say, wrong)
    check = report.check("counts", "the manifest's counts are the sums of what it says of its shards")
    for problem in audit_snapshot.sum_problems(snapshot):
        check.add(problem)
    _check_corpus(layout, snapshot, report)
    return report


def _check_files(snapshot: Snapshot, report: Report, say: Say | None) -> set[str]:
    """The names of the files that are not those of the manifest."""
    shards = audit_snapshot.all_shards(snapshot)
    check = report.check(
        "files", f"{len(shards)} shards and their indexes have their lengths and hashes; no other file"
    )
    if say:
        say(f"{snapshot.folder}: hashing")
    wrong = audit_snapshot.wrong_files(snapshot)
    for problem in (*wrong.values(), *audit_snapshot.folder_problems(snapshot)):
        check.add(problem)
    return set(wrong)


def _check_shards(snapshot: Snapshot, report: Report, say: Say | None, wrong: set[str]) -> None:
    """A problem that damaged files still show is told; where they show none, nothing is known."""
    shards, num_damaged = audit_snapshot.all_shards(snapshot), 0
    pieces = report.check("documents", "their pieces make them up, whole and end to end, as counted")
    ids = report.check("ids", f"each is below {snapshot.document['vocab_size']}; what is in no document is padding")
    for shard in shards:
        if say:
            say(shard.name)
        num_damaged += bool(wrong & {shard.name, shard.index_name})
        try:
            back = audit_snapshot.read_back(snapshot, shard)
        except CorruptDataError:  # it is named among the files
            continue
        for check, finder in ((pieces, audit_snapshot.piece_problems), (ids, audit_snapshot.id_problems)):
            for problem in finder(snapshot, back):
                check.add(problem)
    if num_damaged:
        pieces.unread = ids.unread = (
            f"of {plural(len(shards), 'shard')}, those damaged, named under files: {num_damaged}"
        )


def _check_corpus(layout: Layout, snapshot: Snapshot, report: Report) -> None:
    """The version that the snapshot was made of, where it lies here."""
    of = snapshot.document
    try:
        key = VersionKey.parse(f"{of['dataset']}.{of['corpus_version']}")
        path = layout.version(key) / corpus_manifest.NAME_ON_DISK
        if not path.is_file():
            report.notes.append(f"{key}, which it was made of, is not here: not compared")
            return
        check = report.check("corpus", f"{key} is the one it was made of, and has as many documents")
        if (found := durable.sha256_of(path)) != of["corpus_manifest_sha256"]:
            check.add(f"{path}: sha256 is {found}, the snapshot was made of {of['corpus_manifest_sha256']}")
            return
        documents = corpus_manifest.read(Path(path).parent)["n_docs"]
        if documents != of["counts"].get("documents"):
            check.add(f"{key} has {documents} documents, the snapshot {of['counts'].get('documents')}")
    except CorpusError as error:
        report.check("corpus", "the version that it was made of").add(error)

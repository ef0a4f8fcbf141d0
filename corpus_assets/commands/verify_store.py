"""`corpus verify KEY --store`: read a version or a snapshot back from the object store, every byte of it, and hold
it to lock, manifest and seal. Nothing has to be here; nothing is kept.
"""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from corpus_assets.commands.verify_report import Check, Report, Say
from corpus_assets.plans import pull
from corpus_assets.plans.named_snapshot import is_meant
from corpus_assets.plans.publication import StoredFile
from formats.errors import CorruptDataError
from formats.layout import Layout
from formats.naming import VersionKey
from resources.remote.s3 import S3Store


def verify(store: S3Store, layout: Layout, name: str, *, say: Say | None = None) -> Report:
    """Hash every object of what `name` names there. A damaged or missing one becomes part of the report. Raises
    ConfigError for what is not published there, TransientError where the store does not answer.
    """
    with tempfile.TemporaryDirectory(prefix="corpus-verify-") as folder:
        of = pull.snapshot_named(store, layout, name) if is_meant(name) else str(VersionKey.parse(name))
        report = Report(of)
        check = report.check("published", f"lock, manifest and seal in {store.address.url} agree")
        try:
            if is_meant(name):
                found = pull.fetch_snapshot_head(store, Path(folder), of)
            else:
                found = pull.fetch_version_head(store, Path(folder), VersionKey.parse(name))
        except CorruptDataError as error:
            check.add(str(error).replace(folder, store.address.url))
            return report
    kinds = [("objects", "files" if is_meant(name) else "shards", found.files), ("evidence", "files", found.evidence)]
    for kind, what, files in kinds:
        if files:
            _check_all(store, report.check(kind, f"{len(files)} {what} have their hashes, read back"), files, say)
    return report


def _check_all(store: S3Store, check: Check, files: tuple[StoredFile, ...], say: Say | None) -> None:
    def digest(file: StoredFile) -> str | None:
        if say:
            say(store.url(file.name))
        return store.digest(file.name)

    with ThreadPoolExecutor(store.settings.parallel_files, thread_name_prefix="verify") as threads:
        for file, found in zip(files, threads.map(digest, files), strict=True):
            if found != file.sha256:
                check.add(
                    f"{store.url(file.name)}: sha256 is {found or 'missing'}, expected {file.sha256}; remove the "
                    "object and `corpus push` it again from a machine that has it"
                )

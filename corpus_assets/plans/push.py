"""Publication in an object store: immutable files first, each only where none lies, and the manifest last.

There is no rename and no listing. A version is there from the moment its manifest is, and whoever reads it earlier
finds none. Two that publish the same bytes help each other; of two with other bytes the second is refused by the lock,
which is put first and says which bytes are meant.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from corpus_assets.plans.named_snapshot import id_of, is_meant
from corpus_assets.plans.publication import Publication, StoredFile, hold_complete, of_snapshot, of_version
from formats import yank
from formats.errors import ConfigError, CorruptDataError, PublishedError, TransientError
from formats.layout import Layout
from formats.naming import TokensKey, VersionKey
from formats.snapshot import manifest
from resources.remote.s3 import S3Store

Say = Callable[[str], None]
"""Hears the name of each file that is done."""


@dataclass(frozen=True)
class Pushed:
    """What a push did: files put, their bytes, and files that were there; `sha256` is the manifest's. `kept_evidence`:
    the evidence there is that of its publication, and not the one here, which was made again since.
    """

    of: str
    sha256: str
    put: int
    num_bytes: int
    found: int
    kept_evidence: bool = False


def push(
    store: S3Store, layout: Layout, name: str, *, replace_unfinished: bool = False, say: Say | None = None
) -> Pushed:
    """Publish a version, or a snapshot by its id or token set, in the store; what is there already is not sent again.

    Raises PublishedError where other bytes are published there under the name, or are about to be; with
    `replace_unfinished` what a killed publisher left is removed first. CorruptDataError for a file here or an object
    there that is not what the manifest says; ConfigError for what is not published here, and where the store does not
    hold conditions.
    """
    publication = publication_of(layout, name)
    done = _Push(store, layout, publication, replace_unfinished, say).all()
    if is_meant(name) and "." in name:
        _point(store, layout, TokensKey.parse(name), publication)
    _mark(store, layout, publication, name)
    return done


def publication_of(layout: Layout, name: str) -> Publication:
    """What a version, a snapshot's id or a token set names here. Raises ConfigError for what is not published, or not
    complete; CorruptDataError for small files that do not agree.
    """
    if is_meant(name):
        return of_snapshot(layout.root, id_of(layout, name))
    hold_complete(layout, VersionKey.parse(name))
    return of_version(layout, VersionKey.parse(name))


@dataclass(frozen=True)
class _Push:
    store: S3Store
    layout: Layout
    publication: Publication
    replace_unfinished: bool
    say: Say | None

    def all(self) -> Pushed:
        claim, last = self.publication.claim, self.publication.last
        published = self._lies_there(last, published=True)
        kept = published and self._other_evidence()
        files = (*self.publication.files, *(() if kept else self.publication.evidence))
        put: list[StoredFile] = []
        if claim and self._have(claim, published):
            self._hold_conditions(claim)
            put.append(claim)
        put += [file for file, sent in self._each(files, lambda file: self._have(file, published)) if sent]
        if not published:
            # Whoever removed or replaced something meanwhile is seen before the manifest says that all is there.
            self._each(files, self._hold_there)
            put += [last] if self._have(last, published) else []
        num_bytes = sum((self.layout.root / file.name).stat().st_size for file in put)
        found = len(files) + 1 + (claim is not None) - len(put)
        return Pushed(self.publication.of, last.sha256, len(put), num_bytes, found, kept)

    def _other_evidence(self) -> bool:
        if not self.publication.evidence:
            return False
        return self._digest_there(self.publication.evidence[-1]) not in (None, self.publication.evidence[-1].sha256)

    def _hold_conditions(self, claim: StoredFile) -> None:
        if self.store.put_new_bytes(claim.name, (self.layout.root / claim.name).read_bytes()):
            raise ConfigError(
                f"{self.store.url(claim.name)}: the store put it twice although it was there: it does not hold "
                "If-None-Match, without which two publishers would overwrite each other; take a store that does"
            )

    def _each(self, files: Sequence[StoredFile], work: Callable[[StoredFile], bool]) -> list[tuple[StoredFile, bool]]:
        threads = ThreadPoolExecutor(self.store.settings.parallel_files, thread_name_prefix="push")
        try:
            asked = [(file, threads.submit(work, file)) for file in files]
            return [(file, one.result()) for file, one in asked]
        finally:
            threads.shutdown(cancel_futures=True)  # the first failure stops what has not begun

    def _have(self, file: StoredFile, published: bool) -> bool:
        """Whether it was put now."""
        if self._lies_there(file, published):
            return False
        path = self.layout.root / file.name
        if not path.is_file():
            raise CorruptDataError(path, "file", f"sha256 {file.sha256}", "missing", "restore it, or build it again")
        if not self.store.put_new(file.name, path, file.sha256):
            return self._hold_there(file)  # another publisher was faster, or an answer was lost
        if self.say:
            self.say(file.name)
        return True

    def _lies_there(self, file: StoredFile, published: bool) -> bool:
        found = self._digest_there(file)
        if found is None or found == file.sha256:
            return found is not None
        if self.replace_unfinished and not published and file != self.publication.last:
            self.store.remove(file.name)
            return False
        raise self._other_bytes(file, found, published)

    def _hold_there(self, file: StoredFile) -> bool:
        """False: it was not put now."""
        found = self._digest_there(file)
        if found is None:
            raise TransientError(f"{self.store.url(file.name)}: was removed while this was published; run it again")
        if found != file.sha256:
            raise self._other_bytes(file, found, published=False)
        return False

    def _digest_there(self, file: StoredFile) -> str | None:
        about = self.store.about(file.name)
        return (about.sha256 or self.store.digest(file.name)) if about else None

    def _other_bytes(self, file: StoredFile, found: str, published: bool) -> Exception:
        url, of = self.store.url(file.name), self.publication.of
        if file == self.publication.last or (published and file == self.publication.claim):
            return PublishedError(
                f"{url}: {of} is published there with other bytes: sha256 is {found}, here {file.sha256}. A published "
                f"version is immutable: make a new one with `corpus config new <new> --from {of}`"
            )
        if published:
            return CorruptDataError(
                url, "sha256", file.sha256, found, f"remove the object there and `corpus push {of}` again"
            )
        return PublishedError(
            f"{url}: somebody is publishing {of} with other bytes, or was killed: sha256 is {found}, here "
            f"{file.sha256}. Where nobody is at it, go on with `corpus push {of} --replace-unfinished`"
        )


def _point(store: S3Store, layout: Layout, key: TokensKey, publication: Publication) -> None:
    """Let the token set's name mean this snapshot there, too."""
    name = layout.snapshot_lock(key).relative_to(layout.root).as_posix()
    data = f"{publication.last.sha256}\n".encode()
    if store.read(name) != data:
        store.replace(name, data)


def _mark(store: S3Store, layout: Layout, publication: Publication, name: str) -> None:
    """A yank's record goes along; one that is there alone stays: to lift it is a decision of whoever set it."""
    if publication.of.startswith(manifest.ID_PREFIX):
        path = yank.path_of_snapshot(layout.root, publication.of)
    else:
        key = VersionKey.parse(name)
        path = yank.path_of_version(layout.root, key.dataset, key.version)
    if (record := yank.read(path)) is not None and record.manifest_sha256 == publication.last.sha256:
        there, data = path.relative_to(layout.root).as_posix(), path.read_bytes()
        if store.read(there) != data:
            store.replace(there, data)

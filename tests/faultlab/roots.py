"""Artifacts roots as values: a tree of small files held in memory, laid out anew for each trial in milliseconds."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from formats import durable, evidence
from formats.layout import Layout
from formats.naming import VersionKey

UNFINISHED = (".tmp", ".old")


@dataclass(frozen=True)
class Tree:
    """Every file and folder below a root by its relative path; names of one file (hard links) share its `inode`."""

    files: dict[str, "File"] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    def lay_out(self, root: Path) -> None:
        for name in self.folders:
            (root / name).mkdir(parents=True, exist_ok=True)
        first: dict[int, Path] = {}
        for name, file in self.files.items():
            path = root / name
            if file.inode in first:
                os.link(first[file.inode], path)
                continue
            path.write_bytes(file.content)
            path.chmod(file.mode)
            first[file.inode] = path


@dataclass(frozen=True)
class File:
    content: bytes
    mode: int
    inode: int
    changed_ns: int


def held(root: Path, before: Tree | None = None) -> Tree:
    """What lies below `root`; what did not change since `before` shares its bytes."""
    files, folders = {}, []
    for folder, _, names in os.walk(root):
        below = os.path.relpath(folder, root)
        folders.append(below)
        for name in names:
            path = Path(folder, name)
            stat = path.stat()
            key = os.path.normpath(os.path.join(below, name))  # noqa: PTH118 a relative name, not a place
            old = before.files.get(key) if before else None
            if old and (old.inode, old.changed_ns, len(old.content)) == (stat.st_ino, stat.st_ctime_ns, stat.st_size):
                files[key] = old
            else:
                files[key] = File(path.read_bytes(), stat.st_mode & 0o7777, stat.st_ino, stat.st_ctime_ns)
    return Tree(dict(sorted(files.items())), tuple(sorted(folders)))


def published(root: Path, key: VersionKey) -> dict[str, str]:
    """SHA-256 of shards, manifest, lock and everything that is sealed, the seal included, of a version."""
    layout = Layout(root)
    folders = (layout.version(key), layout.evidence(key))
    paths = [layout.lock(key), *(path for folder in folders for path in folder.rglob("*") if path.is_file())]
    return {
        path.relative_to(root).as_posix(): durable.sha256_of(path)
        for path in paths
        if path.name != evidence.SIDECAR and path.is_file()
    }


def outputs(root: Path) -> dict[str, dict[str, str]]:
    """Stage outputs and raw sets under the names by which they are found -> SHA-256 of each file in them."""
    corpus = Layout(root).corpus
    found = {}
    for folder in _output_folders(corpus):
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        found[folder.relative_to(root).as_posix()] = {path.name: durable.sha256_of(path) for path in files}
    for path in filter(Path.is_file, corpus.glob("work/eval_index/[0-9a-f]*")):
        found[path.relative_to(root).as_posix()] = {path.name: durable.sha256_of(path)}
    return found


def _output_folders(corpus: Path) -> Iterator[Path]:
    for folder in (*corpus.glob("work/*/*"), *corpus.glob("raw/*/*")):
        hidden = folder.name.startswith(".") or folder.suffix in UNFINISHED
        if folder.is_dir() and not hidden and folder.parent.name not in ("locks", "scratch", "eval_index"):
            yield folder


def left_over(root: Path, key: VersionKey) -> list[str]:
    """Unfinished things beside and in the version and its raw sets, where a person would meet them."""
    folders = (Layout(root).version(key).parent, Layout(root).corpus / "raw")
    return [str(path) for folder in folders for path in folder.rglob("*") if path.suffix in UNFINISHED]


def empty(root: Path) -> None:
    """A root with nothing in it, whatever its modes were."""
    if root.exists():
        for folder, _, _ in os.walk(root):
            os.chmod(folder, 0o755)  # noqa: PTH101 os.walk gives strings
        shutil.rmtree(root)
    root.mkdir(parents=True)

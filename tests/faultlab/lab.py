"""What every trial starts from and is held to: the starter corpus at every step of its undisturbed build.

Three variants: the whole corpus, for `corpus build` itself; and two of its sources, which take a third of the time,
with their files on this disk or behind a server.
"""

import gc
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from formats.layout import Layout
from formats.naming import VersionKey
from tests.e2e import starter_runs
from tests.fault_server import Answer, FaultServer
from tests.faultlab import builds, roots
from tests.faultlab.roots import Tree

V1, V3 = VersionKey("starter", "v1"), VersionKey("starter", "v3")
WHOLE, LOCAL, SERVED = "whole", "local", "served"
SOURCES = ("fables", "web")
"""Two files of plain jsonl, and a web archive."""
SITE = "http://starter.example/"
INPUTS = ("corpus/LEDGER.jsonl", "corpus/configs/starter/v1.yaml", "evals/", "inputs/")


@dataclass
class Golden:
    """One variant. `states[i]` is the root after i steps, `events[i]` how often the disk was changed until then;
    `files` are those behind the server, by URL.
    """

    files: dict[str, bytes]
    states: list[Tree] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    published: dict[VersionKey, dict[str, str]] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)

    def state_of(self, name: str) -> int:
        """The last state before a step of that name."""
        return len(self.names) - 1 - self.names[::-1].index(name)

    def copy_of(self, name: str) -> bytes | None:
        """A file as it is in the finished root; what a person restores."""
        file = self.states[-1].files.get(name)
        return file.content if file else None


class Lab:
    """Makes the goldens, in this process: what it loads and compiles, every forked child has."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self._events = 0
        self.can_mount = _can_mount(scratch / "mount")
        self.can_be_nobody = _can_be_nobody()
        sys.addaudithook(self._count)
        self._made: dict[str, Golden] = {}

    def golden(self, variant: str) -> Golden:
        """Made when it is first asked for."""
        if variant not in self._made:
            if variant == WHOLE:
                import dagster  # noqa: F401  which forked children then have; what is of a root they load themselves
            self._made[variant] = self._golden(variant)
            gc.collect()
            gc.freeze()  # or each child would look through all this, and copy the pages it is in
        return self._made[variant]

    def _count(self, event: str, args: tuple) -> None:
        if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link"):
            self._events += os.fspath(args[0]).startswith(str(self.scratch)) if isinstance(args[0], str | Path) else 0

    def _golden(self, variant: str) -> Golden:
        root = self.scratch / "golden" / variant
        starter_runs.copy_of_starter(root)
        layout = Layout(root)
        if variant != WHOLE:
            _leave_out_sources(layout)
        golden = Golden(_put_behind_a_server(root) if variant == SERVED else {})
        with served(golden.files) as proxy, _proxied(proxy):
            start, tree = self._events, roots.held(root)
            golden.states.append(tree)
            golden.events.append(0)
            for name, step in builds.steps_of(layout, V1, builds.one_worker(layout)):
                step()
                tree = roots.held(root, tree)
                golden.states.append(tree)
                golden.names.append(name)
                golden.events.append(self._events - start)
            golden.published[V1] = roots.published(root, V1)
            for _, step in builds.steps_of(layout, V3, builds.one_worker(layout)):
                step()
        golden.published[V3] = roots.published(root, V3)
        golden.outputs = roots.outputs(root)
        roots.empty(root)
        return golden


def _can_mount(folder: Path) -> bool:
    folder.mkdir(parents=True)
    mounted = mount(folder, "size=1m")
    if mounted:
        unmount(folder)
    return mounted


def _can_be_nobody() -> bool:
    """Whether a build can run as a user who is not root: this one, or nobody, to whom Python and project are open."""
    if os.getuid() != 0:
        return True
    pid = os.fork()
    if pid == 0:
        os.setgid(builds.NOBODY)
        os.setuid(builds.NOBODY)
        open_to_nobody = os.access(sys.executable, os.X_OK) and os.access(starter_runs.PROJECT / "formats", os.R_OK)
        os._exit(0 if open_to_nobody else 1)
    return os.waitpid(pid, 0)[1] == 0


def mount(folder: Path, options: str) -> bool:
    return os.system(f"mount -t tmpfs -o {options} tmpfs '{folder}' 2>/dev/null") == 0


def remount(folder: Path, options: str) -> None:
    if os.system(f"mount -o remount,{options} '{folder}'"):
        raise RuntimeError(f"{folder} cannot be mounted again with {options}")


def mounted_read_only(folder: Path) -> bool:
    """Whether it could be made so: not while a file is open for writing."""
    return os.system(f"mount -o remount,ro '{folder}' 2>/dev/null") == 0


def unmount(folder: Path) -> None:
    os.system(f"umount -l '{folder}'")


def _leave_out_sources(layout: Layout) -> None:
    for path in (layout.config(V1), layout.config(V3)):
        text = path.read_text("utf-8")
        path.write_text(re.sub(r"(?m)^sources: .*$", f"sources: [{', '.join(SOURCES)}]", text), "utf-8")
    for path in (layout.root / "inputs").iterdir():
        if not path.name.startswith(SOURCES):
            path.unlink()


def _put_behind_a_server(root: Path) -> dict[str, bytes]:
    """Give the files addresses in place of paths; what they hold, by address."""
    layout, files, lines = Layout(root), {}, []
    for line in layout.ledger.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["source_id"] in SOURCES:
            for file in row["files"]:
                path = layout.corpus / file["url"]
                file["url"] = SITE + path.name
                files[file["url"]] = path.read_bytes()
                path.unlink()
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    layout.ledger.write_text("".join(lines), "utf-8")
    return files


@contextmanager
def served(files: dict[str, bytes], scripts: dict[str, list[Answer]] | None = None) -> Iterator[str | None]:
    """The address of a proxy behind which the files lie, in a process of its own; None where there are none."""
    if not files:
        yield None
        return
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(told)
            with FaultServer() as server:
                for url, content in files.items():
                    server.put(url, content, (scripts or {}).get(url), etag=f'"{len(content)}"')
                os.write(tell, server.url("").encode() + b"\n")
                while True:
                    server._thread.join(3600)
        finally:
            os._exit(0)
    os.close(tell)
    with open(told, "rb") as pipe:
        address = pipe.readline().decode().strip()
    try:
        yield address
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


@contextmanager
def _proxied(proxy: str | None) -> Iterator[None]:
    before = os.environ.get("http_proxy")
    if proxy:
        os.environ["http_proxy"] = proxy
    try:
        yield
    finally:
        os.environ.pop("http_proxy", None)
        if before is not None:
            os.environ["http_proxy"] = before

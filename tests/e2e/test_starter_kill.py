"""The starter corpus built over three kills: the same bytes as at one go, and nothing half done that looks whole."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from formats import dataset, durable, evidence, raw_set
from formats.layout import Layout
from formats.naming import VersionKey
from tests.e2e import starter_runs as runs

pytestmark = pytest.mark.slow
V1 = VersionKey("starter", "v1")
_POLL_SECONDS = 0.002
UNFINISHED = (".tmp", ".old")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built at one go, by one worker."""
    root = runs.copy_of_starter(tmp_path_factory.mktemp("undisturbed") / "deeper" / "root")
    runs.build(root, str(V1), "--workers", "1")
    return root


def published(root: Path) -> dict[str, str]:
    """SHA-256 of shards, manifest, lock and everything that is sealed, the seal included."""
    layout = Layout(root)
    folders = (layout.version(V1), layout.evidence(V1))
    paths = [layout.lock(V1), *(path for folder in folders for path in folder.rglob("*") if path.is_file())]
    return {
        path.relative_to(root).as_posix(): durable.sha256_of(path) for path in paths if path.name != evidence.SIDECAR
    }


def places(root: Path) -> set[Path]:
    """Every stage output, raw set and version that lies there, finished or begun."""
    corpus = Layout(root).corpus
    found = (*corpus.glob("work/*/*"), *corpus.glob("raw/*/*"), *corpus.glob("raw/*/.*.tmp"), *corpus.glob("starter/*"))
    return {path for path in found if path.is_dir()}


def finished(root: Path) -> dict[str, str]:
    """Stage outputs and raw sets under the names by which they are found, with the SHA-256 of their manifests."""
    corpus = Layout(root).corpus
    found = {}
    for folder in (*corpus.glob("work/*/*"), *corpus.glob("raw/*/*")):
        if folder.is_dir() and folder.suffix not in UNFINISHED:
            name = raw_set.MANIFEST if folder.parent.parent.name == "raw" else dataset.MANIFEST
            path = folder / name
            found[folder.relative_to(corpus).as_posix()] = durable.sha256_of(path) if path.exists() else "no manifest"
    return found


def build_and_kill(root: Path, begun: int) -> set[Path]:
    """Build, and kill -9 when that many more outputs were begun or finished; what lies there then.

    The moment is one of the work, not of the clock: how fast the machine is does not change what was seen by then.
    """
    before = places(root)
    seen: set[Path] = set()
    command = [sys.executable, "-m", "corpus_assets.cli", "--root", str(root), "build", str(V1)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = runs.environment()
    with subprocess.Popen(command, cwd=runs.PROJECT, env=environment, start_new_session=True, **quiet) as process:
        while len(seen) < begun:
            assert not _ended(process), "the build ended before it could be killed"
            seen |= places(root) - before
        os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    return places(root)


def _ended(process: "subprocess.Popen[bytes]") -> bool:
    """Whether the process ends within the time of one look."""
    try:
        process.wait(timeout=_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


@pytest.mark.parametrize("seed", [1, 2])
def test_three_kills_and_a_rerun_give_the_bytes_of_an_undisturbed_build(undisturbed, tmp_path, seed):
    draw, root = random.Random(seed), runs.copy_of_starter(tmp_path / "killed")
    total = len(finished(undisturbed))
    sizes = [0]
    for _ in range(3):
        sizes.append(len(build_and_kill(root, draw.randint(2, total // 4))))
        assert finished(root).items() <= finished(undisturbed).items()
        assert not Layout(root).lock(V1).exists()
    assert sizes == sorted(set(sizes)), "each run went on where the one before was killed"
    ran = runs.build(root, str(V1))
    assert "killed processes" in ran.out
    assert published(root) == published(undisturbed)
    assert finished(root) == finished(undisturbed)
    for folder in (Layout(root).version(V1).parent, *(Layout(root).corpus / "raw").iterdir()):
        assert [path for path in folder.iterdir() if path.suffix in UNFINISHED] == []

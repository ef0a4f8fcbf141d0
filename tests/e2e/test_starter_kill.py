"""The starter corpus built over three kills: the same bytes as at one go, and nothing half done that looks whole."""

import random
from pathlib import Path

import pytest

from formats import dataset, durable, evidence, raw_set
from formats.layout import Layout
from formats.naming import VersionKey
from tests.e2e import starter_runs as runs
from tests.e2e.kills import kill_when

pytestmark = pytest.mark.slow
V1 = VersionKey("starter", "v1")
UNFINISHED = (".tmp", ".old")
_FINISHED = (f"corpus/work/*/*[0-9a-f]/{dataset.MANIFEST}", f"corpus/raw/*/[!.]*[0-9a-f]/{raw_set.MANIFEST}")
"""Of a stage output and of a raw set; one under way has a name of another form."""


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


@pytest.mark.parametrize("seed", [1, 2])
def test_three_kills_and_a_rerun_give_the_bytes_of_an_undisturbed_build(undisturbed, tmp_path, seed):
    draw, root = random.Random(seed), runs.copy_of_starter(tmp_path / "killed")
    total = len(finished(undisturbed))
    sizes = [0]
    for _ in range(3):
        more, later = draw.randint(2, total // 4), draw.randint(0, 3)
        kill_when(root, ["build", str(V1)], runs.environment(), _FINISHED, len(finished(root)) + more, later)
        sizes.append(len(finished(root)))
        assert finished(root).items() <= finished(undisturbed).items()
        assert not Layout(root).lock(V1).exists()
    assert sizes == sorted(set(sizes)), "each run went on where the one before was killed"
    ran = runs.build(root, str(V1))
    assert "killed processes" in ran.out
    assert published(root) == published(undisturbed)
    assert finished(root) == finished(undisturbed)
    for folder in (Layout(root).version(V1).parent, *(Layout(root).corpus / "raw").iterdir()):
        assert [path for path in folder.iterdir() if path.suffix in UNFINISHED] == []

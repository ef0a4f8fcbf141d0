"""Same input, same bytes: shards, manifest, lock and evidence, however, wherever and after what a version is built."""

import random
from pathlib import Path

import pytest

from formats import dataset, evidence
from formats.layout import Layout
from tests.e2e import shared_corpus
from tests.e2e.kills import kill_when
from tests.e2e.shared_corpus import V1
from tests.shared_data import needs_shared_data

SOURCES = ("stories", "wiki", "docs", "web", "wet")
AS_WRITTEN = ("config.yaml", evidence.SEAL)
"""The evidence keeps the config as a person wrote it, so an order that means nothing shows there, and in the seal."""
_FINISHED = f"corpus/work/*/*[0-9a-f]/{dataset.MANIFEST}"
"""Of a stage output; one under way ends in .tmp."""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root that the others are held to: default settings, built at one go."""
    root = tmp_path_factory.mktemp("same_bytes") / "first"
    shared_corpus.make_root(root, SOURCES)
    shared_corpus.build(root)
    return root


def files_as_they_lie(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every file below with its inode, the time of its last change and its length: what a rewrite cannot keep."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            stat = path.stat()
            found[str(path.relative_to(folder))] = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
    return found


def outputs(root: Path) -> set[str]:
    """The stage outputs that are finished, as `<stage>/<identity>`."""
    folders = [path.parent for path in (Layout(root).corpus / "work").glob(f"*/*/{dataset.MANIFEST}")]
    return {f"{folder.parent.name}/{folder.name}" for folder in folders if folder.suffix != ".tmp"}


@needs_shared_data
def test_a_second_run_in_the_same_root_rewrites_nothing(first):
    folders = [Layout(first).version(V1).parent, Layout(first).corpus / "raw"]
    before = [files_as_they_lie(folder) for folder in folders], outputs(first)
    shared_corpus.build(first)
    assert ([files_as_they_lie(folder) for folder in folders], outputs(first)) == before


@needs_shared_data
@pytest.mark.parametrize(
    "settings",
    [
        {"CORPUS_WORKERS": "1", "CORPUS_MEMORY": "128MB"},
        {"CORPUS_WORKERS": "3", "CORPUS_MEMORY": "1GB"},
        {"CORPUS_WORKERS": "2", "processes": True},
    ],
    ids=["one worker, little memory", "three threads", "two processes"],
)
def test_another_folder_and_other_workers_give_the_same_bytes(first, tmp_path, settings):
    root = tmp_path / "elsewhere" / "deeper"
    shared_corpus.make_root(root, SOURCES)
    shared_corpus.build(root, **settings)
    assert shared_corpus.digests(root) == shared_corpus.digests(first)


@needs_shared_data
def test_the_order_of_ledger_rows_files_and_sources_changes_no_byte(first, tmp_path):
    root = tmp_path / "backwards"
    shared_corpus.make_root(root, SOURCES, backwards=True)
    shared_corpus.build(root)
    found, expected = shared_corpus.digests(root), shared_corpus.digests(first)
    assert found.keys() == expected.keys()
    different = {Path(name).name for name in found if found[name] != expected[name]}
    assert different == set(AS_WRITTEN)


@needs_shared_data
@pytest.mark.parametrize("seed", [1, 2])
def test_three_kills_at_random_moments_and_a_rerun_give_the_same_bytes(first, tmp_path, seed):
    draw, root = random.Random(seed), tmp_path / "killed"
    shared_corpus.make_root(root, SOURCES)
    total = len(outputs(first))
    for number in [*sorted(draw.sample(range(1, total), 2)), total]:
        later = draw.randint(0, 3) if number < total else 0
        kill_when(root, ["build", str(V1)], shared_corpus.environment(), [_FINISHED], number, later)
    ran = shared_corpus.build(root)
    assert "killed processes" in ran.out
    assert shared_corpus.digests(root) == shared_corpus.digests(first)
    assert outputs(root) == outputs(first)

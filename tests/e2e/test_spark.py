"""The starter on Spark: by the plans, by Dagster, and a stage of it under spark-submit; the same bytes each time."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from corpus_assets.plans.pinned import Build
from corpus_assets.plans.raw_set import make_raw_set
from formats import dataset, durable, evidence
from formats.layout import Layout
from formats.ledger import LedgerRow
from formats.ledger_urls import resolve_local
from formats.naming import VersionKey
from resources.engines import spark_session
from resources.engines.spark import SparkEngine
from tests.build_by_plans import steps
from tests.conformance.conftest import LIGHT_JVM
from tests.e2e import starter_golden as golden
from tests.e2e import starter_runs as runs

V1, SMALL = VersionKey("starter", "v1"), VersionKey("starter", "small")
MASTER = "local[2]"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(spark_session.missing() is not None, reason=f"Spark: {spark_session.missing()}"),
]


def with_small(folder: Path) -> Path:
    """A new root with starter.small: two sources that share texts, in shards of 20 rows."""
    root = runs.copy_of_starter(folder)
    text = Layout(root).config(V1).read_text("utf-8").replace("version: v1", "version: small")
    text = text.replace("[fables, letters, handbook, web, notes, snippets]", "[handbook, notes]")
    Layout(root).config(SMALL).write_text(text.replace("shard_rows: 50", "shard_rows: 20"), "utf-8")
    return root


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """starter.small by the embedded engine."""
    root = with_small(tmp_path_factory.mktemp("embedded"))
    runs.build(root, str(SMALL))
    return root


def published(root: Path) -> dict[str, str]:
    """SHA-256 of everything that the version has on disk and promises."""
    layout = Layout(root)
    folders = (layout.version(SMALL), layout.evidence(SMALL))
    paths = [layout.lock(SMALL), *(path for folder in folders for path in folder.rglob("*") if path.is_file())]
    return {str(path.relative_to(root)): durable.sha256_of(path) for path in paths if path.name != evidence.SIDECAR}


def run(root: Path, *words: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    environment = runs.environment() | {"CORPUS_ROOT": str(root), **settings}
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=runs.PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=2400,
        check=False,
    )


def test_the_starter_by_its_plans_on_spark_has_the_golden_manifest(tmp_path: Path) -> None:
    root = runs.copy_of_starter(tmp_path / "root")
    layout = Layout(root)
    engine = SparkEngine(address=MASTER, scratch=layout.corpus / "work" / "scratch", sort_tasks=3, conf=LIGHT_JVM)

    def read_where_it_lies(row: LedgerRow) -> object:
        paths = [resolve_local(layout.ledger, file.url) for file in row.files]
        return make_raw_set(layout, row, [path for path in paths if path is not None])

    for _, step in steps(Build(layout, engine), V1, read_where_it_lies):
        step()
    assert golden.digests(root) == golden.stored_digests()


def test_a_dagster_build_with_the_resource_set_to_spark_publishes_the_same_bytes(
    embedded: Path, tmp_path: Path
) -> None:
    root = with_small(tmp_path / "spark")
    ran = run(root, "corpus_assets.cli", "--root", str(root), "build", str(SMALL), CORPUS_SPARK=MASTER)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-3000:]
    assert published(root) == published(embedded)


def materialize_dedup(root: Path, submit: str) -> "subprocess.CompletedProcess[str]":
    shutil.copy(runs.PROJECT / "dagster.yaml", root)
    words = ("dagster", "asset", "materialize", "-m", "corpus_assets.definitions", "--select", "dedup_clusters")
    return run(root, *words, "--partition", str(SMALL), CORPUS_SPARK_SUBMIT=submit, DAGSTER_HOME=str(root))


def stored(root: Path, stage: str) -> dict[str, bytes]:
    return {
        path.parent.name: path.read_bytes() for path in Layout(root).corpus.glob(f"work/{stage}/*/{dataset.MANIFEST}")
    }


def without_dedup(embedded: Path, folder: Path) -> Path:
    """A copy of the built root in which dedup is still to be done."""
    root = Path(shutil.copytree(embedded, folder))
    for stage in ("keeper_ranks", "near_edges", "dedup_clusters"):
        shutil.rmtree(Layout(root).corpus / "work" / stage)
    return root


def test_a_stage_under_spark_submit_by_pipes_makes_the_same_bytes(embedded: Path, tmp_path: Path) -> None:
    root = without_dedup(embedded, tmp_path / "submitted")
    submit = Path(sys.executable).with_name("spark-submit")
    ran = materialize_dedup(root, f"{submit} --master {MASTER}")
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-4000:]
    for stage in ("keeper_ranks", "near_edges", "dedup_clusters"):
        assert stored(root, stage) == stored(embedded, stage) != {}
        assert f"{stage}: " in ran.stderr + ran.stdout, "the job tells what it made"

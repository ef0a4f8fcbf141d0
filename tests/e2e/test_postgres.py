"""Dagster's history in PostgreSQL, as docs/operate.md sets it: two builds at once share it, and read it back."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from formats.layout import Layout
from formats.naming import PairKey, VersionKey
from tests import postgres_server
from tests.assets import tiny

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "DAGSTER_POSTGRES_URL"
V2 = VersionKey("tiny", "v2")
PAIRS = {str(pair) for pair in (*tiny.PAIRS, PairKey("web", V2))}
OF_A_SOURCE = ("ledger_entry", "raw_fetch", "doc_signals", "filtered_docs", "minhash_signatures", "scrubbed_docs")


def settings_of_the_page() -> dict:
    """The storage that docs/operate.md shows, in place of the project's own."""
    page = (ROOT / "docs" / "operate.md").read_text("utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    [shown] = [yaml.safe_load(block) for block in blocks if VARIABLE in block]
    return {**yaml.safe_load((ROOT / "dagster.yaml").read_bytes()), **shown}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("dagster_postgres", reason="dagster-postgres is not installed: see Storage in docs/operate.md")
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "dagster.yaml").write_text(yaml.safe_dump(settings_of_the_page()), "utf-8")
    monkeypatch.setenv("DAGSTER_HOME", str(folder))
    return folder


@pytest.fixture
def database(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A server that the home's settings lead to; the home."""
    with postgres_server.running() as url:
        monkeypatch.setenv(VARIABLE, url)
        yield home


def build(layout: Layout, key: VersionKey) -> str:
    """What `corpus build` said, once it went well."""
    words = [sys.executable, "-W", "ignore", "-m", "corpus_assets.cli", "--root", str(layout.root), "build", str(key)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "CORPUS_CACHE": ""})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.usefixtures("home")
def test_a_database_that_is_away_is_told_in_words_without_the_password(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "postgresql+psycopg2://corpus:hunter2@127.0.0.1:9/none")
    layout = tiny.unbuilt(tmp_path / "root")
    words = [sys.executable, "-W", "ignore", "-m", "corpus_assets.cli", "--root", str(layout.root), "build", "tiny.v1"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "dagster.yaml: the database of its storage: " in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert "hunter2" not in done.stderr


def test_two_builds_at_once_write_one_history_and_read_it_back(tmp_path, database):
    import dagster as dg
    from dagster._core.instance.ref import InstanceRef

    layout = tiny.unbuilt(tmp_path / "root")
    tiny.write_config(layout, V2, sources=["web"], licenses={"allow": ["MIT"]})
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda key: build(layout, key), (tiny.V1, V2)))
    again = build(layout, V2)
    assert "  same   web@tiny.v2" in again  # what the first build wrote says that it stands
    assert "  ok     web@tiny.v2" not in again
    with dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(database))) as instance:
        assert "Postgres" in type(instance.event_log_storage).__name__
        assert {run.status for run in instance.get_runs()} == {dg.DagsterRunStatus.SUCCESS}
        for asset in OF_A_SOURCE:
            records = instance.fetch_materializations(dg.AssetKey(asset), limit=99).records
            assert sorted(record.partition_key for record in records) == sorted(PAIRS), asset
        manifests = instance.fetch_materializations(dg.AssetKey("manifest"), limit=99).records
        assert {record.partition_key for record in manifests} == {str(tiny.V1), str(V2)}
    assert not list((layout.root / ".dagster").rglob("*.db"))

"""Dagster's SQLite files written quickly: no commit waits for the disk, no close folds the log in, others read on."""

import sqlite3
from pathlib import Path

import dagster as dg
import pytest
import sqlalchemy

from corpus_assets.commands import history


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "some.db"
    with sqlite3.connect(path) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("create table rows (n integer)")
    connection.close()
    return path


def write(path: Path, n: int) -> int:
    """Write a row as Dagster does, over a connection that ends with it; the file's `synchronous` there."""
    engine = sqlalchemy.create_engine(f"sqlite:///{path}", poolclass=sqlalchemy.NullPool)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("insert into rows values (:n)"), {"n": n})
        return connection.execute(sqlalchemy.text("pragma synchronous")).scalar_one()


def seen_by_another(path: Path) -> list[int]:
    connection = sqlite3.connect(path)
    try:
        return [n for (n,) in connection.execute("select n from rows order by n")]
    finally:
        connection.close()


FULL, NORMAL = 2, 1


def test_rows_are_seen_by_other_readers_at_once_and_after_the_end(database):
    log = database.with_name("some.db-wal")
    with history.written_quickly():
        assert [write(database, n) for n in range(3)] == [NORMAL] * 3
        assert log.stat().st_size > 0  # the last close would have folded it in, and waited for the disk
        assert seen_by_another(database) == [0, 1, 2]
    assert not log.exists()
    assert seen_by_another(database) == [0, 1, 2]


def test_afterwards_everything_is_as_it_was(database):
    with history.written_quickly():
        write(database, 1)
    assert write(database, 2) == FULL
    assert not database.with_name("some.db-wal").exists()


def test_files_beyond_the_latest_are_let_go(tmp_path, database):
    paths = [tmp_path / f"{i}.db" for i in range(3 * history.HELD_FILES)]
    for path in paths:
        path.write_bytes(database.read_bytes())
    with history.written_quickly():
        for path in paths:
            write(path, 1)
        held = [path for path in paths if path.with_name(f"{path.name}-wal").exists()]
        assert held == paths[-history.HELD_FILES :]


def test_a_run_of_dagster_is_recorded_whole(tmp_path):
    @dg.asset
    def one() -> None: ...

    job = dg.Definitions(assets=[one]).resolve_implicit_global_asset_job_def()
    with history.written_quickly(), dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        ran = job.execute_in_process(instance=instance)
        inside = [record.storage_id for record in instance.get_records_for_run(ran.run_id).records]
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        assert instance.get_run_by_id(ran.run_id).status == dg.DagsterRunStatus.SUCCESS
        assert [record.storage_id for record in instance.get_records_for_run(ran.run_id).records] == inside
        assert instance.get_latest_materialization_event(dg.AssetKey("one")).run_id == ran.run_id


def test_a_run_of_a_build_starts_no_process(tmp_path, monkeypatch):
    @dg.asset
    def one() -> None: ...

    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a process was started"))
    job = dg.Definitions(assets=[one]).resolve_implicit_global_asset_job_def()
    with history.open_instance() as instance:
        assert job.execute_in_process(instance=instance).success

"""What the Spark engine guards against: how values travel, what is refused, results that are short or out of order."""

import errno
import math
import shutil
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.dataset import Dataset
from formats.errors import ConfigError, CorruptDataError, NotConvergedError, TransientError
from formats.layout import Layout
from formats.parquet_file import Shard
from resources.engine import EngineResource
from resources.engines import spark, spark_rows, spark_session, spark_tasks
from resources.engines.contract import Dest, Task
from resources.engines.spark import SparkEngine
from tests.conformance.conftest import ENGINES
from tests.conformance.workload import HERE, ROWS, dataset_of, documents

SHARD = Shard(1, "nowhere.parquet", 3, 99, "0" * 64)
needs_spark = pytest.mark.skipif(spark_session.missing() is not None, reason=f"Spark: {spark_session.missing()}")

VALUES = {
    pa.uint8(): st.integers(0, 2**8 - 1),
    pa.uint16(): st.integers(0, 2**16 - 1),
    pa.uint32(): st.integers(0, 2**32 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.bool_(): st.booleans(),
    pa.large_string(): st.text(),
    pa.large_binary(): st.binary(),
    pa.binary(3): st.binary(min_size=3, max_size=3),
}


@given(st.data())
def test_every_value_comes_back_as_it_left_bit_for_bit(data):
    kinds = data.draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=6))
    rows = data.draw(st.integers(0, 5))
    columns = [
        pa.array(data.draw(st.lists(st.none() | VALUES[kind], min_size=rows, max_size=rows)), kind) for kind in kinds
    ]
    batch = pa.record_batch(columns, [f"Column {i}" for i in range(len(kinds))]).slice(rows // 3)
    carried = list(spark_rows.to_carry([batch], batch.schema))
    assert all(one.schema == spark_rows.carried_schema(batch.schema) for one in carried)
    (came_back,) = spark_rows.back(carried, batch.schema)
    assert came_back.schema == batch.schema
    for sent, got in zip(batch.columns, came_back.columns, strict=True):
        if pa.types.is_floating(sent.type):
            assert [math.copysign(1, x) if x == x else x is None for x in sent.drop_null().to_pylist()] == [
                math.copysign(1, x) if x == x else x is None for x in got.drop_null().to_pylist()
            ]
            view = pa.int32() if sent.type == pa.float32() else pa.int64()
            sent, got = sent.view(view), got.view(view)
        assert sent.equals(got)


def test_a_type_that_spark_has_no_form_for_is_refused_by_the_name_of_its_column():
    with pytest.raises(ConfigError, match="column 'spans' is list"):
        spark_rows.carried_schema(pa.schema([("k", pa.int64()), ("spans", pa.list_(pa.int32()))]))


@pytest.mark.parametrize("name", spark_session.PINNED)
def test_settings_that_results_rest_on_cannot_be_changed(name):
    with pytest.raises(ConfigError, match=f"Spark setting {name} is 'other'"):
        spark_session.check("local[2]", {name: "other"})


def test_a_machine_without_java_or_pyspark_is_told_what_to_install(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    if spark_session.missing(java=False) is None:
        with pytest.raises(ConfigError, match="openjdk-17-jre-headless"):
            spark_session.check("local[2]", {})
        spark_session.check("sc://elsewhere", {})
    monkeypatch.setattr(spark_session.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ConfigError, match=r"corpus-assets\[spark\]"):
        spark_session.check("sc://elsewhere", {})


def test_the_resource_takes_one_way_to_spark(tmp_path):

    layout = Layout(tmp_path)
    with pytest.raises(ConfigError, match="both spark and spark_submit"):
        EngineResource(spark="local[2]", spark_submit="spark-submit").open(layout)


def test_a_sort_of_no_tasks_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="sort_tasks is 0"):
        SparkEngine(address="local[1]", scratch=tmp_path, sort_tasks=0)


@pytest.mark.parametrize("rows", [2, 4])
def test_a_sort_that_lost_or_doubled_rows_is_refused(rows):
    with pytest.raises(NotConvergedError, match=f"{rows} rows came out of the sort, 3 went in"):
        spark._check_sum(Dataset(ROWS, (SHARD,)), rows, [1])


def test_a_bucket_that_came_to_two_tasks_is_refused():
    with pytest.raises(NotConvergedError, match="rows of bucket 5"):
        spark._check_sum(Dataset(ROWS, (SHARD,)), 3, [4, 5, 5])


@pytest.mark.parametrize("found", [[], [SHARD, SHARD]])
def test_a_missing_and_a_doubled_shard_are_refused(found):
    with pytest.raises(NotConvergedError, match="were made, expected"):
        spark._check_shards(found, [1], "map_batches")


def test_a_shard_on_a_workers_own_disk_is_refused(tmp_path):
    shard = Shard(1, str(tmp_path / "part.parquet"), 1, 3, "0" * 64)
    with pytest.raises(ConfigError, match="all machines of the cluster share"):
        spark._check_written([shard])
    (tmp_path / "part.parquet").write_bytes(b"12")
    with pytest.raises(ConfigError, match="all machines of the cluster share"):
        spark._check_written([shard])


def test_a_worker_with_other_versions_is_refused():
    job = spark_tasks.Job(lambda batches: batches, spark_tasks.versions() | {"pyarrow": "1.0"})
    with pytest.raises(spark_tasks.TaskFailedError) as caught:
        list(job(iter(())))
    error = spark_tasks.raised(f"Traceback …\n{caught.value}\n at org.apache.spark")
    assert isinstance(error, ConfigError)
    assert "expected" in str(error)
    assert "1.0" in str(error)


def test_what_a_task_raised_is_found_in_the_words_of_sparks_failure():
    error = spark_tasks.TaskFailedError(CorruptDataError("a.parquet", "rows", 1, 2, "make it again"))
    found = spark_tasks.raised(f"Job aborted …\n  {error}\n")
    assert isinstance(found, CorruptDataError)
    assert (found.path, found.field) == ("a.parquet", "rows")
    assert spark_tasks.raised("Job aborted: executor lost") is None


@needs_spark
def test_a_failure_of_spark_itself_may_pass_and_says_what_to_see_to():
    from pyspark.errors import PySparkRuntimeError

    error = spark._as_raised(PySparkRuntimeError("No space left on device"))
    assert isinstance(error, TransientError)
    assert "No space left on device" in str(error)
    assert isinstance(spark._as_raised(PySparkRuntimeError("ModuleNotFoundError: No module named 'x'")), ConfigError)
    assert isinstance(spark._as_raised(KeyError("ours")), KeyError)


@pytest.fixture
def engine(tmp_path, monkeypatch):
    return ENGINES["spark"](tmp_path / "scratch", monkeypatch)


@pytest.fixture
def source(tmp_path):
    return dataset_of(tmp_path / "source", ROWS, {0: documents(1, 300), 1: documents(2, 300)}, 4_000)


@pytest.mark.slow
def test_an_engine_that_leaves_out_the_sort_is_refused(engine, source, tmp_path, monkeypatch):
    monkeypatch.setattr(SparkEngine, "_sorted", lambda _self, rows, *_: rows.repartition(1))
    with pytest.raises(NotConvergedError, match="the sorter gave"):
        engine.sort_reduce(source, Task(f"{HERE}:as_is"), Dest(tmp_path / "out", ROWS), bucket="bucket", keys=["id"])


@pytest.mark.slow
def test_a_sort_that_came_out_short_is_refused(engine, source, tmp_path, monkeypatch):
    whole = SparkEngine._sorted
    monkeypatch.setattr(SparkEngine, "_sorted", lambda self, rows, *of: whole(self, rows.filter("c0 > 0"), *of))
    sort = partial(engine.sort_reduce, source, Task(f"{HERE}:as_is"), bucket="bucket", keys=["id"])
    with pytest.raises(NotConvergedError, match="600 went in"):
        sort(Dest(tmp_path / "out", ROWS))


@pytest.mark.slow
def test_a_disk_that_is_full_is_told_by_the_path(engine, source, tmp_path):
    out = Dest(tmp_path / "out", ROWS, writer=f"{HERE}:full_disk")
    with pytest.raises(OSError, match="No space left on device") as caught:
        engine.map_batches(source, Task(f"{HERE}:twice"), out)
    assert caught.value.errno == errno.ENOSPC
    assert str(caught.value.filename).startswith(str(tmp_path / "out"))


@pytest.mark.slow
def test_unsigned_columns_floats_and_names_that_differ_in_case_alone_come_through_a_sort(engine, tmp_path):
    schema = pa.schema(
        [
            ("bucket", pa.int32()),
            ("key", pa.int64()),
            ("Key", pa.uint64()),
            ("share", pa.float64()),
            ("d", pa.binary(2)),
        ]
    )
    keys = np.random.default_rng(5).permutation(500) - 250
    rows = [
        {"bucket": 0, "key": int(k), "Key": 2**64 - 1 - abs(int(k)), "share": -0.0 if k % 2 else math.inf, "d": b"ab"}
        for k in keys
    ]
    made = engine.sort_reduce(
        dataset_of(tmp_path / "in", schema, {0: rows[:200], 1: rows[200:]}, 4_000),
        Task(f"{HERE}:as_is"),
        Dest(tmp_path / "out", schema, 4_000),
        bucket="bucket",
        keys=["key"],
    )
    expected = dataset_of(tmp_path / "expected", schema, {0: sorted(rows, key=lambda row: row["key"])}, 4_000)
    assert made.digest == expected.digest

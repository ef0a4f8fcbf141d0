"""Apache Spark as engine: it schedules one task a shard, shuffles and sorts, and touches no file of ours.

The tasks are those of every engine (map_task, reduce_task, slice_task), so the bytes are, too. Workers read and write
the shards themselves: all machines need the same environment and the same folders. A task that Spark runs twice writes
the same bytes twice, each whole, and its answer counts once. Costs some ten seconds of start and a few times the
embedded engine's CPU: it is for what one machine cannot hold.
"""

import pickle
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formats.dataset import Dataset
from formats.errors import ConfigError, CorpusError, NotConvergedError, TransientError
from formats.parquet_file import Shard
from resources.engines import map_task, reduce_task, slice_task, spark_rows, spark_session, spark_tasks
from resources.engines.contract import Dest, First, Task
from resources.engines.pool import ShardsDone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, kw_only=True)
class SparkEngine:
    """`address` and `conf` as in `spark_session.session`. A sort is cut into `sort_tasks` of whole buckets, whichever
    number changes no byte.
    """

    address: str
    scratch: Path
    memory_bytes: int = 1024 * 1024 * 1024
    sort_tasks: int = 8
    conf: Mapping[str, str] = field(default_factory=dict)
    progress: ShardsDone | None = None

    def __post_init__(self) -> None:
        if self.sort_tasks < 1:
            raise ConfigError(f"engine sort_tasks is {self.sort_tasks}; expected at least 1")

    @cached_property
    def session(self) -> "SparkSession":
        """Made when it is needed. Raises ConfigError where Spark or Java is missing, TransientError where nobody
        answers at the address.
        """
        try:
            return spark_session.session(
                self.address, heap_bytes=self.memory_bytes, scratch=self.scratch, conf=self.conf
            )
        except CorpusError:
            raise
        except Exception as error:  # of whatever class Spark, py4j or Java choose
            raise _as_raised(error) from error

    def close(self) -> None:
        """End the context, for a process that needs none any more."""
        if "session" in vars(self):
            self.session.stop()

    def map_batches(self, source: Dataset, task: Task, out: Dest, *, sides: Sequence[Dataset] = ()) -> Dataset:
        """See Engine."""
        task.load()
        shards = self._one_each(spark_tasks.MapShards(out), map_task.map_items(source, task, sides), source)
        _check_shards(shards, [shard.id for shard in source.shards], "map_batches")
        return Dataset(out.schema, tuple(shards))

    def sort_reduce(
        self,
        source: Dataset,
        task: Task,
        out: Dest,
        *,
        bucket: str,
        keys: Sequence[str],
        first: First | None = None,
    ) -> Dataset:
        """See Engine. A bucket is one Spark task's, which streams it. What `first` makes is stored for as long as it is
        sorted: every row of it is then known, to be counted when it comes out.
        """
        task.load()
        if first:
            steps = out.folder / ".first"
            made_first = self.map_batches(source, first.task, Dest(steps, first.schema), sides=first.sides)
            try:
                return self.sort_reduce(made_first, task, out, bucket=bucket, keys=keys)
            finally:
                shutil.rmtree(steps, ignore_errors=True)
        reduce_task.check_sort(source.schema, bucket, keys)
        if not source.shards:
            return Dataset(out.schema, ())
        carried = spark_rows.carried_schema(source.schema)
        read = spark_tasks.ReadToSort(bucket, tuple(keys))
        rows = self._mapped(self._items(spark_tasks.one_shard_each(source)), read, spark_rows.spark_schema(carried))
        reduce = spark_tasks.ReduceBuckets(source.schema, task, out, bucket, tuple(keys))
        parts: list[spark_tasks.Reduced] = self._answers(self._sorted(rows, source, bucket, keys), reduce)
        made = [one for part in parts for one in part.made]
        _check_sum(source, sum(part.rows for part in parts), [shard.id for shard, _ in made])
        _check_written(shard for shard, _ in made)
        if self.progress:
            self.progress(len(source.shards), len(source.shards), source.rows)
        return reduce_task.gathered(out.schema, made)

    def slice_rows(self, source: Dataset, rows_per_shard: int, out: Dest) -> Dataset:
        """See Engine. Every source shard is verified once, then only the row groups needed are read."""
        plan = slice_task.slice_plan(source, rows_per_shard)
        self._one_each(spark_tasks.VerifyShards(), source.shards, source)
        shards = self._one_each(spark_tasks.SliceShards(source.schema, out), list(enumerate(plan)), source)
        _check_shards(shards, list(range(len(plan))), "slice_rows")
        return Dataset(out.schema, tuple(shards))

    def _sorted(self, rows: "DataFrame", source: Dataset, bucket: str, keys: Sequence[str]) -> "DataFrame":
        """Whole buckets a partition, each partition in order."""
        from pyspark.sql import functions

        number = functions.pmod(spark_rows.place(source.schema, bucket), functions.lit(self.sort_tasks))
        spread = rows.repartitionById(self.sort_tasks, number.cast("int"))
        return spread.sortWithinPartitions(*spark_rows.order_of(source.schema, bucket, keys))

    def _one_each(self, run: Callable[[Any], Any], items: Sequence[Any], source: Dataset) -> list[Shard]:
        """What `run` answers to each item, by the ids of the shards."""
        shards: list[Shard] = self._answers(self._items(items), run) if items else []
        if self.progress:
            self.progress(len(source.shards), len(source.shards), source.rows)
        return sorted(shards, key=lambda shard: shard.id)

    def _items(self, items: Sequence[Any]) -> "DataFrame":
        """One partition an item."""
        rows = [(number, pickle.dumps(item)) for number, item in enumerate(items)]
        frame = self.session.createDataFrame(rows, f"number int, {spark_tasks.ITEM} binary")
        return frame.repartitionById(len(rows), frame["number"])

    def _mapped(self, frame: "DataFrame", run: Callable[[Any], Any], schema: Any) -> "DataFrame":
        return frame.mapInArrow(spark_tasks.Job(run, spark_tasks.versions()), schema)

    def _answers(self, frame: "DataFrame", run: Callable[[Any], Any]) -> list[Any]:
        """All that `run` answers. Raises what a task raised, as raised; TransientError where Spark itself gave up."""
        answers = self._mapped(frame, run, f"{spark_tasks.ANSWER} binary")
        tag = f"corpus-{secrets.token_hex(8)}"
        self.session.addTag(tag)
        try:
            return [pickle.loads(row[0]) for row in answers.collect()]
        except BaseException as error:  # raised again; an interrupt has to reach the cluster, too
            with suppress(Exception):  # where Spark is gone, nothing goes on
                self.session.interruptTag(tag)
            if (meant := _as_raised(error)) is error:
                raise
            raise meant from error
        finally:
            with suppress(Exception):  # likewise: the answers, or the first error, are what counts
                self.session.removeTag(tag)


def _as_raised(error: BaseException) -> BaseException:
    """What a task raised; a TransientError for Spark's own failures; anything else as it is."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    if found := spark_tasks.raised(str(error)):
        return found
    if not isinstance(error, (PySparkException, Py4JError, ConnectionError)) and "grpc" not in type(error).__module__:
        return error
    words = str(error)
    if "ModuleNotFoundError" in words:
        return ConfigError(
            f"a Spark worker lacks a module that the caller has: {_first_lines(words, 'ModuleNotFound')}"
        )
    return TransientError(
        f"Spark gave up ({type(error).__name__}): {_first_lines(words)}; no shard is half written; see to the cluster, "
        f"its disks and its log, then run again"
    )


def _first_lines(words: str, about: str = "") -> str:
    lines = [line.strip() for line in words.splitlines() if line.strip() and about in line]
    return " ".join(lines[:3])[:500]


def _check_sum(source: Dataset, rows: int, ids: list[int]) -> None:
    """Raise NotConvergedError unless every row came through, and every bucket by one task."""
    if rows != source.rows:
        raise NotConvergedError(
            f"sort_reduce on Spark: {rows} rows came out of the sort, {source.rows} went in; keep the pinned version "
            f"of Spark and report this"
        )
    if twice := [number for number, count in Counter(ids).items() if count > 1]:
        raise NotConvergedError(
            f"sort_reduce on Spark: rows of bucket {twice[0]} came to several tasks; expected one; report this"
        )


def _check_shards(shards: Sequence[Shard], ids: list[int], verb: str) -> None:
    if (found := [shard.id for shard in shards]) != ids:
        raise NotConvergedError(f"{verb} on Spark: shards {found} were made, expected {ids}; report this")
    _check_written(shards)


def _check_written(shards: Iterable[Shard]) -> None:
    """Raise ConfigError for a shard that only the worker that made it can see."""
    for shard in shards:
        path = Path(shard.path)
        if not path.exists() or path.stat().st_size != shard.num_bytes:
            raise ConfigError(
                f"{path}: a Spark worker wrote it with {shard.num_bytes} bytes, and it is not here; expected the "
                f"artifacts root in a folder that all machines of the cluster share"
            )

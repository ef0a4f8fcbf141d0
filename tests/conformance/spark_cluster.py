"""A map and a sort on a Spark cluster of two executors, one of which is killed in each; prints the digests of both.

python -m tests.conformance.spark_cluster FOLDER MASTER
"""

import sys
from pathlib import Path

from formats.dataset import Dataset
from resources.engines.contract import Dest, Engine, Task
from resources.engines.spark import SparkEngine
from tests.conformance.conftest import LIGHT_JVM, WORKERS_FIND_TESTS
from tests.conformance.workload import HERE, ROWS, dataset_of, documents


def source_of(folder: Path) -> Dataset:
    return dataset_of(folder, ROWS, {i: documents(i, 2_000) for i in range(4)}, 50_000)


def digests(engine: Engine, folder: Path, map_task: Task, reduce_task: Task) -> list[str]:
    """What a map, and a sort of its output, give."""
    source = source_of(folder / "source")
    mapped = engine.map_batches(source, map_task, Dest(folder / "mapped", ROWS))
    sort = engine.sort_reduce(mapped, reduce_task, Dest(folder / "sorted", ROWS), bucket="bucket", keys=["id"])
    return [mapped.digest, sort.digest]


def main() -> None:
    folder, master = Path(sys.argv[1]), sys.argv[2]
    conf = LIGHT_JVM | WORKERS_FIND_TESTS
    engine = SparkEngine(address=master, scratch=folder / "scratch", sort_tasks=4, conf=conf)
    map_once = Task(f"{HERE}:map_and_kill_once", {"marker": str(folder / "killed in the map")})
    reduce_once = Task(f"{HERE}:reduce_and_kill_once", {"marker": str(folder / "killed in the sort")})
    print(*digests(engine, folder, map_once, reduce_once))
    engine.close()


if __name__ == "__main__":
    main()

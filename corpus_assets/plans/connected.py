"""Connected components and keepers of edges of any number: in memory while they fit, by sorts on the engine beyond.

Both ways give the same. Cost of the rounds: two sorts of the edges a round, some five rounds for real graphs, and disk
for twice the edges; of union-find, some 100 bytes of memory an edge.
"""

import shutil
from pathlib import Path

import numpy as np

from corpus_assets.kernels.components import components, keeper_walk
from corpus_assets.plans.work import buckets_for
from corpus_assets.stages import keeper_stream, star_rounds
from corpus_assets.stages.side_rows import column
from formats import dataset
from formats.dataset import Dataset
from formats.errors import NotConvergedError
from resources.engines.contract import Dest, Engine, Task

BYTES_PER_EDGE = 100
"""What union-find takes at its peak (tests/kernels/test_components.py)."""
_STAGE = "corpus_assets.stages.star_rounds"

Components = tuple[np.ndarray, np.ndarray]
"""(nodes of the edges, ascending; the smallest node each is connected to), int64."""
Keepers = tuple[np.ndarray, np.ndarray, np.ndarray]
"""(nodes that are dropped, ascending; the keeper of each; the Jaccard of the two in millionths), int64."""


def fits(engine: Engine, found: Dataset) -> bool:
    """Whether the edges may be held as arrays."""
    return found.rows * BYTES_PER_EDGE <= engine.memory_bytes


def find_components(engine: Engine, found: Dataset, folder: Path) -> Components:
    """The components of edges with the columns `a` and `b`, by the way that the engine's memory has room for.

    Raises NotConvergedError when the star rounds do not come to rest.
    """
    if fits(engine, found):
        table = dataset.read_table(found, columns=("a", "b"))
        return components(column(table, "a"), column(table, "b"))
    return roots_of(stars(engine, found.select("a", "b"), folder))


def find_keepers(engine: Engine, found: Dataset, num_ranks: int, folder: Path) -> Keepers:
    """Whom the keeper walk drops, and onto whom. Memory beyond arrays: one bit a rank, in whichever process walks."""
    if fits(engine, found):
        table = dataset.read_table(found)
        node, keeper, score = keeper_walk(*(column(table, name) for name in ("a", "b", "jaccard")))
        dropped = keeper != node
        return node[dropped], keeper[dropped], score[dropped]
    in_order = engine.map_batches(
        found, Task("corpus_assets.stages.keeper_stream:by_later_end"), Dest(folder / "ends", keeper_stream.ENDS)
    )
    walked = engine.sort_reduce(
        in_order,
        Task("corpus_assets.stages.keeper_stream:walk", {"num_ranks": num_ranks}),
        Dest(folder / "walked", keeper_stream.DROPPED),
        bucket="bucket",
        keys=("rank", "keeper"),
    )
    table = dataset.read_table(walked)
    return column(table, "rank"), column(table, "keeper"), column(table, "jaccard")


def stars(engine: Engine, edges: Dataset, folder: Path) -> Dataset:
    """STARS rows in which every node is tied to the smallest node of its component, and to no other smaller one.

    They have come to rest when a round gives the bytes it was given. Raises NotConvergedError when they do not.
    """
    spread = {"num_buckets": buckets_for(2 * edges.rows)}
    rows = engine.map_batches(edges, Task(f"{_STAGE}:both_ways", spread), Dest(folder / "round-0", star_rounds.STARS))
    limit = round_limit(edges.rows)
    for number in range(1, limit + 1):
        before, rows = rows, _round(engine, rows, folder / f"round-{number}", spread)
        shutil.rmtree(folder / f"round-{number - 1}", ignore_errors=True)  # without edges there is none
        if rows.digest == before.digest:
            return rows
    raise NotConvergedError(
        f"star rounds over {edges.rows} edges still change after {limit} rounds; expected them to rest long before; "
        f"delete corpus/work, build again, and report this if it comes back"
    )


def round_limit(edges: int) -> int:
    """Rounds that no graph of so many edges has been seen to need by far: they grow with the logarithm."""
    return 8 + 4 * max(1, edges).bit_length()


def _round(engine: Engine, rows: Dataset, folder: Path, spread: dict[str, int]) -> Dataset:
    large = engine.sort_reduce(
        rows,
        Task(f"{_STAGE}:large_star", spread),
        Dest(folder / "large", star_rounds.STARS),
        bucket="bucket",
        keys=star_rounds.KEYS,
    )
    small = engine.sort_reduce(
        large,
        Task(f"{_STAGE}:small_star", spread),
        Dest(folder / "small", star_rounds.STARS),
        bucket="bucket",
        keys=star_rounds.KEYS,
    )
    shutil.rmtree(folder / "large", ignore_errors=True)
    return small


def roots_of(rows: Dataset) -> Components:
    """The components out of what `stars` gives. Memory: 16 bytes a node, and as much again while they are sorted."""
    nodes, roots = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for batch in dataset.read(rows):
        node, other = column(batch, "node"), column(batch, "other")
        leaf = other < node
        nodes.append(node[leaf])
        roots.append(other[leaf])
        hubs = np.unique(node[~leaf])  # a root has a row for each of its leaves
        nodes.append(hubs)
        roots.append(hubs)
    node, at = np.unique(np.concatenate(nodes), return_index=True)
    return node, np.concatenate(roots)[at]

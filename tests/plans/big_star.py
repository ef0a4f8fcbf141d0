"""A star of a million edges through the star rounds under 64 MiB, in a process of its own; prints nodes, different
roots, and the most memory beside that of the loaded libraries, in MiB.

python -m tests.plans.big_star FOLDER first|last
"""

import sys
from pathlib import Path

import numpy as np

from corpus_assets.plans import connected
from formats.dataset import Dataset
from resources.engines.local import LocalEngine
from tests.conformance import big_sort
from tests.plans.test_connected import star, stored

MIB = 2**20
LEAVES = 1_000_000


def main() -> None:
    folder, hub = Path(sys.argv[1]), 0 if sys.argv[2] == "first" else LEAVES
    found, _ = stored(folder / "edges", *star(LEAVES + 1, hub), shards=20)
    engine = LocalEngine(scratch=folder / "scratch", workers=1, memory_bytes=64 * MIB, progress=big_sort.look)
    small = Dataset(found.schema, found.shards[:1])
    connected.stars(engine, small.select("a", "b"), folder / "small")  # loads and compiles what there is
    before, big_sort.peak = big_sort.anonymous_bytes(), 0
    assert not connected.fits(engine, found)
    made = connected.stars(engine, found.select("a", "b"), folder / "work")
    peak = big_sort.peak - before
    nodes, roots = connected.roots_of(made)
    print(len(nodes), len(np.unique(roots)), peak // MIB)


if __name__ == "__main__":
    main()

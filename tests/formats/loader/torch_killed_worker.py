"""One of two workers is killed in the middle: `python -m tests.formats.loader.torch_killed_worker ROOT SNAPSHOT_ID`.

Prints the tokens of three steps, kills a worker and reads on. torch tells of the death by a signal's handler, which may
raise anywhere, once or twice: so this is a process of its own, and not the one that runs the tests.
"""

import json
import os
import signal
import sys
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

from tests.formats.loader.test_torch_dataset import batches, dataset_of, tokens


def main() -> None:
    root, snapshot_id = sys.argv[1:]
    dataset = dataset_of(Path(root), SimpleNamespace(snapshot_id=snapshot_id), end=12 * 10**6)
    iterator = iter(batches(dataset, 2))
    print(json.dumps(tokens(islice(iterator, 3))), flush=True)
    os.kill(iterator._workers[1].pid, signal.SIGKILL)
    for _ in iterator:
        pass
    print("went on to the end")


if __name__ == "__main__":
    main()

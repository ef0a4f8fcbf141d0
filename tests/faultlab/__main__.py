"""The fault lab: builds of the starter corpus that are hurt at random, and must end with the same bytes or say why not.

    python -m tests.faultlab SEED ...              replay single trials, with what was said
    python -m tests.faultlab --trials 1000         seeds 0, 1, 2, …
    python -m tests.faultlab --every-intermediate  each file of each step, right after it, cut by a byte or one flipped

Each prints a table of what was hurt and what came of it. Exit code 1: something came of it that must not be.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import corpus_assets.start  # noqa: F401  first, as in the command
from tests.faultlab.results import Result
from tests.faultlab.tally import table

Told = "multiprocessing.Queue[list[Result]]"


def run(args: argparse.Namespace, lane: int, tell: Any = None) -> list[Result]:
    """The trials of one lane, one after the other."""
    from tests.faultlab.lab import Lab, unmount
    from tests.faultlab.trial import Trial, every_intermediate

    scratch = Path(tempfile.mkdtemp(prefix=f"faultlab-{lane}-", dir=_fast_folder()))
    scratch.chmod(0o755)
    found = []
    try:
        lab = Lab(scratch)
        if args.every_intermediate:
            trials = [Trial(lab, i, given=given) for i, given in enumerate(every_intermediate(lab))]
        else:
            seeds = args.seeds or range(args.first, args.first + args.trials)
            every = args.real_every
            trials = [Trial(lab, seed, real=every > 0 and seed % every == every - 1) for seed in seeds]
        with suppress(KeyboardInterrupt):  # what was found until then is told
            for trial in trials[lane :: args.lanes]:
                print(trial.seed, end=" ", file=sys.stderr, flush=True)  # a native library may end this process
                found.append(trial.run())
                if found[-1].wrong or args.seeds:
                    print(found[-1], flush=True)
                if len(found) % 25 == 0:
                    print(f"\n{len(found)} trials of {len(trials)}", file=sys.stderr, flush=True)
        if tell:
            tell.put(found)
    finally:
        if (scratch / "trial" / "root").is_mount():
            unmount(scratch / "trial" / "root")
        shutil.rmtree(scratch, ignore_errors=True)
    return found


def _fast_folder() -> str | None:
    """Memory, where there is enough of it: no trial waits for a disk then."""
    shm = Path("/dev/shm")
    return str(shm) if shm.is_dir() and os.access(shm, os.W_OK) and shutil.disk_usage(shm).free > 512 << 20 else None


def in_lanes(args: argparse.Namespace) -> list[Result]:
    """Every lane's trials, in the order of the seeds."""
    if args.lanes == 1:
        return run(args, 0)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    lanes = [context.Process(target=run, args=(args, lane, queue)) for lane in range(args.lanes)]
    for lane in lanes:
        lane.start()
    found = [one for _ in lanes for one in queue.get()]
    for lane in lanes:
        lane.join()
    return sorted(found, key=lambda one: one.seed)


def main(arguments: list[str]) -> int:
    about, _, how = (__doc__ or "").partition("\n\n")
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m tests.faultlab", description=about, epilog=how, formatter_class=as_written
    )
    parser.add_argument("seeds", nargs="*", type=int, metavar="SEED")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="SEED", help="the first seed")
    parser.add_argument("--lanes", type=int, default=1, help="trials at the same time")
    parser.add_argument(
        "--real-every", type=int, default=200, metavar="N", help="one in N is a `corpus build`; 0: none"
    )
    parser.add_argument("--every-intermediate", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every trial there, too")
    args = parser.parse_args(arguments)
    began = time.monotonic()
    found = in_lanes(args)
    print(table(found, time.monotonic() - began))
    if args.json:
        args.json.write_text(json.dumps([one.as_json() for one in found], indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 1 if any(one.wrong for one in found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A `corpus` command that is killed at a moment of its work, not of the clock: by itself, before a rename."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
_PROGRAM = """
import json, os, signal, sys
from pathlib import Path

told = json.loads(sys.argv[1])
root, renames = Path(told["root"]), told["renames"]

def hook(event, args):
    global renames
    if event != "os.rename" or not str(args[0]).startswith(told["root"]):
        return
    if sum(1 for pattern in told["patterns"] for _ in root.glob(pattern)) >= told["paths"]:
        if not renames:
            os.killpg(0, signal.SIGKILL)
        renames -= 1

sys.addaudithook(hook)
from corpus_assets.cli import main

raise SystemExit(main(["--root", told["root"], *told["words"]]))
"""


def kill_when(
    root: Path, words: Sequence[str], environment: dict[str, str], patterns: Sequence[str], paths: int, renames: int = 0
) -> None:
    """Run `corpus --root ROOT WORDS`, which kill -9s itself and its children once so many paths below the root match
    the patterns, before the first rename then, or so many renames later.
    """
    told = {"root": str(root), "words": words, "patterns": patterns, "paths": paths, "renames": renames}
    command = [sys.executable, "-c", _PROGRAM, json.dumps(told)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    ended = subprocess.run(command, cwd=PROJECT, env=environment, start_new_session=True, check=False, **quiet)
    assert ended.returncode == -signal.SIGKILL, "the command ended before it was killed"

"""What a report consists of: tables, pictures of them, and the peers that ran beside ours."""

import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from corpus_assets.plans.pictures import Picture

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What CLD2 refuses."""
PEERS_PYTHON = "TEXT_PEERS_PYTHON"
"""The environment variable that names an interpreter with datatrove, dolma, presidio-analyzer, detect-secrets and
wordllama, whose dependencies do not fit beside ours; text_peers_program.py says how to make it.
"""


@dataclass(frozen=True)
class Table:
    """Rows below a head; `about` says what was measured and how, `behind` what a peer does better, and why."""

    title: str
    about: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    behind: Sequence[str] = ()
    pictures: Sequence[Picture] = field(default_factory=tuple)

    def markdown(self) -> str:
        head, rows = [str(cell) for cell in self.head], [[shown(cell) for cell in row] for row in self.rows]
        lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def shown(cell: object) -> str:
    """A cell in words: shares and F1 with three digits, counts with commas, nothing as a dash."""
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:.3f}" if abs(cell) < 10 else f"{cell:,.1f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell).replace("|", "\\|").replace("\n", " ")


def python_of_peers() -> str | None:
    return os.environ.get(PEERS_PYTHON)


@cache
def missing() -> dict[str, str]:
    """Tool -> why it cannot run here; empty where all can."""
    if python_of_peers() is None:
        return {}
    return dict(_asked({"tool": "missing"}))


def can(tool: str) -> bool:
    return python_of_peers() is not None and tool not in missing()


def ask(tool: str, **told: Any) -> tuple[Any, float]:
    """(answer of a tool of text_peers_program.py, its CPU seconds). Raises RuntimeError with its last words."""
    found = _asked({"tool": tool, **told})
    return found["answer"], found["cpu_seconds"]


def _asked(told: dict[str, Any]) -> Any:
    program = Path(__file__).with_name("text_peers_program.py")
    run = subprocess.run(
        [str(python_of_peers()), str(program)], input=json.dumps(told), capture_output=True, check=False, text=True
    )
    if run.returncode:
        raise RuntimeError(f"{told['tool']}: {run.stderr[-2000:]}")
    return json.loads(run.stdout)

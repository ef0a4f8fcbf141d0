"""The table at the end: faults by kind, and what came of them.

python -m tests.faultlab.tally FILE ...    one table of several runs, from what `--json` wrote
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.faultlab.results import AFTER_KILL, AFTER_REMEDY, AT_ONCE, EDITED, LATE, WRONG, Result

OUTCOMES = (AT_ONCE, AFTER_KILL, AFTER_REMEDY, LATE, EDITED, WRONG)
HEADS = ("at once", "after a kill", "clear error", "late", "an edit", "WRONG")


def counted(results: Iterable[Result]) -> dict[str, Counter[str]]:
    """Outcome of every fault, by what was hurt; damage is told apart by the kind of file."""
    found: dict[str, Counter[str]] = {}
    for result in results:
        for fault in result.faults:
            kind = fault.kind
            if kind.startswith("damage"):
                hurt = fault.detail.removeprefix(" (after the end)").partition(": ")[0]
                kind = f"damage: {hurt or 'none, the build ended before'}"
            found.setdefault(kind, Counter())[fault.outcome] += 1
    return found


def table(results: list[Result], seconds: float) -> str:
    """For people: one line a kind of fault."""
    by_kind = counted(results)
    lines = [f"{'fault':42}{'faults':>7}" + "".join(f"{head:>14}" for head in HEADS)]
    for kind in sorted(by_kind):
        counts = by_kind[kind]
        lines.append(f"{kind:42}{counts.total():7}" + "".join(f"{counts[one] or '·':>14}" for one in OUTCOMES))
    total = sum(by_kind.values(), Counter())
    lines.append(f"{'in all':42}{total.total():7}" + "".join(f"{total[one]:14}" for one in OUTCOMES))
    wrong = [str(one.seed) for one in results if one.wrong]
    reruns = sum(one.reruns for one in results)
    lines += [
        "",
        f"{len(results)} trials, {reruns} reruns, {seconds:.0f} s. Every outcome but WRONG ends with the bytes of an "
        "undisturbed build; 'late': a published file was hurt after the build's last look at it, `corpus verify` names "
        "it and the next build mends it; 'an edit': a flipped byte made another valid input, and the bytes are those "
        "of that input.",
        f"WRONG: {len(wrong)} trials" + (f", seeds {', '.join(wrong)}" if wrong else ""),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    trials = [Result.from_json(one) for name in sys.argv[1:] for one in json.loads(Path(name).read_text("utf-8"))]
    print(table(trials, sum(one.seconds for one in trials)))

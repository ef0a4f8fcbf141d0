"""What a trial gives: each fault with what came of it, and what was wrong, if anything."""

from dataclasses import dataclass, field
from typing import Any

AT_ONCE, AFTER_KILL, AFTER_REMEDY, LATE, EDITED = (
    "same bytes at once",
    "killed, same bytes after a rerun",
    "clear error, same bytes after its remedy",
    "hurt after the last check: `corpus verify` names it, same bytes after a rerun",
    "an edit: the bytes of a build of that input",
)
WRONG = "WRONG"


class WrongError(Exception):
    """What must not be: said in words."""


@dataclass
class Hurt:
    """One fault and what came of it; `words` are what the build printed."""

    kind: str
    detail: str = ""
    outcome: str = AT_ONCE
    words: str = ""


@dataclass
class Result:
    """One trial. `wrong` is empty where all is as it must be."""

    seed: int
    start: str
    again: str
    """The words of the command line that replay it."""
    faults: list[Hurt] = field(default_factory=list)
    reruns: int = 0
    wrong: str = ""
    seconds: float = 0

    def as_json(self) -> dict[str, object]:
        return {**vars(self), "faults": [vars(one) for one in self.faults]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Result":
        return cls(**{**value, "faults": [Hurt(**one) for one in value["faults"]]})

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {self.start}; {self.seconds:.1f} s, {self.reruns} reruns"]
        for fault in self.faults:
            lines += [f"  {fault.kind}: {fault.detail}", f"    -> {fault.outcome}"]
            lines += [f"      {line}" for line in fault.words.strip().splitlines()[-12:]]
        if self.wrong:
            lines += [f"  WRONG: {self.wrong}", f"  replay: python -m tests.faultlab {self.again}"]
        return "\n".join(lines)


@dataclass(frozen=True)
class Given:
    """A fault that is not drawn: a file found before a step, and the way it is damaged."""

    variant: str
    step: int
    name: str
    way: str

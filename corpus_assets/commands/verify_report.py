"""What `corpus verify` found: its checks, each with its problems, and notes on what was not checked."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from formats.naming import VersionKey

MAX_PROBLEMS = 20
"""Problems kept of one check; the rest are counted."""
Say = Callable[[str], None]
"""Hears the name of what is being read."""


@dataclass
class Check:
    """One thing that was looked at, and what was wrong with it."""

    name: str
    says: str
    problems: list[str] = field(default_factory=list)
    num_problems: int = 0

    @property
    def ok(self) -> bool:
        return self.num_problems == 0

    def add(self, problem: object) -> None:
        self.num_problems += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(str(problem))

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "ok": self.ok, "num_problems": self.num_problems, "problems": self.problems}


@dataclass
class VerifyReport:
    """What was checked of a version. `notes` say what could not be checked, and are no failure; `manifest` and `seal`
    are the SHA-256 of `_MANIFEST.json` and `_EVIDENCE.json` as they lie there, None where there is none.
    """

    version: VersionKey
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    manifest: str | None = None
    seal: str | None = None

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)

    def check(self, name: str, says: str) -> Check:
        self.checks.append(Check(name, says))
        return self.checks[-1]

    def as_json(self) -> dict[str, Any]:
        digests = {"manifest_sha256": self.manifest, "evidence_sha256": self.seal}
        checks = [check.as_json() for check in self.checks]
        return {"version": str(self.version), "ok": self.ok, **digests, "checks": checks, "notes": self.notes}

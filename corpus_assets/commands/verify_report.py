"""What `corpus verify` found: its checks, each with its problems, or why it could not be made."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from formats.naming import VersionKey

MAX_PROBLEMS = 20
"""Problems kept of one check; the rest are counted."""
Say = Callable[[str], None]
"""Hears the name of what is being read."""


@dataclass
class Check:
    """One thing that was looked at, and what was wrong with it. `unread` says what of it could not be looked at."""

    name: str
    says: str
    problems: list[str] = field(default_factory=list)
    num_problems: int = 0
    unread: str = ""

    @property
    def ok(self) -> bool:
        """No problem was found in what was read."""
        return self.num_problems == 0

    @property
    def not_checked(self) -> str:
        """Why nobody knows whether it holds; empty where it is known to hold, or to be broken."""
        return self.unread if self.ok else ""

    def add(self, problem: object) -> None:
        self.num_problems += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(str(problem))

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "ok": None if self.not_checked else self.ok,
            "not_checked": self.not_checked or None,
            "num_problems": self.num_problems,
            "problems": self.problems,
        }


@dataclass
class Report:
    """What was checked of `of`, a version or a snapshot. `notes` say what nobody asked to check, and are no failure."""

    of: object
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(check.ok and not check.not_checked for check in self.checks)

    @property
    def verdict(self) -> str:
        return f"{self.of}: {'every check passed' if self.ok else 'a check failed'}"

    def check(self, name: str, says: str) -> Check:
        self.checks.append(Check(name, says))
        return self.checks[-1]

    def leave_out(self, names: Iterable[str], why: str) -> None:
        """Checks that could not be made at all."""
        self.checks += [Check(name, "", unread=why) for name in names]

    def lines(self) -> Iterator[str]:
        """The report for people, without the verdict."""
        for check in self.checks:
            if check.not_checked:
                yield f"not checked: {check.name}: {check.not_checked}"
                continue
            yield f"{'ok    ' if check.ok else 'FAILED'} {check.name}: {check.says}"
            yield from (f"       {problem}" for problem in check.problems)
            if check.num_problems > len(check.problems):
                yield f"       and {check.num_problems - len(check.problems)} more"
        yield from (f"note   {note}" for note in self.notes)

    def as_json(self) -> dict[str, Any]:
        return {"ok": self.ok, "checks": [check.as_json() for check in self.checks], "notes": self.notes}


@dataclass
class VerifyReport(Report):
    """Of a version; `manifest` and `seal` are the SHA-256 of `_MANIFEST.json` and `_EVIDENCE.json` as they lie there,
    None where there is none.
    """

    of: VersionKey
    manifest: str | None = None
    seal: str | None = None

    @property
    def version(self) -> VersionKey:
        return self.of

    def as_json(self) -> dict[str, Any]:
        digests = {"manifest_sha256": self.manifest, "evidence_sha256": self.seal}
        return {"version": str(self.version), **digests, **super().as_json()}

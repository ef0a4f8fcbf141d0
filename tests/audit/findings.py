"""Findings: which advisories hold for which subjects, and which of them somebody has accepted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from packaging.version import Version

from tests.audit.accepted import Accepted
from tests.audit.advisory import Advisory
from tests.audit.subjects import Subject


@dataclass(frozen=True)
class Finding:
    """One advisory that holds for one version of a package; `accepted` is the entry that names it, if one does."""

    ids: tuple[str, ...]
    subject: Subject
    fixed: Version | None
    accepted: Accepted | None

    def is_open(self, today: date) -> bool:
        return self.accepted is None or self.accepted.until < today

    def line(self, today: date) -> str:
        """One line: what, where, and what to do."""
        first, *aliases = self.ids
        also = f" ({', '.join(aliases)})" if aliases else ""
        remedy = f"fixed in {self.fixed}" if self.fixed else "no fixed version is known"
        where = ", ".join(self.subject.places)
        said = f"{self.subject.package} {self.subject.written} [{where}]: {first}{also}, {remedy}"
        if self.accepted is None:
            return said
        if self.is_open(today):
            return f"{said}; was accepted until {self.accepted.until}, which is over: {self.accepted.reason}"
        return f"{said}; accepted until {self.accepted.until}: {self.accepted.reason}"


def find(subjects: Iterable[Subject], advisories: Sequence[Advisory], accepted: Iterable[Accepted]) -> list[Finding]:
    """Every advisory that holds, by package and id."""
    known, by_package = list(accepted), _by_package(advisories)
    found = []
    for subject in subjects:
        for advisory in by_package.get(subject.package, []):
            holding = [one for one in advisory.of(subject.package) if one.holds(subject.version)]
            if holding:
                ids = (advisory.id, *advisory.aliases)
                entry = next((one for one in known if one.covers(subject.package, ids)), None)
                ends = [end for one in holding if (end := one.fixed_in(subject.version))]
                found.append(Finding(ids, subject, max(ends) if len(ends) == len(holding) else None, entry))
    return sorted(found, key=lambda one: (one.subject.package, one.subject.version, one.ids))


def unused(accepted: Iterable[Accepted], findings: Sequence[Finding]) -> list[Accepted]:
    """Entries that name nothing that is found any more."""
    used = {one.accepted for one in findings}
    return [one for one in accepted if one not in used]


def _by_package(advisories: Iterable[Advisory]) -> dict[str, list[Advisory]]:
    by_package: dict[str, list[Advisory]] = {}
    for advisory in advisories:
        if not advisory.withdrawn:
            for package in dict.fromkeys(one.package for one in advisory.affected):
                by_package.setdefault(package, []).append(advisory)
    return by_package

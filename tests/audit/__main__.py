"""python -m tests.audit --advisories PLACE: hold every pinned and installed version against known vulnerabilities.

PLACE is a folder, or a git repository, of records of the OSV schema, such as a clone of PyPA's advisory database;
CORPUS_ADVISORIES names it, too. Nothing is fetched. Exit code 0: none was found that is not accepted (accepted.toml);
1: some were, or an advisory about one of the packages could not be judged; 3: there was no database, so nothing was
audited, which is never a pass.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from tests.audit import accepted, database, findings, subjects

FOUND, NOT_RUN = 1, 3
PLACE = "CORPUS_ADVISORIES"
OLD = timedelta(days=30)
"""A database whose newest record is older says nothing about what became known since, and is told so."""


def audit(place: Path, audited: Sequence[subjects.Subject], unreadable: Sequence[str], known: Path, today: date) -> int:
    """Print what is found; the exit code. Raises NoDatabaseError and BadAcceptanceError."""
    entries = accepted.read(known)
    base = database.read(place, {one.package for one in audited})
    found = findings.find(audited, base.advisories, entries)
    still_open = [one for one in found if one.is_open(today)]
    for one in found:
        print(one.line(today))
    for words in (*base.unreadable, *unreadable):
        print(f"not judged: {words}")
    for entry in findings.unused(entries, found):
        print(f"accepted, and not found any more: {entry.id} of {entry.package}; remove it from {known}")
    print(
        f"audit: {len(audited)} versions against {base.records} advisories ({base.withdrawn} withdrawn), the newest of "
        f"{base.newest[:10]}: {len(still_open)} open, {len(found) - len(still_open)} accepted, "
        f"{len(base.unreadable) + len(unreadable)} not judged"
    )
    if base.newest[:10] < (today - OLD).isoformat():
        print(f"audit: the database ends on {base.newest[:10]}: what became known since is not in it", file=sys.stderr)
    return FOUND if still_open or base.unreadable or unreadable else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m tests.audit", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--advisories", metavar="PLACE", type=Path, help="a folder or git repository of OSV records")
    parser.add_argument("--accepted", metavar="FILE", type=Path, default=accepted.FILE)
    chosen = parser.parse_args(arguments)
    place = chosen.advisories or (Path(os.environ[PLACE]) if os.environ.get(PLACE) else None)
    try:
        if place is None:
            raise database.NoDatabaseError(f"no database was named (--advisories, or {PLACE})")
        return audit(place, *subjects.of_project(), chosen.accepted, datetime.now(UTC).date())
    except database.NoDatabaseError as error:
        print(f"audit: NOT RUN, nothing was audited: {error}", file=sys.stderr)
        return NOT_RUN
    except accepted.BadAcceptanceError as error:
        print(f"audit: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

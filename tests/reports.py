"""Which tests hold the right value of each fault that users of comparable tools report: tests/reports.toml.

python -m tests.reports            prints the table, in Markdown
python -m tests.reports 25 28      prints the tests of these reports, for pytest
"""

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("reports.toml")


@dataclass(frozen=True)
class Report:
    """A report by its number: what goes wrong elsewhere, and the tests that hold the right value here."""

    number: int
    fault: str
    tests: tuple[str, ...]


def read() -> list[Report]:
    """Every report, by number."""
    found = tomllib.loads(TABLE.read_text("utf-8"))
    return [Report(int(number), one["fault"], tuple(one["tests"])) for number, one in found.items()]


def table(reports: list[Report]) -> str:
    """A Markdown table, a line a report."""
    rows = [f"| {one.number} | {one.fault} | {'<br>'.join(f'`{test}`' for test in one.tests)} |" for one in reports]
    return "\n".join(["| report | fault | tests |", "|---|---|---|", *rows])


if __name__ == "__main__":
    wanted = {int(number) for number in sys.argv[1:]}
    chosen = [one for one in read() if one.number in wanted]
    print("\n".join(dict.fromkeys(test for one in chosen for test in one.tests)) if wanted else table(read()))

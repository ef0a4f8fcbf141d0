"""Every reported fault has a test, and every test that is named exists."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests import reports

ROOT = Path(__file__).resolve().parents[1]
LAST = 69
"""The last report that there is."""
REPORTS = reports.read()


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_every_report_has_a_test():
    assert [one.number for one in REPORTS] == list(range(1, LAST + 1))
    assert all(one.tests and one.fault.endswith(".") for one in REPORTS)


@pytest.mark.parametrize("report", REPORTS, ids=lambda one: str(one.number))
def test_the_tests_of_a_report_exist(report):
    for test in report.tests:
        path, _, name = test.partition("::")
        assert name.startswith("test_")
        assert (ROOT / path).is_file(), f"report {report.number}: {path} is gone; mend tests/reports.toml"
        assert name in names_in(path), f"report {report.number}: {test} is gone; mend tests/reports.toml"
    assert len(set(report.tests)) == len(report.tests)


def test_the_table_names_every_report_once():
    lines = reports.table(REPORTS).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {one.number}" for one in REPORTS]

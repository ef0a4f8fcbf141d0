"""A test that fails leaves pictures of what was seen."""

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.person import Person

SEEN = Path(os.environ.get("CORPUS_BROWSER_PICTURES", "test-results/browser"))
"""Where the pictures go, from the working directory."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep what the person saw when a test, or what it rests on, failed."""
    report = yield
    person = getattr(item, "funcargs", {}).get("person")
    if report.failed and isinstance(person, Person):
        path = SEEN / f"{item.name}-{call.when}"
        person.keep_what_is_seen(path)
        report.sections.append(("what was seen", f"{path.resolve()}.png"))
    return report

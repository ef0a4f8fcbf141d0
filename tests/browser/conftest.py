"""A browser at a UI of its own corpus; a test that fails leaves pictures of what was seen."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from formats.layout import Layout
from tests.assets import tiny, ui
from tests.browser.person import Person, at, missing

SEEN = Path(os.environ.get("CORPUS_BROWSER_PICTURES", "test-results/browser"))
"""Where the pictures go, from the working directory."""
NOT_ALLOWED = "CC-BY-NC-4.0"
"""What the ledger says of the source `web` at first. Its terms say MIT, which tiny.v1 allows."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """Nothing built, and one row of the ledger with a licence that is not allowed."""
    layout = tiny.unbuilt(tmp_path_factory.mktemp("browser") / "root")
    tiny.write_ledger(layout, tiny.ledger_row("web", license_spdx=NOT_ALLOWED))
    return layout


@pytest.fixture(scope="module")
def person(root: Layout) -> Iterator[Person]:
    """Skips, with what is missing, where there is no browser."""
    if why := missing():
        pytest.skip(f"the UI in a browser: {why}")
    with ui.running(root.root) as served, at(f"http://127.0.0.1:{served.port}") as person:
        yield person


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

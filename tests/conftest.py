"""Settings of every test."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from resources.download.settings import PRIVATE_HOSTS_VARIABLE

# A deadline is a timed assert, and so is a check of how fast examples are drawn: the first one compiles kernels, and
# machines are busy.
# With CORPUS_SAME_EXAMPLES, as in CI, a property draws the examples of its own source, so that one commit has one
# answer; without, every run looks further.
settings.register_profile(
    "corpus",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CORPUS_SAME_EXAMPLES" in os.environ,
)
settings.load_profile("corpus")

# The servers of the tests are on this machine, from which nothing is fetched unless it is named. At once and not in a
# fixture: resources read it when they are imported, and processes of the tests inherit it.
os.environ[PRIVATE_HOSTS_VARIABLE] = "127.0.0.1"

# A shell's background job begins with Ctrl-C ignored, and so would every process that a test stops with it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="module")
def _back_to_the_checkout() -> Iterator[None]:
    """Commands that run in the tests' process go into the corpus they work on; the next file's must not begin there."""
    place = Path.cwd()
    yield
    os.chdir(place)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files with slow tests first: a long file that is given out last would leave the other worker idle."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)

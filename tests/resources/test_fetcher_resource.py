"""The fetcher as a Dagster resource: its settings reach the fetcher, its defaults are those of the fetcher itself."""

from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from formats.errors import ConfigError
from formats.layout import Layout
from resources.download.settings import FetchSettings
from resources.fetcher import FetcherResource

LAYOUT = Layout(Path("artifacts"))


def opened_with(layout: Layout, **settings: Any) -> tuple[Path, FetchSettings]:
    """Cache and settings of the fetcher that the resource opens."""
    with mock.patch("resources.fetcher.Fetcher") as fetcher:
        FetcherResource(**settings).open(layout)
    return fetcher.call_args.args[:2]


def test_defaults_are_those_of_the_fetcher_and_the_cache_is_that_of_the_layout() -> None:
    assert opened_with(LAYOUT) == (LAYOUT.cache, FetchSettings())
    assert opened_with(Layout(Path("artifacts"), Path("shared"))) == (Path("shared"), FetchSettings())


def test_what_is_set_reaches_the_fetcher() -> None:
    told = {"parallel_files": 1, "max_tries": 2, "interval_bytes": 1 << 20, "read_timeout_seconds": 3.5}
    assert opened_with(LAYOUT, **told)[1] == FetchSettings(**told)


def test_hosts_that_may_be_private_are_named_where_everybody_sees_them() -> None:
    assert opened_with(LAYOUT, private_hosts=["files.intranet"])[1] == FetchSettings(private_hosts=("files.intranet",))
    assert opened_with(LAYOUT, private_hosts=[])[1].private_hosts == ()


@pytest.mark.parametrize("wrong", [{"parallel_files": 0}, {"max_tries": 0}, {"interval_bytes": 0}])
def test_what_cannot_work_is_refused_in_words(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        FetcherResource(**wrong).open(LAYOUT)

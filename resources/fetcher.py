"""The network, as a resource: how many files at once, how patient, and where progress goes."""

import dagster as dg
from pydantic import Field

from formats.layout import Layout
from resources.download.access import Access
from resources.download.fetcher import Fetcher
from resources.download.settings import FetchSettings
from resources.progress import FetchProgress

_DEFAULT = FetchSettings()


class FetcherResource(dg.ConfigurableResource):
    """Settings of the fetcher that an installation may want to change; none of them changes a byte."""

    parallel_files: int = _DEFAULT.parallel_files
    max_tries: int = _DEFAULT.max_tries
    interval_bytes: int = _DEFAULT.interval_bytes
    read_timeout_seconds: float = _DEFAULT.read_timeout_seconds
    private_hosts: list[str] = Field(
        default=list(_DEFAULT.private_hosts), description="Hosts that may have addresses that are not public."
    )

    def open(self, layout: Layout, access: Access | None = None) -> Fetcher:
        """`access`: limits and credentials of the source whose files are fetched; they are in no run's config."""
        settings = FetchSettings(
            parallel_files=self.parallel_files,
            max_tries=self.max_tries,
            interval_bytes=self.interval_bytes,
            read_timeout_seconds=self.read_timeout_seconds,
            private_hosts=tuple(self.private_hosts),
        )
        return Fetcher(layout.cache, settings, FetchProgress(), access=access)

"""What is to be taken down: a source of the ledger, or a site as an opt-out list names it.

A site means here what the same words mean in an opt-out list, so that what is found is what the entry leaves out.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.url_paths import url_paths
from corpus_assets.stages.match_sites import SiteIndex, key_of, url_parts
from corpus_assets.stages.site_names import parse_site
from formats.errors import ConfigError
from formats.json_words import described
from formats.naming import NAME
from formats.reasons import Reason
from formats.stage_tables import SITE_ENTRIES

_PATHS = ("/", "./", "../", "~")
"""How a file is named that lies here: its documents have that name for a URL, which no list can hold."""


@dataclass(frozen=True)
class Target:
    """What is to be taken down: a source of the ledger, or a site as an opt-out list names it."""

    words: str
    source: str | None = None
    sites: SiteIndex | None = None
    path: str | None = None
    """Of a URL, in the one form of url_paths."""

    @classmethod
    def parse(cls, words: str) -> "Target":
        """A name without a dot is a source; anything else a domain or a URL. Raises ConfigError for what is neither."""
        if NAME.fullmatch(words):
            return cls(words, source=words)
        if words.startswith(_PATHS):
            raise ConfigError(
                f"{described(words)} is a path, and documents of a file lie at no site; take its source down, by "
                "name, or look one document up with `corpus trace`"
            )
        site = parse_site(words)
        row = {"reason": Reason.OPT_OUT.value, "list": "", "line": 1, "what": words, "is_domain": site.is_domain}
        row |= {"host": site.host, "key": key_of(site)}
        path = None if site.path is None else url_paths(pa.array([site.path], pa.large_string()))[0].as_py()
        return cls(words, sites=SiteIndex(pa.Table.from_pylist([row], SITE_ENTRIES)), path=path)

    @property
    def kind(self) -> str:
        return "source" if self.source is not None else "site"

    def of_urls(self, urls: pa.Array) -> pa.Array:
        """True where a URL falls under the site."""
        if self.sites is None:
            raise ConfigError(f"{self.words} is a source, which is not found by URL")
        return pa.array(self.sites.first_entries(urls) >= 0)

    def other_pages(self, urls: pa.Array) -> int:
        """Of URLs under a prefix, how many go on after it, so that they are other pages than the one named."""
        if self.path is None:
            return 0
        return len(urls) - (pc.sum(pc.equal(url_paths(url_parts(urls).rest), self.path)).as_py() or 0)

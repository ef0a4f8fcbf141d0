"""How the files of a source are asked for on this machine: its rules, in the turns that all processes share."""

from corpus_assets.validation import fetch_rules
from formats.layout import Layout
from resources.download import pace
from resources.download.access import Access


def access_of(layout: Layout, source: str) -> Access:
    """Raises ConfigError for fetch rules that are wrong."""
    return Access(fetch_rules.of_machine(layout), source, pace.of_machine(layout.work("locks", "fetch")))

"""What the ledger says today otherwise than a published version: the version stays, and a person is told. Reads the
version's rows and the ledger once each.
"""

from collections.abc import Iterator
from typing import Any

from corpus_assets.plans import published_version
from corpus_assets.plans.pinned import Version, hold_to_published_config, todays_value
from formats import evidence, ledger
from formats.errors import ConfigError
from formats.layout import Layout


def since_published(layout: Layout, version: Version) -> Iterator[str]:
    """A sentence a source whose row is another one now, or gone. Raises PublishedError for a version that was published
    with another config, CorruptDataError where its evidence cannot be read.
    """
    hold_to_published_config(layout, version)
    folder = layout.evidence(version.key)
    published = published_version.ledger_rows(folder, evidence.read_seal(folder))
    for pair in version.pairs:
        stays = (
            f"{version.key} is published and keeps the row it was published with, the next version takes today's "
            f"(`corpus config new`); if it may no longer be used, `corpus takedown {pair.source}` lists what holds it"
        )
        try:
            today = todays_value(layout, pair.source)
        except ConfigError as error:
            yield f"{pair}: {error}. {stays}"
            continue
        row = published.get(pair.source)
        if changed := changes(ledger.to_json(row) if row else None, today):
            yield f"{pair}: the row in the ledger is another one now: {changed}. {stays}"


def changes(before: Any, now: Any) -> str:
    """The fields that differ between two rows; of the licence, both words."""
    then, today = (value if isinstance(value, dict) else {} for value in (before, now))
    names = sorted(name for name in {*then, *today} if then.get(name) != today.get(name))
    return ", ".join(
        f"{name} {then.get(name)} -> {today.get(name)}" if name == "license_spdx" else name for name in names
    )

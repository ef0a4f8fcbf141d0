"""What the ledger says today otherwise than what was pinned or published, and what to do about it: the words of status,
the ingest sensor and the checks. Reads the version's rows and the ledger once each.
"""

from collections.abc import Iterator
from typing import Any

from corpus_assets.plans import published_version
from corpus_assets.plans.pinned import Version, hold_to_published_config, todays_value
from formats import evidence, ledger
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import PairKey


def since_published(layout: Layout, version: Version) -> Iterator[str]:
    """A sentence a source whose row is another one now, or gone. Raises PublishedError for a version that was published
    with another config, CorruptDataError where its evidence cannot be read.
    """
    hold_to_published_config(layout, version)
    folder = layout.evidence(version.key)
    published = published_version.ledger_rows(folder, evidence.read_seal(folder))
    for pair in version.pairs:
        try:
            today = todays_value(layout, pair.source)
        except ConfigError as error:
            yield f"{pair}: {no_row(layout, pair, error)}. {next_step(layout, pair, gone=True)}"
            continue
        row = published.get(pair.source)
        if changed := changes(ledger.to_json(row) if row else None, today):
            yield f"{pair}: the row in the ledger is another one now: {changed}. {next_step(layout, pair)}"


def no_row(layout: Layout, pair: PairKey, error: ConfigError) -> str:
    """What is wrong with the row of a pair, in other words where it was there: whoever removed it need not be told how
    to add it.
    """
    was_there = layout.lock(pair.version).exists() or layout.pinned_row(pair).exists()
    first, *others = str(error).split("\n")
    if was_there and first == ledger.not_one_row(layout.ledger, pair.source, 0):
        return "; ".join((f"the ledger has no row of source {pair.source} any more", *others))
    return str(error)


def next_step(layout: Layout, pair: PairKey, *, gone: bool = False) -> str:
    """What becomes of a version of which a row is another one now, or is gone, and what a person does."""
    key, source = pair.version, pair.source
    if layout.lock(key).exists():
        then = "the next version goes without it, or the row is put back" if gone else "the next version takes today's"
        return (
            f"{key} is published and keeps the row it was published with, {then} (`corpus config new`); if it may no "
            f"longer be used, `corpus takedown {source}` lists what holds it"
        )
    if gone:
        return (
            f"nothing is run for it, and what was made of it stays. Put the row back, or take the source out of "
            f"{layout.config(key)}"
        )
    return f"a build takes today's row: run `corpus build {key}`, or materialize ledger_entry"


def changes(before: Any, now: Any) -> str:
    """The fields that differ between two rows; of the licence, both words."""
    then, today = (value if isinstance(value, dict) else {} for value in (before, now))
    names = sorted(name for name in {*then, *today} if then.get(name) != today.get(name))
    return ", ".join(
        f"{name} {then.get(name)} -> {today.get(name)}" if name == "license_spdx" else name for name in names
    )

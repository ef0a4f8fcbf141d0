"""What is new in ledger and configs: the pairs of unpublished versions whose sources were never measured as their rows
say now. Reads the files as they are; makes nothing.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from corpus_assets.plans import ledger_changes, standing
from corpus_assets.plans.pinned import Build, load_version, pinned_value, todays_value
from corpus_assets.plans.standing import Standing, State
from corpus_assets.validation import corpus_config
from formats import canonical, ledger
from formats.errors import ConfigError, CorpusError
from formats.layout import Layout
from formats.naming import PairKey
from resources.engines.local import LocalEngine

ASSETS = ("ledger_entry", "raw_fetch", "doc_signals", "filtered_docs", "minhash_signatures")
"""What a source needs by itself, before a version takes it together with the others."""


@dataclass(frozen=True)
class NewPair:
    """A pair to ingest. `name` is the same while row and config are: what was asked for once is not asked for again."""

    pair: PairKey
    name: str
    why: str


@dataclass(frozen=True)
class Found:
    """What is to be run, and what a person should know: each note says what happens and what to do."""

    new: tuple[NewPair, ...]
    notes: tuple[str, ...]


def look(layout: Layout, loaded: Collection[str]) -> Found:
    """Compare ledger and configs on disk with what was made; `loaded` are the pairs that can be run, by their keys."""
    new: list[NewPair] = []
    configs, notes = corpus_config.discover(layout)
    rows, wrong = ledger.scan(layout.ledger)
    notes += [f"{layout.ledger}: {violation}" for violation in wrong]
    used, absent = set(), []
    for key in configs:
        try:
            version = load_version(layout, key)
        except ConfigError as error:
            notes.append(str(error))
            continue
        used |= set(version.config.sources)
        if layout.lock(key).exists():
            try:
                notes += ledger_changes.since_published(layout, version)
            except CorpusError as error:
                notes.append(str(error))
            continue
        absent += [str(pair) for pair in version.pairs if str(pair) not in loaded]
        engine = LocalEngine(scratch=layout.work("scratch", "ingest"), workers=1, processes=False)  # runs nothing
        stands = standing.of_version(Build(layout, engine), version).sources
        for pair in version.pairs:
            try:
                row = todays_value(layout, pair.source)
            except ConfigError as error:
                missing = ledger_changes.no_row(layout, pair, error)
                notes.append(f"{pair}: {missing}; {ledger_changes.next_step(layout, pair, gone=True)}")
                continue
            why = _why(layout, pair, row, stands[pair.source])
            if why and str(pair) in loaded:
                digest = canonical.digest([str(pair), row, version.config.config_sha256])
                new.append(NewPair(pair, f"ingest:{pair}:{digest[:32]}", why))
    if absent:
        notes.append(
            f"{', '.join(absent)}: on disk, but not among the partitions, which are read when the code loads; reload "
            "the definitions (Deployment, Reload definitions), and the next tick takes them"
        )
    if idle := sorted({row.source_id for _, row in rows} - used):
        notes.append(f"{', '.join(idle)}: in the ledger, but in no config; `corpus config new` takes a source up")
    return Found(tuple(new), tuple(notes))


def _why(layout: Layout, pair: PairKey, row: Any, stands: list[Standing] | Any) -> str:
    """Why the pair is to be run; empty when it is not."""
    found = {one.asset: one.state for one in stands if one.asset in ASSETS}
    if State.RUNNING in found.values():
        return ""
    if layout.pinned_row(pair).exists():
        try:
            changed = ledger_changes.changes(pinned_value(layout, pair), row)
        except CorpusError as error:
            return f"the pinned row cannot be read: {error}"
        if changed:
            return f"its row changed: {changed}; the checks of ledger_entry decide on it"
    never = [asset for asset in ASSETS if found.get(asset) in (State.MISSING, State.REFUSED)]
    return f"never made: {', '.join(never)}" if never else ""

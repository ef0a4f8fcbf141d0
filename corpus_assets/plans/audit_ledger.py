"""Audits of a pinned ledger row: by the rules that it must hold, and against the ledger of today."""

from collections.abc import Callable
from typing import Any

from corpus_assets.plans import ledger_changes
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.pinned import load_version, pinned_value, todays_value
from corpus_assets.validation.ledger import ROW_CHECKS
from formats.corpus_config import CorpusConfig
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import PairKey


def ledger_rule(layout: Layout, key: PairKey, rule: str) -> Finding:
    """One of the rules that a pinned ledger row must hold (validation.ledger.ROW_CHECKS)."""
    value, config = pinned_value(layout, key), load_version(layout, key.version).config
    licence = str(value.get("license_spdx")) if isinstance(value, dict) else "none"
    if wrong := ROW_CHECKS[rule](value, config):
        return Finding(False, f"{layout.ledger}: {'; '.join(wrong)}", {"license": licence, "violations": len(wrong)})
    return Finding(True, _RIGHT[rule](value, licence, config), {"license": licence})


_RIGHT: dict[str, Callable[[dict[str, Any], str, CorpusConfig], str]] = {
    "ledger_schema": lambda row, _licence, _config: (
        f"{plural(len(row), 'field')} checked, each as the ledger's format has it: {', '.join(sorted(row))}"
    ),
    "spdx_expression": lambda _row, licence, _config: f"{licence} is an SPDX licence expression",
    "licence_allowed": lambda _row, licence, config: (
        f"{licence} is allowed by {config.key}, which allows {', '.join(config.licenses.allow)}"
    ),
    "checksums_present": lambda row, _licence, _config: (
        f"{plural(len(row['files']), 'file')} with SHA-256 and length, "
        f"{plural(sum(file['bytes'] for file in row['files']), 'byte')} in all"
    ),
}
"""Rule -> what was found where it holds."""


def unchanged_in_ledger(layout: Layout, key: PairKey) -> Finding:
    """Whether the ledger of today has the row that the version pinned."""
    pinned = pinned_value(layout, key)
    try:
        today = todays_value(layout, key.source)
    except ConfigError as error:
        step = ledger_changes.next_step(layout, key, gone=True)
        return Finding(False, f"{ledger_changes.no_row(layout, key, error)}. {step}")
    changed = sum(today.get(name) != pinned.get(name) for name in {*today, *pinned})
    words = "same row as pinned"
    if changed:
        step = ledger_changes.next_step(layout, key)
        words = f"the ledger's row changed since it was pinned: {ledger_changes.changes(pinned, today)}. {step}"
    return Finding(not changed, words, {"changed_fields": changed})

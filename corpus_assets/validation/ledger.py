"""The ledger held to its rules: fields, JSON Schema, SPDX, and what a version allows.

`check_row_for_version` is the one set of rules behind the blocking checks of `ledger_entry` and behind `raw_fetch`,
which refuses by it before it opens a connection. Rows come as they stand in the ledger, right or wrong.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpus_assets.validation import json_schema, spdx
from formats import ledger
from formats.corpus_config import CorpusConfig
from formats.errors import ConfigError
from formats.ledger import LedgerRow, Violation

SCHEMA = "ledger.schema.json"


def check_ledger(path: Path) -> list[Violation]:
    """Everything wrong in a ledger, by line and field."""
    rows, found = ledger.scan(path)
    for line, row in rows:
        value = ledger.to_json(row)
        found += [Violation(line, field, wrong) for field, wrong in json_schema.problems(SCHEMA, value)]
        found += [Violation(line, "license_spdx", wrong) for wrong in _expression(value)]
    return sorted(set(found))


def check_row_for_version(row: LedgerRow | Any, config: CorpusConfig) -> list[str]:
    """Why this version may not use the row; empty when it may. `row` may be a JSON value that is no right row."""
    value = ledger.to_json(row) if isinstance(row, LedgerRow) else row
    found = [wrong for check in ROW_CHECKS.values() for wrong in check(value, config)]
    return list(dict.fromkeys(found))


def _schema(value: Any, _: CorpusConfig) -> list[str]:
    found = ledger.problems(value) or json_schema.problems(SCHEMA, value)
    return [f"{_source(value)}: field {field}: {wrong}" for field, wrong in found]


def _spdx_expression(value: Any, _: CorpusConfig) -> list[str]:
    return [f"{_source(value)}: field license_spdx: {wrong}" for wrong in _expression(value)]


def _licence_allowed(value: Any, config: CorpusConfig) -> list[str]:
    if _expression(value):
        return [f"{_source(value)}: its licence cannot be read, so {config.key} does not allow it"]
    refusal = spdx.allowed(value["license_spdx"], config.licenses.allow)
    if not refusal:
        return []
    todo = "take the source out of the config, or allow the licence if the terms were read and fit"
    allowed = ", ".join(config.licenses.allow)
    return [f"{_source(value)}: licence {refusal.reason} by {config.key}; allowed: {allowed}; {todo}"]


def _checksums_present(value: Any, _: CorpusConfig) -> list[str]:
    files = value.get("files") if isinstance(value, dict) else None
    if not isinstance(files, list) or not files:
        return [f"{_source(value)}: it lists no files; measure them with `corpus ledger add`"]
    return [
        f"{_source(value)}: file {i} has no valid {key}; measure it with `corpus ledger add`"
        for i, file in enumerate(files)
        for key in ("sha256", "bytes")
        if _wrong_in_file(file, key)
    ]


Check = Callable[[Any, CorpusConfig], list[str]]
ROW_CHECKS: dict[str, Check] = {
    "ledger_schema": _schema,
    "spdx_expression": _spdx_expression,
    "licence_allowed": _licence_allowed,
    "checksums_present": _checksums_present,
}
"""The blocking checks of `ledger_entry` by name: (row's JSON value, config) -> what is wrong."""


def _expression(value: Any) -> list[str]:
    text = value.get("license_spdx") if isinstance(value, dict) else None
    if not isinstance(text, str):
        return ["expected an SPDX licence expression; write one such as CC-BY-4.0"]
    try:
        spdx.check_expression(text)
    except ConfigError as error:
        return [str(error)]
    return []


def _wrong_in_file(file: Any, key: str) -> bool:
    return not isinstance(file, dict) or any(field == key for field, _ in ledger.problems_of_file(file))


def _source(value: Any) -> str:
    source = value.get("source_id") if isinstance(value, dict) else None
    return f"source {source}" if isinstance(source, str) else "a source without name"

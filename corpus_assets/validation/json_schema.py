"""JSON Schemas of the documents that people write, exported from the dataclasses that describe them.

`python -m corpus_assets.validation.json_schema` writes the files again; a test says when they have drifted. What
relates two fields in ways JSON Schema cannot say (equal urls, calendar days, names of eval sets) is in the `.md` files.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

import formats
from formats import durable
from formats.corpus_config import CorpusConfig
from formats.fetch_rules import FetchRules
from formats.json_tables import table
from formats.ledger import LedgerRow
from formats.model_config import ModelConfig

FOLDER = Path(formats.__file__).parent
EXPORTED: dict[str, tuple[type, str]] = {
    "ledger.schema.json": (LedgerRow, "One row of LEDGER.jsonl"),
    "corpus-config.schema.json": (CorpusConfig, "One version of a dataset: configs/<dataset>/<version>.yaml"),
    "model-config.schema.json": (ModelConfig, "One model of quality or perplexity: models/<name>.yaml"),
    "fetch-rules.schema.json": (FetchRules, "How a machine fetches: corpus/fetch.yaml"),
}


def exported(name: str) -> str:
    """The text of a schema file as the dataclasses say it today."""
    cls, title = EXPORTED[name]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return json.dumps({**head, **table(cls).schema()}, indent=2, ensure_ascii=False) + "\n"


def problems(name: str, value: Any) -> list[tuple[str, str]]:
    """What the schema file `name` refuses in `value`, as (path of the field, message)."""
    return [(_path(error), error.message[:200]) for error in _validator(name).iter_errors(value)]


@cache
def _validator(name: str) -> Any:
    return Draft202012Validator(json.loads((FOLDER / name).read_text("utf-8")))


def _path(error: ValidationError) -> str:
    path = ""
    for step in error.absolute_path:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
    return path


if __name__ == "__main__":
    for name in EXPORTED:
        durable.write_file(FOLDER / name, exported(name).encode("utf-8"))

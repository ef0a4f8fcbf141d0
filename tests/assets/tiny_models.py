"""Models for the tiny corpus of the graph: one of what raw_fetch holds, one of what tiny.v1 published."""

import json
from typing import Any

from formats.layout import Layout
from tests.assets import tiny

GOOD, FLUENT = "good", "fluent"
_KINDS: dict[str, dict[str, Any]] = {
    # Of so few documents three are held out: by this seed they lie as a larger sample would.
    GOOD: {"kind": "quality", "positive": ["tales"], "negative": ["notes", "web"], "seed": 3},
    FLUENT: {"kind": "perplexity", "positive": ["tales", "web"], "lang": "en", "documents": "published"},
}


def config(name: str = GOOD, **changes: Any) -> dict[str, Any]:
    """The config of a model, but for `changes`; a change to None takes the setting out. Other names are as GOOD."""
    document = {"model": name, "version": str(tiny.V1), **_KINDS.get(name, _KINDS[GOOD]), **changes}
    return {setting: value for setting, value in document.items() if value is not None}


def write(layout: Layout, name: str = GOOD, **changes: Any) -> None:
    path = layout.model_config(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(config(name, **changes), indent=2), "utf-8")

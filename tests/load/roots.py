"""Artifacts roots of any number of sources and versions, of which nothing is built: what a code location reads."""

import hashlib
import json
from pathlib import Path

from formats.layout import Layout
from formats.naming import VersionKey

PARTITION = "source-000@large.v1"
"""One that every root has."""


def make(root: Path, sources: int, versions: int) -> Layout:
    """Ledger and configs: every version is of all sources."""
    layout = Layout(root)
    names = [f"source-{number:03d}" for number in range(sources)]
    layout.ledger.parent.mkdir(parents=True)
    data = b'{"text": "A heron stood in the pond."}\n'
    rows = [
        {
            "source_id": name,
            "title": f"The {name}",
            "kind": "jsonl",
            "files": [
                {"url": f"../inputs/{name}.jsonl", "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
            ],
            "license_spdx": "CC0-1.0",
            "license_evidence": "made up for a measurement",
            "attribution": "the house",
            "retrieved": "2026-11-30",
            "bucket": name,
            "profile": "prose",
        }
        for name in names
    ]
    layout.ledger.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    for number in range(versions):
        key = VersionKey("large", f"v{number + 1}")
        path = layout.config(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        head = f"dataset: large\nversion: {key.version}\nlicenses: {{allow: [CC0-1.0]}}\nsources:\n"
        path.write_text(head + "".join(f"  - {name}\n" for name in names), "utf-8")
    return layout

"""A tiny database of made-up advisories, as files of the OSV schema."""

import json
from pathlib import Path
from typing import Any

FLOWER = "PYSEC-2026-1"


def record(id: str = FLOWER, package: str = "flower-press", **changes: Any) -> dict[str, Any]:
    """An advisory about versions from 1.2 to before 1.4; `changes` are fields of it or of its one package."""
    affected: dict[str, Any] = {
        "package": {"name": package, "ecosystem": "PyPI"},
        "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "1.2"}, {"fixed": "1.4"}]}],
    }
    top = {name: value for name, value in changes.items() if name in ("withdrawn", "aliases", "affected", "modified")}
    affected.update({name: value for name, value in changes.items() if name not in top})
    made = {"id": id, "modified": "2026-05-01T00:00:00Z", "affected": [affected], **top}
    return {name: value for name, value in made.items() if value is not None}


def events(*pairs: tuple[str, str], type: str = "ECOSYSTEM") -> list[dict[str, Any]]:
    """One range with these events, in the order given."""
    return [{"type": type, "events": [{kind: version} for kind, version in pairs]}]


def write(folder: Path, *records: dict[str, Any]) -> Path:
    """The records as JSON files, a folder a package, as databases have it; the folder."""
    for one in records:
        path = folder / "vulns" / one["affected"][0]["package"]["name"] / f"{one['id']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(one), "utf-8")
    return folder

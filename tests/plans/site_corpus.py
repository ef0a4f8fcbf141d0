"""The tiny corpus and a source of shops, with site lists: `tiny.v3` leaves out what `lists/` names."""

import hashlib
import json
from pathlib import Path
from typing import Any

from formats.layout import Layout
from formats.naming import VersionKey
from tests.plans import tiny_corpus
from tests.plans.tiny_corpus import CLOCK, FABLES, FERRY, OWL, WEB

V3 = VersionKey("tiny", "v3")
STORY = (
    "The baker of the harbour town kept a bell that nobody was allowed to ring, and every guest wanted to know why. "
    "He told some of them that it had belonged to a ship, and others that it called the herring, but to his own "
    "children he said that a bell which is never rung can promise whatever one likes. When he was old they rang it "
    "once, and it had no sound at all."
)
SHOP = [
    {"url": "https://User@Shop.Example.co.UK.:8443/owl?x=1", "text": STORY},  # opts out, and came first
    {"url": "https://mirror.example.net/owl", "text": STORY},
    {"url": "http://notexample.co.uk/clock", "text": CLOCK.replace("clock", "bell").replace("hands", "ropes")},
    {"url": "https://forum.example.net/private/ferry", "text": FERRY.replace("river", "brook")},
    {"url": "https://forum.example.net/public/owl", "text": OWL.replace("stars", "leaves").replace("owl", "raven")},
]
OPT_OUT = {"what": "example.co.uk", "since": "2026-11-30", "why": "mail of the owner"}
BLOCKED = b"# a forum\n\nhttps://forum.example.net/private/\n"


def pinned(root: Path, name: str, data: bytes) -> dict[str, str]:
    """Writes a list below `root`, and how a config names it."""
    path = root / "lists" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return {"name": path.stem, "path": f"lists/{name}", "sha256": hashlib.sha256(data).hexdigest()}


def write_config(layout: Layout, **more: Any) -> None:
    """The config of V3: that of V1, and `more`."""
    config = json.loads(layout.config(tiny_corpus.V1).read_text())
    layout.config(V3).write_text(json.dumps({**config, "version": "v3", **more}))


def site_lists(root: Path) -> dict[str, Any]:
    return {
        "opt_out": [pinned(root, "asked.jsonl", json.dumps(OPT_OUT).encode() + b"\n")],
        "block": [pinned(root, "forums.txt", BLOCKED)],
    }


def write_inputs(root: Path) -> Layout:
    """The tiny corpus and a source of shops, with site lists in V3."""
    tiny_corpus.SOURCES.setdefault("shop", {**tiny_corpus.SOURCES["web"], "title": "Shops", "source_rank": 30})
    layout = tiny_corpus.write_inputs(root, {"fables": FABLES, "web": WEB, "shop": SHOP})
    write_config(layout, sites=site_lists(root))
    return layout


def make(root: Path, workers: int = 1) -> Layout:
    layout = write_inputs(root)
    tiny_corpus.build(layout, V3, workers)
    return layout

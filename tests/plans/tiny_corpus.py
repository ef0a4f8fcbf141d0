"""A corpus of two sources and a dozen documents, built by the plans alone, in which every kind of fate occurs once.

`tiny.v1` drops near duplicates; `tiny.v2` keeps them, so that val is protected instead.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from corpus_assets.plans import clusters, keepers, near_edges, scrub
from corpus_assets.plans.pinned import Build, load_pairs, load_version, pin_row
from corpus_assets.plans.publish import publish
from corpus_assets.plans.raw_set import make_raw_set
from corpus_assets.plans.source_stages import documents, signals, signatures, verdicts
from formats import ledger
from formats.layout import Layout
from formats.naming import VersionKey
from resources.engines.local import LocalEngine

V1, V2 = VersionKey("tiny", "v1"), VersionKey("tiny", "v2")
HOSTILE_URL = "https://example.org/<script>alert('x')</script>?a=1&b=\"2\""
HOSTILE_TITLE = "Pages <img src=x onerror=alert(1)> | & more"

OWL = (
    "An old owl sat in the hollow of an oak and kept the night watch for the whole wood. When the young mice asked "
    "her why she never slept, she told them that somebody has to count the stars, and that the one who counts them "
    "must begin again whenever a cloud goes by. The mice went home and slept badly, because they had begun to count."
)
FERRY = (
    "The ferryman of the grey river took no money from those who could sing. He said that a coin buys bread once, but "
    "a song can be carried to the other bank and back again without growing lighter. So the merchants who wished to "
    "cross with their mules learned to sing, and the river had more music than trade in the years of the long peace."
)
CLOCK = (
    "Nobody in the village had wound the church clock since the storm, and yet the hands moved every Sunday. The "
    "smith blamed the wind, the teacher blamed his pupils, and the pupils were sure that a ghost did it. Only one old "
    "cat who lived in the tower knew that she liked to sleep on the minute hand when the sun shone upon its face."
)
GARDEN = (
    "Whoever has a question about the garden may write to the keeper at keeper@garden-example.com and will have an "
    "answer before the frost. The keeper reads all letters aloud to the roses first, since they have been there for "
    "longer than he has, and he has found that they remember which of the apple trees was planted by whom and when."
)
QUIZ = "Which seven colours of lantern hang above the harbour gate when the winter fleet comes home at night?"
LEAK = f"{CLOCK[:120]} A traveller once asked the harbour master: {QUIZ} He laughed and gave no answer to that at all."
NEAR_OWL = OWL.replace("slept badly", "slept poorly")

FABLES: list[dict[str, Any] | bytes] = [
    {"path": "owl.txt", "text": OWL},
    {"path": "owl-again.txt", "text": OWL.upper()},
    {"path": "short.txt", "text": "Too short to be a tale of any kind, though it has sixty characters."},
    b'{"path": "cut.txt", "text": "no end',
    {"path": "garden.txt", "text": GARDEN},
    {"path": "leak.txt", "text": LEAK},
]
WEB: list[dict[str, Any] | bytes] = [
    {"url": "https://sub.example.org/owl", "text": NEAR_OWL},
    {"url": HOSTILE_URL, "text": FERRY},
    {"url": "https://EXAMPLE.org:8080/clock", "text": CLOCK},
    {"url": HOSTILE_URL, "text": "A short note."},
]
SOURCES: dict[str, dict[str, Any]] = {
    "fables": {
        "title": "Fables retold",
        "license_spdx": "CC0-1.0",
        "license_evidence": "stated on the cover",
        "source_rank": 10,
        "fields": {"url": "path"},
    },
    "web": {
        "title": HOSTILE_TITLE,
        "license_spdx": "CC-BY-4.0 OR LicenseRef-Own",
        "license_evidence": "https://example.org/terms?a=1&b=2",
        "source_rank": 20,
        "fields": {"url": "url"},
    },
}


def write_inputs(root: Path, lines: dict[str, Iterable[dict[str, Any] | bytes]]) -> Layout:
    """Ledger, files, an eval set and the configs of both versions."""
    layout = Layout(root)
    layout.corpus.mkdir(parents=True)
    for source, rows in lines.items():
        data = b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows)
        path = layout.corpus / f"{source}.jsonl"
        path.write_bytes(data)
        file = {"url": path.name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        common = {"kind": "jsonl", "files": [file], "attribution": "the house", "retrieved": "2026-11-30"}
        value = {"source_id": source, **common, "bucket": source, "profile": "prose", **SOURCES[source]}
        ledger.append(layout.ledger, ledger.from_json(value))
    quiz = (json.dumps({"question": QUIZ}) + "\n").encode()
    (root / "quiz.jsonl").write_bytes(quiz)
    eval_set = {"name": "quiz", "path": "quiz.jsonl", "sha256": hashlib.sha256(quiz).hexdigest()}
    config = {
        "dataset": "tiny",
        "sources": sorted(lines),
        "licenses": {"allow": ["CC0-1.0", "CC-BY-4.0", "LicenseRef-Own"]},
        "shard_rows": 2,
        "decontaminate": {"eval_sets": [{**eval_set, "format": "jsonl", "fields": ["question"]}]},
    }
    for key, more in ((V1, {"val_permille": 5}), (V2, {"val_permille": val_between(), "dedup": {"near": KEEP_NEAR}})):
        path = layout.config(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**config, "version": key.version, **more}, indent=2))
    return layout


KEEP_NEAR = {"drop": False}


def val_between() -> int:
    """A permille at which one of the two owls is val and the other is train."""
    return 1 + min(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % 1000 for text in (OWL, NEAR_OWL))


def build(layout: Layout, key: VersionKey, workers: int = 1) -> None:
    """Every stage of a version, then its publication; no datasheet."""
    made = Build(layout, LocalEngine(scratch=layout.corpus / "work" / "scratch", workers=workers, processes=False))
    for pair in load_version(layout, key).pairs:
        pin_row(layout, pair)
    pairs = load_pairs(layout, key)
    for pair in pairs:
        make_raw_set(layout, pair.row, [layout.corpus / file.url for file in pair.row.files])
        for stage in (documents, signals, verdicts, signatures):
            stage(made, pair).make()
    for whole in (keepers.ranks, near_edges.edges, clusters.dedup_clusters):
        whole(made, pairs).make()
    for pair in pairs:
        scrub.scrubbed_docs(made, pairs, pair).make()
    publish(made, pairs)


_FOLDER = tempfile.TemporaryDirectory(prefix="tiny-corpus-")
"""Removed when the tests end."""


@cache
def _made() -> Layout:
    return make(Path(_FOLDER.name) / "root", V1, V2)


def copy(root: Path) -> Layout:
    """A copy of the corpus with both versions, which is built once."""
    shutil.copytree(_made().root, root)
    return Layout(root)


def make(root: Path, *keys: VersionKey) -> Layout:
    """The corpus below `root`, with these versions published."""
    layout = write_inputs(root, {"fables": FABLES, "web": WEB})
    for key in keys:
        build(layout, key)
    return layout

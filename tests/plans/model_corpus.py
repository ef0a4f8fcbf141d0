"""The tiny corpus with versions that score by models: v1 without, models trained on it, later versions with them."""

import json
from pathlib import Path
from typing import Any

from corpus_assets.commands import model
from corpus_assets.plans.pinned import Build
from corpus_assets.plans.raw_set import make_raw_set
from formats import durable, evidence
from formats.layout import Layout
from formats.ledger import LedgerRow
from formats.naming import VersionKey
from resources.engines.local import LocalEngine
from tests import build_by_plans
from tests.assets import tiny
from tests.commands import command_line

SCORED, FILTERED = VersionKey("tiny", "scored"), VersionKey("tiny", "filtered")


def engine(layout: Layout, workers: int = 1) -> LocalEngine:
    return LocalEngine(scratch=layout.work("scratch", "test"), workers=workers, processes=False)


def build(layout: Layout, key: VersionKey, *, workers: int = 1) -> None:
    """Every step of a version, by the plans."""

    def fetch(row: LedgerRow) -> object:
        return make_raw_set(layout, row, [layout.corpus / file.url for file in row.files])

    for _, work in build_by_plans.steps(Build(layout, engine(layout, workers)), key, fetch):
        work()


def train(layout: Layout) -> dict[str, Any]:
    """Both models, trained on v1 by the commands; the sections of a config that use them, without limits."""
    folder = layout.root / "models"
    folder.mkdir()
    words = ["tiny.v1", "--positive", "tales", "--negative", "notes,web", "--out", str(folder / "quality.bin")]
    assert command_line.run(model, layout.root, "model", "quality", *words) == 0
    words = ["tiny.v1", "--language", "en", "--sources", "tales,web", "--out", str(folder / "en.arpa")]
    assert command_line.run(model, layout.root, "model", "perplexity", *words) == 0
    digests = {name: durable.sha256_of(folder / name) for name in ("quality.bin", "en.arpa")}
    quality = {"model": {"path": "models/quality.bin", "sha256": digests["quality.bin"]}}
    english = {"lang": "en", "path": "models/en.arpa", "sha256": digests["en.arpa"]}
    return {"quality": quality, "ppl": {"models": [english]}}


def told(layout: Layout, key: VersionKey) -> dict[str, dict[str, Any]]:
    """The evidence rows of a version by id."""
    batches = evidence.read(layout.evidence(key), "documents")
    return {row["id"]: row for batch in batches for row in batch.to_pylist()}


def manifest(layout: Layout, key: VersionKey) -> dict[str, Any]:
    return json.loads((layout.version(key) / "_MANIFEST.json").read_text("utf-8"))


def files(layout: Layout, key: VersionKey) -> dict[str, bytes]:
    """Every published byte of a version: shards, manifest, lock and evidence."""
    roots = [layout.version(key), layout.evidence(key)]
    found = {f"{root.name}/{path.relative_to(root)}": path.read_bytes() for root in roots for path in _below(root)}
    return {**found, "lock": layout.lock(key).read_bytes()}


def _below(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file() and path.name != evidence.SIDECAR)


def with_limits(sections: dict[str, Any], minimum: float, maximum: float) -> dict[str, Any]:
    """The sections with a least quality and a largest perplexity."""
    quality, ppl = sections["quality"], sections["ppl"]
    english = {**ppl["models"][0], "max": maximum}
    return {"quality": {**quality, "min": minimum}, "ppl": {**ppl, "models": [english]}}


def made(root: Path) -> tuple[Layout, dict[str, Any]]:
    """v1 and a version whose documents are scored, both published; the sections of its config."""
    layout = tiny.unbuilt(root)
    build(layout, tiny.V1)
    sections = train(layout)
    tiny.write_config(layout, SCORED, **sections)
    build(layout, SCORED)
    return layout, sections

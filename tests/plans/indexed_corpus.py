"""The tiny corpus with an n-gram index, and a snapshot and a training that pin it, made once for each form of index."""

import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from corpus_assets.plans.ngram_index import write_ngram_index
from corpus_assets.plans.pinned import Build
from corpus_assets.plans.snapshot import make_snapshot
from formats.layout import Layout
from formats.ngram_index import NgramIndex
from formats.snapshot import manifest
from formats.snapshot.manifest import Snapshot
from resources.engines.local import LocalEngine
from tests.plans import tiny_corpus
from tests.plans.test_snapshot import build_of, config_of, write_tokenizer
from tests.plans.tiny_corpus import V1
from tests.plans.tiny_snapshot import SEQ_LEN

_FOLDER = tempfile.TemporaryDirectory(prefix="indexed-corpus-")


def engine_of(layout: Layout, workers: int = 1) -> LocalEngine:
    return LocalEngine(scratch=layout.corpus / "work" / "scratch", workers=workers, processes=workers > 1)


def index_of(layout: Layout, workers: int = 1) -> NgramIndex | None:
    return write_ngram_index(Build(layout, engine_of(layout, workers)), V1)


def published(root: Path, *more: dict[str, Any], **rules: Any) -> Layout:
    """`tiny.v1` with these rules of ngram_index and fables more, published; the index itself is not made."""
    layout = tiny_corpus.write_inputs(root, {"fables": [*tiny_corpus.FABLES, *more], "web": tiny_corpus.WEB})
    path = layout.config(V1)
    path.write_text(json.dumps({**json.loads(path.read_text()), "ngram_index": rules}, indent=2))
    tiny_corpus.build(layout, V1)
    return layout


def snapshot_of(layout: Layout) -> str:
    """The id of a snapshot, made after the index."""
    index_of(layout)
    tokens = build_of(layout, config_of(write_tokenizer(layout.root), seq_len=SEQ_LEN), V1)
    return make_snapshot(tokens).snapshot_id


@cache
def _made(form: str, rate: int) -> tuple[Layout, str]:
    layout = published(Path(_FOLDER.name) / f"{form}-{rate}", form=form, rate=rate)
    return layout, snapshot_of(layout)


def copy(root: Path, form: str = "postings", rate: int = 1) -> tuple[Layout, Snapshot]:
    """(a copy of the root that holds the corpus, its index and a snapshot; the snapshot)."""
    layout, snapshot_id = _made(form, rate)
    shutil.copytree(layout.root, root)
    return Layout(root), manifest.read(root, snapshot_id)

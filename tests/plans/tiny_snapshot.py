"""The tiny corpus with a snapshot of both of its versions, and a training over one of them, made once."""

import shutil
import tempfile
from functools import cache
from pathlib import Path

from corpus_assets.plans.snapshot import make_snapshot
from formats import run_record
from formats.layout import Layout
from formats.loader.data_loader import DataLoader
from formats.naming import VersionKey
from formats.order.mixture import Mixture
from formats.run_record import RunRecord
from formats.snapshot import manifest
from formats.snapshot.manifest import Snapshot
from tests.plans import tiny_corpus
from tests.plans.test_snapshot import build_of, config_of, write_tokenizer

SEQ_LEN = 16
MIXTURES = [
    Mixture(0, {"fables": 2, "web": 1}, lanes=4, run=2),
    Mixture(30, {"fables": 1, "web": 1}, lanes=3, run=1),
]
BATCH, STEPS = 6, 12

_FOLDER = tempfile.TemporaryDirectory(prefix="tiny-snapshot-")


@cache
def _made() -> tuple[Layout, dict[VersionKey, str]]:
    layout = tiny_corpus.copy(Path(_FOLDER.name) / "root")
    tokenizer = write_tokenizer(layout.root)
    ids = {}
    for key in (tiny_corpus.V1, tiny_corpus.V2):
        ids[key] = make_snapshot(build_of(layout, config_of(tokenizer, seq_len=SEQ_LEN), key)).snapshot_id
    return layout, ids


def copy(root: Path, key: VersionKey = tiny_corpus.V1) -> tuple[Layout, Snapshot]:
    """(a copy of the root that holds the corpus and both snapshots, the snapshot of one version)."""
    layout, ids = _made()
    shutil.copytree(layout.root, root)
    return Layout(root), manifest.read(root, ids[key])


def trained(layout: Layout, snapshot: Snapshot) -> RunRecord:
    """The record of a training of STEPS steps on 3 ranks, then on 2 from step 7 on."""
    record = None
    for first, last, world in ((0, 7, 3), (7, STEPS, 2)):
        with DataLoader(
            layout.root, snapshot.snapshot_id, mixture=MIXTURES, seed=3, dp_rank=0, dp_world=world, seq_len=SEQ_LEN,
            batches=BATCH, chunk=2,
        ) as loader:  # fmt: skip
            loader.seek(first)
            began = run_record.begin(loader.state_dict(), dp_world=world, before=record)
            loader.seek(last)
            record = began.at(loader.state_dict())
    return record

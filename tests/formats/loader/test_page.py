"""The programs of the pages run as they stand, over a snapshot with the starter's buckets and length."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from formats import run_record
from formats.corpus_shard import read_shards
from formats.layout import Layout
from formats.naming import TokensKey, VersionKey
from formats.replay import replay
from formats.run_record import Ranks
from formats.snapshot import manifest, token_shard
from tests.assets import tiny
from tests.formats.snapshot.made_snapshots import document_of

ROOT = Path(__file__).resolve().parents[3]
SEQ_LEN, ROWS = 512, {"stories": (6, 4), "web": (8,), "multilingual": (5, 9)}
STARTER = {"code": (9,), "multilingual": (25,), "stories": (23,), "web": (13,)}
"""Sequences of starter.v1.bpe-512."""
KEY = TokensKey(VersionKey("starter", "v1"), "bpe-512")


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def programs():
    return blocks(ROOT / "formats" / "loader" / "loader.md")


def snapshot_below(folder, rows_of=ROWS):
    """One that stands where `corpus tokenize starter.v1.bpe-512` leaves the starter's."""
    layout, written = Layout(folder / "examples" / "starter"), []
    made = layout.snapshots / "being-made"
    for bucket, sizes in rows_of.items():
        for number, rows in enumerate(sizes):
            tokens = (np.arange(rows * SEQ_LEN) % 2048).astype("<u2").reshape(rows, SEQ_LEN)
            columns = [[0], [rows * SEQ_LEN], [0], [f"{bucket}:{number}"]]
            index = pa.table(dict(zip(token_shard.INDEX.names, columns, strict=True)), token_shard.INDEX)
            written.append(token_shard.write(made, "train", bucket, number, tokens, index))
    snapshot_id = manifest.write(made, document_of(written, seq_len=SEQ_LEN))
    made.rename(manifest.folder_of(layout.root, snapshot_id))
    layout.snapshot_lock(KEY).write_text(snapshot_id.removeprefix(manifest.ID_PREFIX) + "\n")
    return manifest.read(layout.root, snapshot_id)


def printed(program, folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore", "-c", program]
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1200, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.splitlines()


def test_the_program_of_the_page_saves_and_goes_on_and_its_record_is_replayed(tmp_path):
    snapshot = snapshot_below(tmp_path)
    assert printed(programs()[0], tmp_path) == ["12 (4, 512) True"]
    record = run_record.read(tmp_path / "run.json")
    assert record.ranks == (Ranks(0, 4), Ranks(12, 2))
    assert (record.state["step"], record.snapshot_id) == (13, snapshot.snapshot_id)
    assert [len(replay(snapshot, record, step, 1).sequences) for step in (11, 12)] == [2, 4]


def test_the_program_with_torch_goes_on_at_its_checkpoint_each_time(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed (extra `torch`)")
    snapshot = snapshot_below(tmp_path)
    assert [printed(programs()[1], tmp_path) for _ in range(2)] == [
        ["3 (8, 512) torch.int64"],
        ["7 (8, 512) torch.int64"],
    ]
    record = run_record.read(tmp_path / "run.json")
    assert record.ranks == (Ranks(0, 1),)
    assert record.order(snapshot).step == 8


@pytest.mark.parametrize("page", ["README.md", "docs/train.md"])
def test_the_loader_of_the_first_pages_serves_the_starter_each_sequence_once_before_any_twice(tmp_path, page):
    (program,) = (one for one in blocks(ROOT / page) if "DataLoader(" in one)
    until, _, _ = program.partition("    for batch in loader:")
    snapshot = snapshot_below(tmp_path, STARTER)
    names = {"root": str(tmp_path / "examples" / "starter")}
    exec(
        until.replace("sha256:…", snapshot.snapshot_id).replace('DataLoader(".",', "DataLoader(root,") + "    pass",
        names,
    )
    order, steps = names["loader"].order, names["loader"].steps
    for step in range(3):
        bucket, row = order.locate(np.arange(*steps.bounds(step)))
        assert len({*zip(bucket.tolist(), row.tolist(), strict=True)}) == 8
    bucket, row = order.locate(np.arange(1000))
    for number, name in enumerate(sorted(STARTER)):
        epoch = row[bucket == number][: sum(STARTER[name])].tolist()
        assert sorted(epoch) == (list(range(sum(STARTER[name]))) if name in ("stories", "web") else [])


ENDED = """
import itertools
from formats.loader import data_loader
data_loader.DataLoader.__iter__ = lambda self: itertools.islice(iter(self.__next__, None), 3)
"""
"""A training run has an end, which the first pages leave out."""


@pytest.mark.parametrize("page", ["README.md", "docs/train.md"])
def test_the_loader_of_the_first_pages_runs(tmp_path, page):
    snapshot = snapshot_below(tmp_path, STARTER)
    (program,) = (one for one in blocks(ROOT / page) if "DataLoader(" in one)
    program = ENDED + program.replace("sha256:…", snapshot.snapshot_id) + "print(state['step'], batch.tokens.shape)"
    assert printed(program, tmp_path / "examples" / "starter") == ["3 (1, 512)"]


def test_the_reader_of_the_first_page_runs(tmp_path):
    shutil.copytree(tiny.built().version(tiny.V1), tmp_path / "corpus" / "starter" / "v1")
    (program,) = (one for one in blocks(ROOT / "README.md") if "read_shards(" in one)
    documents = read_shards(tiny.built().version(tiny.V1), split="train")
    lines = printed(program, tmp_path)
    assert [line.split()[0] for line in lines] == [document.id for document in documents]
    assert {line.split()[1] for line in lines} <= set(tiny.LICENCES.values())


@pytest.mark.parametrize("number", [0, 1])
def test_the_programs_of_the_page_serve_each_sequence_of_the_starter_once_before_any_twice(tmp_path, number):
    if number:
        pytest.importorskip("torch", reason="torch is not installed (extra `torch`)")
    snapshot_below(tmp_path, STARTER)
    printed(programs()[number], tmp_path)
    state = run_record.read(tmp_path / "run.json").state
    assert {one["run"] for one in state["mixtures"]} == {1}


def test_every_program_of_the_pages_is_run_here():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "formats").rglob("*.md")]
    found = {str(page.relative_to(ROOT)): len(blocks(page)) for page in pages}
    a_fragment = {"formats/run_record.md": 1}
    assert {page: number for page, number in found.items() if number} == {
        "README.md": 2,
        "docs/train.md": 1,
        "formats/loader/loader.md": 2,
        **a_fragment,
    }

"""The programs of loader.md run as they stand, over a snapshot with the starter's buckets and length."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from formats import run_record
from formats.layout import Layout
from formats.naming import TokensKey, VersionKey
from formats.replay import replay
from formats.run_record import Ranks
from formats.snapshot import manifest, token_shard
from tests.formats.snapshot.made_snapshots import document_of

ROOT = Path(__file__).resolve().parents[3]
SEQ_LEN, ROWS = 512, {"stories": (6, 4), "web": (8,), "multilingual": (5, 9)}
STARTER = {"code": (9,), "multilingual": (25,), "stories": (23,), "web": (13,)}
"""Sequences of starter.v1.bpe-512."""
KEY = TokensKey(VersionKey("starter", "v1"), "bpe-512")


def programs():
    page = (ROOT / "formats" / "loader" / "loader.md").read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


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
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
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
    shown = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    (program,) = (one for one in shown if "DataLoader(" in one)
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


def test_the_page_has_no_other_programs():
    assert len(programs()) == 2

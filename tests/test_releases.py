"""What an earlier release published still opens: read back, traced, served and described, with the bytes it had."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from corpus_assets.commands import trace, verify
from corpus_assets.plans import named_snapshot
from corpus_assets.plans.datasheet import write_datasheet
from corpus_assets.plans.published_version import open_published
from formats import evidence, evidence_schemas, ngram_index
from formats.corpus_shard import read_shards
from formats.layout import Layout
from formats.loader.data_loader import DataLoader
from formats.snapshot import manifest
from tests.commands import command_line
from tests.golden import make_release
from tests.golden.make_release import KEY, TOKENS

SERVED = {"0.1.0": "edee56f0d44fa46f6d3b58988bca2d384d84cbcd520eb383ff827de1f535a295"}
"""SHA-256 of the tokens that ORDER serves of a release's snapshot: an order that changed would train on other data."""


@pytest.fixture(params=make_release.releases(), ids=lambda path: path.name)
def release(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def layout(release: Path, tmp_path: Path) -> Layout:
    """A copy, since a reader may write what it found out."""
    return make_release.copy(release, tmp_path / "root")


@pytest.mark.parametrize("name", [str(KEY), str(TOKENS)])
def test_verify_finds_nothing_wrong(layout, name, capsys):
    assert command_line.run(verify, layout.root, "verify", name) == 0
    assert "every check passed" in capsys.readouterr().out


def test_every_row_is_read(layout):
    rows = list(read_shards(layout.version(KEY)))
    assert [row.id for row in rows] == sorted(row.id for row in rows)
    assert len(rows) == open_published(layout, KEY).manifest["n_docs"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("tales:1", "tales:1  kept"),
        ("tales:7", "dropped: exact_duplicate"),
        ("web:0", "dropped: near_duplicate"),
        ("https://web.example/3", "web:3"),
    ],
)
def test_what_became_of_a_document_is_traced(layout, name, says, capsys):
    assert command_line.run(trace, layout.root, "trace", name) == 0
    assert says in capsys.readouterr().out


def test_a_token_is_traced_to_its_document_and_licence(layout, capsys):
    snapshot = named_snapshot.id_of(layout, str(TOKENS))
    words = ("--snapshot", snapshot, "--shard", "train/tales/00000.bin", "--offset", "0")
    assert command_line.run(trace, layout.root, "trace", *words) == 0
    assert "CC0-1.0" in capsys.readouterr().out


def test_the_loader_serves_the_tokens_that_it_served_then(release):
    layout = Layout(release)  # without a cache folder it only reads
    snapshot = named_snapshot.id_of(layout, str(TOKENS))
    with DataLoader(
        release, snapshot, mixture={"tales": 2, "web": 1}, seed=7, dp_rank=0, dp_world=1, seq_len=16, batches=4
    ) as loader:
        tokens = np.concatenate([next(loader).tokens for _ in range(12)])
    assert hashlib.sha256(tokens.astype("<u4").tobytes()).hexdigest() == SERVED[release.name]


def test_the_datasheet_can_be_made_again_of_what_was_measured_then(layout):
    sheet = write_datasheet(layout, KEY)
    assert "CC0-1.0" in sheet.markdown
    assert sheet.html.read_bytes().startswith(b"<!doctype html>")
    open_published(layout, KEY)


def test_the_ngram_index_that_the_snapshot_pins_is_read(layout):
    snapshot = manifest.read(layout.root, named_snapshot.id_of(layout, str(TOKENS)))
    pinned = snapshot.document["stage_versions"]["ngram_index"]
    index = ngram_index.read(layout.evidence(KEY) / ngram_index.FOLDER, pinned)
    assert index.head.form == "postings"
    assert index.head.documents > 0


def test_every_table_of_the_evidence_has_the_columns_of_today(layout):
    for name in evidence_schemas.SCHEMAS:
        assert sum(batch.num_rows for batch in evidence.read(layout.evidence(KEY), name)) > 0

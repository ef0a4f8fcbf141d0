"""Checks of token shards and snapshots say what is wrong; each kind of tampering is found by the check it is for."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from corpus_assets.plans import audit_snapshot, audit_tokens
from corpus_assets.plans import snapshot as plan
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.token_build import TokenBuild, open_build
from corpus_assets.plans.token_shards import packed, tokenized
from formats import dataset, durable
from formats.dataset import Dataset
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.snapshot import manifest, token_shard
from formats.snapshot.manifest import Snapshot, TokenShard
from resources.engines.local import LocalEngine
from tests import faults
from tests.assets import tiny, tiny_tokens

CHECKS = (
    audit_tokens.token_shards_conserved,
    audit_tokens.sampled_texts_give_their_tokens,
    audit_tokens.snapshot_digests,
    audit_tokens.snapshot_conserved,
    audit_tokens.ids_below_vocabulary,
)


def build_in(layout: Layout) -> TokenBuild:
    engine = LocalEngine(scratch=layout.corpus / "work" / "scratch", workers=1, processes=False)
    return open_build(layout, engine, tiny_tokens.KEY)


@pytest.fixture(scope="module", params=["concat", "best_fit"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with a snapshot of the tiny corpus."""
    layout = tiny.copy(tmp_path_factory.mktemp("audit") / "root")
    tiny_tokens.write(layout, packing=request.param)
    plan.make_snapshot(build_in(layout))
    return layout.root


@pytest.fixture
def build(made: Path, tmp_path: Path) -> TokenBuild:
    """A copy of it, to be tampered with."""
    return build_in(Layout(Path(shutil.copytree(made, tmp_path / "root"))))


def failing(build: TokenBuild) -> dict[str, str]:
    """The checks that fail, with their words; one that cannot read is a finding as in Dagster."""
    found = {}
    for check in CHECKS:
        try:
            finding = check(build)
        except (ConfigError, CorruptDataError) as error:
            finding = Finding(False, str(error))
        if not finding.passed:
            found[check.__name__] = finding.words
    return found


def test_what_was_made_passes_every_check_with_its_figures(build):
    assert failing(build) == {}
    assert audit_tokens.token_shards_conserved(build).figures["documents"] == build.version.manifest["n_docs"]
    assert audit_tokens.sampled_texts_give_their_tokens(build).figures["documents"] == build.version.manifest["n_docs"]


# Files of the snapshot that change behind the manifest.


def a_shard(snapshot: Snapshot) -> TokenShard:
    """The train shard of the most documents."""
    return max(snapshot.shards("train"), key=lambda shard: shard.documents)


def a_bin(build: TokenBuild) -> Path:
    snapshot = plan.last_snapshot(build.layout, build.key)
    return snapshot.folder / a_shard(snapshot).name


def an_index(build: TokenBuild) -> Path:
    return a_bin(build).with_suffix(".docs.parquet")


@pytest.mark.parametrize("path_of", [a_bin, an_index])
@pytest.mark.parametrize("damage", [lambda path: faults.flip_byte(path, 3), faults.truncate, Path.unlink])
def test_a_file_that_is_short_changed_or_gone_is_named(build, path_of, damage):
    path = path_of(build)
    damage(path)
    words = failing(build)["snapshot_digests"]
    wrong = "sha256 is" if path.exists() else "file is missing, expected sha256"
    assert f"{path}: {wrong}" in words


def test_a_file_that_does_not_belong_there_is_named(build):
    stranger = a_bin(build).with_name("notes.txt")
    stranger.write_text("mine")
    assert failing(build) == {"snapshot_digests": f"{stranger}: is no file of the snapshot; remove it"}


def test_a_changed_manifest_is_not_the_one_of_the_id(build):
    faults.flip_byte(plan.last_snapshot(build.layout, build.key).folder / manifest.NAME_ON_DISK, 40)
    assert "manifest.json: sha256 is" in failing(build)["snapshot_digests"]


# Tampering that no hash tells: the shard is written and listed anew, under a new id.


def tamper(build: TokenBuild, change) -> None:
    """Let `change(tokens, index rows)` edit a train shard; then manifest, id and lock are made anew."""
    snapshot = plan.last_snapshot(build.layout, build.key)
    shards = audit_snapshot.all_shards(snapshot)
    one = a_shard(snapshot)
    assert one.documents > 2
    sequences = np.array(token_shard.open_sequences(snapshot, one))
    rows = token_shard.read_index(snapshot, one).to_pylist()
    rows = change(sequences.reshape(-1), rows) or rows
    index = pa.Table.from_pylist(rows, token_shard.INDEX)
    folder = build.layout.snapshots / "again"
    shutil.copytree(snapshot.folder, folder)
    again = token_shard.write(folder, one.split, one.bucket, one.number, sequences, index)
    document = {**snapshot.document, "splits": manifest.columns_of([again if s == one else s for s in shards])}
    snapshot_id = manifest.write(folder, document)
    folder.rename(manifest.folder_of(build.layout.root, snapshot_id))
    lock = build.layout.snapshot_lock(build.key)
    durable.write_lock(lock, manifest.folder_of(build.layout.root, snapshot_id) / manifest.NAME_ON_DISK)


def another_token(tokens, _rows):
    tokens[0] = tokens[0] + 1


def an_id_beyond_the_vocabulary(tokens, _rows):
    tokens[0] = 60_000


def no_end(tokens, rows):
    last = [row for row in rows if row["id"] == rows[0]["id"]][-1]
    tokens[last["start"] + last["length"] - 1] += 3


def a_piece_shorter(_tokens, rows):
    rows[0]["length"] -= 1


def a_document_less(_tokens, rows):
    return [row for row in rows if row["id"] != rows[0]["id"]]


def two_documents_swapped(_tokens, rows):
    first, second = rows[0]["id"], next(row["id"] for row in rows if row["id"] != rows[0]["id"])
    for row in rows:
        row["id"] = {first: second, second: first}.get(row["id"], row["id"])


def a_piece_beyond_the_shard(tokens, rows):
    rows[-1]["start"] = tokens.size


def pieces_over_each_other(_tokens, rows):
    rows[1]["start"] -= 1


def a_document_from_its_second_token_on(_tokens, rows):
    rows[0] |= {"first": 1, "start": rows[0]["start"] + 1, "length": rows[0]["length"] - 1}


def something_else_for_padding(tokens, rows):
    covered = np.zeros(tokens.size, bool)
    for row in rows:
        covered[row["start"] : row["start"] + row["length"]] = True
    tokens[np.flatnonzero(~covered)[0]] = 7


CONSERVED, IDS = "snapshot_conserved", "ids_below_vocabulary"


@pytest.mark.parametrize(("change", "checks", "words"), [
    (another_token, {CONSERVED}, "tokenized, "),
    (an_id_beyond_the_vocabulary, {CONSERVED, IDS}, "tokenized, "),
    (no_end, {CONSERVED}, "not with that of the end of a document"),
    (a_piece_shorter, {CONSERVED, IDS}, "counts.tokens is"),
    (a_document_less, {CONSERVED, IDS}, "counts.documents is"),
    (two_documents_swapped, {CONSERVED}, "in the snapshot"),
    (a_piece_beyond_the_shard, {CONSERVED, IDS}, "a piece lies outside the shard"),
    (pieces_over_each_other, {CONSERVED, IDS}, "pieces overlap or do not rise"),
    (a_document_from_its_second_token_on, {CONSERVED, IDS}, "do not make up a whole document"),
    (something_else_for_padding, {IDS}, None),
])  # fmt: skip
def test_a_tampered_shard_under_a_new_id_fails_the_check_it_is_for(build, change, checks, words):
    tamper(build, change)
    found = failing(build)
    assert set(found) == checks
    if words:
        assert words in found[CONSERVED]


def test_an_id_beyond_the_vocabulary_is_named_with_its_place(build):
    tamper(build, an_id_beyond_the_vocabulary)
    assert ".bin: token 0 is 60000 (the largest is 60000), the vocabulary has" in failing(build)[IDS]


def test_tokens_of_no_document_that_are_not_padding_are_named(build):
    tamper(build, something_else_for_padding)
    assert "is 7 and belongs to no document, expected padding" in failing(build)[IDS]


# Stage outputs that are not what the corpus holds.


def rewritten(stored: Dataset, change) -> None:
    """Let `change(rows)` edit the rows of the first shard of a stage's output; hashes and manifest are made anew."""
    folder = Path(stored.shards[0].path).parent
    shards = []
    for shard in stored.shards:
        rows = pa.Table.from_batches(dataset.read_shard(shard, columns=stored.schema.names), stored.schema).to_pylist()
        rows = (change(rows) or rows) if shard is stored.shards[0] else rows
        batch = pa.RecordBatch.from_pylist(rows, stored.schema)
        Path(shard.path).unlink()
        shards.append(
            dataset.write_shard(shard.id, Path(shard.path), iter([batch]), stored.schema, row_group_bytes=1 << 20)
        )
    dataset.write_manifest(folder, Dataset(stored.schema, tuple(shards), stored.notes), {})


def test_a_document_that_was_not_tokenized_is_named(build):
    rewritten(tokenized(build).open(), lambda rows: rows[1:])
    again = build_in(build.layout)
    packed(again).make()
    words = audit_tokens.token_shards_conserved(again).words
    assert "row 0 is " in words
    assert "in the published shards and" in words
    assert not audit_tokens.snapshot_conserved(again).passed


def test_tokens_that_are_not_those_of_the_text_are_named(build):
    def change(rows):
        rows[0]["tokens"] = bytes([rows[0]["tokens"][0] ^ 1]) + rows[0]["tokens"][1:]

    name = next(iter(dataset.read(tokenized(build).open(), columns=["id"])))["id"][0].as_py()
    rewritten(tokenized(build).open(), change)
    found = audit_tokens.sampled_texts_give_their_tokens(build_in(build.layout))
    assert not found.passed
    assert f"{name}: token 0 is not what the tokenizer gives for its text" in found.words


def test_sequences_that_hold_fewer_tokens_than_were_made_are_found(build):
    stored = packed(build).open()
    folder = Path(stored.shards[0].path).parent
    notes = {**stored.notes, "tokens": stored.notes["tokens"] - 1}
    dataset.write_manifest(folder, Dataset(stored.schema, stored.shards, notes), {})
    assert "tokens in sequences" in failing(build_in(build.layout))["token_shards_conserved"]


# A damaged snapshot is put right, and a whole one is left as it is.


def test_a_damaged_snapshot_is_written_again_and_a_whole_one_is_left_alone(build):
    snapshot = plan.last_snapshot(build.layout, build.key)
    files = sorted(path for path in snapshot.folder.rglob("*") if path.is_file())
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in files]
    assert plan.write_snapshot(build) == snapshot
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in files] == before
    faults.flip_byte(a_bin(build), 3)
    assert plan.write_snapshot(build).snapshot_id == snapshot.snapshot_id
    assert [path.read_bytes() for path in files] == [data for data, _ in before]
    assert failing(build) == {}
    assert sorted(path.name for path in build.layout.snapshots.iterdir()) == sorted(
        [snapshot.folder.name, build.layout.snapshot_lock(build.key).name]
    )

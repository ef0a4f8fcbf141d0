"""Every token leads to its document and every document back to its rows and steps, wherever the snapshot was copied."""

import shutil
from collections import defaultdict

import pytest
from tokenizers import Tokenizer

from corpus_assets.plans import token_trace_back
from corpus_assets.plans.replay import replay
from corpus_assets.plans.snapshot_corpus import snapshots_below
from corpus_assets.plans.token_trace import trace_token
from corpus_assets.plans.token_trace_back import MAX_ROWS, Wanted, trace_back
from formats import corpus_shard
from formats import replay as replaying
from formats.errors import ConfigError, CorruptDataError, OrderError
from formats.layout import Layout
from formats.run_record import RunRecord
from formats.snapshot import manifest, token_shard
from formats.snapshot.manifest import SPLITS
from tests import faults
from tests.formats import made_runs
from tests.formats.loader import made_training
from tests.formats.snapshot import made_snapshots
from tests.plans import tiny_corpus, tiny_snapshot
from tests.plans.test_snapshot import END
from tests.plans.tiny_corpus import HOSTILE_URL, V1, V2
from tests.plans.tiny_snapshot import SEQ_LEN, STEPS


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    layout, snapshot = tiny_snapshot.copy(tmp_path_factory.mktemp("trace") / "root")
    return layout, snapshot, tiny_snapshot.trained(layout, snapshot)


@pytest.fixture
def copied(trained, tmp_path):
    """A root of the test's own that it may break."""
    shutil.copytree(trained[0].root, tmp_path / "root")
    layout = Layout(tmp_path / "root")
    return layout, manifest.read(layout.root, trained[1].snapshot_id), trained[2]


def ids_of(layout):
    """Document id -> its token ids, by the library itself."""
    library = Tokenizer.from_file(str(layout.root / "tokenizer.json"))
    end = library.token_to_id(END)
    return {
        doc.id: [*library.encode(doc.text, add_special_tokens=False).ids, end]
        for doc in corpus_shard.read_shards(layout.version(V1))
    }


def test_every_token_of_a_step_leads_to_its_document_and_the_document_back_to_the_step(trained, tmp_path):
    here, snapshot, record = trained
    shutil.copytree(here.root / "snapshots", tmp_path / "snapshots")
    tokens, documents, there = ids_of(here), set(), Layout(tmp_path)
    for rank in range(2):
        for one in replay(here, record, 9, rank, tokens=True).served.sequences:
            for i, token in enumerate(one.tokens.tolist()):
                for layout in (here, there):
                    traced = trace_token(layout, snapshot.snapshot_id, one.shard, one.shard_row * SEQ_LEN + i)
                    assert (traced.place.bucket, traced.place.bucket_row) == (one.bucket, one.row)
                    if traced.span is None:
                        assert token == snapshot.document["pad_id"]
                        continue
                    assert tokens[traced.span.id][traced.span.token] == token
                    documents.add((traced.span.id, one.shard, one.shard_row, rank))
    for name, shard, row, rank in documents:
        (held,) = trace_back(here, Wanted.document(name), [snapshot.snapshot_id], record).snapshots
        (served,) = (one for one in held.served if (one.shard, one.row) == (shard, row))
        assert (9, rank, 2) in [(one.step, one.rank, one.dp_world) for one in served.servings]


def test_the_way_back_finds_all_rows_and_steps_that_served_a_document_and_no_others(trained):
    layout, snapshot, record = trained
    expected = defaultdict(set)
    for step in range(STEPS):
        for rank in range(3 if step < 7 else 2):
            for one in replay(layout, record, step, rank).served.sequences:
                for piece in one.documents:
                    expected[piece.id].add((one.shard, one.shard_row, one.position, step, rank))
    for name in ids_of(layout):
        (held,) = trace_back(layout, Wanted.document(name), [snapshot.snapshot_id], record).snapshots
        assert held.documents == 1
        found = {(row.shard, row.row, s.position, s.step, s.rank) for row in held.served for s in row.servings}
        assert found == expected[name]
    assert sum(map(len, expected.values())) >= STEPS * tiny_snapshot.BATCH


def test_so_it_does_over_many_shards_and_uneven_ranks(tmp_path):
    snapshot = made_training.made(tmp_path)
    run = made_runs.train(tmp_path, snapshot)
    expected = defaultdict(set)
    for step, rank in run.served:
        for one in replaying.replay(snapshot, run.record, step, rank).sequences:
            for piece in one.documents:
                expected[piece.id].add((one.shard, one.shard_row, one.position, step, rank))
    (held,) = trace_back(Layout(tmp_path), Wanted.source("web"), [snapshot.snapshot_id], run.record).snapshots
    assert len(held.shards) == 4  # three to train on, and one of the other split
    rows = defaultdict(set)
    for piece in held.listed:
        rows[piece.id] |= {(piece.shard, row) for row in range(piece.first_row, piece.last_row + 1)}
    served = {(row.shard, row.row): {(s.position, s.step, s.rank) for s in row.servings} for row in held.served}
    for name in rows:
        found = {(*place, *one) for place in rows[name] for one in served.get(place, ())}
        assert found == expected[name]
    assert max(row for _, row in served) == 12
    expected_rows = {(shard, row) for shards in expected.values() for shard, row, *_ in shards if "web" in shard}
    assert {place for place, found in served.items() if found} == expected_rows
    pieces = sum(
        len(token_shard.read_index(snapshot, shard)) for shard in snapshot.shards("train") if shard.bucket == "web"
    )
    assert held.pieces == pieces + len(token_shard.read_index(snapshot, snapshot.shards("val")[0]))
    for piece in held.listed:
        index = token_shard.read_index(
            snapshot, next(s for sp in SPLITS for s in snapshot.shards(sp) if s.name == piece.shard)
        )
        (row,) = [row for row in index.to_pylist() if row["id"] == piece.id]
        width = made_snapshots.SEQ_LEN
        assert (piece.first_row, piece.last_row) == (row["start"] // width, (row["start"] + row["length"] - 1) // width)


def test_pieces_and_counts_are_those_of_the_indexes(trained):
    layout, snapshot, _ = trained
    by_source = defaultdict(list)
    for shard in [shard for split in SPLITS for shard in snapshot.shards(split)]:
        for piece in token_shard.read_index(snapshot, shard).to_pylist():
            rows = (piece["start"] // SEQ_LEN, (piece["start"] + piece["length"] - 1) // SEQ_LEN)
            entry = (shard.name, piece["id"], piece["first"], piece["first"] + piece["length"], *rows)
            by_source[piece["id"].split(":")[0]].append(entry)
    for source, pieces in by_source.items():
        (held,) = trace_back(layout, Wanted.source(source), [snapshot.snapshot_id]).snapshots
        listed = [(p.shard, p.id, p.first, p.end, p.first_row, p.last_row) for p in held.listed]
        assert listed == pieces
        assert (held.pieces, held.tokens) == (len(pieces), sum(p[3] - p[2] for p in pieces))
        assert held.documents == len({p[1] for p in pieces})


def test_a_token_leads_to_licence_url_date_filters_and_ledger_row(trained):
    layout, snapshot, _ = trained
    by_id = {}
    for shard in snapshot.shards("train"):
        for piece in token_shard.read_index(snapshot, shard).to_pylist():
            by_id.setdefault(piece["id"], (shard.name, piece["start"] + piece["length"] - 1, piece))
    shard, offset, piece = by_id["web:1"]
    found = trace_token(layout, snapshot.snapshot_id, shard, offset)
    assert found.notes == ()
    assert (found.span.token, found.span.first, found.span.end) == (
        piece["first"] + piece["length"] - 1,
        piece["first"],
        piece["first"] + piece["length"],
    )
    assert (found.document.url, found.crawl_date) == (HOSTILE_URL, "2026-11-30T00:00:00Z")
    assert found.document.filters_passed == ["length", "charset", "gopher", "repetition"]  # every language is allowed
    assert found.document.published.license_spdx == "CC-BY-4.0 OR LicenseRef-Own"
    assert found.document.ledger.digest == found.ledger_row_digest


def test_urls_domains_and_prefixes_are_found_through_the_version_of_each_snapshot(trained):
    layout, snapshot, record = trained
    ids = snapshots_below(layout)
    assert len(ids) == 2
    for wanted, names in [
        (Wanted.document(HOSTILE_URL), {"web:1"}),
        (Wanted.domain("example.org"), {"web:1", "web:2"}),
        (Wanted.prefix("owl"), {"fables:0"}),
    ]:
        found = trace_back(layout, wanted, ids)
        assert {held.version for held in found.snapshots} == {"tiny.v1", "tiny.v2"}
        for held in found.snapshots:
            assert {piece.id for piece in held.listed} == names
            assert held.served is None
    (held,) = trace_back(layout, Wanted.domain("example.org"), [snapshot.snapshot_id], record).snapshots
    assert any(row.servings for row in held.served)


@pytest.mark.parametrize("words", ["web:77", "web:0", "nobody:0", "https://nowhere.example/", "web:1x"])
def test_what_no_snapshot_holds_is_not_found_and_what_was_searched_is_said(trained, words):
    layout, _, _ = trained
    found = trace_back(layout, Wanted.document(words), snapshots_below(layout))
    assert not found.found
    assert len(found.searched) == 2
    assert "the indexes of" in found.searched[0]


def test_where_the_corpus_is_gone_ids_are_found_and_urls_cannot_be(trained, tmp_path):
    here, snapshot, record = trained
    shutil.copytree(here.root / "snapshots", tmp_path / "snapshots")
    there = Layout(tmp_path)
    for wanted in (Wanted.document("web:1"), Wanted.source("web")):
        assert trace_back(there, wanted, [snapshot.snapshot_id], record) == trace_back(
            here, wanted, [snapshot.snapshot_id], record
        )
    found = trace_back(there, Wanted.document(HOSTILE_URL), [snapshot.snapshot_id])
    assert not found.found
    assert found.searched == []
    assert "could not be searched by URL: version tiny.v1 is not below" in found.notes[0]
    (held,) = trace_back(here, Wanted.document("web:1"), [snapshot.snapshot_id]).snapshots
    piece = held.listed[0]
    traced = trace_token(there, snapshot.snapshot_id, piece.shard, piece.first_row * SEQ_LEN + SEQ_LEN - 1)
    assert traced.document is None
    assert traced.ledger_row_digest == trace_token(here, *place_of(traced)).document.ledger.digest
    assert "doc_id, url, crawl date, verdicts, cluster, licence" in traced.notes[0]


def place_of(traced):
    return traced.place.snapshot_id, traced.place.shard, traced.place.offset


def test_where_the_raw_set_is_gone_the_crawl_date_cannot_be_told(copied):
    layout, snapshot, _ = copied
    shutil.rmtree(layout.raw_sets("fables"))
    shard = next(shard for shard in snapshot.shards("train") if shard.bucket == "fables")
    found = trace_token(layout, snapshot.snapshot_id, shard.name, 0)
    assert found.document.url
    assert found.crawl_date is None
    assert "the crawl date cannot be told: it stands in the raw set" in found.notes


def test_padding_is_of_no_document(trained):
    layout, snapshot, _ = trained
    shard = snapshot.shards("train")[-1]
    assert shard.tokens < shard.sequences * SEQ_LEN
    found = trace_token(layout, snapshot.snapshot_id, shard.name, shard.sequences * SEQ_LEN - 1)
    assert (found.span, found.document) == (None, None)
    assert "padding" in found.notes[0]


@pytest.mark.parametrize("offset", [-1, 1 << 70, "end"])
def test_an_offset_behind_the_shard_is_refused_with_the_range(trained, offset):
    layout, snapshot, _ = trained
    shard = snapshot.shards("train")[0]
    tokens = shard.sequences * SEQ_LEN
    with pytest.raises(ConfigError, match=f"expected 0 to {tokens - 1}"):
        trace_token(layout, snapshot.snapshot_id, shard.name, tokens if offset == "end" else offset)


@pytest.mark.parametrize(
    "name", ["train/web/99999.bin", "../../../etc/passwd", "train/web/00000.docs.parquet", "", "\x00", "train"]
)
def test_a_shard_that_the_manifest_does_not_list_is_never_a_path(trained, name):
    layout, snapshot, _ = trained
    with pytest.raises(ConfigError, match="is none of the snapshot's"):
        trace_token(layout, snapshot.snapshot_id, name, 0)


@pytest.mark.parametrize("snapshot_id", ["", "sha256:", "sha256:" + "a" * 63, "sha256:../../etc", "a" * 64])
def test_what_is_no_id_is_never_a_path(trained, snapshot_id):
    with pytest.raises(ConfigError, match="snapshot id is"):
        trace_token(trained[0], snapshot_id, "train/web/00000.bin", 0)


def test_a_snapshot_whose_names_would_be_paths_is_refused(tmp_path):
    made = made_snapshots.make_snapshot(tmp_path, dataset="../../etc")
    with pytest.raises(CorruptDataError, match="dataset and corpus_version"):
        trace_token(Layout(tmp_path), made.snapshot_id, "train/web/00000.bin", 0)
    with pytest.raises(CorruptDataError, match="dataset and corpus_version"):
        trace_back(Layout(tmp_path), Wanted.domain("a.example"), [made.snapshot_id])


def test_an_index_that_names_what_the_corpus_did_not_publish_is_refused(copied):
    layout, snapshot, _ = copied
    changes = {"dataset": "tiny", "corpus_manifest_sha256": snapshot.document["corpus_manifest_sha256"]}
    foreign = made_snapshots.make_snapshot(layout.root, corpus_version="v1", **changes)
    with pytest.raises(CorruptDataError, match="books:0, published"):
        trace_token(layout, foreign.snapshot_id, "train/books/00000.bin", 0)
    with pytest.raises(CorruptDataError, match="web:0, published"):  # a document that was dropped
        trace_token(layout, foreign.snapshot_id, "train/web/00000.bin", 0)


def test_damaged_and_missing_files_are_named(copied):
    layout, snapshot, record = copied
    shard = snapshot.shards("train")[0]
    faults.flip_byte(snapshot.folder / shard.index_name, 40)
    for ask in (
        lambda: trace_token(layout, snapshot.snapshot_id, shard.name, 0),
        lambda: trace_back(layout, Wanted.document("web:1"), [snapshot.snapshot_id], record),
    ):
        with pytest.raises(CorruptDataError, match=f"{shard.index_name}: sha256"):
            ask()
    (snapshot.folder / "manifest.json").unlink()
    with pytest.raises(CorruptDataError, match="manifest is missing"):
        trace_token(layout, snapshot.snapshot_id, shard.name, 0)


def test_the_record_of_another_snapshot_is_refused(trained):
    layout, snapshot, record = trained
    (other,) = set(snapshots_below(layout)) - {snapshot.snapshot_id}
    with pytest.raises(OrderError, match="snapshot_id"):
        trace_back(layout, Wanted.document("web:1"), [other], record)
    forged = RunRecord({**record.state, "seed": 4}, record.ranks)
    with pytest.raises(OrderError, match="witness"):
        trace_back(layout, Wanted.document("web:1"), [snapshot.snapshot_id], forged)


def test_what_is_too_much_to_list_or_look_up_is_counted(trained, monkeypatch):
    layout, snapshot, record = trained
    (whole,) = trace_back(layout, Wanted.source("web"), [snapshot.snapshot_id], record).snapshots
    assert len(whole.served) > 2 < MAX_ROWS
    monkeypatch.setattr(token_trace_back, "MAX_ROWS", 2)
    monkeypatch.setattr(token_trace_back, "MAX_PIECES", 1)
    found = trace_back(layout, Wanted.source("web"), [snapshot.snapshot_id], record)
    (held,) = found.snapshots
    assert (held.pieces, held.tokens, held.listed) == (whole.pieces, whole.tokens, whole.listed[:1])
    assert held.served == whole.served[:2]
    assert f"the steps of {len(whole.served) - 2} more rows were not looked up" in found.notes[0]


def test_snapshots_are_those_whose_folder_is_named_as_an_id(tmp_path):
    layout, snapshot = tiny_snapshot.copy(tmp_path / "root", V2)
    ids = snapshots_below(layout)
    for name in (".x.tmp", "abc", "0" * 64 + ".tmp"):
        (layout.snapshots / name).mkdir()
    assert snapshots_below(layout) == ids
    assert snapshot.snapshot_id in ids
    assert snapshots_below(Layout(tmp_path / "none")) == []
    assert tiny_corpus.V2 == V2

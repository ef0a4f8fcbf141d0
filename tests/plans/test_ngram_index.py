"""The index of a version holds the n-grams of its published texts and no others, in the same bytes whatever made it."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from corpus_assets.kernels.fuse_filter import FuseFilter, contains
from corpus_assets.plans import ngram_index as plan
from corpus_assets.plans.datasheet import write_datasheet
from corpus_assets.plans.pinned import Build
from corpus_assets.plans.published_version import open_published
from corpus_assets.plans.snapshot import make_snapshot
from formats import corpus_shard, durable, evidence
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from tests import faults
from tests.conformance.adversarial import AdversarialEngine
from tests.kernels import reference
from tests.plans import indexed_corpus, tiny_corpus, tiny_snapshot
from tests.plans.indexed_corpus import index_of
from tests.plans.test_snapshot import build_of, config_of
from tests.plans.tiny_corpus import V1

NGRAM = 13


def postings_of_texts(layout, rate=1):
    """(hash, id, start, length) of every n-gram, word by word."""
    found = []
    for doc in corpus_shard.read_shards(layout.version(V1)):
        words, at = reference.words(doc.text), reference.word_places(doc.text)
        for i in range(len(words) - NGRAM + 1):
            value = reference.ngram_hash(words[i : i + NGRAM])
            if value % rate == 0:
                start, end = at[i][0], at[i + NGRAM - 1][1]
                found.append((value - (1 << 64) if value >> 63 else value, doc.id, start, end - start))
    return sorted(found)


def rows_of(index):
    return [
        tuple(row.values()) for part in index.head.parts for batch in index.postings(part) for row in batch.to_pylist()
    ]


def files_of(layout):
    folder = layout.evidence(V1)
    return {name: (folder / name).read_bytes() for name in evidence.names_in(folder) if name.startswith(plan.FOLDER)}


def remade(layout, engine):
    """The files of an index that is made anew, by this engine."""
    for folder in (layout.evidence(V1) / plan.FOLDER, layout.corpus / "work" / plan.FOLDER):
        shutil.rmtree(folder, ignore_errors=True)
    plan.write_ngram_index(Build(layout, engine), V1)
    return files_of(layout)


@pytest.mark.parametrize("rate", [1, 3, 16])
def test_the_index_holds_every_sampled_ngram_of_the_published_texts(tmp_path, rate):
    layout, _ = indexed_corpus.copy(tmp_path / "root", rate=rate)
    index = index_of(layout)
    expected = postings_of_texts(layout, rate)
    assert rows_of(index) == expected
    assert (index.head.ngrams, index.head.distinct) == (len(expected), len({row[0] for row in expected}))
    assert 0 < len(expected) < len(postings_of_texts(layout)) or rate == 1


def test_a_filter_holds_the_same_ngrams(tmp_path):
    layout, _ = indexed_corpus.copy(tmp_path / "root", form="filter", rate=2)
    index = index_of(layout)
    [part] = index.head.parts
    hashes = [row[0] for row in postings_of_texts(layout, 2)]

    assert contains(FuseFilter(**index.filter(part)), np.array(hashes, np.int64)).all()
    assert (index.head.ngrams, index.head.distinct) == (len(hashes), len(set(hashes)))


@pytest.mark.parametrize("form", ["postings", "filter"])
def test_many_parts_hold_what_one_holds_whatever_engine_makes_them(tmp_path, monkeypatch, form):
    layout, _ = indexed_corpus.copy(tmp_path / "root", form=form)
    monkeypatch.setattr(plan, "buckets_for", lambda _rows: 5)
    first = remade(layout, indexed_corpus.engine_of(layout))
    assert len(first) > 2
    if form == "postings":
        assert rows_of(index_of(layout)) == postings_of_texts(layout)
    for engine in (indexed_corpus.engine_of(layout, workers=2), AdversarialEngine(seed=3), AdversarialEngine(seed=4)):
        assert remade(layout, engine) == first


def test_a_second_run_changes_nothing_and_the_datasheet_leaves_the_index_sealed(tmp_path):
    layout, _ = indexed_corpus.copy(tmp_path / "root")
    before = {path: path.stat() for path in layout.evidence(V1).rglob("*") if path.is_file()}
    first = index_of(layout)
    assert {path: path.stat().st_mtime_ns for path in before} == {p: s.st_mtime_ns for p, s in before.items()}
    write_datasheet(layout, V1)
    assert open_published(layout, V1).sealed[plan.HEAD]["sha256"] == first.sha256
    assert index_of(layout) == first


@pytest.mark.parametrize("change", faults.every_change(b"0123456789"))
def test_a_damaged_index_is_made_again_with_the_same_bytes(tmp_path, change):
    layout, _ = indexed_corpus.copy(tmp_path / "root")
    whole = files_of(layout)
    for name in whole:
        path = layout.evidence(V1) / name
        path.unlink()  # the work folder may hold the same file under a second name
        path.write_bytes(faults.every_change(whole[name])[change])
        index_of(layout)
        assert files_of(layout) == whole


def test_what_is_damaged_in_the_work_folder_too_is_refused_with_the_remedy(tmp_path):
    """Both names may be one file."""
    layout, _ = indexed_corpus.copy(tmp_path / "root")
    whole = remade(layout, indexed_corpus.engine_of(layout))
    faults.flip_byte(layout.evidence(V1) / plan.FOLDER / "part-00000.parquet", 20)
    with pytest.raises(CorruptDataError, match=r"delete its folder and materialize the stage again") as raised:
        index_of(layout)
    shutil.rmtree(Path(raised.value.path).parent)
    index_of(layout)
    assert files_of(layout) == whole


def test_what_a_kill_left_is_swept_before_the_seal(tmp_path):
    layout, _ = indexed_corpus.copy(tmp_path / "root")
    whole = files_of(layout)
    folder = layout.evidence(V1) / plan.FOLDER
    for suffix in (".tmp", ".old"):
        shutil.copytree(folder, folder.with_name(folder.name + suffix))
    shutil.rmtree(folder)
    index_of(layout)
    assert files_of(layout) == whole
    assert set(evidence.names_in(layout.evidence(V1))) == set(evidence.read_seal(layout.evidence(V1)))


def test_without_the_setting_nothing_is_kept_and_snapshots_are_what_they_were(tmp_path):
    layout, snapshot = tiny_snapshot.copy(tmp_path / "root")
    before = {path: path.read_bytes() for path in layout.evidence(V1).rglob("*") if path.is_file()}
    assert index_of(layout) is None
    assert {path: path.read_bytes() for path in layout.evidence(V1).rglob("*") if path.is_file()} == before
    assert set(snapshot.document["stage_versions"]) == {"corpus", "tokenized", "packed"}


def test_the_snapshot_pins_the_index_and_is_refused_before_there_is_one(tmp_path):
    layout = indexed_corpus.published(tmp_path / "root", form="postings", rate=1)
    tokens = config_of(indexed_corpus.write_tokenizer(layout.root))
    with pytest.raises(ConfigError, match=r"ngram_index of tiny\.v1 is not materialized.*run `corpus build tiny\.v1`"):
        make_snapshot(build_of(layout, tokens, V1))
    index = index_of(layout)
    snapshot = make_snapshot(build_of(layout, tokens, V1))
    assert snapshot.document["stage_versions"][plan.FOLDER] == index.sha256
    assert durable.sha256_of(layout.evidence(V1) / plan.HEAD) == index.sha256


def test_the_sample_of_a_rate_is_part_of_any_that_divides_it(tmp_path):
    by_rate = {}
    for rate in (2, 4, 8):
        layout, _ = indexed_corpus.copy(tmp_path / str(rate), rate=rate)
        by_rate[rate] = set(rows_of(index_of(layout)))
    assert by_rate[8] < by_rate[4] < by_rate[2]


def test_a_version_that_is_not_published_has_no_index(tmp_path):
    layout = tiny_corpus.write_inputs(tmp_path / "root", {"fables": tiny_corpus.FABLES, "web": tiny_corpus.WEB})
    with pytest.raises(ConfigError, match="is not published"):
        index_of(layout)


def test_a_changed_shard_is_refused_not_indexed(tmp_path):
    layout: Layout = indexed_corpus.published(tmp_path / "root", form="postings", rate=1)
    shard = next(layout.version(V1).glob("*.parquet"))
    faults.flip_byte(shard, 200)
    with pytest.raises(CorruptDataError, match=rf"{shard.name}: sha256"):
        index_of(layout)

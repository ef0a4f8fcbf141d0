"""What differs between two versions or snapshots is told, and nothing else; documents are matched as by hand."""

import json
import shutil
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.commands import diff
from corpus_assets.commands.diff import differences
from corpus_assets.plans import snapshot as snapshots
from corpus_assets.plans.differences import Difference, compare, leaves
from corpus_assets.plans.differences_documents import ROWS, DocumentDifferences, documents_of_versions
from corpus_assets.plans.differences_facts import Facts, facts_of_version
from corpus_assets.plans.published_version import open_published
from corpus_assets.plans.snapshot_corpus import snapshots_below
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.naming import VersionKey
from formats.snapshot import manifest
from tests import faults
from tests.commands import command_line
from tests.formats.snapshot import made_snapshots
from tests.plans import tiny_corpus, tiny_snapshot
from tests.plans.test_snapshot import build_of, config_of, write_tokenizer
from tests.plans.tiny_corpus import FERRY, V1, V2

V3 = VersionKey("tiny", "v3")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Versions 1 and 2 with a snapshot each; version 3 of the fables alone, one of which is another text."""
    layout, _ = tiny_snapshot.copy(tmp_path_factory.mktemp("diff") / "root")
    config = json.loads(layout.config(V1).read_text())
    layout.config(V3).write_text(json.dumps({**config, "version": "v3", "sources": ["fables"]}))
    tiny_corpus.build(layout, V3)
    return layout


def found(result, section):
    return {one.name: (one.left, one.right) for one in result.found if one.section == section}


def test_a_version_is_the_same_as_itself(corpus):
    result = differences(corpus, "tiny.v1", "tiny.v1", documents=True)
    assert result.same
    assert (result.found, result.documents.num_same, result.documents.changes) == ([], 9, {})


def test_a_changed_setting_is_told_with_its_stages_and_counts_and_nothing_else(corpus):
    result = differences(corpus, "tiny.v1", "tiny.v2")
    permille = json.loads(corpus.config(V2).read_text())["val_permille"]
    assert found(result, "settings") == {"dedup.near.drop": (True, False), "val_permille": (5, permille)}
    assert found(result, "stages") == {"dedup_clusters.settings.drop_near": (True, False)}
    assert found(result, "documents") == {
        "dropped.near_duplicate": (1, None),
        "dropped.train_near_val": (None, 1),
        "sources.fables.splits.train": (2, 1),
        "sources.fables.splits.val": (None, 1),
        "sources.web.splits.train": (2, None),
        "sources.web.splits.val": (None, 2),
        "sources.web.verdicts.near_duplicate": (1, None),
        "sources.web.verdicts.train_near_val": (None, 1),
    }
    assert set(found(result, "shards")) == {"all.sha256_of_all"}
    assert (found(result, "sources"), found(result, "models"), result.documents) == ({}, {}, None)


def test_documents_are_told_by_what_became_of_them(corpus):
    told = differences(corpus, "tiny.v1", "tiny.v2", documents=True).documents
    assert told.changes == {
        "fables": {"kept, train -> kept, val": 1},
        "web": {"kept, train -> kept, val": 2, "near_duplicate -> train_near_val": 1},
    }
    assert told.num_same == 5
    assert ("web:0", "web:0", "near_duplicate -> train_near_val") in [
        (e.left, e.right, e.change) for e in told.examples
    ]


def test_a_source_that_one_side_lacks_is_told_once(corpus):
    result = differences(corpus, "tiny.v1", "tiny.v3", documents=True)
    (digest, gone) = found(result, "sources")["web"]
    assert (len(digest), gone) == (64, None)
    assert set(found(result, "sources")) == {"web"}
    assert found(result, "settings")["sources"] == (["fables", "web"], ["fables"])
    assert found(result, "documents")["documents"] == (9, 5)
    assert found(result, "documents")["licenses.CC-BY-4.0 OR LicenseRef-Own"] == (2, None)
    assert result.documents.changes == {
        "web": {"only in A: kept, train": 2, "only in A: near_duplicate": 1, "only in A: too_short": 1}
    }


def test_another_text_is_another_document_though_its_id_is_the_same(corpus, tmp_path):
    changed = [{"path": "owl.txt", "text": FERRY}, *tiny_corpus.FABLES[1:]]
    other = tiny_corpus.write_inputs(tmp_path / "other", {"fables": changed, "web": tiny_corpus.WEB})
    tiny_corpus.build(other, V1)
    told = documents_of_versions(open_published(corpus, V1), open_published(other, V1))
    assert told.changes["fables"] == {
        "exact_duplicate -> kept, train": 1,  # of the owl that is gone
        "only in A: kept, train": 1,
        "only in B: kept, train": 1,
    }
    assert {("fables:0", None), (None, "fables:0")} < {(one.left, one.right) for one in told.examples}
    assert (
        facts_of_version(open_published(other, V1)).raw_sets["web"]
        == (facts_of_version(open_published(corpus, V1)).raw_sets["web"])
    )


def test_snapshots_are_compared_by_their_manifests_alone(corpus, tmp_path):
    shutil.copytree(corpus.snapshots, tmp_path / "snapshots")
    one, other = snapshots_below(corpus)
    here, there = (differences(layout, one, other) for layout in (corpus, Layout(tmp_path)))
    assert here.found == there.found
    assert "corpus_config_sha256" in found(here, "settings")
    assert "dedup_clusters.settings.drop_near" in found(here, "stages")
    assert differences(corpus, one, one, documents=True).same
    told = differences(Layout(tmp_path), one, other, documents=True).documents
    assert sorted(told.changes) == ["fables", "web"]
    assert {change for changes in told.changes.values() for change in changes} in (
        {"train -> val"},
        {"val -> train"},
    )
    assert told.notes == []


def test_another_tokenizer_length_or_packing_is_told(corpus):
    tokenizer = write_tokenizer(corpus.root)
    one, other = (
        snapshots.make_snapshot(build_of(corpus, config_of(tokenizer, **change), V1)).snapshot_id
        for change in ({}, {"tokens": "t8", "seq_len": 8, "packing": "best_fit"})
    )
    result = differences(corpus, one, other, documents=True)
    assert found(result, "settings").keys() == {"tokens", "seq_len", "packing", "token_config_sha256"}
    assert found(result, "models") == {}
    assert (result.documents.num_same, result.documents.changes) == (4, {})  # all tokens are there, cut otherwise
    by_name = differences(corpus, "tiny.v1.t16", "tiny.v1.t8")
    assert by_name.found == result.found


def forged(snapshot, **changes):
    return {**snapshot.document, **changes}


def test_the_tokenizer_is_a_model(corpus):
    snapshot = manifest.read(corpus.root, snapshots_below(corpus)[0])
    document = forged(snapshot, tokenizer={**snapshot.document["tokenizer"], "sha256": "0" * 64})
    folder = corpus.root / "snapshots" / "being-made"
    shutil.copytree(snapshot.folder, folder)
    other = manifest.write(folder, document)
    folder.rename(manifest.folder_of(corpus.root, other))
    result = differences(corpus, snapshot.snapshot_id, other)
    assert [(one.section, one.name) for one in result.found] == [("models", "tokenizer.sha256")]
    shutil.rmtree(manifest.folder_of(corpus.root, other))


def test_documents_whose_places_mean_nothing_to_each_other_are_not_compared(tmp_path):
    stages = [{"corpus": {"raw_sets": {"web": digest, "books": "b" * 64}}} for digest in ("a" * 64, "c" * 64)]
    one, other = (
        made_snapshots.make_snapshot(tmp_path, stage_versions=stage, corpus_version=f"v{i}")
        for i, stage in enumerate(stages)
    )
    told = differences(Layout(tmp_path), one.snapshot_id, other.snapshot_id, documents=True).documents
    assert told.changes == {}
    assert told.num_same > 0
    assert told.notes == [
        f"documents of web cannot be compared: its raw sets are others, and version made.v0 is not below {tmp_path}"
    ]


@pytest.mark.parametrize("stages", [{}, {"corpus": 3}, {"corpus": {"stages": [], "raw_sets": 1}}, {"corpus": {"stages":
    {"sources": {"web": {"documents": 3}}, "version": {"x": {"libraries": []}}}, "outcomes": None}}])  # fmt: skip
def test_stage_versions_of_any_kind_are_compared(tmp_path, stages):
    one = made_snapshots.make_snapshot(tmp_path, stage_versions=stages)
    other = made_snapshots.make_snapshot(tmp_path, stage_versions={"corpus": {"ledger_rows": {"web": "1"}}})
    result = differences(Layout(tmp_path), one.snapshot_id, other.snapshot_id)
    assert found(result, "sources") == {"web": (None, "1")}
    assert differences(Layout(tmp_path), one.snapshot_id, one.snapshot_id).same


def test_equal_changes_of_several_sources_are_one():
    def facts(version, other):
        stages = {
            name: {"documents": {"libraries": {"pyarrow": v}}}
            for name, v in (("a", version), ("b", version), ("c", other))
        }
        return Facts("x", {}, stages)

    result = compare(facts("1", "1"), facts("2", "3"))
    assert result.found == [
        Difference("stages", "documents.libraries.pyarrow", "1", "2", ("a", "b")),
        Difference("stages", "documents.libraries.pyarrow", "1", "3", ("c",)),
    ]


def test_leaves_are_dotted_and_empty_objects_are_leaves():
    assert leaves({"a": {"b": 1, "c": {}}, "d": [1]}) == {"a.b": 1, "a.c": {}, "d": [1]}


rows = st.lists(st.tuples(st.sampled_from("pqr"), st.sampled_from("xy"), st.sampled_from("12")), max_size=12)


def table_of(listed):
    keys, kinds, values = zip(*listed, strict=True) if listed else ((), (), ())
    return pa.table([keys, [f"s:{i}" for i in range(len(listed))], kinds, values], schema=ROWS)


@given(rows, rows)
def test_documents_are_matched_as_by_hand(left, right):
    result = DocumentDifferences()
    result.add("s", table_of(left), table_of(right), "other size")
    expected, same = Counter(), 0
    waiting = {key: [row for row in right if row[0] == key] for key in "pqr"}
    for key, fate, more in left:
        if not waiting[key]:
            expected[f"only in A: {fate}"] += 1
            continue
        _, other_fate, other_more = waiting[key].pop(0)
        if fate != other_fate:
            expected[f"{fate} -> {other_fate}"] += 1
        elif more != other_more:
            expected["other size"] += 1
        else:
            same += 1
    for row in (row for rest in waiting.values() for row in rest):
        expected[f"only in B: {row[1]}"] += 1
    assert result.changes == ({"s": dict(expected)} if expected else {})
    assert result.num_same == same
    assert Counter(one.change for one in result.examples) == expected


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["tiny.v1", "tiny.v9"], "is not published"),
        (["tiny.v1", "tiny"], "has no dot"),
        (["tiny.v1", "../x.v1"], "is not a name"),
        (["tiny.v1", "tiny.v1.none"], "has no snapshot"),
        (["sha256:abc", "sha256:abc"], "snapshot id"),
    ],
)
def test_what_cannot_be_compared_is_wrong_usage(corpus, words, says):
    with pytest.raises(ConfigError, match=says):
        differences(corpus, *words)


def test_a_version_and_a_snapshot_are_not_compared(corpus):
    with pytest.raises(ConfigError, match="two of one kind"):
        differences(corpus, "tiny.v1", snapshots_below(corpus)[0])


def test_damaged_files_are_named(corpus, tmp_path):
    shutil.copytree(corpus.root, tmp_path / "root")
    layout = Layout(tmp_path / "root")
    one, other = snapshots_below(layout)[:2]
    shard = manifest.read(layout.root, one).shards("val" if manifest.read(layout.root, one).shards("val") else "train")[
        0
    ]
    faults.flip_byte(manifest.folder_of(layout.root, one) / shard.index_name, 40)
    assert differences(layout, one, other)
    with pytest.raises(CorruptDataError, match=f"{shard.index_name}: sha256"):
        differences(layout, one, other, documents=True)
    faults.flip_byte(layout.evidence(V2) / "documents" / "part-00000.parquet", 40)
    assert differences(layout, "tiny.v1", "tiny.v2")
    with pytest.raises(CorruptDataError, match=r"part-00000.parquet: sha256"):
        differences(layout, "tiny.v1", "tiny.v2", documents=True)
    faults.flip_byte(layout.evidence(V2) / "counts.json", 40)
    with pytest.raises(CorruptDataError, match=r"counts.json: sha256"):
        differences(layout, "tiny.v1", "tiny.v2")


def run(layout, *words):
    return command_line.run(diff, layout.root, "diff", *words)


def test_the_command_says_what_differs_and_ends_with_1(corpus, capsys):
    assert run(corpus, "tiny.v1", "tiny.v2", "--documents") == 1
    told = capsys.readouterr().out
    assert "A tiny.v1\nB tiny.v2\nsettings\n  dedup.near.drop: true -> false\n  val_permille: 5 -> " in told
    assert "stages\n  dedup_clusters.settings.drop_near: true -> false\n" in told
    assert "documents by index: 5 the same\n  published by both 4, A alone 0, B alone 0\n  fables: 1 kept, " in told
    assert "    web:0: near_duplicate -> train_near_val" in told


def test_the_command_says_that_nothing_differs_and_ends_with_0(corpus, capsys):
    assert run(corpus, "tiny.v1", "tiny.v1") == 0
    assert capsys.readouterr().out.endswith("nothing differs\n")
    assert run(corpus, "tiny.v1", "tiny.v1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["same"] is True


def test_json_has_every_difference(corpus, capsys):
    assert run(corpus, "tiny.v1", "tiny.v2", "--documents", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["same"] is False
    assert {"section", "name", "left", "right", "sources"} == set(told["found"][0])
    assert told["documents"]["num_same"] == 5

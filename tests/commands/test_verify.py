"""`corpus verify` of shards: good ones pass, and each kind of damage fails the check that is meant for it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.commands import verify, verify_report
from corpus_assets.commands.verify import verify_version
from corpus_assets.commands.verify_report import VerifyReport
from corpus_assets.commands.verify_rows import Rows
from formats import corpus_manifest, durable, evidence
from formats.corpus_shard import SCHEMA, shard_name, write_shards
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import VersionKey
from tests import faults
from tests.commands import command_line
from tests.formats import evidence_rows
from tests.golden import make_corpus_shard as golden

KEY = VersionKey("toy", "v1")
DROPS = {"filters": {"lang": 1, "gopher": 0}, "dedup": {"exact_dropped": 1, "near_dropped": 1, "decontaminated": 1}}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    layout = Layout(tmp_path_factory.mktemp("made"))
    write_shards(golden.DOCS, layout.version(KEY), **{**golden.SETTINGS, **DROPS})
    durable.write_lock(layout.lock(KEY), layout.version(KEY) / corpus_manifest.NAME_ON_DISK)
    return layout.root


@pytest.fixture
def layout(made, tmp_path) -> Layout:
    shutil.copytree(made, tmp_path / "root")
    return Layout(tmp_path / "root")


def verified(layout: Layout, pin: Path | None = None) -> VerifyReport:
    return verify_version(layout, KEY, pin, shards_only=True)


def failed(layout: Layout, pin: Path | None = None) -> set[str]:
    return {check.name for check in verified(layout, pin).checks if not check.ok}


def replace_shard(layout: Layout, i: int, change: Callable[[pa.Table], pa.Table]) -> None:
    """Another content for shard i, vouched for by manifest and lock: what only its own promises can find."""
    folder = layout.version(KEY)
    path = folder / shard_name(i, 2)
    pq.write_table(change(pq.read_table(path)).cast(SCHEMA), path)
    manifest = corpus_manifest.read(folder)
    manifest["shards"][i]["sha256"] = durable.sha256_of(path)
    relock(layout, manifest)


def relock(layout: Layout, manifest: dict[str, Any]) -> None:
    durable.write_lock(layout.lock(KEY), corpus_manifest.write(layout.version(KEY), manifest))


def put(**columns: list[Any]) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        for name, values in columns.items():
            i = SCHEMA.get_field_index(name)
            table = table.set_column(i, SCHEMA.field(i), pa.array(values, SCHEMA.field(i).type))
        return table

    return change


def test_shards_alone_pass_every_check_of_theirs(layout):
    report = verified(layout, layout.lock(KEY))
    assert report.ok
    assert report.notes == ["the evidence was left out: --shards-only"]
    assert [check.name for check in report.checks] == [
        *("lock", "pin", "manifest", "shards", "values", "order", "texts", "splits", "clusters", "pii"),
    ]


def test_an_empty_version_passes(tmp_path):
    layout = Layout(tmp_path)
    write_shards([], layout.version(KEY), dataset="toy", version="v1", shard_rows=2)
    durable.write_lock(layout.lock(KEY), layout.version(KEY) / corpus_manifest.NAME_ON_DISK)
    assert verified(layout).ok


def test_missing_evidence_is_a_failure_unless_shards_alone_are_asked_for(layout):
    report = verify_version(layout, KEY)
    assert [check.name for check in report.checks if not check.ok] == ["evidence"]
    by_name = {check.name: check for check in report.checks}
    assert "seal is missing" in by_name["evidence"].problems[0]
    of_content = ("sums", "counts", "config", "ledger", "documents")
    assert {name: by_name[name].not_checked for name in of_content} == dict.fromkeys(
        of_content, "the evidence is not whole"
    )


def lines_of(report: VerifyReport) -> dict[str, str]:
    """name -> "ok", "FAILED" or "not checked"."""
    marks = ("not checked: ", "ok     ", "FAILED ")
    found = [(mark, line.removeprefix(mark)) for line in report.lines() for mark in marks if line.startswith(mark)]
    return {line.partition(":")[0]: mark.rstrip(": ") for mark, line in found}


OF_ROWS = ("values", "order", "texts", "splits", "clusters", "pii")


@pytest.mark.parametrize("damage", [lambda path: faults.flip_byte(path, 60), faults.truncate, Path.unlink])
def test_rows_that_could_not_be_read_are_not_called_ok(layout, damage):
    evidence_rows.write(layout.evidence(KEY))
    damage(layout.version(KEY) / shard_name(1, 2))
    report = verify_version(layout, KEY)
    said = lines_of(report)
    assert (said["shards"], said["manifest"]) == ("FAILED", "ok")
    assert {name: said[name] for name in OF_ROWS} == dict.fromkeys(OF_ROWS, "not checked")
    assert said["documents"] == "not checked"
    assert "not checked: order: of 2 shards, those that could not be read: 1" in report.lines()
    by_name = {one["name"]: one for one in report.as_json()["checks"]}
    assert (by_name["order"]["ok"], by_name["shards"]["ok"], by_name["manifest"]["ok"]) == (None, False, True)
    assert by_name["order"]["not_checked"] == "of 2 shards, those that could not be read: 1"
    assert by_name["shards"]["not_checked"] is by_name["manifest"]["not_checked"] is None
    assert not report.ok


def test_without_a_manifest_neither_rows_nor_evidence_are_called_ok(layout):
    (layout.version(KEY) / corpus_manifest.NAME_ON_DISK).unlink()
    said = lines_of(verify_version(layout, KEY))
    assert said == {
        "lock": "FAILED",
        "manifest": "FAILED",
        "shards": "not checked",
        "rows": "not checked",
        "evidence": "not checked",
    }


@pytest.mark.parametrize("change", faults.every_change(b"0123456789"))
@pytest.mark.parametrize("i", [0, 1])
def test_a_changed_shard_fails_shards_alone(layout, i, change):
    path = layout.version(KEY) / shard_name(i, 2)
    path.write_bytes(faults.every_change(path.read_bytes())[change])
    assert failed(layout) == {"shards"}


@pytest.mark.parametrize(
    ("of", "check"),
    [("shard", "shards"), ("manifest", "manifest"), ("lock", "lock"), ("seal", "evidence"), ("evidence", "evidence")],
)
def test_a_folder_in_the_place_of_a_file_is_a_problem_with_its_name(layout, of, check):
    """And no end of the checks: the others still run."""
    evidence_rows.write(layout.evidence(KEY))
    path = {
        "shard": layout.version(KEY) / shard_name(1, 2),
        "manifest": layout.version(KEY) / corpus_manifest.NAME_ON_DISK,
        "lock": layout.lock(KEY),
        "seal": layout.evidence(KEY) / evidence.SEAL,
        "evidence": layout.evidence(KEY) / "files.parquet",
    }[of]
    path.unlink()
    path.mkdir()
    report = verify_version(layout, KEY)
    problems = [one for found in report.checks if found.name == check for one in found.problems]
    assert any(str(path) in problem and "is a folder" in problem for problem in problems)


def test_a_missing_and_an_unlisted_file_are_found(layout):
    (layout.version(KEY) / shard_name(1, 2)).unlink()
    (layout.version(KEY) / "notes.txt").write_text("mine")
    assert failed(layout) == {"shards", "manifest"}


@pytest.mark.parametrize(
    ("i", "change", "check"),
    [
        (0, put(id=["web:10", "books:0"], source_id=["web", "books"]), "order"),
        (1, put(id=["web:10"]), "order"),
        (0, put(text=["Mia naps!", "Tom has a red ball!"]), "texts"),
        (0, put(n_chars=[9, 20]), "texts"),
        (0, put(split=["train", "val"]), "splits"),
        (0, put(split=["val", "val"]), "splits"),
        (0, put(minhash_cluster=[0, 2]), "clusters"),
        (1, put(minhash_cluster=[3]), "clusters"),
        (0, put(pii_redactions=[0, 2]), "pii"),
        (0, put(url=["", "u"]), "values"),
        (0, put(url=[None, "u"]), "values"),
        (0, put(lang=["English", "en"]), "values"),
        (0, put(source_id=["web", "web"]), "values"),
        (0, lambda table: table.slice(1), "shards"),
    ],
)
def test_a_broken_promise_fails_its_check_though_every_hash_is_right(layout, i, change, check):
    replace_shard(layout, i, change)
    assert failed(layout) == {check}


def test_a_cluster_whose_first_row_is_in_another_cluster_is_found(layout):
    replace_shard(layout, 0, put(minhash_cluster=[0, 0]))
    assert failed(layout) == {"clusters"}


def naive_clusters(clusters: list[int]) -> list[int]:
    """Rows whose cluster is no earlier first row."""
    return [i for i, first in enumerate(clusters) if first != i and (first > i or clusters[first] != first)]


@given(st.lists(st.integers(0, 40), max_size=30), st.data())
def test_the_bitmap_of_first_rows_equals_its_obvious_twin(clusters, data):
    report = VerifyReport(KEY)
    rows = Rows(report, {"shards": [{"rows": len(clusters)}]})
    while rows.index < len(clusters):
        n = data.draw(st.integers(1, len(clusters) - rows.index))
        rows.look_at_clusters(np.array(clusters[rows.index : rows.index + n]), Path("p"))
        rows.index += n
    wrong = [int(problem.split("row ")[1].split()[0]) for problem in rows.clusters.problems]
    expected = naive_clusters(clusters)
    assert (rows.clusters.num_problems, wrong) == (len(expected), expected[: verify_report.MAX_PROBLEMS])


def test_an_id_on_both_sides_of_a_shard_border_is_found(layout):
    replace_shard(layout, 1, put(id=["web:1"]))
    assert failed(layout) == {"order"}


def test_a_changed_manifest_fails_the_lock_and_its_pin(layout, tmp_path):
    pin = tmp_path / "pin"
    shutil.copy(layout.lock(KEY), pin)
    manifest = corpus_manifest.read(layout.version(KEY))
    manifest["ledger_ref"] = "elsewhere"
    corpus_manifest.write(layout.version(KEY), manifest)
    assert failed(layout, pin) == {"lock", "pin"}
    relock(layout, manifest)
    assert failed(layout, pin) == {"pin"}


def test_an_unreadable_manifest_ends_the_checks(layout):
    faults.truncate(layout.version(KEY) / corpus_manifest.NAME_ON_DISK)
    assert failed(layout) == {"lock", "manifest"}


def test_a_version_under_another_name_is_found(layout):
    other = VersionKey("toy", "v2")
    layout.version(KEY).rename(layout.version(other))
    layout.lock(KEY).rename(layout.lock(other))
    assert [c.name for c in verify_version(layout, other, shards_only=True).checks if not c.ok] == ["manifest"]


@pytest.mark.parametrize("data", [b"", b"x" * 65, b"0" * 64])
def test_a_broken_lock_is_found(layout, data):
    layout.lock(KEY).write_bytes(data)
    assert failed(layout) == {"lock"}


def test_many_problems_are_counted_and_some_are_told():
    check = verify_report.Check("order", "")
    for i in range(100):
        check.add(i)
    assert (check.num_problems, len(check.problems)) == (100, verify_report.MAX_PROBLEMS)


def test_exit_codes_and_output(layout, capsys):
    assert command_line.run(verify, layout.root, "verify", "toy.v1", "--shards-only") == 0
    assert "toy.v1: every check passed" in capsys.readouterr().out
    faults.rewrite_parquet(layout.version(KEY) / shard_name(0, 2))
    assert command_line.run(verify, layout.root, "verify", "toy.v1", "--shards-only") == 1
    told = capsys.readouterr().out
    assert "FAILED shards" in told
    assert "sha256 is" in told
    assert command_line.run(verify, layout.root, "verify", "toy.v1", "--shards-only", "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["version"], report["ok"]) == ("toy.v1", False)
    assert [c["name"] for c in report["checks"] if c["ok"] is False] == ["shards"]


def test_wrong_usage_is_a_config_error(layout, tmp_path):
    for words in (["toy"], ["toy.v9"], ["Toy.v1"], ["toy.v1", "--pin", str(tmp_path / "nothing")]):
        with pytest.raises(ConfigError):
            command_line.run(verify, layout.root, "verify", *words)
    (tmp_path / "pin").write_text("abc\n")
    with pytest.raises(ConfigError, match="--pin"):
        command_line.run(verify, layout.root, "verify", "toy.v1", "--pin", str(tmp_path / "pin"))
    with pytest.raises(ConfigError, match="--deep"):
        command_line.run(verify, layout.root, "verify", "toy.v1", "--deep", "--shards-only")


def test_an_unknown_version_is_answered_with_those_there_are(layout):
    with pytest.raises(ConfigError, match=r"there is no version toy\.v9 .*; published are: toy\.v1$"):
        verify_version(layout, VersionKey("toy", "v9"))

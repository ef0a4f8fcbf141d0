"""The starter corpus end to end: copies of it, built by the command, against tables of what each document becomes."""

import importlib.util
import json
import shutil
import socket
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from corpus_assets.commands import verify_snapshot
from corpus_assets.commands.verify import verify_version
from corpus_assets.plans import audit_version
from corpus_assets.plans.token_build import load_checked
from corpus_assets.validation import corpus_config, token_config
from formats import corpus_shard, durable
from formats.layout import Layout
from formats.ledger_urls import resolve_local
from formats.naming import TokensKey, VersionKey
from formats.reasons import Reason
from tests import faults
from tests.e2e import starter_golden as golden
from tests.e2e import starter_runs as runs
from tests.e2e.kills import kill_when

V1, SMALL = VersionKey("starter", "v1"), VersionKey("starter", "small")


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, runs.STARTER / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_packed_inputs_are_remade_byte_for_byte() -> None:
    for name, data in _script("make_inputs").derived().items():
        assert (runs.STARTER / "inputs" / name).read_bytes() == data, name


def test_the_tokenizer_is_remade_byte_for_byte() -> None:
    script = _script("make_tokenizer")
    assert script.MADE.read_bytes() == script.made()


def test_ledger_and_configs_name_inputs_and_evals_by_their_present_bytes() -> None:
    layout = Layout(runs.STARTER)
    listed = set()
    for line in layout.ledger.read_text("utf-8").splitlines():
        for file in json.loads(line)["files"]:
            path = resolve_local(layout.ledger, file["url"])
            assert path is not None
            listed.add(path.resolve())
            assert (durable.sha256_of(path), path.stat().st_size) == (file["sha256"], file["bytes"]), path
    assert listed == {path.resolve() for path in (runs.STARTER / "inputs").iterdir()}
    quiz = durable.sha256_of(runs.STARTER / "evals" / "quiz.jsonl")
    for config in corpus_config.discover(layout)[0].values():
        assert quiz in config.read_text("utf-8"), config
    for key in token_config.discover(layout):
        load_checked(layout, key)  # its tokenizer has the digest, and the tokens, that it names


# A version of two sources, made once for the tests that need any built version.


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with starter.small: handbook and notes, in shards of 20 rows."""
    root = runs.copy_of_starter(tmp_path_factory.mktemp("small"))
    text = Layout(root).config(V1).read_text("utf-8").replace("version: v1", "version: small")
    text = text.replace("[fables, letters, handbook, web, notes, snippets]", "[handbook, notes]")
    Layout(root).config(SMALL).write_text(text.replace("shard_rows: 50", "shard_rows: 20"), "utf-8")
    runs.build(root, str(SMALL))
    return root


def test_a_small_version_is_built_and_verified(small: Path) -> None:
    report = verify_version(Layout(small), SMALL)
    assert report.ok, report.as_json()
    assert not report.notes
    kept = {source: one["kept"] for source, one in runs.counts(small, str(SMALL))["sources"].items()}
    assert kept == {"handbook": 23, "notes": 50}  # without the fables their copies stay


@pytest.mark.parametrize("at", [0, 1000, -1])  # magic bytes, a page, magic bytes again
def test_a_changed_byte_of_a_shard_is_found_by_verify_and_by_its_check(small: Path, tmp_path: Path, at: int) -> None:
    shutil.copytree(small / "corpus" / "starter", tmp_path / "corpus" / "starter")
    shard = Layout(tmp_path).version(SMALL) / corpus_shard.shard_name(1, 4)
    faults.flip_byte(shard, at)
    report = verify_version(Layout(tmp_path), SMALL)
    assert [check.name for check in report.checks if not check.ok] == ["shards"]
    finding = audit_version.manifest_hashes(Layout(tmp_path), SMALL)
    assert not finding.passed
    assert shard.name in finding.words
    assert "sha256" in finding.words


@pytest.mark.slow
def test_a_published_version_refuses_other_bytes(small: Path, tmp_path: Path) -> None:
    root = shutil.copytree(small, tmp_path / "root")
    before = runs.files_as_they_lie(root / "corpus" / "starter")
    config = Layout(root).config(SMALL)
    config.write_text(config.read_text("utf-8") + "profiles:\n  short: {too_short: 30}\n", "utf-8")
    ran = runs.corpus(root, "build", str(SMALL))
    assert ran.code == 1
    said = ran.out + ran.err
    for words in ("is published with manifest", "A published version is immutable", "corpus config new <new> --from"):
        assert words in said
    assert runs.files_as_they_lie(root / "corpus" / "starter") == before
    assert audit_version.manifest_hashes(Layout(root), SMALL).passed


# The whole starter.


@pytest.fixture(scope="module")
def v1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with starter.v1, built with two workers and nothing to complain about."""
    root = runs.copy_of_starter(tmp_path_factory.mktemp("v1"))
    ran = runs.build(root, "starter.v1", "--workers", "2")
    assert "WARN" not in ran.out
    assert "ERROR" not in ran.out
    return root


@pytest.mark.slow
def test_every_check_of_the_built_version_passes(v1: Path) -> None:
    report = verify_version(Layout(v1), V1)
    assert report.ok, report.as_json()
    assert not report.notes


@pytest.mark.slow
def test_every_record_becomes_a_document_or_a_reject_with_its_reason(v1: Path) -> None:
    sources = runs.counts(v1)["sources"]
    assert {source: one["records"] for source, one in sources.items()} == golden.RECORDS
    assert dict(runs.rejects(v1)) == golden.REJECTED


@pytest.mark.slow
def test_every_document_is_kept_or_dropped_for_the_reason_it_was_planted_for(v1: Path) -> None:
    rows = {row["id"]: row for row in runs.documents(v1)}
    dropped: dict[str, dict[str, dict]] = {}
    for name, row in rows.items():
        dropped.setdefault(row["verdict"], {})[name] = row
    kept = Counter(row["source_id"] for row in dropped.pop(Reason.KEPT).values())
    assert kept == golden.KEPT
    exact, near = dropped.pop(Reason.EXACT_DUPLICATE), dropped.pop(Reason.NEAR_DUPLICATE)
    contaminated = dropped.pop(Reason.CONTAMINATED)
    assert {name: row["keeper_id"] for name, row in exact.items()} == golden.EXACT_DUPLICATES
    assert {name: (row["keeper_id"], row["keeper_jaccard"]) for name, row in near.items()} == golden.NEAR_DUPLICATES
    assert {name: (row["eval_set"], row["eval_item"]) for name, row in contaminated.items()} == golden.CONTAMINATED
    assert {name: reason for reason, found in dropped.items() for name in found} == golden.FILTERED


@pytest.mark.slow
def test_planted_personal_data_is_gone_and_counted(v1: Path) -> None:
    sources = runs.counts(v1)["sources"]
    found = {source: one["pii"] for source, one in sources.items() if any(one["pii"].values())}
    assert found == golden.PII
    texts = "\n".join(doc.text for doc in corpus_shard.read_shards(Layout(v1).version(V1)))
    for planted in golden.PLANTED:
        assert planted not in texts
    for harmless in golden.HARMLESS:
        assert harmless in texts
    for kind in ("EMAIL", "PHONE", "CARD", "IP", "KEY"):
        assert f"<{kind}>" in texts


@pytest.mark.slow
def test_languages_and_splits_are_those_of_the_texts(v1: Path) -> None:
    docs = list(corpus_shard.read_shards(Layout(v1).version(V1)))
    assert Counter(doc.meta["lang"] for doc in docs) == golden.LANGUAGES
    assert Counter(row["split"] for row in runs.documents(v1) if row["verdict"] == Reason.KEPT) == golden.SPLITS
    labelled = {
        doc.meta["url"].split("/")[-2]: doc.meta["lang"] for doc in docs if "letters.example" in doc.meta["url"]
    }
    assert all(folder == lang for folder, lang in labelled.items())


@pytest.mark.slow
def test_pages_are_decoded_by_their_charset_and_freed_of_their_frame(v1: Path) -> None:
    pages = {
        doc.meta["url"]: doc.text for doc in corpus_shard.read_shards(Layout(v1).version(V1)) if doc.source_id == "web"
    }
    assert "Переправа длится столько" in pages["https://harrowferry.example/ru/parom.html"]
    assert "船頭さんは何百ものお話を知っています" in pages["https://harrowferry.example/ja/watashibune.html"]
    for url, text in pages.items():
        for frame in ("Imprint", "Cookie settings", "dataset.ready", "\ufffd"):
            assert frame not in text, url


@pytest.mark.slow
def test_manifest_and_rows_are_the_golden_ones(v1: Path) -> None:
    assert golden.digests(v1) == golden.stored_digests()


def dagster_runs(root: Path) -> set[str]:
    """The runs in the history of a root: a file each."""
    return {path.stem for path in (root / ".dagster" / "history" / "runs").glob("????????-*.db")}


@pytest.mark.slow
def test_building_again_runs_nothing_and_rewrites_nothing(v1: Path) -> None:
    before, runs_before = runs.files_as_they_lie(v1 / "corpus"), dagster_runs(v1)
    ran = runs.build(v1, "starter.v1")
    assert runs.files_as_they_lie(v1 / "corpus") == before
    assert dagster_runs(v1) == runs_before
    assert len(runs_before) == 1 + 2 * 6 + 2
    assert "FAILED" not in ran.out
    assert "  ok  " not in ran.out


@pytest.mark.slow
def test_workers_folder_and_order_of_ledger_and_config_change_no_byte(v1: Path, tmp_path: Path) -> None:
    root = runs.copy_of_starter(tmp_path / "elsewhere" / "deeper")
    layout = Layout(root)
    rows = [json.loads(line) for line in layout.ledger.read_text("utf-8").splitlines()]
    for row in rows:
        row["files"].reverse()
    lines = [json.dumps(dict(reversed(row.items())), ensure_ascii=False) + "\n" for row in reversed(rows)]
    layout.ledger.write_text("".join(lines), "utf-8")
    config = layout.config(V1)
    sources = "fables, letters, handbook, web, notes, snippets"
    assert sources in config.read_text("utf-8")
    config.write_text(
        config.read_text("utf-8").replace(sources, "web, snippets, notes, letters, handbook, fables"), "utf-8"
    )
    runs.build(root, "starter.v1", "--workers", "1")
    assert runs.manifest_bytes(root) == runs.manifest_bytes(v1)


@pytest.mark.slow
def test_deleting_the_work_folder_costs_time_only(v1: Path, tmp_path: Path) -> None:
    root = runs.copy_of_starter(tmp_path / "root")
    shutil.copytree(v1 / "corpus" / "raw", root / "corpus" / "raw")
    raw = runs.files_as_they_lie(root / "corpus" / "raw")
    shutil.rmtree(root / "inputs")  # raw sets are enough
    runs.build(root, "starter.v1")
    assert runs.manifest_bytes(root) == runs.manifest_bytes(v1)
    assert runs.files_as_they_lie(root / "corpus" / "raw") == raw


@pytest.mark.slow
def test_a_source_without_an_allowed_licence_is_stopped_before_a_byte_is_fetched(v1: Path, tmp_path: Path) -> None:
    root = shutil.copytree(v1, tmp_path / "root")
    layout = Layout(root)
    with socket.create_server(("127.0.0.1", 0)) as trap:
        url = f"http://127.0.0.1:{trap.getsockname()[1]}/forum.jsonl"
        ledger = layout.ledger.read_text("utf-8")
        layout.ledger.write_text(ledger.replace("../inputs/forum.jsonl", url), "utf-8")
        ran = runs.corpus(root, "build", "starter.v2")
        trap.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody is waiting to be served
            trap.accept()
    assert ran.code == 1
    said = ran.out + ran.err
    for words in (
        "source forum",
        "LicenseRef-Proprietary is not allowed by starter.v2",
        "take the source out of the config",
    ):
        assert words in said
    assert "Traceback" not in said
    assert not layout.cache.exists()
    assert not layout.raw_sets("forum").exists()
    assert not list((layout.corpus / "starter").glob("v2*"))


@pytest.mark.slow
def test_another_threshold_takes_over_what_was_measured(v1: Path, tmp_path: Path) -> None:
    root = shutil.copytree(v1, tmp_path / "root")
    work = root / "corpus" / "work"
    shared = [work / stage for stage in ("documents", "doc_signals", "filtered_docs", "minhash_signatures")]
    before = [runs.files_as_they_lie(folder) for folder in (*shared, root / "corpus" / "raw")]
    runs.build(root, "starter.v3")
    assert [runs.files_as_they_lie(folder) for folder in (*shared, root / "corpus" / "raw")] == before
    near = {
        row["id"]: (row["keeper_id"], row["keeper_jaccard"])
        for row in runs.documents(root, "starter.v3")
        if row["verdict"] == Reason.NEAR_DUPLICATE
    }
    assert near == golden.NEAR_DUPLICATES_OF_V3
    assert runs.manifest_bytes(root) == runs.manifest_bytes(v1)


# Its tokens.


@pytest.fixture(scope="module")
def snapshot(v1: Path) -> Path:
    """The root of v1 with the snapshot of its token set, made by two workers."""
    runs.tokenize(v1, str(golden.TOKENS), "--workers", "2")
    return v1


@pytest.mark.slow
def test_the_snapshot_is_the_golden_one_and_is_verified(snapshot: Path) -> None:
    assert golden.snapshot_digests(snapshot) == golden.stored_digests(golden.GOLDEN_SNAPSHOT)
    report = verify_snapshot.verify(Layout(snapshot), str(golden.TOKENS))
    assert report.ok, report.as_json()
    assert not report.notes


@pytest.mark.slow
def test_tokenizing_again_runs_nothing_and_another_token_set_rewrites_no_byte_of_the_corpus(snapshot: Path) -> None:
    layout = Layout(snapshot)
    before, ran_before = runs.files_as_they_lie(snapshot / "snapshots"), dagster_runs(snapshot)
    assert "  same   " in runs.tokenize(snapshot, str(golden.TOKENS)).out
    assert (runs.files_as_they_lie(snapshot / "snapshots"), dagster_runs(snapshot)) == (before, ran_before)
    corpus = snapshot / "corpus" / "starter"
    as_it_lies, bytes_of = runs.files_as_they_lie(corpus), runs.manifest_bytes(snapshot)
    text = layout.token_config(golden.TOKENS).read_text("utf-8")
    other = TokensKey(V1, "bpe-64")
    text = text.replace("tokens: bpe-512", "tokens: bpe-64").replace("seq_len: 512", "seq_len: 64")
    layout.token_config(other).write_text(text.replace("packing: best_fit", "packing: concat"), "utf-8")
    runs.tokenize(snapshot, str(other))
    assert (runs.files_as_they_lie(corpus), runs.manifest_bytes(snapshot)) == (as_it_lies, bytes_of)
    assert golden.snapshot_digests(snapshot) == golden.stored_digests(golden.GOLDEN_SNAPSHOT)


@pytest.mark.slow
def test_one_worker_elsewhere_makes_the_same_snapshot_over_a_kill(v1: Path, tmp_path: Path) -> None:
    root = Path(
        shutil.copytree(v1, tmp_path / "deeper" / "root", ignore=shutil.ignore_patterns("snapshots", ".dagster"))
    )
    for stage in ("tokenized", "packed"):
        shutil.rmtree(Layout(root).corpus / "work" / stage, ignore_errors=True)
    kill_when(root, ["tokenize", str(golden.TOKENS)], runs.environment(), ["snapshots/*.tmp/*/*/*.bin"], 1)
    assert not Layout(root).snapshot_lock(golden.TOKENS).exists()
    ran = runs.tokenize(root, str(golden.TOKENS), "--workers", "1")
    assert "killed processes" in ran.out
    assert golden.snapshot_digests(root) == golden.stored_digests(golden.GOLDEN_SNAPSHOT)
    assert [path.name for path in (root / "snapshots").glob(".*.tmp*")] == []
    assert [path.suffix for path in (root / "snapshots").iterdir() if path.suffix] == [".lock"]

"""A version and its snapshot in a real S3 store: there whole or not at all, whatever breaks, and opened from there."""

import errno
import os
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from corpus_assets.commands import dedup, trace, verify, verify_store
from corpus_assets.commands import pull as pull_command
from corpus_assets.commands import push as push_command
from corpus_assets.plans import named_snapshot, yanking
from corpus_assets.plans.datasheet import write_datasheet
from corpus_assets.plans.pull import pull
from corpus_assets.plans.push import push
from formats import evidence, ledger
from formats.errors import ConfigError, CorruptDataError, PublishedError, TransientError
from formats.layout import Layout
from formats.loader.data_loader import DataLoader
from formats.loader.settings import ReadSettings
from resources.remote.s3 import S3Store
from tests import faults, s3_server
from tests.commands import command_line
from tests.golden import make_release
from tests.plans.tampering import edit_manifest
from tests.s3_server import Fault, S3Server

KEY, TOKENS = make_release.KEY, make_release.TOKENS
NAME = str(KEY)
MANIFEST, LOCK = "corpus/tiny/v1/_MANIFEST.json", "corpus/tiny/v1.lock"
SHARDS = "corpus/tiny/v1/shard-0000{}-of-00003.parquet"


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server.running() as server:
        yield server


@pytest.fixture
def store(server: S3Server) -> S3Store:
    return s3_server.new_store(server)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Layout, str]:
    """A root with a version and a snapshot, as a release made them; tests read it, who writes takes a copy."""
    layout = make_release.copy(make_release.releases()[-1], tmp_path_factory.mktemp("push") / "root")
    return layout, named_snapshot.id_of(layout, str(TOKENS))


@pytest.fixture
def layout(built: tuple[Layout, str]) -> Layout:
    return built[0]


def copied(layout: Layout, root: Path) -> Layout:
    shutil.copytree(layout.root, root)
    return Layout(root)


def published(layout: Layout) -> dict[str, bytes]:
    """Every byte of the version below a root, but for what is of one machine."""
    folders = (layout.version(KEY), layout.evidence(KEY))
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.name[0] != "."]
    return {path.relative_to(layout.root).as_posix(): path.read_bytes() for path in (*files, layout.lock(KEY))}


def is_there(store: S3Store) -> bool:
    """Whether somebody who reads the store finds the version; what is found is whole."""
    if store.about(MANIFEST) is None:
        return False
    report = verify_store.verify(store, Layout(Path("/nowhere")), NAME)
    assert report.ok, list(report.lines())
    return True


def test_a_version_that_was_pushed_is_pulled_into_an_empty_folder_byte_for_byte(tmp_path, store, layout, capsys):
    done = push(store, layout, NAME)
    assert (done.put, done.found) == (len(published(layout)), 0)
    assert is_there(store)
    there = Layout(tmp_path / "other machine")
    pulled = pull(store, there, NAME)
    assert pulled.fetched == done.put - 1  # the lock is written once all is there
    assert published(there) == published(layout)
    assert command_line.run(verify, there.root, "verify", NAME) == 0
    assert there.config(KEY).read_bytes() == layout.config(KEY).read_bytes()
    rows = {row.source_id: row for row in ledger.read(layout.ledger)}
    assert ledger.read(there.ledger) == [rows[source] for source in ("tales", "web")]
    assert not (there.corpus / "work" / "pulled" / NAME).exists()
    again = pull(store, there, NAME)
    assert (again.fetched, again.taken_over) == (0, ())
    capsys.readouterr()


def test_after_a_pull_all_is_verified_and_traced_and_what_wants_more_says_so(tmp_path, store, layout, capsys):
    push(store, layout, NAME)
    there = Layout(tmp_path / "other machine")
    pull(store, there, NAME)
    assert not (there.corpus / "raw").exists()
    assert command_line.run(verify, there.root, "verify", NAME) == 0
    assert command_line.run(verify, there.root, "verify", NAME, "--deep") == 1
    assert f"{there.root}/evals/quiz.jsonl: eval set quiz is missing; put it there" in capsys.readouterr().out
    documents = [row for batch in evidence.read(there.evidence(KEY), "documents") for row in batch.to_pylist()]
    dropped = next(row for row in documents if row["verdict"] != "kept")
    capsys.readouterr()
    assert command_line.run(trace, there.root, "trace", dropped["id"]) == 0
    said = capsys.readouterr().out
    assert f"dropped: {dropped['verdict']}" in said
    assert "ledger row" in said
    assert f"the raw set of {dropped['id'].partition(':')[0]} is no longer below {there.root}" in said
    with pytest.raises(ConfigError, match=r"the raw set of .* is gone; build the version again"):
        command_line.run(dedup, there.root, "dedup", "sample", NAME, "--out", str(tmp_path / "page.html"))


def test_the_lock_is_put_first_the_manifest_last_and_both_under_a_condition(server, store, layout):
    push(store, layout, NAME)
    keys = [key.split("/", 2)[2] for key in server.puts()]
    assert keys[:2] == [LOCK, LOCK]  # the second one proves that the store refuses it
    assert keys[-1] == MANIFEST
    assert {one.condition for one in server.requests if one.method == "PUT"} == {"*"}
    assert not [one for one in server.requests if "list-type" in one.query or "prefix=" in one.query]


def test_pushed_again_nothing_is_sent_and_what_is_missing_is_sent_alone(server, store, layout):
    push(store, layout, NAME)
    server.requests.clear()
    assert push(store, layout, NAME).put == 0
    assert server.puts() == []
    gone = SHARDS.format(0)
    store.remove(gone)
    assert push(store, layout, NAME).put == 1
    assert [key.split("/", 2)[2] for key in server.puts()] == [gone]


@pytest.mark.parametrize("after", [0, 1, 2, 5, 11])
def test_killed_between_two_files_nobody_finds_it_and_a_rerun_finishes_it(store, layout, after):
    puts = iter(range(99))

    def say(_: str) -> None:
        if next(puts) == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        push(store, layout, NAME, say=say)
    assert not is_there(store)
    push(store, layout, NAME)
    assert is_there(store)


@pytest.mark.parametrize("fault", [{"drop": True}, {"status": 503}, {"lose_answer": True}], ids=str)
def test_whatever_breaks_on_the_way_it_is_there_in_the_end(server, store, layout, fault):
    server.faults += [Fault(lambda one: one.method == "PUT", after=after, **fault) for after in (0, 2, 4, 9)]
    server.faults.append(Fault(lambda one: one.path.endswith("_MANIFEST.json") and one.method == "PUT", **fault))
    push(store, layout, NAME)
    assert is_there(store)


def test_a_store_that_goes_away_leaves_it_unpublished_and_says_so(server, store, layout):
    server.faults.append(Fault(lambda one: one.method == "PUT", status=503, after=4, times=99))
    with pytest.raises(TransientError, match="given up after 4 tries, run it again"):
        push(store, layout, NAME)
    server.faults.clear()
    assert not is_there(store)


def test_two_at_once_publish_it_once(store, layout):
    with ThreadPoolExecutor(2) as threads:
        done = [one.result() for one in [threads.submit(push, store, layout, NAME) for _ in range(2)]]
    assert is_there(store)
    assert sum(one.put for one in done) == len(published(layout))


def with_other_bytes(layout: Layout, root: Path) -> Layout:
    """The same version, of another build."""
    other = copied(layout, root)

    def change(manifest: dict) -> None:
        manifest["filters"]["lang"] += 1

    edit_manifest(other, KEY, change)
    return other


def test_other_bytes_under_a_published_name_are_refused_before_anything_is_sent(tmp_path, server, store, layout):
    push(store, layout, NAME)
    server.requests.clear()
    with pytest.raises(PublishedError, match=r"is published there with other bytes.*corpus config new"):
        push(store, with_other_bytes(layout, tmp_path / "other"), NAME)
    assert server.puts() == []


def test_of_two_with_other_bytes_at_once_one_is_published_whole_and_the_other_refused(tmp_path, store, layout):
    both = [layout, with_other_bytes(layout, tmp_path / "other")]
    ready = threading.Barrier(2)

    def work(mine: Layout) -> str:
        ready.wait()
        try:
            push(store, mine, NAME)
        except PublishedError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(2) as threads:
        words = list(threads.map(work, both))
    assert sorted(map(bool, words)) == [False, True]
    assert is_there(store)
    assert store.read(LOCK) == both[words.index("")].lock(KEY).read_bytes()


def test_what_a_killed_publisher_of_other_bytes_left_is_named_and_replaced_when_told_to(tmp_path, store, layout):
    other = with_other_bytes(layout, tmp_path / "other")
    with pytest.raises(KeyboardInterrupt):
        push(store, other, NAME, say=raise_interrupt)
    with pytest.raises(PublishedError, match=f"or was killed.*corpus push {NAME} --replace-unfinished"):
        push(store, layout, NAME)
    push(store, layout, NAME, replace_unfinished=True)
    assert is_there(store)
    with pytest.raises(PublishedError, match="is published there with other bytes"):
        push(store, other, NAME, replace_unfinished=True)
    assert is_there(store)


def raise_interrupt(_: str) -> None:
    raise KeyboardInterrupt


def test_an_object_that_another_replaced_meanwhile_is_seen_before_the_manifest_is_put(store, layout):
    victim = "corpus/tiny/v1.evidence/counts.json"
    seal = "corpus/tiny/v1.evidence/_EVIDENCE.json"

    def meanwhile(name: str) -> None:
        if name == seal:
            store.replace(victim, b"another's")

    with pytest.raises(PublishedError, match=r"counts\.json: somebody is publishing"):
        push(store, layout, NAME, say=meanwhile)
    assert store.about(MANIFEST) is None


def test_a_store_that_holds_no_conditions_is_refused(server, store, layout):
    server.ignores_conditions = True
    with pytest.raises(ConfigError, match="does not hold If-None-Match"):
        push(store, layout, NAME)
    assert store.about(MANIFEST) is None


@pytest.mark.parametrize("missing", ["datasheet", "ngram_index"])
def test_a_version_whose_evidence_will_grow_is_not_published_yet(tmp_path, server, store, layout, missing):
    layout = copied(layout, tmp_path / "root")
    sealed = evidence.read_seal(layout.evidence(KEY))
    evidence.seal(layout.evidence(KEY), {name: one for name, one in sealed.items() if missing not in name})
    with pytest.raises(ConfigError, match=f"{missing} not made yet; `corpus build {NAME}`"):
        push(store, layout, NAME)
    assert server.requests == []


def test_a_damaged_file_here_is_not_published(tmp_path, store, layout):
    mine = copied(layout, tmp_path / "root")
    faults.flip_byte(mine.evidence(KEY) / "files.parquet", -1)
    with pytest.raises(CorruptDataError, match=r"files\.parquet: sha256 is"):
        push(store, mine, NAME)
    assert store.about(MANIFEST) is None


def test_a_datasheet_that_was_made_again_since_stays_here(tmp_path, server, store, layout):
    push(store, layout, NAME)
    mine = copied(layout, tmp_path / "root")
    sheet = mine.evidence(KEY) / "DATASHEET.md"
    sheet.write_text("of a later program")
    write_datasheet(mine, KEY)
    seal = mine.evidence(KEY) / "_EVIDENCE.json"
    seal.write_bytes(seal.read_bytes().replace(b"{", b"{ ", 1))
    server.requests.clear()
    done = push(store, mine, NAME)
    assert done.kept_evidence
    assert server.puts() == []
    assert is_there(store)


@pytest.mark.parametrize("name", [SHARDS.format(1), "corpus/tiny/v1.evidence/counts.json"])
@pytest.mark.parametrize("damage", ["changed", "removed"])
def test_a_damaged_object_is_found_by_verify_and_not_pulled(tmp_path, store, layout, name, damage):
    push(store, layout, NAME)
    store.remove(name)
    if damage == "changed":
        store.replace(name, b"x")
    report = verify_store.verify(store, layout, NAME)
    assert [problem.partition(": ")[0] for check in report.checks for problem in check.problems] == [store.url(name)]
    there = Layout(tmp_path / "other")
    with pytest.raises(CorruptDataError, match=Path(name).name):
        pull(store, there, NAME)
    assert not there.lock(KEY).exists()
    assert not there.version(KEY).exists()


def test_a_manifest_that_is_not_the_locks_is_found_by_verify(store, layout):
    push(store, layout, NAME)
    store.replace(MANIFEST, (layout.root / MANIFEST).read_bytes().replace(b'"lang": 0', b'"lang": 1'))
    assert not verify_store.verify(store, layout, NAME).ok


def test_a_version_that_is_not_finished_there_is_no_version(tmp_path, store, layout):
    with pytest.raises(ConfigError, match="is not published there; "):
        pull(store, Layout(tmp_path / "other"), NAME)
    push(store, layout, NAME)
    store.remove(MANIFEST)
    for ask in (pull, verify_store.verify):
        with pytest.raises(ConfigError, match="not published there yet"):
            ask(store, Layout(tmp_path / "other"), NAME)


def test_a_pull_that_was_stopped_goes_on(tmp_path, store, layout):
    push(store, layout, NAME)
    there = Layout(tmp_path / "other")
    calls = iter(range(99))

    def stop(_: str) -> None:
        if next(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(store, there, NAME, say=stop)
    assert not there.lock(KEY).exists()
    assert pull(store, there, NAME).found >= 3
    assert published(there) == published(layout)


def test_what_is_damaged_here_is_mended_by_a_pull(tmp_path, store, layout):
    push(store, layout, NAME)
    mine = copied(layout, tmp_path / "root")
    faults.flip_byte(mine.root / SHARDS.format(2), 0)
    (mine.evidence(KEY) / "files.parquet").unlink()
    assert pull(store, mine, NAME).fetched == 2
    assert published(mine) == published(layout)


def test_what_is_damaged_is_mended_on_a_file_system_without_links(tmp_path, store, layout, monkeypatch):
    def refuse(_: Path, name: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted", str(name))

    push(store, layout, NAME)
    mine = copied(layout, tmp_path / "root")
    faults.flip_byte(mine.root / SHARDS.format(2), 0)
    monkeypatch.setattr(os, "link", refuse)
    assert pull(store, mine, NAME).fetched == 1
    assert published(mine) == published(layout)


def test_a_version_of_other_bytes_here_is_not_replaced(tmp_path, store, layout):
    push(store, layout, NAME)
    mine = with_other_bytes(layout, tmp_path / "root")
    before = published(mine)
    with pytest.raises(PublishedError, match="is published here with manifest"):
        pull(store, mine, NAME)
    assert published(mine) == before


def sequences(root: str, snapshot_id: str, **settings: object) -> list[np.ndarray]:
    with DataLoader(
        root, snapshot_id, mixture={"tales": 1, "web": 1}, seed=3, dp_rank=0, dp_world=1,
        seq_len=16, batches=4, settings=ReadSettings(**settings),
    ) as loader:  # fmt: skip
        return [next(loader).tokens for _ in range(4)]


def test_the_loader_reads_the_snapshot_where_it_was_published(tmp_path, store, built):
    layout, snapshot_id = built
    push(store, layout, str(TOKENS))
    there = sequences(store.address.url, snapshot_id, cache_folder=tmp_path / "cache")
    here = sequences(str(layout.root), snapshot_id)
    assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))


@pytest.mark.parametrize("by", ["id", "token set"])
def test_a_snapshot_is_pulled_by_its_id_or_token_set_and_opens(tmp_path, store, built, by):
    layout, snapshot_id = built
    push(store, layout, str(TOKENS))
    assert verify_store.verify(store, layout, snapshot_id).ok
    there = Layout(tmp_path / "other")
    assert pull(store, there, snapshot_id if by == "id" else str(TOKENS)).of == snapshot_id
    assert command_line.run(verify, there.root, "verify", snapshot_id) == 0
    assert there.snapshot_lock(TOKENS).exists() == (by != "id")
    assert pull(store, there, snapshot_id).fetched == 0


def test_a_yank_goes_along_and_the_loader_refuses_it_there(tmp_path, store, built):
    layout = copied(built[0], tmp_path / "root")
    push(store, layout, built[1])
    yanking.set_mark(layout, built[1], "a source asked to be left out")
    push(store, layout, built[1])
    with pytest.raises(ConfigError, match="a source asked to be left out"):
        sequences(store.address.url, built[1], cache_folder=tmp_path / "cache")
    there = Layout(tmp_path / "other")
    pull(store, there, built[1])
    assert "a source asked" in str(yanking.of_snapshot(there, built[1]))


def test_who_pushes_or_pulls_what_is_yanked_is_told(tmp_path, store, built, monkeypatch, capsys):
    monkeypatch.setenv("CORPUS_STORE", store.address.url)
    layout, there = copied(built[0], tmp_path / "root"), tmp_path / "other"
    yanking.set_mark(layout, NAME, "a source asked to be left out")
    for name in (NAME, str(TOKENS)):  # the snapshot was made of the version
        for command, root in ((push_command, layout.root), (pull_command, there)):
            assert command_line.run(command, root, command.__name__.rsplit(".", 1)[1], name) == 0
            assert f"{NAME} was yanked on" in capsys.readouterr().err


def test_a_snapshot_that_nobody_pushed_is_told(store, layout):
    for name in (str(TOKENS), "sha256:" + "0" * 64):
        with pytest.raises(ConfigError, match="corpus push"):
            pull(store, layout, name)


def test_the_commands_say_what_they_did(tmp_path, store, layout, monkeypatch, capsys):
    monkeypatch.setenv("CORPUS_STORE", store.address.url)
    assert command_line.run(push_command, layout.root, "push", NAME) == 0
    assert f"{NAME} is published in {store.address.url}: " in capsys.readouterr().out
    assert command_line.run(pull_command, tmp_path / "other", "pull", NAME) == 0
    out = capsys.readouterr().out
    assert "19 files fetched" in out
    assert "taken over: ledger row" in out
    assert command_line.run(verify, tmp_path / "none", "verify", NAME, "--store") == 0
    assert f"{NAME}: every check passed" in capsys.readouterr().out
    store.remove("corpus/tiny/v1.evidence/counts.json")
    assert command_line.run(verify, tmp_path / "none", "verify", NAME, "--store", store.address.url, "--json") == 1
    with pytest.raises(ConfigError, match="--deep is for a version here"):
        command_line.run(verify, layout.root, "verify", NAME, "--store", "--deep")

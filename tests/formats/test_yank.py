"""A yank is a mark beside what it marks: read whole or refused, and only ever of the manifest that it names."""

import json
from pathlib import Path

import fsspec
import pytest

from formats import yank
from formats.errors import ConfigError, CorruptDataError, TransientError
from formats.loader.settings import ReadSettings
from formats.snapshot.manifest import ID_PREFIX
from tests.formats.loader.made_training import loader, made

DAY = "2026-11-30"
ALLOWED = ReadSettings(allow_yanked=True)


def digits(snapshot) -> str:
    return snapshot.snapshot_id.removeprefix(ID_PREFIX)


def mark(root: Path, snapshot) -> yank.Yank:
    path = yank.path_of_snapshot(root, snapshot.snapshot_id)
    return yank.write(path, snapshot.snapshot_id, digits(snapshot), "a defect", DAY)


def mark_version(root: Path, snapshot, digest: str | None = None) -> None:
    path = yank.places(root, snapshot)[1]
    yank.write(path, "a.b", digest or snapshot.document["corpus_manifest_sha256"], "no licence", DAY)


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "x.yanked.json"
    assert yank.write(path, "tiny.v1", "0" * 64, "why – ü", DAY) == yank.read(path)
    assert yank.read(tmp_path / "none.yanked.json") is None


def test_the_page_shows_what_is_written(tmp_path):
    page = (Path(yank.__file__).parent / "yank.md").read_text("utf-8")
    example = page.partition("```json\n")[2].partition("```")[0]
    shown = yank.parse(example.encode(), "yank.md")
    path = tmp_path / "x"
    yank.write(path, shown.of, shown.manifest_sha256, shown.reason, shown.yanked_on)
    assert path.read_text("utf-8") == example


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines"])
def test_a_reason_is_one_line_that_says_something(tmp_path, reason):
    with pytest.raises(ConfigError, match="reason"):
        yank.write(tmp_path / "x", "tiny.v1", "0" * 64, reason, DAY)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 2},
        {"manifest_sha256": "0"},
        {"reason": 7},
        {"yanked_on": "today"},
        {"more": 1},
    ],
)
def test_what_is_no_record_is_refused_and_not_taken_for_none(tmp_path, change):
    path = tmp_path / "x"
    yank.write(path, "tiny.v1", "0" * 64, "why", DAY)
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | change), "utf-8")
    with pytest.raises(CorruptDataError, match=next(iter(change))):
        yank.read(path)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff"])
def test_a_cut_record_is_refused(tmp_path, data):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(CorruptDataError, match="JSON"):
        yank.read(tmp_path / "x")


@pytest.mark.parametrize("marked", [mark, mark_version])
def test_the_loader_refuses_a_yanked_snapshot_unless_told_to_go_on(tmp_path, marked):
    snapshot = made(tmp_path)
    loader(tmp_path, snapshot).close()
    marked(tmp_path, snapshot)
    with pytest.raises(ConfigError, match=r"was yanked on 2026-11-30: .*ReadSettings\(allow_yanked=True\)") as raised:
        loader(tmp_path, snapshot)
    whose = "it" if marked is mark else "a.b"
    assert str(raised.value).startswith(f"snapshot {snapshot.snapshot_id}: {whose} was yanked on ")
    with loader(tmp_path, snapshot, settings=ALLOWED) as told:
        assert next(told).step == 0


def test_a_record_of_another_build_says_nothing(tmp_path):
    snapshot = made(tmp_path)
    mark_version(tmp_path, snapshot, "0" * 64)
    loader(tmp_path, snapshot).close()


def test_a_mark_that_cannot_be_read_stops_the_loader(tmp_path):
    snapshot = made(tmp_path)
    mark(tmp_path, snapshot)
    yank.path_of_snapshot(tmp_path, snapshot.snapshot_id).write_text("{", "utf-8")
    with pytest.raises(CorruptDataError, match="yank"):
        loader(tmp_path, snapshot)


@pytest.fixture
def store(tmp_path):
    """(URL of an object store with the snapshot, the snapshot, a put of a file into it)."""
    snapshot = made(tmp_path / "root")
    files = fsspec.filesystem("memory")
    url = f"memory://yank-{tmp_path.name}"
    files.put(str(tmp_path / "root" / "snapshots"), f"{url}/snapshots", recursive=True)
    yield url, snapshot, lambda path: files.put(str(path), f"{url}/{path.relative_to(tmp_path / 'root')}")
    files.rm(url, recursive=True)


@pytest.mark.parametrize("marked", [mark, mark_version])
def test_a_mark_in_a_store_is_seen_although_the_manifest_is_cached(tmp_path, store, marked):
    url, snapshot, put = store
    settings = ReadSettings(cache_folder=tmp_path / "cache", backoff_seconds=0)
    loader(url, snapshot, settings=settings).close()
    marked(tmp_path / "root", snapshot)
    for path in yank.places(tmp_path / "root", snapshot):
        if path.exists():
            put(path)
    with pytest.raises(ConfigError, match="yanked"):
        loader(url, snapshot, settings=settings)
    allowed = ReadSettings(cache_folder=tmp_path / "cache", backoff_seconds=0, allow_yanked=True)
    loader(url, snapshot, settings=allowed).close()


def test_a_store_that_does_not_answer_is_not_taken_for_one_without_marks(tmp_path, store, monkeypatch):
    from formats.loader import shard_files

    url, snapshot, _ = store
    settings = ReadSettings(cache_folder=tmp_path / "cache", backoff_seconds=0, max_tries=2)
    loader(url, snapshot, settings=settings).close()

    def gone(_: str):
        raise OSError("no route")

    monkeypatch.setattr(shard_files, "_opener", lambda _: gone)
    with pytest.raises(TransientError, match="2 tries failed"):
        loader(url, snapshot, settings=settings)


def test_the_setting_is_a_flag():
    with pytest.raises(ConfigError, match="allow_yanked"):
        ReadSettings(allow_yanked="yes")

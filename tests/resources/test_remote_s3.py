"""Objects of a real S3 server: put once, held to digests, asked again when the way there breaks."""

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from formats.errors import ConfigError, CorruptDataError, TransientError
from resources.remote.address import Address, named
from resources.remote.s3 import S3Store
from tests import s3_server
from tests.resources.download_helpers import sha256, some_bytes
from tests.s3_server import Fault, S3Server

PART = 5 * 1024 * 1024
"""The smallest part that S3 takes."""
SMALL, LARGE = some_bytes(100_000), some_bytes(PART + 1_000)


@pytest.fixture(scope="module")
def _server() -> Iterator[S3Server]:
    with s3_server.running() as server:
        yield server


@pytest.fixture
def server(_server: S3Server) -> Iterator[S3Server]:
    yield _server
    _server.faults.clear()


@pytest.fixture
def store(server: S3Server) -> S3Store:
    return s3_server.new_store(server, replace(s3_server.QUICK, part_bytes=PART))


def put(store: S3Store, folder: Path, content: bytes, name: str = "f") -> bool:
    path = folder / "local"
    path.write_bytes(content)
    return store.put_new(name, path, sha256(content))


@pytest.mark.parametrize("content", [b"", SMALL, LARGE], ids=["empty", "small", "in parts"])
def test_what_was_put_is_read_back_and_never_put_over(tmp_path, store, content):
    assert store.about("f") is None
    assert store.digest("f") is None
    assert put(store, tmp_path, content)
    assert store.about("f").num_bytes == len(content)
    assert store.about("f").sha256 == store.digest("f") == sha256(content)
    assert not put(store, tmp_path, b"another")
    assert not put(store, tmp_path, some_bytes(PART + 1, "other"))
    store.fetch("f", tmp_path / "back" / "f", sha256(content))
    assert (tmp_path / "back" / "f").read_bytes() == content


def test_a_name_that_may_change_is_replaced(store):
    assert store.put_new_bytes("pointer", b"a")
    assert not store.put_new_bytes("pointer", b"b")
    assert store.read("pointer") == b"a"
    store.replace("pointer", b"b")
    assert store.read("pointer") == b"b"
    store.remove("pointer")
    assert store.read("pointer") is None


@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "in parts"])
def test_a_local_file_that_changed_is_not_put(tmp_path, store, content):
    path = tmp_path / "local"
    path.write_bytes(content[:-1] + b"?")
    with pytest.raises(CorruptDataError, match="local: sha256 is"):
        store.put_new("f", path, sha256(content))
    assert store.about("f") is None


FAULTS = {
    "broken in the middle of an upload": {"drop": True},
    "told to slow down": {"status": 503},
    "an internal error": {"status": 500, "code": "InternalError"},
    "an answer that is lost": {"lose_answer": True},
    "another writer at the same time": {"status": 409, "code": "ConditionalRequestConflict"},
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "in parts"])
def test_an_upload_that_fails_is_tried_again_until_it_is_there(tmp_path, server, store, content, fault):
    server.faults.append(Fault(lambda request: request.method in ("PUT", "POST"), times=2, **fault))
    put(store, tmp_path, content)
    assert store.digest("f") == sha256(content)


@pytest.mark.parametrize("fault", [{"drop": True}, {"status": 503}, {"cut_answer": True}], ids=str)
def test_a_download_that_fails_is_tried_again_and_verified(tmp_path, server, store, fault):
    put(store, tmp_path, SMALL)
    server.faults.append(Fault(lambda request: request.method == "GET", times=2, **fault))
    store.fetch("f", tmp_path / "back", sha256(SMALL))
    assert (tmp_path / "back").read_bytes() == SMALL


@pytest.mark.parametrize("fault", [{"drop": True}, {"status": 503}], ids=str)
def test_a_store_that_stays_away_is_given_up_in_words_and_leaves_nothing(tmp_path, server, store, fault):
    put(store, tmp_path, SMALL)
    server.faults.append(Fault(lambda request: request.method == "GET", times=99, **fault))
    with pytest.raises(TransientError, match=r"s3://tales/team/.*/f: .*given up after 4 tries"):
        store.fetch("f", tmp_path / "back" / "f", sha256(SMALL))
    assert list((tmp_path / "back").iterdir()) == []


def test_of_two_that_put_at_once_one_does(tmp_path, store):
    done, names = [], [f"{i}" for i in range(8)]
    (tmp_path / "ours").write_bytes(SMALL)

    def work():
        done.extend((name, store.put_new(name, tmp_path / "ours", sha256(SMALL))) for name in names)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(name for name, put in done if put) == names


def test_an_object_with_other_bytes_is_not_taken_for_the_one_that_is_meant(tmp_path, store):
    put(store, tmp_path, SMALL)
    with pytest.raises(CorruptDataError, match=r"team/.*/f: sha256 is .*remove the object"):
        store.fetch("f", tmp_path / "back" / "f", hashlib.sha256(b"other").hexdigest())
    with pytest.raises(CorruptDataError, match="is missing"):
        store.fetch("g", tmp_path / "back" / "f", sha256(SMALL))
    assert list((tmp_path / "back").iterdir()) == []


@pytest.mark.parametrize("code", ["SignatureDoesNotMatch", "InvalidAccessKeyId", "AccessDenied", "ExpiredToken"])
def test_wrong_credentials_are_told_at_once_and_without_them(tmp_path, server, store, code):
    server.faults.append(Fault(lambda request: request.method == "PUT", status=403, code=code, times=99))
    with pytest.raises(ConfigError, match=rf"access is refused \({code}\); give .* credentials") as caught:
        put(store, tmp_path, SMALL)
    assert len(server.puts()) == 1
    hold_no_secret(caught.value)


def hold_no_secret(error: BaseException) -> None:
    """Neither the message nor what a traceback would show beside it."""
    assert error.__suppress_context__
    assert error.__cause__ is None
    assert s3_server.SECRET not in str(error)
    assert s3_server.KEY_ID not in str(error)


def test_missing_credentials_are_told(store, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(ConfigError, match="no credentials were found"):
        S3Store(store.address, store.settings).read("f")


def test_a_bucket_that_is_not_there_is_told(tmp_path, store):
    with pytest.raises(ConfigError, match="no such bucket"):
        put(S3Store(Address("no-such-bucket"), store.settings), tmp_path, SMALL)


def test_an_endpoint_with_a_password_is_not_shown(store, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://me:hunter2@127.0.0.1:9")
    with pytest.raises((ConfigError, TransientError)) as caught:
        S3Store(store.address, store.settings).read("f")
    hold_no_secret(caught.value)


def test_of_an_address_bucket_and_prefix_are_taken_and_nothing_else(monkeypatch):
    assert Address.parse("s3://corpora/team/a/").key("snapshots/x") == "team/a/snapshots/x"
    assert Address.parse("s3://corpora").key("f") == "f"
    for wrong in ("gs://b/p", "corpora", "s3://", "s3://B", "s3://me:hunter2@bucket/p", "s3://bucket/a?k=hunter2",
                  "s3://bucket/a//b", "s3://bucket/ä"):  # fmt: skip
        with pytest.raises(ConfigError, match="CORPUS_STORE") as caught:
            Address.parse(wrong)
        assert "hunter2" not in str(caught.value)
    monkeypatch.delenv("CORPUS_STORE", raising=False)
    with pytest.raises(ConfigError, match="no store is named; set CORPUS_STORE"):
        named()
    monkeypatch.setenv("CORPUS_STORE", "s3://corpora/a")
    assert named().url == "s3://corpora/a"
    assert named("s3://others").url == "s3://others"

"""Files of stores by fsspec: verified, cached, resumed and told of as those of HTTP. S3 and FTP servers are real ones
on this machine.
"""

import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from formats.errors import ConfigError, CorruptDataError, TransientError
from formats.ledger_urls import STORE_SCHEMES
from resources.download import stores
from resources.download.settings import FetchSettings
from resources.download.sources import Sources
from tests.resources.download_helpers import INTERVAL, Remembered, fetcher, names_in, sha256, some_bytes, wanted

CONTENT = some_bytes(5 * INTERVAL + 1_000)


class Store:
    """A store that a test writes into: url prefix, and the fsspec file system behind it."""

    def __init__(self, prefix: str, files) -> None:
        self.prefix, self.files = prefix, files

    def put(self, name: str, content: bytes) -> str:
        url = f"{self.prefix}/{name}"
        self.files.pipe_file(url, content)
        return url


@pytest.fixture(scope="module")
def s3_server() -> Iterator[str]:
    moto_server = pytest.importorskip("moto.server", reason="moto is not installed: pip install 'corpus-assets[dev]'")
    pytest.importorskip("s3fs", reason="s3fs is not installed: pip install 'corpus-assets[s3]'")
    server = moto_server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_server, monkeypatch) -> Store:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "made-up", "AWS_SECRET_ACCESS_KEY": "hunter2", "AWS_ENDPOINT_URL": s3_server,
        "AWS_DEFAULT_REGION": "us-east-1", "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    files = fsspec.filesystem("s3", skip_instance_cache=True)
    bucket = f"tales-{uuid.uuid4().hex[:8]}"
    files.mkdir(bucket)
    return Store(f"s3://{bucket}/a", files)


@pytest.fixture
def memory() -> Iterator[Store]:
    files = fsspec.filesystem("memory")
    yield Store(f"memory://{uuid.uuid4().hex}", files)
    files.store.clear()


@pytest.fixture
def ftp(tmp_path) -> Iterator[Store]:
    servers = pytest.importorskip("pyftpdlib.servers", reason="pyftpdlib is not installed")
    from pyftpdlib.authorizers import DummyAuthorizer
    from pyftpdlib.handlers import FTPHandler

    folder = tmp_path / "served"
    folder.mkdir()
    authorizer = DummyAuthorizer()
    authorizer.add_anonymous(str(folder))
    handler = type("Handler", (FTPHandler,), {"authorizer": authorizer})
    server = servers.ThreadedFTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"timeout": 0.05}, daemon=True)
    thread.start()

    class Files:
        def pipe_file(self, url: str, content: bytes) -> None:
            path = folder / url.split("/", 3)[3]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    yield Store(f"ftp://127.0.0.1:{server.address[1]}", Files())
    server.close_all()
    thread.join()


@pytest.fixture(params=["memory", "s3", "ftp"])
def store(request) -> Store:
    return request.getfixturevalue(request.param)


def test_a_file_is_fetched_verified_and_kept_and_never_asked_for_again(tmp_path, store):
    memory = Remembered()
    files = [
        wanted(store.put(name, CONTENT + name.encode()), CONTENT + name.encode()) for name in ("f 1.txt", "g", "h")
    ]
    files[0] = wanted(files[1].url, CONTENT + b"g")
    paths = fetcher(tmp_path / "cache", memory).fetch_all(files[1:])
    assert [path.read_bytes() for path in paths] == [CONTENT + b"g", CONTENT + b"h"]
    assert names_in(tmp_path / "cache") == {one.sha256 for one in files[1:]}
    assert f"{files[1].url} 0/{len(CONTENT) + 1}" in memory.files
    assert memory.events == []
    store.put("g", b"another")
    assert fetcher(tmp_path / "cache").fetch_all(files[1:2]) == paths[:1]
    assert [one.state for one in fetcher(tmp_path / "cache").plan(files)] == ["verified"] * 3


def test_an_empty_file_is_one(tmp_path, store):
    [path] = fetcher(tmp_path / "cache").fetch_all([wanted(store.put("f", b""), b"")])
    assert path.read_bytes() == b""


class Reads:
    """Counts the reads of a driver, and lets some of them fail; they count from 1."""

    def __init__(self, monkeypatch, failing=()) -> None:
        self.count = 0
        real = stores._read

        def read(file, max_bytes):
            self.count += 1
            if self.count in failing:
                raise OSError("the connection was reset by https://me:hunter2@e.org/?token=hunter3")
            return real(file, max_bytes)

        monkeypatch.setattr(stores, "_read", read)


def test_a_read_that_fails_is_tried_again_from_where_it_was(tmp_path, store, monkeypatch):
    url, memory = store.put("f", CONTENT), Remembered()
    reads = Reads(monkeypatch, {3, 4})
    [path] = fetcher(tmp_path / "cache", memory).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert len(memory.waits) == 2
    assert memory.said(f"{2 * INTERVAL} of {len(CONTENT)} bytes are here, try 2")
    assert not any("hunter" in event for event in memory.events)
    assert reads.count == 8  # six parts of the file, and two that failed


def test_another_process_goes_on_where_the_first_one_gave_up(tmp_path, store, monkeypatch):
    url, memory = store.put("f", CONTENT), Remembered()
    with monkeypatch.context() as broken:
        Reads(broken, range(4, 99))
        with pytest.raises(TransientError, match="given up after 2 tries"):
            fetcher(tmp_path / "cache", max_tries=2).fetch_all([wanted(url, CONTENT)])
    assert [one.verified_bytes for one in fetcher(tmp_path / "cache").plan([wanted(url, CONTENT)])] == [3 * INTERVAL]
    reads = Reads(monkeypatch)
    [path] = fetcher(tmp_path / "cache", memory).fetch_all([wanted(url, CONTENT)], resume_only=True)
    assert path.read_bytes() == CONTENT
    assert f"{url} {3 * INTERVAL}/{len(CONTENT)}" in memory.files
    assert reads.count == 3


def test_a_file_that_became_another_meanwhile_is_fetched_anew(tmp_path, store, monkeypatch):
    url, memory = store.put("f", some_bytes(len(CONTENT), "old")), Remembered()
    with monkeypatch.context() as broken:
        Reads(broken, range(4, 99))
        with pytest.raises(TransientError):
            fetcher(tmp_path / "cache", max_tries=1).fetch_all([wanted(url, CONTENT)])
    store.put("f", CONTENT)
    [path] = fetcher(tmp_path / "cache", memory).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    # Times of FTP are whole seconds, so there the change is seen by the digest alone.
    assert memory.said("the file changed on the server") or memory.said("fetched once more from zero")


def test_wrong_bytes_are_asked_for_once_more_and_then_lie_in_quarantine(tmp_path, store):
    url, memory = store.put("f", some_bytes(len(CONTENT), "other")), Remembered()
    with pytest.raises(CorruptDataError, match="sha256 is"):
        fetcher(tmp_path / "cache", memory).fetch_all([wanted(url, CONTENT)])
    assert memory.said("fetched once more from zero")
    assert [name.partition("/")[0] for name in names_in(tmp_path / "cache")] == ["quarantine"]


def test_another_length_is_an_error_before_a_byte(tmp_path, store):
    url = store.put("f", CONTENT[:-1])
    with pytest.raises(CorruptDataError, match="num_bytes"):
        fetcher(tmp_path / "cache").fetch_all([wanted(url, CONTENT)])


def test_a_missing_file_is_a_config_error_at_once(tmp_path, store):
    memory = Remembered()
    store.put("f", b"x")
    with pytest.raises(ConfigError, match="no such file in the store"):
        fetcher(tmp_path / "cache", memory).fetch_all([wanted(f"{store.prefix}/none", CONTENT)])
    assert memory.waits == []


def test_a_folder_is_named_as_one(tmp_path, memory):
    memory.put("sub/f", b"x")
    with pytest.raises(ConfigError, match="is a folder; name its files"):
        fetcher(tmp_path / "cache").fetch_all([wanted(f"{memory.prefix}/sub", CONTENT)])


def test_folders_and_patterns_of_a_store_are_its_files_in_order(store):
    urls = [store.put(name, b"x") for name in ("b/2.txt", "b/1.txt", "b/c/3.txt", "b/4.md")]
    with Sources(FetchSettings()) as sources:
        assert sources.files_below(f"{store.prefix}/b") == sorted(urls)
        assert sources.files_below(f"{store.prefix}/b/*.txt") == [urls[1], urls[0]]
        assert sources.files_below(f"{store.prefix}/**/*.txt") == [urls[1], urls[0], urls[2]]
        assert sources.files_below(urls[0]) == [urls[0]]
        assert sources.files_below(f"{store.prefix}/*.none") == []


@pytest.mark.parametrize(
    ("url", "missing", "todo"),
    [
        ("s3://bucket/f", "s3fs", r"pip install 'corpus-assets\[s3\]'"),
        ("sftp://e.org/f", "paramiko", "pip install paramiko"),
        ("gs://bucket/f", "gcsfs", "pip install gcsfs"),
        ("hf://datasets/a/b/f", "huggingface_hub", "pip install huggingface_hub"),
    ],
)
def test_a_driver_that_is_not_there_is_named_with_what_to_install_before_any_work(
    tmp_path, monkeypatch, url, missing, todo
):
    def importing(_):
        raise ImportError(f"No module named {missing!r}")

    monkeypatch.setattr(fsspec, "get_filesystem_class", importing)
    for call in (fetcher(tmp_path / "cache").fetch_all, fetcher(tmp_path / "cache").plan):
        with pytest.raises(
            ConfigError, match=f"driver of {url.partition(':')[0]}:// is not installed.*{missing}.*{todo}"
        ):
            call([wanted(url, CONTENT)])
    assert not (tmp_path / "cache").exists()


def test_every_scheme_of_the_ledger_has_a_driver_that_fsspec_knows():
    assert set(STORE_SCHEMES) <= set(fsspec.available_protocols())


def test_a_server_of_a_store_is_refused_where_its_address_is_private(tmp_path, ftp):
    url = ftp.put("f", CONTENT)
    with pytest.raises(ConfigError, match=r"host 127\.0\.0\.1 has the address 127\.0\.0\.1, which is not public"):
        fetcher(tmp_path / "cache", private_hosts=()).fetch_all([wanted(url, CONTENT)])


def test_missing_credentials_are_a_config_error_and_given_ones_are_never_shown(tmp_path, s3, monkeypatch):
    url = s3.put("f", CONTENT)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(ConfigError, match="credentials") as caught:
        fetcher(tmp_path / "cache").fetch_all([wanted(url, CONTENT)])
    assert "hunter2" not in str(caught.value)
    assert sha256(CONTENT) not in {path.name for path in Path(tmp_path / "cache").rglob("*")}

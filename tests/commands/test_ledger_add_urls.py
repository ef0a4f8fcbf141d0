"""`corpus ledger add` of addresses: read once, kept in the cache, refused in words where they cannot be fetched."""

from pathlib import Path

import fsspec
import pytest

from corpus_assets import cli
from corpus_assets.commands import fetch as fetch_command
from formats.errors import ConfigError, TransientError
from formats.layout import Layout
from tests.commands.command_line import run
from tests.commands.ledger_roots import TEXT, add, only_row, server, with_files
from tests.faults import small_files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return with_files(tmp_path / "root")


def test_a_signed_address_is_not_told_to_rename_a_file(root):
    with pytest.raises(ConfigError) as caught:
        add(root, "fables", "https://e.example/a.txt?sig=abcd")
    assert str(caught.value) == (
        "https://e.example/a.txt?sig=***: cannot stand in the ledger: holds a credential (field sig of its query), "
        "which would end up in the corpus; leave it out"
    )


@pytest.mark.parametrize("url", ["gopher://example.org/a.txt", "file:///a.txt", "FTP://x/y"])
def test_a_url_that_cannot_be_fetched_is_refused_as_such(root, url):
    with pytest.raises(ConfigError, match=r"cannot be fetched; give a url of http, https, s3, .*, or a path"):
        add(root, "fables", url)


def test_a_url_is_read_once_and_its_bytes_stay_in_the_cache(root):
    with server() as host:
        add(root, "fables", f"{host}/whole.txt")
    row, cache = only_row(root), Layout(root).cache
    assert (row.files[0].url, row.files[0].num_bytes) == (f"{host}/whole.txt", len(TEXT))
    assert [path.name for path in cache.iterdir()] == [row.files[0].sha256]
    assert (cache / row.files[0].sha256).read_bytes() == TEXT


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        (
            "cut.txt?raw",
            TransientError,
            r"/cut\.txt\?raw: the connection broke: it ended 14 bytes before the length it announced; run the",
        ),
        ("busy.txt", TransientError, r"/busy\.txt: status 503; run the command again"),
        ("none.txt", ConfigError, r"/none\.txt: the server answers 404"),
    ],
)
def test_a_url_that_does_not_come_whole_adds_nothing_and_is_told_in_words(root, name, error, words):
    with server() as host, pytest.raises(error, match=r"^http://127\.0\.0\.1:\d+" + words):
        add(root, "fables", root / "in" / "a.txt", f"{host}/{name}")
    assert not Layout(root).ledger.exists()
    assert list(Layout(root).cache.iterdir()) == []


def test_a_url_that_does_not_fit_on_the_disk_is_told_with_the_place(root, capsys):
    with server() as host, small_files(10):
        assert cli.main(["--root", str(root), "ledger", "add", "fables", f"{host}/whole.txt", "--license", "cc0-1.0"])
    said = capsys.readouterr().err
    assert f"corpus: {Layout(root).cache}/" in said
    assert "File too large; raise the largest size of a file" in said
    assert list(Layout(root).cache.iterdir()) == []


def test_a_credential_in_a_url_is_refused_and_not_repeated(root, capsys):
    for url in (
        "http://me:hunter2@127.0.0.1:1/a.txt",
        "http://127.0.0.1:1/a.txt?token=hunter2",
        "http://me:hunter2@e/a",
    ):
        assert cli.main(["--root", str(root), "ledger", "add", "fables", url, "--license", "CC0-1.0"]) == 2
    said = capsys.readouterr()
    assert "hunter2" not in said.out + said.err
    assert "user name or password" in said.err
    assert not Layout(root).ledger.exists()


def test_files_of_a_store_are_listed_measured_and_fetched_again_from_the_cache(root):
    store = fsspec.filesystem("memory")
    for name in ("b/2.txt", "b/1.txt"):
        store.pipe_file(f"memory://tales/{name}", TEXT + name.encode())
    add(root, "fables", "memory://tales/b")
    row = only_row(root)
    assert [file.url for file in row.files] == ["memory://tales/b/1.txt", "memory://tales/b/2.txt"]
    assert {path.name for path in Layout(root).cache.iterdir()} == {file.sha256 for file in row.files}
    store.rm("memory://tales", recursive=True)
    assert run(fetch_command, root, "fetch", "fables") == 0

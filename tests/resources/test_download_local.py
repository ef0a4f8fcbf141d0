"""Local files: verified where they are, copied only when the settings say so."""

import pytest

from formats.errors import ConfigError, CorruptDataError
from resources.download.wanted import Planned
from tests.fault_server import FaultServer
from tests.resources.download_helpers import fetcher, names_in, sha256, some_bytes, wanted

CONTENT = some_bytes(100_000)


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "books" / "a#1 ?.txt"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    return wanted("books/a#1 ?.txt", CONTENT, path)


def test_a_local_file_is_read_where_it_is_and_nothing_is_written(tmp_path, book):
    assert fetcher(tmp_path / "cache").fetch_all([book]) == [book.local_path]
    assert fetcher(tmp_path / "cache").plan([book]) == [Planned(book.name, "verified", 100_000, 100_000)]
    assert not (tmp_path / "cache").exists()


def test_a_changed_local_file_names_both_digests(tmp_path, book):
    changed = b"!" + CONTENT[1:]
    book.local_path.write_bytes(changed)
    for call in (fetcher(tmp_path / "cache").fetch_all, fetcher(tmp_path / "cache").plan):
        with pytest.raises(CorruptDataError, match="the file changed") as caught:
            call([book])
        assert (caught.value.expected, caught.value.found) == (sha256(CONTENT), sha256(changed))
    assert book.local_path.read_bytes() == changed


def test_a_wrong_length_in_the_ledger_is_told(tmp_path, book):
    wrong = type(book)(book.url, book.sha256, 5, book.local_path)
    with pytest.raises(CorruptDataError, match="num_bytes is 100000, expected 5"):
        fetcher(tmp_path / "cache").fetch_all([wrong])


def test_a_missing_local_file_stops_before_any_request(tmp_path, book):
    book.local_path.unlink()
    with FaultServer() as server, pytest.raises(ConfigError, match="is not a file"):
        fetcher(tmp_path / "cache").fetch_all([wanted(server.put("/f", b"x"), b"x"), book])
    assert server.requests == []


def test_with_copy_local_the_cache_has_a_copy_of_its_own(tmp_path, book):
    cache = tmp_path / "cache"
    assert fetcher(cache, copy_local=True).plan([book])[0].state == "planned"
    [path] = fetcher(cache, copy_local=True).fetch_all([book])
    assert path == cache / sha256(CONTENT)
    book.local_path.write_bytes(b"changed later")
    assert fetcher(cache, copy_local=True).fetch_all([book]) == [path]
    assert path.read_bytes() == CONTENT
    assert names_in(cache) == {path.name}


def test_a_changed_file_is_not_copied(tmp_path, book):
    book.local_path.write_bytes(b"changed")
    with pytest.raises(CorruptDataError, match="sha256"):
        fetcher(tmp_path / "cache", copy_local=True).fetch_all([book])
    assert names_in(tmp_path / "cache") == set()

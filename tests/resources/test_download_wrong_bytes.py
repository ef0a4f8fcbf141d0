"""A server, or a disk, that gives other bytes than those pinned: they are found, set aside and fetched again."""

import pytest

from formats.errors import ConfigError, CorruptDataError
from tests.fault_server import Answer, serving
from tests.resources.download_helpers import (
    CONTENT,
    INTERVAL,
    OTHER,
    Remembered,
    fetcher,
    give_up,
    names_in,
    sha256,
    wanted,
)


def test_a_wrong_checksum_is_quarantined_and_named(tmp_path):
    with serving(OTHER) as (server, url):
        with pytest.raises(CorruptDataError, match="sha256") as caught:
            fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
        assert (caught.value.expected, caught.value.found) == (sha256(CONTENT), sha256(OTHER))
        assert caught.value.path == url
    [name] = names_in(tmp_path)
    assert name == f"quarantine/{sha256(CONTENT)}.found-{sha256(OTHER)}"
    assert (tmp_path / name).read_bytes() == OTHER
    assert name in str(caught.value)
    assert len(server.requests) == 1


def test_a_wrong_file_that_was_guarded_is_not_downloaded_twice(tmp_path):
    with serving(OTHER, [Answer(drop_after=80_000)]) as (server, url), pytest.raises(CorruptDataError, match="sha256"):
        fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert server.sent == len(OTHER)


def test_a_folder_in_the_place_of_a_cached_file_is_named_and_left(tmp_path):
    (tmp_path / sha256(CONTENT) / "somebody's").mkdir(parents=True)
    with serving(CONTENT) as (_, url), pytest.raises(ConfigError, match=r"a folder lies where .* move it away") as told:
        fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert str(told.value).startswith(f"{tmp_path / sha256(CONTENT)}: ")
    assert (tmp_path / sha256(CONTENT) / "somebody's").is_dir()


def test_a_cached_file_that_went_bad_is_quarantined_and_fetched_again(tmp_path):
    memory = Remembered()
    with serving(CONTENT) as (_, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
        path.chmod(0o644)
        path.write_bytes(OTHER)
        assert fetcher(tmp_path).plan([wanted(url, CONTENT)])[0].state == "planned"
        [path] = fetcher(tmp_path, memory).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert (tmp_path / "quarantine" / f"{sha256(CONTENT)}.found-{sha256(OTHER)}").read_bytes() == OTHER
    assert memory.said(f"the cached file has sha256 {sha256(OTHER)}")


def test_another_length_is_refused_on_the_second_sight_without_taking_a_byte_of_the_body(tmp_path):
    longer = CONTENT + b"x"
    with serving(longer) as (server, url), pytest.raises(CorruptDataError, match="num_bytes") as caught:
        fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert (caught.value.expected, caught.value.found) == (len(CONTENT), len(longer))
    assert len(server.requests) == 2
    assert (tmp_path / f"{sha256(CONTENT)}.partial").stat().st_size == 0


def test_an_error_page_in_between_is_not_taken_for_the_file(tmp_path):
    page = Answer(content=b"<html>come back later</html>", etag='"page"')
    script = [Answer(drop_after=80_000), page, Answer(content=CONTENT, etag='"v1"')]
    with serving(CONTENT, script) as (server, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert [request.start for request in server.requests] == [0, 80_000, 80_000]


@pytest.mark.parametrize("length", ["chunked", "close"])
def test_a_body_that_goes_on_beyond_the_expected_size_is_stopped_at_once(tmp_path, length):
    with serving(CONTENT, [Answer(length=length, junk=b"!" * 1_000_000)]) as (server, url):
        with pytest.raises(CorruptDataError, match=f"more than {len(CONTENT)}"):
            fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
        assert len(server.requests) == 1
    assert names_in(tmp_path) == {f"quarantine/{sha256(CONTENT)}.found-{sha256(CONTENT)}"}


@pytest.mark.parametrize("announced", [len(CONTENT) - 100, len(CONTENT) + 100, 0])
def test_an_announced_length_that_is_not_true_costs_a_try(tmp_path, announced):
    with serving(CONTENT, [Answer(announced_length=announced)]) as (_, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    "bad",
    [
        Answer(shift=1),
        Answer(shift=-1000),
        Answer(leave_out=("Content-Range",)),
        Answer(headers={"Content-Range": "bytes 1-2/3"}),
        Answer(headers={"Content-Range": "bytes=80000-"}),
        Answer(headers={"Content-Range": f"bytes 80000-{len(CONTENT) - 1}/{len(CONTENT)}"}, ignore_range=True),
        Answer(headers={"Content-Range": "bytes " + "9" * 5000 + "-1/2"}),
        Answer(status=416),
        Answer(status=416, headers={"Content-Range": "bytes */10"}),
    ],
)
def test_a_range_that_was_not_asked_for_is_refused_and_the_whole_is_asked_for(tmp_path, bad):
    with serving(CONTENT, [Answer(drop_after=80_000), bad]) as (server, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert [request.start for request in server.requests] == [0, 80_000, 0]


def test_a_stored_gzip_file_is_kept_as_served(tmp_path):
    """Many servers say Content-Encoding of a file that simply is a .gz; its bytes are the file."""
    with serving(CONTENT, [Answer(headers={"Content-Encoding": "gzip"})]) as (_, url):
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("at", "left"),
    [(100_000, 100_000), (99_999, INTERVAL), (INTERVAL, INTERVAL), (INTERVAL - 1, 0), (0, 0)],
)
def test_a_flipped_byte_falls_back_to_the_previous_pair_or_to_zero(tmp_path, at, left):
    part = tmp_path / f"{sha256(CONTENT)}.partial"
    with serving(CONTENT, [Answer(drop_after=100_000)]) as (server, url):
        give_up(tmp_path, url, CONTENT)
        data = bytearray(part.read_bytes() + b"\0")
        data[at] ^= 1
        part.write_bytes(data)
        [path] = fetcher(tmp_path).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert server.requests[1].start == left


def test_a_byte_the_disk_changes_during_the_fetch_is_found_before_the_file_gets_its_name(tmp_path):
    part, memory = tmp_path / f"{sha256(CONTENT)}.partial", Remembered()

    def flip_a_byte(_: float) -> None:
        data = bytearray(part.read_bytes())
        data[10] ^= 1
        part.write_bytes(data)

    memory.wait = flip_a_byte
    with serving(CONTENT, [Answer(drop_after=100_000)]) as (server, url):
        [path] = fetcher(tmp_path, memory).fetch_all([wanted(url, CONTENT)])
    assert path.read_bytes() == CONTENT
    assert memory.said("the disk gave back sha256")
    assert [request.start for request in server.requests] == [0, 100_000, 0]

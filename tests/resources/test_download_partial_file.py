"""A file under way: what is on disk at each moment, and what a start makes of it."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import partial
from formats.partial import START, Checkpoint, Pair
from resources.download.partial_file import PartialFile, Validators, has_checkpoint, survey
from tests.resources.download_helpers import sha256, some_bytes

URL = "https://example.org/f"
CONTENT = some_bytes(1000)


def pair(num_bytes: int, content: bytes = CONTENT) -> Pair:
    return Pair(num_bytes, sha256(content[:num_bytes]))


def under_way(path, on_disk: bytes, new: Pair, previous: Pair, size: int = 1000) -> None:
    path.write_bytes(on_disk)
    checkpoint = Checkpoint("partial", 1, URL, '"v1"', None, True, size, *vars(new).values(), previous)
    partial.write(partial.path_of(path), checkpoint)


@given(
    previous=st.integers(0, 998),
    new=st.integers(1, 1000),
    size=st.integers(0, 1200),
    flip=st.none() | st.integers(0, 1199),
)
def test_the_longest_pair_that_fits_the_disk_is_taken(tmp_path_factory, previous, new, size, flip):
    previous = min(previous, new - 1)
    on_disk = bytearray((CONTENT + b"\0" * 200)[:size])
    if flip is not None and flip < size:
        on_disk[flip] ^= 1
    else:
        flip = size
    path = tmp_path_factory.mktemp("part") / "x.partial"
    under_way(path, bytes(on_disk), pair(new), pair(previous))
    right = min(flip, size, 1000)  # so many bytes are right
    expected = next((one for one in (new, previous) if one <= right), 0)
    found = survey(path, URL, 1000)
    assert found.pair == pair(expected)
    assert found.hasher.hexdigest() == sha256(CONTENT[:expected])
    assert (found.words is None) == (expected == new)
    assert path.read_bytes() == bytes(on_disk)  # looking changes nothing


@pytest.mark.parametrize("size", [999, 1001])
def test_a_checkpoint_of_another_size_is_not_used(tmp_path, size):
    under_way(tmp_path / "x.partial", CONTENT[:500], pair(500), pair(300))
    assert survey(tmp_path / "x.partial", URL, size).pair == START


def test_validators_hold_for_their_own_address_only(tmp_path):
    under_way(tmp_path / "x.partial", CONTENT[:500], pair(500), pair(300))
    same, other = (survey(tmp_path / "x.partial", url, 1000) for url in (URL, URL + "?mirror=1"))
    assert (same.pair, same.validators, same.guarded) == (pair(500), Validators('"v1"'), True)
    assert (other.pair, other.validators, other.guarded) == (pair(500), Validators(), False)


def test_a_quick_look_says_whether_there_is_something_to_go_on_from(tmp_path):
    path = tmp_path / "x.partial"
    assert not has_checkpoint(path)
    under_way(path, CONTENT[:400], pair(500), pair(300))
    assert has_checkpoint(path)
    path.write_bytes(CONTENT[:299])
    assert not has_checkpoint(path)
    path.unlink()
    assert not has_checkpoint(path)


def test_each_checkpoint_is_on_disk_before_the_bytes_it_covers(tmp_path, monkeypatch):
    path, seen, real = tmp_path / "x.partial", [], os.write

    def write(fd, data):
        seen.append((partial.read(partial.path_of(path)).verified_bytes, path.stat().st_size))
        return real(fd, data)

    monkeypatch.setattr(os, "write", write)
    with PartialFile(path, URL, 1000, 300, survey(path, URL, 1000)) as file:
        while not file.whole:
            file.add(CONTENT[file.position :][: file.room])
    assert seen == [(300, 0), (600, 300), (900, 600), (1000, 900)]
    assert partial.read(partial.path_of(path)).previous == pair(900)


def test_only_whole_intervals_reach_the_disk_until_the_file_is_left(tmp_path):
    path = tmp_path / "x.partial"
    with PartialFile(path, URL, 1000, 300, survey(path, URL, 1000)) as file:
        file.add(CONTENT[:250])
        assert (file.position, path.stat().st_size) == (250, 0)
        file.add(CONTENT[250:300])
        file.add(CONTENT[300:333])
        assert (file.position, path.stat().st_size) == (333, 300)
    assert path.read_bytes() == CONTENT[:333]
    assert survey(path, URL, 1000).pair == pair(333)


def test_a_failing_disk_leaves_what_the_last_checkpoint_says(tmp_path, monkeypatch):
    path, real = tmp_path / "x.partial", os.write
    file = PartialFile(path, URL, 1000, 300, survey(path, URL, 1000))

    def write(fd, data):
        real(fd, data[:100])
        raise OSError(28, "No space left on device")

    file.add(CONTENT[:300])
    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space"), file:
        file.add(CONTENT[300:600])
    assert path.stat().st_size == 400
    assert survey(path, URL, 1000).pair == pair(300)


def test_more_than_there_is_room_for_is_refused(tmp_path):
    path = tmp_path / "x.partial"
    with PartialFile(path, URL, 100, 300, survey(path, URL, 100)) as file, pytest.raises(ValueError, match="room for"):
        file.add(CONTENT[:101])


def test_starting_over_forgets_bytes_checkpoint_and_validators(tmp_path):
    path = tmp_path / "x.partial"
    with PartialFile(path, URL, 1000, 300, survey(path, URL, 1000)) as file:
        file.validators = Validators('"v1"')
        file.add(CONTENT[:300])
        file.guarded = False
        file.restart()
        assert (file.position, file.validators, file.guarded) == (0, Validators(), True)
    assert path.read_bytes() == b""
    assert not partial.path_of(path).exists()

"""Whole-or-nothing writes, folder swaps that a kill cannot halve, and locks."""

import fcntl
import hashlib
import os
from pathlib import Path

import pytest

from formats import durable
from formats.errors import CorruptDataError


def folder(path: Path, content: str) -> Path:
    path.mkdir()
    (path / "file").write_text(content)
    return path


def state(parent: Path) -> dict[str, str]:
    return {str(path.relative_to(parent)): path.read_text() for path in sorted(parent.rglob("*")) if path.is_file()}


def test_a_file_is_written_whole_with_the_folders_it_needs(tmp_path):
    durable.write_file(tmp_path / "a" / "b" / "file", b"one")
    durable.write_file(tmp_path / "a" / "b" / "file", b"two")
    assert state(tmp_path) == {"a/b/file": "two"}
    assert durable.sha256_of(tmp_path / "a" / "b" / "file") == hashlib.sha256(b"two").hexdigest()


def test_a_failed_write_leaves_the_old_file_and_no_scraps(tmp_path, monkeypatch):
    durable.write_file(tmp_path / "file", b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="space"):
        durable.write_file(tmp_path / "file", b"new")
    assert state(tmp_path) == {"file": "old"}


def test_the_first_error_of_a_write_is_raised_with_its_path_also_where_nothing_can_be_removed(tmp_path, monkeypatch):
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    def read_only(self: Path, **_: bool) -> None:
        raise OSError(30, "Read-only file system", str(self))

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(Path, "unlink", read_only)
    with pytest.raises(OSError, match="No space left") as raised:
        durable.write_file(tmp_path / "file", b"new")
    assert raised.value.filename == str(tmp_path / "file")


def test_a_hashed_file_knows_what_it_was_given_and_not_what_lies_there(tmp_path):
    with durable.HashedFile(tmp_path / "file") as file:
        assert file.write(b"one ") == 4
        file.sync()
        (tmp_path / "file").write_bytes(b"two ")
        file.write(memoryview(b"three"))
    assert (tmp_path / "file").read_bytes() == b"two three"
    assert (file.num_bytes, file.sha256) == (9, hashlib.sha256(b"one three").hexdigest())


@pytest.mark.parametrize("call", ["fsync", "flock"])
def test_what_the_system_refuses_by_number_alone_is_told_with_its_path(tmp_path, monkeypatch, call):
    def refused(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr({"fsync": os, "flock": fcntl}[call], call, refused)
    with pytest.raises(OSError, match="No space left") as raised, durable.one_at_a_time(tmp_path / "place"):
        durable.fsync_folder(tmp_path / "place")
    assert raised.value.filename == str(tmp_path / "place")


def test_who_looks_at_a_lock_is_no_holder_for_who_looks_too(tmp_path):
    with durable.one_at_a_time(tmp_path / "lock"):
        assert durable.is_held(tmp_path / "lock")
    with open(tmp_path / "lock", "rb") as looks:
        fcntl.flock(looks, fcntl.LOCK_SH)
        assert not durable.is_held(tmp_path / "lock")


def test_a_lock_is_taken_although_somebody_looks_at_it_at_that_moment(tmp_path, monkeypatch):
    (tmp_path / "lock").touch()
    looks, locked = open(tmp_path / "lock", "rb"), fcntl.flock  # noqa: SIM115  closed when it has been seen
    locked(looks, fcntl.LOCK_SH)

    def seen(file: object, kind: int) -> None:
        try:
            locked(file, kind)
        finally:
            looks.close()

    monkeypatch.setattr(fcntl, "flock", seen)
    with open(tmp_path / "lock", "ab") as file, open(tmp_path / "lock", "ab") as other:
        assert durable.took(file)
        assert not durable.took(other)
        assert durable.is_held(tmp_path / "lock")


def test_a_path_that_an_error_names_already_stays(tmp_path):
    with pytest.raises(FileNotFoundError) as raised, durable.naming(tmp_path):
        (tmp_path / "gone").read_bytes()
    assert raised.value.filename == str(tmp_path / "gone")


def test_a_swap_puts_the_new_folder_in_place_of_the_old(tmp_path):
    durable.swap_folder(folder(tmp_path / "c.tmp", "first"), tmp_path / "c")
    assert state(tmp_path) == {"c/file": "first"}
    folder(tmp_path / "c.old", "left by a kill")
    durable.swap_folder(folder(tmp_path / "c.tmp", "second"), tmp_path / "c")
    assert state(tmp_path) == {"c/file": "second"}
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize(
    ("left", "restored"),
    [
        ({}, {}),
        ({"c": "old"}, {"c/file": "old"}),
        ({"c": "old", "c.tmp": "half"}, {"c/file": "old"}),
        ({"c.old": "old", "c.tmp": "new"}, {"c/file": "old"}),  # killed between the two renames
        ({"c.old": "old"}, {"c/file": "old"}),
        ({"c": "new", "c.old": "old"}, {"c/file": "new"}),  # killed before the old one was deleted
        ({"c.tmp": "half"}, {}),
    ],
)
def test_whatever_a_kill_left_is_put_right(tmp_path, left, restored):
    for name, content in left.items():
        folder(tmp_path / name, content)
    durable.restore_folder(tmp_path / "c")
    assert state(tmp_path) == restored
    assert {path.name for path in tmp_path.iterdir()} == ({"c"} if restored else set())
    durable.restore_folder(tmp_path / "c")
    assert state(tmp_path) == restored


def test_a_lock_is_64_hex_digits_and_a_newline(tmp_path):
    (tmp_path / "set").write_bytes(b"data")
    digest = durable.write_lock(tmp_path / "set.lock", tmp_path / "set")
    assert (tmp_path / "set.lock").read_bytes() == hashlib.sha256(b"data").hexdigest().encode() + b"\n"
    assert durable.check_lock(tmp_path / "set.lock", tmp_path / "set") == digest
    assert durable.read_lock(tmp_path / "set.lock") == digest


DIGEST = hashlib.sha256(b"data").hexdigest()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        DIGEST.encode(),
        DIGEST.upper().encode() + b"\n",
        DIGEST.encode() + b"\r\n",
        DIGEST.encode() + b"\n\n",
        b" " + DIGEST.encode() + b"\n",
        DIGEST.encode() + b"  set\n",
        b"\xff" * 64 + b"\n",
    ],
)
def test_anything_else_is_no_lock(tmp_path, data):
    (tmp_path / "set").write_bytes(b"data")
    (tmp_path / "set.lock").write_bytes(data)
    with pytest.raises(CorruptDataError, match="lock is"):
        durable.check_lock(tmp_path / "set.lock", tmp_path / "set")


def test_a_lock_tells_missing_and_changed_files_apart(tmp_path):
    with pytest.raises(CorruptDataError, match="lock is missing"):
        durable.check_lock(tmp_path / "set.lock", tmp_path / "set")
    (tmp_path / "set").write_bytes(b"data")
    durable.write_lock(tmp_path / "set.lock", tmp_path / "set")
    (tmp_path / "set").write_bytes(b"Data")
    with pytest.raises(CorruptDataError, match=f"expected {DIGEST}"):
        durable.check_lock(tmp_path / "set.lock", tmp_path / "set")
    (tmp_path / "set").unlink()
    with pytest.raises(CorruptDataError, match="file is missing"):
        durable.check_lock(tmp_path / "set.lock", tmp_path / "set")


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    path, other = tmp_path / "v1.lock", tmp_path / "v11.lock"
    durable.write_file(path, b"1")
    durable.write_file(other, b"2")
    for name in (".v1.lock.ab12cd34.tmp", ".v1.lock.00000000.tmp", ".v11.lock.ab12cd34.tmp"):
        (tmp_path / name).write_bytes(b"half")
    durable.remove_unfinished(path)
    assert sorted(one.name for one in tmp_path.iterdir()) == [".v11.lock.ab12cd34.tmp", "v1.lock", "v11.lock"]


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'{"a": ["\\ud800"]}',
        b'{"\\udc00": 1}',
        b"[" * 100_000,
        '"a"'.encode("utf-16"),
    ],
)
def test_what_is_no_json_or_has_half_a_surrogate_pair_is_refused_by_name(tmp_path, data):
    """Half a pair cannot be written again, and has no digest to hold it against."""
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(CorruptDataError, match="JSON in UTF-8"):
        durable.json_of(tmp_path / "f")


def test_escapes_of_whole_characters_are_read(tmp_path):
    (tmp_path / "f").write_bytes(b'["\\u00e9\\ud83e\\udd8a", "\\\\u"]')
    assert durable.json_of(tmp_path / "f") == ["é🦊", "\\u"]


def test_json_that_is_nested_too_deeply_is_refused_in_words(tmp_path):
    (tmp_path / "f").write_bytes(b"[" * 100_000)
    with pytest.raises(CorruptDataError, match="nested too deeply") as raised:
        durable.json_of(tmp_path / "f")
    assert "recursion depth" not in str(raised.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{'a': 1}", "no JSON: line 1, column 2: expecting property name"),
        (b'{"a": "\xff"}', "no UTF-8: byte 7 is 0xff"),
        (b'"\\ud800"', "no text: it has half a surrogate pair"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_is_told_in_plain_words(tmp_path, data, words):
    (tmp_path / "one.json").write_bytes(data)
    with pytest.raises(CorruptDataError, match=f"content is {words}"):
        durable.json_of(tmp_path / "one.json")


def test_where_lock_and_file_disagree_the_words_for_it_are_told_and_for_a_missing_file_those_of_the_reader(tmp_path):
    (tmp_path / "set").write_bytes(b"data")
    (tmp_path / "set.lock").write_text("0" * 64 + "\n")
    with pytest.raises(CorruptDataError, match=r"it disagrees with set\.lock; look at both"):
        durable.check_lock(tmp_path / "set.lock", tmp_path / "set", "get it", disagree="look at both")
    (tmp_path / "set").unlink()
    with pytest.raises(CorruptDataError, match="; get it"):
        durable.check_lock(tmp_path / "set.lock", tmp_path / "set", "get it", disagree="look at both")

"""Raw sets as they are written: parts and rejects cut by their bytes, and what is lost on the way is missed."""

import os
from pathlib import Path

import pytest
import zstandard

from formats import durable, raw_set, raw_set_rows, raw_set_writer
from formats.errors import CorruptDataError
from formats.raw_set_writer import RawSetWriter
from tests.formats.made_raw_sets import EXTRACTOR, LINES, rows, write


def test_a_line_is_these_bytes(tmp_path):
    write(tmp_path, LINES[:1])
    line = zstandard.ZstdDecompressor().decompress((tmp_path / "part-00000.jsonl.zst").read_bytes())
    assert line == (
        b'{"url":"tales.jsonl#0","fetched_at":"2026-01-02T00:00:00Z","license_spdx":"CC0-1.0",'
        b'"text":"Tom has a red ball."}\n'
    )


def test_equal_documents_give_equal_bytes(tmp_path):
    a, b = write(tmp_path / "a"), write(tmp_path / "b")
    assert a.digest == b.digest
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_a_part_is_cut_before_the_line_that_does_not_fit(tmp_path, monkeypatch):
    monkeypatch.setattr(raw_set_writer, "PART_BYTES", 400)
    texts = ["a" * 100, "b" * 100, "c" * 900, "d", "e"]
    raw = write(tmp_path, [(f"u#{i}", "2026-01-02T00:00:00Z", "CC0-1.0", text) for i, text in enumerate(texts)])
    assert [part.rows for part in raw.parts] == [2, 1, 2]
    assert [raw.first_k(i) for i in range(3)] == [0, 2, 3]
    assert [row[3] for row in rows(raw)] == texts


def test_rejects_of_many_frames_are_all_read(tmp_path, monkeypatch):
    monkeypatch.setattr(raw_set_writer, "REJECTS_FRAME_BYTES", 100)
    rejects = [(f"u#{i}", i, "broken_json") for i in range(20)]
    raw = write(tmp_path, rejects=rejects)
    assert [tuple(row.values()) for row in raw_set_rows.read_rejects(raw)] == rejects


def test_rejects_that_do_not_fit_on_the_disk_are_named(tmp_path, monkeypatch):
    writer = RawSetWriter(tmp_path, "tales", "ab" * 32, EXTRACTOR)
    writer.add_reject("tales.jsonl#1", 1, "broken_json")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as raised:
        writer.finish()
    assert raised.value.filename == str(tmp_path / raw_set.REJECTS)


def test_rejects_that_are_lost_before_the_manifest_is_written_are_missed(tmp_path, monkeypatch):
    monkeypatch.setattr(raw_set_writer, "REJECTS_FRAME_BYTES", 50)
    writer = RawSetWriter(tmp_path, "tales", "ab" * 32, EXTRACTOR)
    for i in range(20):
        writer.add_reject(f"u#{i}", i, "broken_json")
    (tmp_path / raw_set.REJECTS).write_bytes(b"")
    writer.finish()
    with pytest.raises(CorruptDataError, match=r"rejects\.jsonl\.zst: length"):
        list(raw_set_rows.read_rejects(raw_set.open_set(tmp_path)))


def test_a_manifest_that_changes_before_it_is_locked_is_refused(tmp_path, monkeypatch):
    def write_and_damage(path: Path, data: bytes) -> None:
        whole(path, data.replace(b'"records": 4', b'"records": 3') if path.name == raw_set.MANIFEST else data)

    whole = durable.write_file
    monkeypatch.setattr(durable, "write_file", write_and_damage)
    with pytest.raises(CorruptDataError, match=r"manifest\.json: sha256"):
        write(tmp_path)


@pytest.mark.parametrize("value", range(4))
def test_a_lone_surrogate_is_refused_and_nothing_is_added(tmp_path, value):
    writer = RawSetWriter(tmp_path, "tales", "ab" * 32, EXTRACTOR)
    document = list(LINES[0])
    document[value] += "\ud800"
    with pytest.raises(UnicodeEncodeError):
        writer.add_document(*document)
    assert writer.end_file("f", "cd" * 32, 1, 1, 0).documents == 0


def test_a_record_that_is_neither_a_document_nor_a_reject_is_an_error_of_its_file(tmp_path):
    writer = RawSetWriter(tmp_path, "tales", "ab" * 32, EXTRACTOR)
    writer.add_document(*LINES[0])
    with pytest.raises(CorruptDataError, match=r"tales.jsonl: records is 1 documents and 0 rejects, expected 2"):
        writer.end_file("tales.jsonl", "cd" * 32, 120, 400, 2)

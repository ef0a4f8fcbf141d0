"""Rows of a raw set: what its parts say, as they were written; a malformed line is named by part and line."""

import pyarrow as pa
import pytest
import zstandard

from formats import raw_set_rows
from formats.errors import CorruptDataError
from formats.stage_tables import RAW
from tests.formats.made_raw_sets import packed, replace_part, rows, write


def test_batches_count_lines_over_block_bounds_and_keep_the_schema(tmp_path, monkeypatch):
    monkeypatch.setattr(raw_set_rows, "_BLOCK_BYTES", 150)
    texts = [chr(97 + i) * (i * 37 % 290) for i in range(26)]
    raw = write(tmp_path, [("u", "2026-01-02T00:00:00Z", "MIT", text) for text in texts])
    batches = list(raw_set_rows.read_part(raw.parts[0], batch_rows=3))
    assert all(batch.schema == RAW and batch.num_rows <= 3 for batch in batches)
    table = pa.Table.from_batches(batches)
    assert table["raw_line"].to_pylist() == list(range(26))
    assert table["text"].to_pylist() == texts
    chosen = pa.Table.from_batches(raw_set_rows.read_part(raw.parts[0], columns=["text", "raw_line"]))
    assert chosen == table.select(["text", "raw_line"])


GOOD = '{"url":"u","fetched_at":"2026-01-02T00:00:00Z","license_spdx":"MIT","text":"t"}'


@pytest.mark.parametrize(
    "bad",
    [
        GOOD[:-1],
        GOOD + GOOD,
        GOOD.replace('"t"', "5"),
        GOOD.replace('"t"', "null"),
        GOOD.replace('"t"', '"\\ud800"'),
        GOOD.replace(',"text":"t"', ""),
        GOOD.replace('"text"', '"words"'),
        GOOD[:-1] + ',"more":"x"}',
        GOOD.replace('"t"', '"\x01"'),
        GOOD.encode().replace(b'"t"', b'"\xff"'),
        "[]",
        "null",
        "",
    ],
)
def test_a_malformed_line_is_named_by_part_and_line(tmp_path, bad):
    write(tmp_path)
    raw = replace_part(tmp_path, packed(GOOD, GOOD, bad, GOOD), 4)
    with pytest.raises(CorruptDataError, match=r"part-00000\.jsonl\.zst: lines? (from )?[02]"):
        rows(raw)


@pytest.mark.parametrize("text", ["null\n", "null", "\nnull", "null\nnull"])
def test_a_part_of_nothing_but_null_is_refused_and_takes_no_process_down(tmp_path, text):
    write(tmp_path)
    raw = replace_part(tmp_path, zstandard.compress(text.encode()), 1)
    with pytest.raises(CorruptDataError, match=r"part-00000\.jsonl\.zst: line 0"):
        rows(raw)


def test_a_last_line_without_its_end_is_refused(tmp_path):
    write(tmp_path)
    raw = replace_part(tmp_path, zstandard.compress(f"{GOOD}\n{GOOD}".encode()), 2)
    with pytest.raises(CorruptDataError, match="0 line ends, 1 lines that begin an object"):
        rows(raw)


def test_an_object_over_two_lines_does_not_make_up_for_two_on_one(tmp_path):
    write(tmp_path)
    first, second = GOOD.split(",", 1)
    raw = replace_part(tmp_path, packed(GOOD + GOOD, first + ",", second), 3)
    with pytest.raises(CorruptDataError):
        rows(raw)


@pytest.mark.parametrize("documents", [1, 3])
def test_fewer_or_more_lines_than_the_manifest_says_are_an_error(tmp_path, documents):
    write(tmp_path)
    raw = replace_part(tmp_path, packed(GOOD, GOOD), documents)
    with pytest.raises(CorruptDataError, match="documents is 2"):
        rows(raw)


def test_a_part_of_two_frames_is_refused_not_half_read(tmp_path):
    write(tmp_path)
    raw = replace_part(tmp_path, packed(GOOD) + packed(GOOD), 1)
    with pytest.raises(CorruptDataError, match="one zstd frame"):
        rows(raw)

"""An index is read as it was written, in unchanged bytes, and anything else is refused by name."""

import hashlib
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from formats import canonical, ngram_index
from formats.dataset import DEFAULT_ROW_GROUP_BYTES
from formats.errors import CorruptDataError, SchemaMismatchError
from formats.ngram_index import FILTER, NAME_ON_DISK, POSTINGS, Head, Part, WordTables, part_of, read
from tests import faults

RATE, NUM_PARTS = 3, 4
GOLDEN = "d6b0b63f979f84c8df9fdc626948266896d099facc65e25deb4c3d2cb199ce70"


def hashes(n=40):
    """Hashes of the rate, spread over all 64 bits, as the index holds them."""
    unsigned = [i * 0x0B4711C0FFEE1234 % (1 << 64) // RATE * RATE for i in range(1, n + 1)]
    return sorted(u - (1 << 64) if u >> 63 else u for u in unsigned)


def rows(values):
    return [(value, f"web:{i % 7}", i * 5, 60 + i % 3) for i, value in enumerate(values)]


def batch(some):
    columns = [pa.array(column, field.type) for column, field in zip(zip(*some, strict=True), POSTINGS, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=POSTINGS)


def head_of(parts, **changes):
    head = Head(
        format="ngram-index", version=1, dataset="tiny", corpus_version="v1", corpus_manifest_sha256="ab" * 32,
        form="postings", ngram=13, min_item_words=8, rate=RATE, words=WordTables("17.0.0", "13.0.0"), documents=7,
        ngrams=40, distinct=40, num_parts=NUM_PARTS, parts=tuple(parts),
    )  # fmt: skip
    return replace(head, **changes)


def write(folder, some=None, **changes):
    """An index of these rows; every part is what the numbers of its hashes say."""
    some = rows(hashes()) if some is None else some
    number = part_of(np.array([row[0] for row in some], np.int64), NUM_PARTS)
    parts = []
    for part in sorted(set(number.tolist())):
        mine = [row for row, of in zip(some, number, strict=True) if of == part]
        parts.append(write_part(folder, part, mine))
    return write_head(folder, head_of(parts, ngrams=len(some), distinct=len({row[0] for row in some}), **changes))


def write_part(folder, part, some):
    path = folder / ngram_index.PART_PATTERN.format(id=part)
    made = ngram_index.write_part(part, path, [batch(some)], POSTINGS, row_group_bytes=DEFAULT_ROW_GROUP_BYTES)
    return Part(part, made.rows, made.num_bytes, made.sha256)


def write_head(folder, head):
    data = ngram_index.to_bytes(head)
    (folder / NAME_ON_DISK).write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def read_rows(folder, sha256):
    index = read(folder, sha256)
    return [tuple(row.values()) for part in index.head.parts for one in index.postings(part) for row in one.to_pylist()]


def test_an_index_is_read_as_it_was_written(tmp_path):
    sha256 = write(tmp_path)
    assert read_rows(tmp_path, sha256) == rows(hashes())
    assert len(read(tmp_path, sha256).head.parts) == NUM_PARTS


def test_the_bytes_of_an_index_are_unchanged(tmp_path):
    """Parquet varies with the pyarrow that constraints.txt pins."""
    assert write(tmp_path) == GOLDEN


def test_parts_share_the_hashes_evenly_in_their_order():
    values = np.array(sorted(row[0] for row in rows(hashes(999))), np.int64)
    for num_parts in (1, 3, 4, 1 << 20):
        parts = part_of(values, num_parts)
        assert (np.diff(parts) >= 0).all()
        assert parts.tolist() == [(((int(v) + (1 << 63)) >> 32) * num_parts) >> 32 for v in values]
    ends = np.array([-(1 << 63), -1, 0, (1 << 63) - 1], np.int64)
    assert part_of(ends, 2).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("change", faults.every_change(b"0123456789"))
def test_a_damaged_file_is_refused_by_its_name(tmp_path, change):
    sha256 = write(tmp_path)
    for path in sorted(tmp_path.iterdir()):
        whole = path.read_bytes()
        path.write_bytes(faults.every_change(whole)[change])
        with pytest.raises(CorruptDataError, match="restore the evidence folder from a copy") as raised:
            read_rows(tmp_path, sha256)
        assert raised.value.path == str(path)
        path.write_bytes(whole)


def test_a_missing_file_is_refused_by_its_name(tmp_path):
    sha256 = write(tmp_path)
    for path in sorted(tmp_path.iterdir()):
        whole = path.read_bytes()
        path.unlink()
        with pytest.raises(CorruptDataError, match="missing, expected") as raised:
            read_rows(tmp_path, sha256)
        assert raised.value.path == str(path)
        path.write_bytes(whole)


def test_another_index_than_the_pinned_one_is_refused(tmp_path):
    sha256 = write(tmp_path)
    write(tmp_path, dataset="other")
    with pytest.raises(CorruptDataError, match=rf"{NAME_ON_DISK}: sha256 is .*, expected {sha256}"):
        read(tmp_path, sha256)


def swapped(some):
    return [some[1], some[0], *some[2:]]


@pytest.mark.parametrize(
    ("spoil", "field"),
    [
        (swapped, "order of hashes"),
        (lambda some: [(some[0][0] + 1, *some[0][1:]), *some[1:]], "rate of hashes"),
        (lambda some: [*some[:-1], (3 * (1 << 61), *some[-1][1:])], "part of hashes"),
        (lambda some: [(*some[0][:2], -1, 60), *some[1:]], "start"),
        (lambda some: [(*some[0][:3], 0), *some[1:]], "length"),
    ],
)
def test_rows_that_are_not_those_of_the_part_are_refused(tmp_path, spoil, field):
    some = [row for row in rows(hashes()) if part_of(np.array([row[0]], np.int64), NUM_PARTS)[0] == 1]
    part = write_part(tmp_path, 1, spoil(some))
    sha256 = write_head(tmp_path, head_of([part], ngrams=len(some), distinct=len(some)))
    with pytest.raises(CorruptDataError, match=rf"part-00001.parquet: {field} is another"):
        read_rows(tmp_path, sha256)


def document(**changes):
    part = {"number": 1, "rows": 40, "bytes": 9, "sha256": "cd" * 32}
    return {**head_of([]).as_json(), "parts": [part], **changes}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"version": 2}, "version"),
        ({"format": "index"}, "format"),
        ({"form": "none"}, "form"),
        ({"rate": 0}, "rate"),
        ({"ngram": True}, "ngram"),
        ({"words": {"unicode": "17.0.0"}}, "words.case"),
        ({"dataset": "../up"}, "dataset"),
        ({"num_parts": 1}, "parts"),
        ({"distinct": 41}, "distinct"),
        ({"ngrams": 39, "distinct": 1}, "parts"),
        ({"extra": 1}, "extra"),
        ({"parts": [{"number": 0, "rows": 40, "bytes": 9, "sha256": "xy"}]}, r"parts\[0\].sha256"),
    ],
)
def test_a_head_that_is_none_names_its_first_wrong_key(tmp_path, changes, field):
    data = canonical.to_bytes(document(**changes))
    (tmp_path / NAME_ON_DISK).write_bytes(data)
    with pytest.raises(SchemaMismatchError, match=rf"{NAME_ON_DISK}: {field} is wrong"):
        read(tmp_path, hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b'{"format": ', b"\xff"])
def test_what_is_no_head_at_all_is_refused(tmp_path, data):
    (tmp_path / NAME_ON_DISK).write_bytes(data)
    with pytest.raises(CorruptDataError, match=NAME_ON_DISK):
        read(tmp_path, hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize(
    "changes", [{"segment_length": 3}, {"segments": 0}, {"num_keys": 0}, {"fingerprints": b"short"}, {"segments": 9}]
)
def test_a_filter_of_another_shape_is_refused(tmp_path, changes):
    row = {"num_keys": 5, "seed": 0, "segment_length": 4, "segments": 1, "fingerprints": b"\0" * 24}
    for change, is_right in (({}, True), (changes, False)):
        table = pa.Table.from_pylist([{**row, **change}], FILTER)
        path = tmp_path / "part-00000.parquet"
        made = ngram_index.write_part(0, path, table.to_batches(), FILTER, row_group_bytes=DEFAULT_ROW_GROUP_BYTES)
        part = Part(0, 1, made.num_bytes, made.sha256)
        index = read(tmp_path, write_head(tmp_path, head_of([part], form="filter")))
        if is_right:
            assert index.filter(part)["fingerprints"].tolist() == [0] * 12
        else:
            with pytest.raises(CorruptDataError, match=r"part-00000\.parquet: fingerprints is"):
                index.filter(part)

"""Raw sets: what is written is read back, the same bytes every time, and no damage is read."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from formats import durable, raw_set, raw_set_rows, raw_set_writer
from formats.errors import CorruptDataError
from formats.judged_pages import Judgement
from formats.raw_set import RawSet
from formats.raw_set_writer import RawSetWriter
from formats.stage_tables import RAW
from tests import faults

ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
EXTRACTOR = {"code": {"jsonl": "1"}, "libraries": {"zstandard": "0.25.0"}}
LINES = [
    ("tales.jsonl#0", "2026-01-02T00:00:00Z", "CC0-1.0", "Tom has a red ball."),
    ("tales.jsonl#2", "2026-01-03T04:05:06Z", "CC0-1.0", 'He said "no" \\ and\tleft\nat\u2028once\0. 😀'),
    ("tales.jsonl#3", "2026-01-02T00:00:00Z", "CC0-1.0", ""),
]


def write(folder: Path, documents=LINES, rejects=(("tales.jsonl#1", 1, "broken_json"),)) -> RawSet:
    writer = RawSetWriter(folder, "tales", "ab" * 32, EXTRACTOR)
    for document in documents:
        writer.add_document(*document)
    for reject in rejects:
        writer.add_reject(*reject)
    writer.end_file("tales.jsonl", "cd" * 32, 120, 400)
    writer.finish()
    return raw_set.open_set(folder)


def rows(raw: RawSet) -> list[tuple[str, ...]]:
    batches = [batch for part in raw.parts for batch in raw_set_rows.read_part(part)]
    return [tuple(row.values())[1:] for batch in batches for row in batch.to_pylist()]


def read_all(folder: Path) -> list[tuple[str, ...]]:
    raw = raw_set.open_set(folder)
    return rows(raw) + [tuple(row.values()) for row in raw_set_rows.read_rejects(raw)]


def relock(folder: Path, change) -> None:
    """Change the manifest as `change` says, and lock it again: what a lock cannot see."""
    path = folder / raw_set.MANIFEST
    manifest = json.loads(path.read_bytes())
    change(manifest)
    path.write_text(json.dumps(manifest))
    durable.write_lock(folder / raw_set.LOCK, path)


def replace_part(folder: Path, data: bytes, documents: int) -> RawSet:
    """Put other bytes in the place of part 0, with hashes that fit."""
    path = folder / raw_set.part_name(0)
    path.write_bytes(data)

    def fit(manifest):
        manifest["parts"][0] |= {"bytes": len(data), "sha256": durable.sha256_of(path), "documents": documents}

    relock(folder, fit)
    return raw_set.open_set(folder)


def packed(*lines: str | bytes) -> bytes:
    data = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
    return zstandard.ZstdCompressor().compress(data)


def test_a_set_is_read_back_as_written(tmp_path):
    raw = write(tmp_path)
    assert rows(raw) == LINES
    assert list(raw_set_rows.read_rejects(raw)) == [{"url": "tales.jsonl#1", "position": 1, "reason": "broken_json"}]
    assert (raw.documents, raw.rejects, raw.source_id) == (3, {"broken_json": 1}, "tales")
    [file] = raw.files
    assert (file.records, file.documents, file.rejects, file.first_k) == (4, 3, 1, 0)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "manifest.json", "manifest.json.lock", "part-00000.jsonl.zst", "rejects.jsonl.zst"
    ]  # fmt: skip


def test_a_line_is_these_bytes(tmp_path):
    write(tmp_path, LINES[:1])
    line = zstandard.ZstdDecompressor().decompress((tmp_path / "part-00000.jsonl.zst").read_bytes())
    assert line == (
        b'{"url":"tales.jsonl#0","fetched_at":"2026-01-02T00:00:00Z","license_spdx":"CC0-1.0",'
        b'"text":"Tom has a red ball."}\n'
    )


def test_the_manifest_fits_its_schema_and_the_schema_knows_every_key(tmp_path):
    write(tmp_path)
    schema = json.loads((Path(raw_set.__file__).parent / "raw_set.schema.json").read_text())
    manifest = json.loads((tmp_path / raw_set.MANIFEST).read_bytes())
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(manifest)
    items = schema["properties"]
    assert list(manifest) == schema["required"] == [name for name in items if name != "judged"]
    assert list(manifest["files"][0]) == items["files"]["items"]["required"]
    assert list(manifest["parts"][0]) == items["parts"]["items"]["required"]
    assert list(manifest["rejects"]) == items["rejects"]["required"]
    assert list(manifest["totals"]) == items["totals"]["required"]


def test_the_manifest_of_a_set_with_judged_pages_fits_the_schema(tmp_path):
    writer = raw_set_writer.RawSetWriter(tmp_path, "web", "0" * 64, {"code": {}})
    writer.add_document("https://example.org", "2026-01-02T00:00:00Z", "MIT", "a", Judgement(7, "blocks"))
    writer.finish()
    schema = json.loads((Path(raw_set.__file__).parent / "raw_set.schema.json").read_text())
    manifest = json.loads((tmp_path / raw_set.MANIFEST).read_bytes())
    Draft202012Validator(schema).validate(manifest)
    assert list(manifest) == list(schema["properties"])
    assert list(manifest["judged"]) == schema["properties"]["judged"]["required"]


def test_a_set_without_documents_has_no_part(tmp_path):
    raw = write(tmp_path, documents=(), rejects=())
    assert (raw.parts, raw.documents, list(raw_set_rows.read_rejects(raw))) == ((), 0, [])


@given(st.lists(st.tuples(ANY, ANY, ANY, ANY), max_size=12))
@settings(max_examples=60, deadline=None)
def test_any_text_comes_back_unchanged(tmp_path_factory, documents):
    raw = write(tmp_path_factory.mktemp("raw"), documents)
    assert rows(raw) == documents


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


def test_what_is_read_of_a_set_is_what_was_checked(tmp_path, monkeypatch):
    raw = write(tmp_path / "set")
    other = write(tmp_path / "other", [("u", "t", "CC0-1.0", "Another text.")] * 3)
    faults.change_once_hashed(monkeypatch, Path(raw.parts[0].path), Path(other.parts[0].path).read_bytes())
    assert rows(raw) == LINES
    faults.change_once_hashed(
        monkeypatch, raw.folder / raw_set.MANIFEST, (other.folder / raw_set.MANIFEST).read_bytes()
    )
    assert raw_set.open_set(raw.folder).parts == raw.parts


@pytest.mark.parametrize("value", range(4))
def test_a_lone_surrogate_is_refused_and_nothing_is_added(tmp_path, value):
    writer = RawSetWriter(tmp_path, "tales", "ab" * 32, EXTRACTOR)
    document = list(LINES[0])
    document[value] += "\ud800"
    with pytest.raises(UnicodeEncodeError):
        writer.add_document(*document)
    assert writer.end_file("f", "cd" * 32, 1, 1).documents == 0


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


def test_identity_leaves_the_place_out_and_holds_row_and_extractor(tmp_path):
    raw = write(tmp_path)
    assert raw.identity == raw_set.identity_of("ab" * 32, EXTRACTOR)
    assert raw.identity != raw_set.identity_of("ab" * 32, {**EXTRACTOR, "code": {"jsonl": "2"}})
    assert raw.identity != raw_set.identity_of("ac" * 32, EXTRACTOR)


@pytest.mark.parametrize("name", ["part-00000.jsonl.zst", "rejects.jsonl.zst", "manifest.json", "manifest.json.lock"])
def test_no_damage_of_any_file_is_read(tmp_path, name):
    write(tmp_path)
    path = tmp_path / name
    whole = path.read_bytes()
    for damage, data in {**faults.every_change(whole), "deleted": None}.items():
        path.unlink()
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(CorruptDataError) as caught:
            read_all(tmp_path)
        assert caught.value.path.startswith(str(tmp_path)), damage
        path.write_bytes(whole)
    assert rows(raw_set.open_set(tmp_path)) == LINES


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


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.pop("parts"),
        lambda m: m["parts"][0].pop("sha256"),
        lambda m: m["parts"][0].update(name="../part-00000.jsonl.zst"),
        lambda m: m["parts"][0].update(name="part-00001.jsonl.zst"),
        lambda m: m["files"][0].update(more=1),
        lambda m: m.update(version=2),
        lambda m: m.update(format="dataset"),
        lambda m: m.update(rejects=[]),
    ],
)
def test_a_manifest_of_another_form_is_refused(tmp_path, change):
    write(tmp_path)
    relock(tmp_path, change)
    with pytest.raises(CorruptDataError, match=r"manifest\.json"):
        raw_set.open_set(tmp_path)

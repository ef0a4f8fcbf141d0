"""Raw sets: what is written is read back, the same bytes every time, and no damage is read."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from formats import raw_set, raw_set_rows, raw_set_writer
from formats.errors import CorruptDataError
from formats.judged_pages import Judgement
from tests import faults
from tests.formats.made_raw_sets import ANY, EXTRACTOR, LINES, read_all, relock, rows, write


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


def test_what_is_read_of_a_set_is_what_was_checked(tmp_path, monkeypatch):
    raw = write(tmp_path / "set")
    other = write(tmp_path / "other", [("u", "t", "CC0-1.0", "Another text.")] * 3)
    faults.change_once_hashed(monkeypatch, Path(raw.parts[0].path), Path(other.parts[0].path).read_bytes())
    assert rows(raw) == LINES
    faults.change_once_hashed(
        monkeypatch, raw.folder / raw_set.MANIFEST, (other.folder / raw_set.MANIFEST).read_bytes()
    )
    assert raw_set.open_set(raw.folder).parts == raw.parts


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

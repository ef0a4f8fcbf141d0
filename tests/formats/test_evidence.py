"""Evidence: pinned tables, and a seal that names every file."""

import json
import re
from pathlib import Path

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from formats import evidence, evidence_schemas
from formats.errors import ConfigError, CorruptDataError, SchemaMismatchError
from formats.stage_tables import COUNTED_SIGNALS
from tests import faults
from tests.formats import evidence_rows

SPEC = Path(evidence.__file__).with_name("evidence.md").read_text()


def read(folder: Path, name: str) -> pa.Table:
    return pa.Table.from_batches(evidence.read(folder, name), evidence_schemas.TABLES[name])


@pytest.mark.parametrize("name", evidence_schemas.SCHEMAS)
def test_tables_come_back_in_the_order_of_their_parts(tmp_path, name):
    evidence_rows.write(tmp_path)
    assert read(tmp_path, name).to_pylist() == evidence_rows.ROWS[name]


@pytest.mark.parametrize("name", evidence_schemas.TABLES)
def test_the_spec_page_lists_every_column_with_its_type(name):
    section = SPEC.split(f"### {name}\n")[1].split("###")[0].split("## Worked")[0]
    listed = re.findall(r"^\| `(\w+)` \| (\S+) \| (yes)? ?\|", section, re.MULTILINE)
    pinned = [(f.name, str(f.type), "yes" if f.nullable else "") for f in evidence_schemas.TABLES[name]]
    assert listed == [column for column in pinned if column[0] not in COUNTED_SIGNALS]


def test_the_seal_of_the_spec_page_is_valid_and_schema_file_is_what_the_code_exports():
    schema = json.loads(Path(evidence.__file__).with_name("evidence.schema.json").read_text())
    assert schema == evidence.json_schema()
    jsonschema.validate(json.loads(SPEC.split("```json\n")[1].split("```")[0]), schema)


def test_numbers_are_whole():
    assert not [f for schema in evidence_schemas.TABLES.values() for f in schema if pa.types.is_floating(f.type)]


def test_equal_rows_give_equal_files_and_seals(tmp_path):
    for name in ("a", "b"):
        evidence_rows.write(tmp_path / name)
        (tmp_path / name / evidence.SIDECAR).write_text(f"made by {name}")
    assert (tmp_path / "a" / evidence.SEAL).read_bytes() == (tmp_path / "b" / evidence.SEAL).read_bytes()


def test_the_seal_lists_every_file_but_hidden_ones_and_the_sidecar(tmp_path):
    (tmp_path / ".scrap.tmp").write_text("half")
    (tmp_path / evidence.SIDECAR).write_text("{}")
    evidence_rows.write(tmp_path)
    assert list(evidence.read_seal(tmp_path)) == [
        "clusters.parquet",
        "counts.json",
        "documents/part-00000.parquet",
        "documents/part-00001.parquet",
        "files.parquet",
        "lineage.parquet",
        "stage_versions.json",
    ]


def test_the_seal_says_what_was_written_whatever_became_of_it_since(tmp_path):
    written = evidence.write(tmp_path, "clusters", evidence_rows.table("clusters").to_batches())
    entries = {"clusters.parquet": evidence.entry_of(written), evidence.COUNTS: evidence.entry_of(b"{}\n")}
    faults.flip_byte(tmp_path / "clusters.parquet", 9)
    (tmp_path / "notes.txt").write_text("of a person")
    evidence.seal(tmp_path, entries)
    assert evidence.read_seal(tmp_path) == entries
    with pytest.raises(CorruptDataError, match=r"clusters\.parquet: sha256"):
        read(tmp_path, "clusters")
    with pytest.raises(CorruptDataError, match=r"counts\.json: file is missing"):
        evidence.verified(tmp_path, evidence.COUNTS, entries[evidence.COUNTS])


def test_parts_above_99999_stay_in_order():
    files = ["documents/part-100000.parquet", "documents/part-99999.parquet", "files.parquet", "documents/notes.txt"]
    assert evidence_schemas.table_names("documents", files) == files[1::-1]
    assert evidence_schemas.table_names("files", files) == ["files.parquet"]


@pytest.mark.parametrize("change", faults.every_change(b"0123456789"))
@pytest.mark.parametrize("file", ["documents/part-00001.parquet", "clusters.parquet"])
def test_a_changed_file_is_reported_not_read(tmp_path, file, change):
    evidence_rows.write(tmp_path)
    path = tmp_path / file
    path.write_bytes(faults.every_change(path.read_bytes())[change])
    with pytest.raises(CorruptDataError, match=r"length|sha256"):
        read(tmp_path, file.split("/")[0].removesuffix(".parquet"))


def test_missing_files_tables_and_seals_are_named(tmp_path):
    with pytest.raises(CorruptDataError, match="seal is missing"):
        read(tmp_path, "files")
    evidence_rows.write(tmp_path)
    (tmp_path / "documents" / "part-00000.parquet").unlink()
    with pytest.raises(CorruptDataError, match=r"part-00000\.parquet: file is missing"):
        read(tmp_path, "documents")
    (tmp_path / "lineage.parquet").unlink()
    evidence_rows.seal_as_it_lies(tmp_path)
    with pytest.raises(CorruptDataError, match="lineage is none"):
        read(tmp_path, "lineage")
    with pytest.raises(ConfigError, match="no table"):
        next(evidence.read(tmp_path, "documents/part-00000"))


def test_a_sealed_table_of_other_columns_or_version_is_refused(tmp_path):
    evidence_rows.write(tmp_path)
    clusters = evidence_rows.table("clusters")
    newer = clusters.replace_schema_metadata({"format": "evidence.clusters", "version": "2"})
    for other, field in ((clusters.drop_columns(["size"]), "columns"), (newer, "schema metadata")):
        pq.write_table(other, tmp_path / "clusters.parquet")
        evidence_rows.seal_as_it_lies(tmp_path)
        with pytest.raises(SchemaMismatchError, match=field):
            read(tmp_path, "clusters")


def test_a_table_of_other_columns_is_not_written(tmp_path):
    wrong = evidence_rows.table("clusters").drop_columns(["size"])
    null = wrong.add_column(1, "size", pa.array([None], pa.int64()))
    with pytest.raises(SchemaMismatchError, match="columns"):
        evidence.write(tmp_path, "clusters", wrong.to_batches())
    with pytest.raises(SchemaMismatchError, match="size"):
        evidence.write(tmp_path, "clusters", null.to_batches())
    assert list(tmp_path.iterdir()) == []


ENTRY = {"sha256": "0" * 64, "bytes": 3}
BAD_SEALS = {
    "no JSON": b"{",
    "not UTF-8": b'"\xff"',
    "a list": [],
    "another format": {"format": "dataset", "version": 1, "files": {}},
    "a newer version": {"format": "evidence", "version": 2, "files": {}},
    "no files": {"format": "evidence", "version": 1},
    "a way out": {"format": "evidence", "version": 1, "files": {"../LEDGER.jsonl": ENTRY}},
    "an absolute way out": {"format": "evidence", "version": 1, "files": {"/etc/hosts": ENTRY}},
    "a hidden way out": {"format": "evidence", "version": 1, "files": {"documents/../../x": ENTRY}},
    "no length": {"format": "evidence", "version": 1, "files": {"counts.json": {"sha256": "0" * 64}}},
    "a short hash": {"format": "evidence", "version": 1, "files": {"counts.json": {"sha256": "0", "bytes": 1}}},
}


@pytest.mark.parametrize("name", BAD_SEALS)
def test_bad_seal_is_refused(tmp_path, name):
    bad = BAD_SEALS[name]
    (tmp_path / evidence.SEAL).write_bytes(bad if isinstance(bad, bytes) else json.dumps(bad).encode())
    with pytest.raises(CorruptDataError, match=r"_EVIDENCE\.json"):
        evidence.read_seal(tmp_path)

"""`corpus verify` of evidence: what was changed and sealed anew contradicts the shards, the manifest or itself."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from corpus_assets.commands import verify
from corpus_assets.commands.verify import verify_version
from formats import durable, evidence, ledger
from formats.errors import ConfigError
from formats.layout import Layout
from tests import faults
from tests.commands import command_line
from tests.formats import evidence_rows
from tests.plans import tampering, tiny_corpus
from tests.plans.tiny_corpus import V1, V2

CROSS_CHECKS = ("evidence", "sums", "counts", "config", "ledger", "documents")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return tiny_corpus.copy(tmp_path / "root")


def failed(layout: Layout, **settings: Any) -> set[str]:
    return {check.name for check in verify_version(layout, V1, **settings).checks if not check.ok}


def problems(layout: Layout) -> str:
    return "\n".join(one for check in verify_version(layout, V1).checks for one in check.problems)


def put(**columns: Any) -> Callable[[pa.Table], pa.Table]:
    """Columns of a table changed by functions of their list of values."""

    def change(table: pa.Table) -> pa.Table:
        for name, new in columns.items():
            field = table.schema.field(name)
            at = table.schema.get_field_index(name)
            table = table.set_column(at, field, pa.array(new(table[name].to_pylist()), field.type))
        return table

    return change


def edit_ledger(layout: Layout, source: str, **changes: Any) -> str:
    """Other values in a ledger row of the evidence, sealed anew; the row's new digest."""
    path = layout.evidence(V1) / evidence.LEDGER_ROWS
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    rows = [{**row, **changes} if row["source_id"] == source else row for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    evidence_rows.seal_as_it_lies(layout.evidence(V1))
    return next(ledger.from_json(row).digest for row in rows if row["source_id"] == source)


def edit_json(layout: Layout, name: str, change: Callable[[Any], Any]) -> None:
    path = layout.evidence(V1) / name
    evidence_rows.write_json(layout.evidence(V1), name, change(durable.json_of(path)))
    evidence_rows.seal_as_it_lies(layout.evidence(V1))


@pytest.mark.parametrize("key", [V1, V2])
def test_a_built_version_passes_every_check(layout, key):
    report = verify_version(layout, key, layout.lock(key), deep=True)
    assert report.ok, report.as_json()
    assert report.notes == []
    audits = ("residual_pii", "contamination", "leakage")
    assert tuple(check.name for check in report.checks[-9:]) == (*CROSS_CHECKS, *audits)


def test_another_licence_in_the_ledger_rows_is_found_however_much_of_the_evidence_is_changed_with_it(layout):
    digest = edit_ledger(layout, "fables", license_spdx="MIT")
    assert failed(layout) == {"config", "ledger"}
    assert "shards: 2 rows of fables under CC0-1.0, its ledger row says MIT" in problems(layout)
    digest = edit_ledger(layout, "fables", license_spdx="CC-BY-4.0")
    assert failed(layout) == {"ledger"}
    edit_json(layout, evidence.STAGE_VERSIONS, lambda v: {**v, "ledger_rows": {**v["ledger_rows"], "fables": digest}})
    change = put(
        license_spdx=lambda values: ["CC-BY-4.0" if one == "CC0-1.0" else one for one in values],
        ledger_row_digest=lambda values: [bytes.fromhex(digest), *values[1:]],
    )
    tampering.edit_evidence(layout, V1, "lineage", change)
    assert failed(layout) == {"ledger"}
    assert "shards: 2 rows of fables under CC0-1.0, its ledger row says CC-BY-4.0" in problems(layout)


def test_another_word_in_a_ledger_row_is_found_by_its_digest(layout):
    edit_ledger(layout, "web", attribution="somebody else")
    assert failed(layout) == {"ledger"}
    assert "ledger row web has another digest" in problems(layout)
    assert "stage_versions.json: ledger_rows is" in problems(layout)


def test_a_published_row_of_another_source_or_licence_is_found(layout):
    tampering.republish(layout, V1, lambda rows: rows[0].update(license_spdx="MIT"))
    assert failed(layout) == {"ledger"}
    assert "shards: 1 rows of fables under MIT, its ledger row says CC0-1.0" in problems(layout)
    tampering.republish(layout, V1, lambda rows: rows[0].update(id="eels:0", source_id="eels", license_spdx="CC0-1.0"))
    assert failed(layout) == {"ledger", "documents"}
    assert "its ledger row says no row of this source" in problems(layout)


@pytest.mark.parametrize(
    ("table", "change", "check", "words"),
    [
        ("lineage", put(rows=lambda v: [1, *v[1:]]), "ledger", "lineage of shard 0 has 1 rows"),
        ("lineage", put(shard=lambda v: v[::-1]), "ledger", "the shard 0"),
        ("lineage", put(license_spdx=lambda v: v[::-1]), "ledger", "lineage: 2 rows of fables under CC-BY-4.0"),
        ("documents", put(url=lambda v: ["elsewhere", *v[1:]]), "documents", "shard 0 are not its rows"),
        ("documents", put(lang=lambda v: ["de", *v[1:]]), "documents", "shard 0 are not its rows"),
        ("documents", put(row=lambda v: [{0: 1, 1: 0}.get(r, r) for r in v]), "documents", "shard 0 are not its rows"),
        ("documents", put(shard=lambda v: [{0: 1, 1: 0}.get(s, s) for s in v]), "documents", "shard 1 are not its"),
        ("documents", put(shard=lambda v: [s and 7 for s in v]), "documents", "2 kept documents name a shard"),
        ("documents", put(split=lambda v: ["val", *v[1:]]), "documents", "shard 0 are not its rows"),
        ("clusters", put(size=lambda v: [1, *v[1:]]), "evidence", "size"),
        ("documents", put(row=lambda v: [None, *v[1:]]), "evidence", "kept row"),
    ],
)  # fmt: skip
def test_a_table_that_contradicts_the_shards_is_found(layout, table, change, check, words):
    tampering.edit_evidence(layout, V1, table, change)
    assert failed(layout) == {check}
    assert words in problems(layout)


@pytest.mark.parametrize(
    ("table", "change", "words"),
    [
        ("documents", lambda t: t.slice(0, 8), "source web: documents are 3, counts.json says 4"),
        ("documents", put(pii_email=lambda v: [n and 0 for n in v]), "emails replaced are 0, the manifest says 1"),
        (
            "documents",
            put(verdict=lambda v: ["too_many_words" if one == "too_few_words" else one for one in v]),
            "source fables: verdicts are",
        ),
        (
            "documents",
            put(verdict=lambda v: ["language_not_allowed" if one == "too_few_words" else one for one in v]),
            "documents that filter lang dropped are 1, the manifest says 0",
        ),
        (
            "files",
            put(rejects=lambda v: [0] * len(v), records=lambda v: [v[0] - 1, *v[1:]]),
            "rejects of its files are 0",
        ),
    ],
)
def test_a_table_that_sums_to_something_else_is_found(layout, table, change, words):
    tampering.edit_evidence(layout, V1, table, change)
    assert {"sums", "counts", "documents"} >= failed(layout) > set()
    assert words in problems(layout)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: {**v, "sources": {**v["sources"], "eels": v["sources"]["web"]}}, "source eels: verdicts are {}"),
        (lambda v: {**v, "sources": {"web": v["sources"]["web"]}}, "sources fables are missing"),
        (lambda v: {**v, "sources": [1]}, "sources are list"),
        (lambda v: {**v, "shard_bytes": v["shard_bytes"] + 1}, "shards have"),
        (lambda v: {**v, "text_bytes": {**v["text_bytes"], "web": 1}}, "bytes of text by source are"),
        (lambda v: {**v, "text_bytes": None}, "says None"),
        (lambda v: {**v, "sources": {name: {**one, "rejects": {}} for name, one in v["sources"].items()}}, "says 0"),
    ],
)
def test_counts_that_the_tables_do_not_sum_to_are_found(layout, change, words):
    edit_json(layout, evidence.COUNTS, change)
    assert failed(layout) == {"counts"}
    assert words in problems(layout)


def test_another_config_in_the_evidence_is_found(layout):
    path = layout.evidence(V1) / "config.yaml"
    config = json.loads(path.read_bytes())
    path.write_text(json.dumps({**config, "val_permille": 900}))
    evidence_rows.seal_as_it_lies(layout.evidence(V1))
    assert failed(layout) == {"config"}
    assert "the manifest says" in problems(layout)
    assert "val_permille is 900, which does not explain the splits" in problems(layout)
    path.write_text("sources: [")
    evidence_rows.seal_as_it_lies(layout.evidence(V1))
    assert failed(layout) == {"config"}
    path.write_text(json.dumps({**config, "sources": ["web"]}))
    evidence_rows.seal_as_it_lies(layout.evidence(V1))
    assert "has rows of fables, web, config.yaml names web" in problems(layout)


@pytest.mark.parametrize("name", ["lineage.parquet", "counts.json", "ledger_rows.jsonl", "config.yaml", "documents"])
def test_a_file_that_was_taken_out_before_sealing_is_missed(layout, name):
    path = layout.evidence(V1) / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    evidence_rows.seal_as_it_lies(layout.evidence(V1))
    assert failed(layout) == {"evidence"}
    assert f"{name}: is not in the seal" in problems(layout)


@pytest.mark.parametrize("data", [b"[]", b"{", b"1\n"])
@pytest.mark.parametrize("name", [evidence.COUNTS, evidence.STAGE_VERSIONS, evidence.LEDGER_ROWS])
def test_a_sealed_file_of_another_kind_is_a_problem_and_no_crash(layout, name, data):
    (layout.evidence(V1) / name).write_bytes(data)
    evidence_rows.seal_as_it_lies(layout.evidence(V1))
    assert failed(layout) == {"evidence"}


def test_changed_evidence_is_found_and_unsealed_files_are_noted(layout):
    folder = layout.evidence(V1)
    (folder / "extra.txt").write_text("?")
    assert "extra.txt is not sealed" in verify_version(layout, V1).notes[0]
    faults.flip_byte(folder / "documents" / "part-00000.parquet", 100)
    faults.truncate(folder / evidence.COUNTS)
    checks = {check.name: check for check in verify_version(layout, V1).checks}
    assert checks["evidence"].num_problems == 2
    assert checks["sums"].not_checked == checks["documents"].not_checked == "the evidence is not whole"


def test_evidence_of_shards_that_cannot_be_read_is_held_against_the_rest(layout):
    (path,) = layout.version(V1).glob("shard-00000-*")
    faults.flip_byte(path, 40)
    edit_ledger(layout, "web", title="Another")
    report = verify_version(layout, V1)
    assert {check.name for check in report.checks if not check.ok} == {"shards", "ledger"}
    why = {check.name: check.not_checked for check in report.checks}
    unread = "not all rows of the shards could be read, to be compared"
    assert {name: why[name] for name in ("counts", "config", "documents")} == dict.fromkeys(
        ("counts", "config", "documents"), unread
    )
    assert why["sums"] == why["ledger"] == ""


def test_a_pin_may_hold_the_seal_too(layout, tmp_path, capsys):
    assert command_line.run(verify, layout.root, "verify", "tiny.v1") == 0
    told = capsys.readouterr().out
    pin = tmp_path / "pin"
    pin.write_text("".join(line + "\n" for line in told.splitlines()[-3:-1]))
    assert pin.read_text().splitlines()[0] == durable.read_lock(layout.lock(V1))
    seal = layout.evidence(V1) / evidence.SEAL
    assert pin.read_text().splitlines()[1] == f"{durable.sha256_of(seal)}  evidence"
    assert failed(layout, pin=pin) == set()
    pin.write_text(pin.read_text().replace("  evidence\n", " evidence"))  # as --help shows it
    assert failed(layout, pin=pin) == set()
    (layout.evidence(V1) / "extra.txt").write_text("?")
    evidence_rows.seal_as_it_lies(layout.evidence(V1))
    assert failed(layout, pin=pin) == {"pin"}
    assert failed(layout, pin=layout.lock(V1)) == set()
    seal.unlink()
    assert failed(layout, pin=pin) == {"pin", "evidence"}
    assert failed(layout, pin=pin, shards_only=True) == set()


@pytest.mark.parametrize(
    "text", ["", "a" * 63, "a" * 64 + "\n" + "b" * 64, "a" * 64 + "\nx  evidence", "a" * 64 + "\n\n"]
)
def test_what_is_no_pin_is_refused(layout, tmp_path, text):
    (tmp_path / "pin").write_text(text)
    with pytest.raises(ConfigError, match="is no pin"):
        verify_version(layout, V1, tmp_path / "pin")


def test_deep_finds_what_only_the_texts_tell(layout):
    def spoil(rows: tampering.Rows) -> None:
        rows[1]["text"] = "Write to someone@garden-example.com."
        rows[2]["text"] = tiny_corpus.QUIZ

    tampering.republish(layout, V1, spoil)
    assert failed(layout) == set()
    assert failed(layout, deep=True) == {"residual_pii", "contamination"}


def test_deep_uses_the_config_that_was_published_and_fails_without_the_eval_sets(layout):
    shutil.rmtree(layout.configs)
    assert failed(layout, deep=True) == set()
    (layout.root / "quiz.jsonl").unlink()
    report = verify_version(layout, V1, deep=True)
    (check,) = (check for check in report.checks if not check.ok)
    assert check.name == "contamination"
    assert check.problems[0].startswith("not checked: ")
    assert "eval set quiz is missing" in check.problems[0]
    assert verify_version(layout, V1).ok

"""The report: its parts count what they say, and one command writes tables, pictures and what another tool leads in."""

import ast
import hashlib
import importlib
import io
import json
import random
import sys
import tarfile
import types
from pathlib import Path

import pytest
import zstandard

from corpus_assets.plans.pictures import bars_in_order
from tests.bench import bench_decontamination, planted_items, report, report_tables
from tests.bench.documents import Corpus
from tests.bench.labelled_pii import LOOKALIKES, SECRETS, lookalikes, rates, scores, secret_files
from tests.bench.planted_items import FORMS, Item
from tests.bench.report_tables import Table

ITEM = (
    "A gardener picks nine red apples on every day of the week and gives a third of them to the children of the "
    "school. How many of the apples are left for the market on Sunday morning?"
)


def test_a_hit_needs_the_kind_and_half_of_both_and_each_span_is_met_once():
    truth = [[("email", 0, 10), ("phone", 20, 30)], []]
    found = [[("email", 0, 10), ("email", 1, 10), ("card", 20, 30), ("phone", 14, 30)], [("ip", 0, 7)]]
    counts = scores(truth, found)
    assert counts == {"email": (1, 1, 0), "phone": (1, 0, 0), "card": (0, 1, 0), "ip": (0, 1, 0)}
    assert rates(2, 1, 3) == (2 / 3, 2 / 5, 4 / 8)
    assert rates(0, 0, 0) == (0.0, 0.0, 0.0)


def test_a_told_secret_counts_at_the_line_that_holds_it_and_is_left_out_where_none_does(tmp_path):
    text = "# settings\n\nname = x\nkey=abcdef0123\nold:\n  url: a@moved\n"
    told = [("abcdef0123", 1), ("moved", 2), ("gone", 2), ("gone too", 5), ("was here", 3)]
    digests = [(hashlib.sha1(value.encode(), usedforsecurity=False).hexdigest(), line) for value, line in told]
    found = [{"hashed_secret": digest, "line_number": line} for digest, line in digests]
    baseline = json.dumps({"results": {"test_data/a.ini": found}})
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, data in (("x/a.ini", text), ("x/baseline.file", baseline)):
            entry = tarfile.TarInfo(name)
            entry.size = len(data.encode())
            tar.addfile(entry, io.BytesIO(data.encode()))
    path = tmp_path / SECRETS
    path.parent.mkdir(parents=True)
    path.write_bytes(zstandard.ZstdCompressor().compress(packed.getvalue()))
    files, lines = secret_files(tmp_path)
    assert files == {"a.ini": text}
    assert lines == {"a.ini": {4, 6, 3}}, "an empty line and one without a value hold no secret"


@pytest.mark.parametrize("part", [part for part in report.PARTS if part != "speed"])  # which takes a minute
def test_every_part_without_a_folder_of_labelled_texts_has_what_needs_none(part, tmp_path):
    module = importlib.import_module(f"tests.bench.{report.PARTS[part]}")
    assert all(table.rows for table in module.tables(Corpus(tmp_path, None)))


def test_lookalikes_are_the_same_every_time_and_as_many_of_each_kind():
    made = lookalikes(8)
    assert tuple(made) == LOOKALIKES
    assert made == lookalikes(8)
    assert {len(set(lines)) for lines in made.values()} == {8}


def test_the_hard_rule_finds_an_item_in_every_form_but_the_edited_and_the_share_finds_that():
    clean = ["word of a clean text that has nothing to do with it at all"] * 400
    plain, accented = (
        bench_decontamination.index_of([change(ITEM)]) for change in (str, bench_decontamination.with_accents)
    )
    hard, near = {}, {}
    for form in FORMS:
        [text] = planted_items.planted(form, [Item("set", ITEM)], clean)
        found = bench_decontamination.by_rules(accented if form == "NFD accents" else plain, [text])
        hard[form], near[form] = found[bench_decontamination.HARD][0], found[bench_decontamination.SHARE][0]
    assert {form for form, hit in hard.items() if not hit} == {"4 words changed", "8 words changed"}
    assert {form for form, hit in near.items() if not hit} == {"4 words changed", "8 words changed"}
    assert not any(hits[0] for hits in bench_decontamination.by_rules(plain, clean[:1]).values())


def test_as_many_words_are_changed_as_the_form_says():
    for changes in planted_items.EDITS:
        after = planted_items.edited(changes)(ITEM, random.Random(1)).split()
        assert sum(a != b for a, b in zip(ITEM.split(), after, strict=True)) == changes


def test_one_command_writes_tables_pictures_and_where_another_tool_leads(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv(report_tables.PEERS_PYTHON, raising=False)
    report_tables.missing.cache_clear()
    table = Table(
        "A measure", "On three texts.", ("tool", "F1", "found"), [["ours", 0.5, 1_234], ["a|b", None, 2]],
        ["a|b has F1 0.600, ours 0.500"], (bars_in_order("F1", [("ours", 500)]),),
    )  # fmt: skip
    part = types.SimpleNamespace(tables=lambda _: [table])
    monkeypatch.setitem(sys.modules, "tests.bench.made_part", part)
    monkeypatch.setattr(report, "PARTS", {"made": "made_part"})
    assert report.main([str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    told = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert capsys.readouterr().out == f"{tmp_path / 'out' / 'report.md'}\n"
    assert "| ours | 0.500 | 1,234 |\n| a\\|b | – | 2 |" in told
    assert "## Where another tool leads\n\n- A measure: a|b has F1 0.600, ours 0.500." in told
    assert "No interpreter of peers was named" in told
    assert "![F1](pictures/made-a-measure-0.svg)" in told
    assert (tmp_path / "out" / "pictures" / "made-a-measure-0.svg").read_text("utf-8").startswith("<svg")
    assert json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))["tables"][0]["rows"][0][1] == 0.5


def test_what_was_measured_before_a_part_failed_is_written(tmp_path, monkeypatch):
    monkeypatch.delenv(report_tables.PEERS_PYTHON, raising=False)
    report_tables.missing.cache_clear()

    def tables(_):
        yield Table("A measure", "On three texts.", ("tool", "F1"), [["ours", 0.5]])
        raise RuntimeError("the second one")

    monkeypatch.setitem(sys.modules, "tests.bench.made_part", types.SimpleNamespace(tables=tables))
    monkeypatch.setattr(report, "PARTS", {"made": "made_part"})
    with pytest.raises(RuntimeError, match="the second one"):
        report.main([str(tmp_path), "--out", str(tmp_path / "out")])
    assert "## A measure" in (tmp_path / "out" / "report.md").read_text("utf-8")


@pytest.mark.parametrize("path", sorted(Path(report.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_every_name_that_a_bench_takes_of_the_project_is_there(path):
    """A bench runs for minutes before it comes to a function that was renamed."""
    tree = ast.parse(path.read_text("utf-8"))
    modules = {}
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module):
        if node.module.partition(".")[0] in ("corpus_assets", "formats", "resources", "tests"):
            whole = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(whole, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")
                found = getattr(whole, alias.name)
                if isinstance(found, types.ModuleType):
                    modules[alias.asname or alias.name] = found
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            assert hasattr(modules[node.value.id], node.attr), f"line {node.lineno}: {node.value.id}.{node.attr}"


def test_a_folder_that_is_none_is_refused_before_anything_runs(tmp_path, capsys):
    with pytest.raises(SystemExit):
        report.main([str(tmp_path / "none"), "--out", str(tmp_path / "out")])
    assert "is no folder" in capsys.readouterr().err


def test_an_interpreter_without_a_peer_says_which_and_why(monkeypatch):
    monkeypatch.setenv(report_tables.PEERS_PYTHON, sys.executable)
    report_tables.missing.cache_clear()
    assert report_tables.missing()["dolma_fast"] == "ModuleNotFoundError: No module named 'dolma'"
    assert not report_tables.can("dolma_fast")
    report_tables.missing.cache_clear()

"""`corpus extract train|evaluate`, on a folder of pages written here."""

import json

import pytest

from corpus_assets.commands import extract
from formats import block_model, corpus_config
from formats.errors import ConfigError, CorruptDataError
from tests.commands import command_line
from tests.golden.written_pages import written_page


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for number in range(12):
        page = written_page(number)
        site = folder / f"site-{number % 6}"
        site.mkdir(exist_ok=True)
        (site / f"{page.name}.html").write_bytes(page.html)
        (site / f"{page.name}.txt").write_text(page.text, "utf-8")
    return folder


def run(folder, *words):
    return command_line.run(extract, folder, "extract", *map(str, words))


def test_training_twice_gives_the_same_file_and_the_setting_to_write(tmp_path, pages, capsys):
    said = []
    for name in ("a.json", "b.json"):
        assert run(tmp_path, "train", pages, "--out", tmp_path / name, "--data", "made up", "--license", "CC0-1.0") == 0
        said.append(capsys.readouterr().out)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    model = block_model.read(tmp_path / "a.json")
    assert said[0] == f'extract: {{extractor: blocks, model: {{path: "a.json", sha256: {model.digest}}}}}\n'
    assert {name: model.training[name] for name in ("pages", "data", "license")} == {
        "pages": 12, "data": "made up", "license": "CC0-1.0",
    }  # fmt: skip
    document = {"dataset": "d", "version": "v", "sources": ["s"], "licenses": {"allow": ["MIT"]}}
    setting = {"extractor": "blocks", "model": {"path": str(tmp_path / "a.json"), "sha256": model.digest}}
    assert not corpus_config.problems({**document, "extract": setting})


def test_pages_of_another_collection_are_trained_on_and_named(tmp_path, pages, capsys):
    for name, also in (("a.json", ()), ("b.json", ("--also", pages / "site-0"))):
        assert run(tmp_path, "train", pages / "site-1", "--out", tmp_path / name, *also) == 0
    alone, both = (block_model.read(tmp_path / name) for name in ("a.json", "b.json"))
    assert "also" not in alone.training
    assert (both.training["pages"], both.training["also"]["pages"]) == (2, 2)
    assert both.feature_names == alone.feature_names
    assert block_model.to_bytes(both) != block_model.to_bytes(alone)
    assert "training on 4 pages" in capsys.readouterr().err


def test_evaluation_prints_ours_beside_resiliparse(tmp_path, pages, capsys):
    assert run(tmp_path, "evaluate", pages, "--leaves", 2, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    found, bands = said["scores"], said["by_expected_error"]
    names = [one["name"] for one in found if "trafilatura" not in one["name"]]
    assert names[:3] == ["blocks", "blocks, second opinion where unsure", "resiliparse"]
    assert all(0 <= one[side] <= 1 for one in found for side in ("f1", "precision", "recall"))
    assert all(one["f1_low"] <= one["f1"] <= one["f1_high"] for one in found)
    assert sum(band["pages"] for band in bands) == 12
    assert all(0 <= band[side] <= 1 for band in bands for side in ("expected", "measured"))
    assert all(one["megabytes_per_second"] > 0 for one in found)


def test_a_model_is_judged_as_it_is(tmp_path, pages, capsys):
    run(tmp_path, "train", pages, "--out", tmp_path / "m.json")
    capsys.readouterr()
    assert run(tmp_path, "evaluate", pages, "--model", tmp_path / "m.json") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "12 pages; blocks as the model is"
    assert lines[1].split() == ["F1", "95", "%", "of", "draws", "precision", "recall", "MB", "HTML/CPU", "s"]
    assert float(lines[2].split()[1]) > 0.8
    head = next(i for i, line in enumerate(lines) if line.startswith("expected error"))
    assert sum(int(line.split()[2]) for line in lines[head + 1 :]) == 12


def test_wrong_input_is_refused_by_name(tmp_path, pages):
    with pytest.raises(ConfigError, match="holds no page"):
        run(tmp_path, "train", tmp_path, "--out", tmp_path / "m.json")
    assert not (tmp_path / "m.json").exists()
    with pytest.raises(ConfigError, match=r"1 group \(folders\)"):
        run(tmp_path, "evaluate", pages / "site-0")
    (tmp_path / "m.json").write_text("{}")
    with pytest.raises(CorruptDataError, match=r"m\.json"):
        run(tmp_path, "evaluate", pages, "--model", tmp_path / "m.json")
    with pytest.raises(SystemExit):
        run(tmp_path, "evaluate", pages, "--leaves", "1")

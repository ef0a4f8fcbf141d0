"""The extractor that a config names: another raw set beside the default's, and models that are refused in words."""

import json
from dataclasses import replace

import pytest

from corpus_assets.plans.extractors import SHIPPED, page_extractor, shipped_model
from corpus_assets.plans.preview import first_documents
from corpus_assets.plans.raw_set import extractor_identity, find_raw_set, make_raw_set
from formats import block_model, corpus_config
from formats.corpus_config import BlockModelFile, ExtractorRules
from formats.errors import ConfigError
from formats.layout import Layout
from tests import faults
from tests.plans.test_raw_set import documents, source

BLOCKS = ExtractorRules("blocks")
WORDS = "The ferryman counted his coins, and the river, which had been low for weeks, said nothing about it. "
PAGE = (
    "<body><ul class=menu><li><a href=/>Home</a><li><a href=/a>About us</a></ul><div class=post>"
    + 5 * f"<p>{2 * WORDS}</p>"
    + "</div><div class=footer><a href=/p>Privacy</a> All rights reserved.</div>"
)


def texts(raw):
    return [text for _, _, text in documents(raw)]


def test_each_extractor_has_its_raw_set_and_finds_it_again(tmp_path):
    layout, (row, paths) = Layout(tmp_path), source(tmp_path / "in", "html", {"page.html": PAGE.encode()})
    default = make_raw_set(layout, row, paths)
    blocks = make_raw_set(layout, row, paths, extract=BLOCKS)
    assert default.folder != blocks.folder
    assert "settings" not in default.extractor
    assert blocks.extractor["settings"] == {"extractor": "blocks", "model": shipped_model().digest}
    assert texts(blocks) == ["\n\n".join(5 * [(2 * WORDS).strip()])]
    assert (find_raw_set(layout, row), find_raw_set(layout, row, BLOCKS)) == (default, blocks)


def test_a_source_without_pages_is_the_same_under_every_extractor(tmp_path):
    row, _ = source(tmp_path / "in", "text", {"a.txt": b"a"})
    assert extractor_identity(row, page_extractor(BLOCKS, tmp_path)) == extractor_identity(row)


def test_pages_of_which_the_model_is_unsure_go_through_the_guarded_parser(tmp_path):
    path = tmp_path / "unsure.json"
    digest = block_model.write(replace(shipped_model(), unsure=0), path)
    rules = ExtractorRules("blocks", BlockModelFile("unsure.json", digest))
    row, paths = source(tmp_path / "in", "html", {"page.html": PAGE.encode()})
    assert texts(make_raw_set(Layout(tmp_path), row, paths, extract=rules)) == texts(
        make_raw_set(Layout(tmp_path), row, paths)
    )


def test_a_model_that_is_missing_damaged_or_another_is_refused_before_any_work(tmp_path):
    path = tmp_path / "m.json"
    rules = ExtractorRules("blocks", BlockModelFile("m.json", block_model.write(shipped_model(), path)))
    assert page_extractor(rules, tmp_path).settings == {"extractor": "blocks", "model": rules.model.sha256}
    with pytest.raises(ConfigError, match=r"extract\.model: .*sha256"):
        page_extractor(ExtractorRules("blocks", BlockModelFile("m.json", 64 * "0")), tmp_path)
    with pytest.raises(ConfigError, match=r"extract\.model: .*missing\.json"):
        page_extractor(ExtractorRules("blocks", BlockModelFile("missing.json", 64 * "0")), tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "m.json").write_bytes(path.read_bytes())
    faults.flip_byte(other / "m.json", 100)
    with pytest.raises(ConfigError, match="sha256"):
        page_extractor(rules, other)


def test_the_setting_is_optional_and_a_model_needs_its_extractor():
    document = {"dataset": "d", "version": "v1", "sources": ["s"], "licenses": {"allow": ["MIT"]}}
    config = corpus_config.from_document(document)
    assert config.extract == ExtractorRules("resiliparse")
    assert config.config_sha256 == corpus_config.from_document(json.loads(json.dumps(document))).config_sha256
    model = {"path": "m.json", "sha256": 64 * "0"}
    found = corpus_config.problems({**document, "extract": {"model": model}})
    assert found == [("extract.model", "only extractor blocks has a model; leave it out, or write extractor: blocks")]
    assert corpus_config.problems({**document, "extract": {"extractor": "blocks", "model": model}}) == []


def test_the_shipped_model_says_what_it_was_made_of():
    training = block_model.read(SHIPPED).training
    assert training["data"] == "made-up pages, tests/golden/written_pages.py and tests/golden/written_kinds.py"
    assert training["license"] == "Apache-2.0"


def test_a_preview_shows_what_the_configs_extractor_finds(tmp_path):
    row, paths = source(tmp_path / "in", "html", {"page.html": PAGE.encode()})
    prepare = page_extractor(BLOCKS, tmp_path).prepare
    found = first_documents(row, lambda _: paths[0], 1, prepare)
    assert found.rows["text"].to_pylist() == ["\n\n".join(5 * [(2 * WORDS).strip()])]

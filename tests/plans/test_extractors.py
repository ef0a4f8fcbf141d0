"""The extractor that a config names: another raw set beside the default's, and models that are refused in words."""

import json
import unicodedata
from dataclasses import replace

import pytest

from corpus_assets.plans import extracted_records
from corpus_assets.plans.extractors import SHIPPED, page_extractor, shipped_model
from corpus_assets.plans.preview import first_documents
from corpus_assets.plans.raw_set import extractor_identity, find_raw_set, make_raw_set
from corpus_assets.stages import quality_text
from formats import block_model, corpus_config
from formats.errors import ConfigError
from formats.extraction_rules import BlockModelFile, ExtractorRules
from formats.layout import Layout
from resources.guarded.process import Limits
from tests import faults
from tests.plans.test_raw_set import documents, rejects, source

BLOCKS = ExtractorRules("blocks")
QUALITY = ExtractorRules("blocks", second_opinion="trafilatura")
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


def test_the_quality_mode_has_a_raw_set_and_an_identity_of_its_own(tmp_path):
    pytest.importorskip("trafilatura", reason="trafilatura is not installed (extra `trafilatura`)")
    layout, (row, paths) = Layout(tmp_path), source(tmp_path / "in", "html", {"page.html": PAGE.encode()})
    blocks = make_raw_set(layout, row, paths, extract=BLOCKS)
    quality = make_raw_set(layout, row, paths, extract=QUALITY)
    assert quality.folder != blocks.folder
    settings = {"second_opinion": "trafilatura", "unsure": 100, "unicode": unicodedata.unidata_version}
    assert quality.extractor["settings"] == {**blocks.extractor["settings"], **settings}
    more = set(quality.extractor["libraries"]) - set(blocks.extractor["libraries"])
    assert more == {"trafilatura", "lxml", "justext"}
    assert find_raw_set(layout, row, QUALITY) == quality


def test_a_page_that_hangs_or_crashes_under_the_second_opinion_costs_itself_alone(tmp_path, monkeypatch):
    pytest.importorskip("trafilatura", reason="trafilatura is not installed (extra `trafilatura`)")
    monkeypatch.setattr(quality_text, "PARSER", "tests.resources.faulty_functions:quality_page")
    monkeypatch.setattr(extracted_records, "PARSER_LIMITS", Limits(cpu_seconds=5, wall_seconds=600))
    path = tmp_path / "unsure.json"
    digest = block_model.write(replace(shipped_model(), unsure=0), path)
    rules = ExtractorRules("blocks", BlockModelFile("unsure.json", digest), "trafilatura")
    acting = {name: f"<!--act: {what}-->{PAGE}" for name, what in (("b", "loop"), ("c", "abort"))}
    pages = {"a": PAGE, **acting, "d": PAGE.replace("ferryman", "baker")}
    row, paths = source(tmp_path / "in", "html", {f"{name}.html": page.encode() for name, page in pages.items()})
    raw = make_raw_set(Layout(tmp_path), row, paths, extract=rules)
    assert ["ferryman" in texts(raw)[0], "baker" in texts(raw)[1], len(texts(raw))] == [True, True, 2]
    assert [why for _, _, why in rejects(raw)] == ["parser_timeout", "parser_crashed"]


def test_without_its_libraries_the_quality_mode_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(quality_text, "LIBRARIES", ("no-such-library",))
    with pytest.raises(ConfigError, match=r"no-such-library is not installed; .*pip install 'corpus-assets\[traf"):
        page_extractor(QUALITY, tmp_path)


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
    asks = {"second_opinion": "trafilatura"}
    words = "only extractor blocks asks for a second opinion; leave it out, or write extractor: blocks"
    assert corpus_config.problems({**document, "extract": asks}) == [("extract.second_opinion", words)]
    assert corpus_config.problems({**document, "extract": {"extractor": "blocks", **asks}}) == []


def test_configs_without_the_setting_have_the_digest_that_they_always_had():
    document = {"dataset": "d", "version": "v1", "sources": ["s"], "licenses": {"allow": ["MIT"]}}
    blocks = {**document, "extract": {"extractor": "blocks"}}
    found = [corpus_config.from_document(one).config_sha256 for one in (document, blocks)]
    assert found == [
        "136bb395bd8371ddb7fda0586be240401401b77419a10ff65c29b78cbc1d0ab3",
        "ace128ce8951e7fcb1142bf6f5949d3a26397f422615c2de379c96eea36efc56",
    ]


def test_the_shipped_model_says_what_it_was_made_of():
    training = block_model.read(SHIPPED).training
    assert training["data"] == "made-up pages, tests/golden/written_pages.py and tests/golden/written_kinds.py"
    assert training["license"] == "Apache-2.0"


def test_a_preview_shows_what_the_configs_extractor_finds(tmp_path):
    row, paths = source(tmp_path / "in", "html", {"page.html": PAGE.encode()})
    pages = page_extractor(BLOCKS, tmp_path)
    found = first_documents(row, lambda _: paths[0], 1, pages)
    assert found.rows["text"].to_pylist() == ["\n\n".join(5 * [(2 * WORDS).strip()])]

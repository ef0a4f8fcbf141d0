"""Expected errors of pages: told where the block extractor read them, and no byte elsewhere."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.commands import trace
from corpus_assets.commands.verify import verify_version
from corpus_assets.plans import datasheet
from corpus_assets.plans.extractors import shipped_model
from corpus_assets.plans.pinned import Build, load_pairs, load_version, pin_row
from corpus_assets.plans.raw_set import find_raw_set, make_raw_set
from corpus_assets.stages import block_text, quality_text
from formats import block_model, evidence, judged_pages, ledger, raw_set, raw_set_writer
from formats.errors import CorruptDataError
from formats.judged_pages import Judgement
from formats.layout import Layout
from formats.naming import VersionKey
from tests import build_by_plans, faults
from tests.assets import tiny
from tests.commands import command_line
from tests.plans import model_corpus

BLOCKS, PLAIN = VersionKey("tiny", "blocks"), VersionKey("tiny", "plain")


def page(text: str, links: int) -> bytes:
    """A text in paragraphs, and a menu that is longer from page to page, so that expected errors differ."""
    menu = "".join(f"<li><a href=/{i}>Part {i} of the old guide</a>" for i in range(links))
    return f"<body><ul class=menu>{menu}</ul><div class=post><p>{text}</p><p>{text[::-1]}</p></div></body>".encode()


PAGES = [page(text, 3 * i) for i, text in enumerate(tiny.WEB)]
ERRORS = [min(1000, judged.error) for one in PAGES if (judged := block_text.judge(one, shipped_model()))]


def build(layout: Layout, key: VersionKey, workers: int = 1) -> None:
    def fetch(row: ledger.LedgerRow) -> object:
        paths = [layout.corpus / file.url for file in row.files]
        extract = load_version(layout, key).config.extract
        return make_raw_set(layout, row, paths, extract=extract, workers=workers)

    for _, work in build_by_plans.steps(Build(layout, model_corpus.engine(layout, workers)), key, fetch):
        work()


def make(root: Path, workers: int = 1, **extract: str) -> Layout:
    """A source of pages, read by blocks in one version, by Resiliparse in the other; half of the pages seem unsure."""
    layout = tiny.unbuilt(root)
    files = []
    for i, data in enumerate(PAGES):
        (root / "inputs" / f"{i}.html").write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        files.append({"url": f"../inputs/{i}.html", "sha256": digest, "bytes": len(data)})
    tiny.write_ledger(layout, tiny.ledger_row("web", kind="html", fields=None, files=files))
    unsure = sorted(ERRORS)[len(ERRORS) // 2]
    digest = block_model.write(replace(shipped_model(), unsure=unsure), root / "blocks.json")
    model = {"path": "blocks.json", "sha256": digest}
    tiny.write_config(layout, BLOCKS, extract={"extractor": "blocks", "model": model, **extract})
    tiny.write_config(layout, PLAIN)
    for key in (BLOCKS, PLAIN):
        build(layout, key, workers)
    return layout


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return make(tmp_path_factory.mktemp("errors") / "root")


def rows(layout: Layout) -> list[dict]:
    return pa.Table.from_batches(evidence.read(layout.evidence(BLOCKS), "extraction")).to_pylist()


def test_each_page_has_what_its_model_expects_and_whose_text_it_is(layout):
    unsure = sorted(ERRORS)[len(ERRORS) // 2]
    expected = [
        {"id": f"web:{i}", "expected_error": error, "extractor": "blocks" if error < unsure else "resiliparse"}
        for i, error in enumerate(ERRORS)
    ]
    assert rows(layout) == expected
    assert len({row["extractor"] for row in expected}) == 2
    assert len(ERRORS) == len(PAGES)


def test_a_version_read_otherwise_has_no_such_table_and_its_raw_sets_are_of_the_first_version(layout):
    assert not (layout.evidence(PLAIN) / "extraction.parquet").exists()
    for pair in load_pairs(layout, PLAIN):
        raw = find_raw_set(layout, pair.row, pair.config.extract)
        assert raw.judged is None
        assert f'"version": {raw_set.VERSION},' in (raw.folder / raw_set.MANIFEST).read_text()
        assert not (raw.folder / judged_pages.NAME).exists()
    texts = [pair for pair in load_pairs(layout, BLOCKS) if pair.row.source_id != "web"]
    assert all(find_raw_set(layout, pair.row, pair.config.extract).judged is None for pair in texts)


def test_trace_and_datasheet_tell_of_it_and_verify_passes(layout, capsys):
    first = rows(layout)[0]
    assert command_line.run(trace, layout.root, "trace", "web:0", "--version", str(BLOCKS)) == 0
    said = capsys.readouterr().out
    by = "by its blocks" if first["extractor"] == "blocks" else "by Resiliparse, the second opinion"
    assert f"{by}; the block model expects {first['expected_error'] / 10:g} % of its main text to be wrong" in said
    assert command_line.run(trace, layout.root, "trace", "tales:0", "--version", str(BLOCKS)) == 0
    assert "the block model expects" not in capsys.readouterr().out
    seconds = sum(row["extractor"] == "resiliparse" for row in rows(layout))
    html = datasheet.write_datasheet(layout, BLOCKS).html.read_text("utf-8")
    assert "expected error of extraction" in html
    assert f"{len(PAGES)} pages judged by the block extractor" in html
    assert f"{seconds} of them" in html
    assert "expected error of extraction" not in datasheet.write_datasheet(layout, PLAIN).html.read_text("utf-8")
    assert verify_version(layout, BLOCKS).ok


def test_whose_text_a_page_has_is_told_in_the_quality_mode_too(tmp_path, capsys):
    pytest.importorskip("trafilatura", reason="trafilatura is not installed (extra `trafilatura`)")
    layout = make(tmp_path / "root", second_opinion="trafilatura")
    found = rows(layout)
    unsure = min(quality_text.UNSURE, sorted(ERRORS)[len(ERRORS) // 2])
    asked = [error >= unsure for error in ERRORS]
    assert [row["extractor"] for row in found] == ["trafilatura" if one else "blocks" for one in asked]
    assert True in asked
    first = asked.index(True)
    assert command_line.run(trace, layout.root, "trace", f"web:{first}", "--version", str(BLOCKS)) == 0
    assert "by trafilatura, the second opinion; the block model expects" in capsys.readouterr().out
    html = datasheet.write_datasheet(layout, BLOCKS).html.read_text("utf-8")
    assert f"{sum(asked)} of them" in html
    assert "trafilatura, or where that found none, Resiliparse (0)" in html
    assert verify_version(layout, BLOCKS).ok


def test_one_and_two_workers_give_the_same_bytes(layout, tmp_path):
    other = make(tmp_path / "root", workers=2)
    name = "extraction.parquet"
    assert (layout.evidence(BLOCKS) / name).read_bytes() == (other.evidence(BLOCKS) / name).read_bytes()
    assert layout.lock(BLOCKS).read_bytes() == other.lock(BLOCKS).read_bytes()


# The file in the raw set.

JUDGED = [(0, Judgement(0, "blocks")), (2, Judgement(1000, "resiliparse"))]


def a_set(folder: Path, judged=JUDGED) -> raw_set.RawSet:
    writer = raw_set_writer.RawSetWriter(folder, "web", "0" * 64, {"code": {}, "libraries": {}})
    of = dict(judged)
    for k in range(3):
        writer.add_document(f"https://example.org/{k}", "2026-01-02T00:00:00Z", "MIT", f"text {k}", of.get(k))
    writer.end_file("pages", "0" * 64, 9, 9, 3)
    writer.finish()
    return raw_set.open_set(folder)


def read(raw: raw_set.RawSet) -> list[dict]:
    assert raw.judged
    return pa.Table.from_batches(judged_pages.read(raw.judged, raw.documents)).to_pylist()


def test_a_set_with_judged_pages_reads_back_and_has_one_file_and_key_more(tmp_path):
    raw, plain = a_set(tmp_path / "a"), a_set(tmp_path / "b", [])
    assert read(raw) == [
        {"k": 0, "expected_error": 0, "extractor": "blocks"},
        {"k": 2, "expected_error": 1000, "extractor": "resiliparse"},
    ]
    assert [Path(shard.path).name for shard in raw.shards] == [
        "part-00000.jsonl.zst", "rejects.jsonl.zst", "judged.jsonl.zst",
    ]  # fmt: skip
    assert plain.judged is None
    assert raw.as_dataset().digest == plain.as_dataset().digest


@pytest.mark.parametrize("at", [0, 10, -1])
def test_a_flipped_byte_is_reported_not_read(tmp_path, at):
    raw = a_set(tmp_path / "a")
    faults.flip_byte(tmp_path / "a" / judged_pages.NAME, at)
    with pytest.raises(CorruptDataError, match="sha256"):
        read(raw)


@pytest.mark.parametrize(
    "judged",
    [
        [(0, Judgement(1001, "blocks"))],
        [(0, Judgement(-1, "blocks"))],
        [(0, Judgement(1, "readability"))],
    ],
)
def test_a_line_that_says_what_cannot_be_is_named(tmp_path, judged):
    with pytest.raises(CorruptDataError, match="line 0 is"):
        read(a_set(tmp_path / "a", judged))


def test_pages_beyond_the_documents_are_refused(tmp_path):
    raw = a_set(tmp_path / "a")
    with pytest.raises(CorruptDataError, match="line 1 is"):
        list(judged_pages.read(raw.judged, 2))


def test_the_pinned_row_is_the_same_under_either_extractor(layout):
    keys = [load_pairs(layout, key)[-1].key for key in (BLOCKS, PLAIN)]
    assert pin_row(layout, keys[0]) == pin_row(layout, keys[1])

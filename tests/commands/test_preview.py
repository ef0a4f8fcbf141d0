"""`corpus preview` shows what a build would do with the first documents, reads no further, and writes nothing."""

import gzip
import hashlib
import json
import random

import pytest

from corpus_assets.commands import preview
from corpus_assets.plans.pinned import load_pair
from corpus_assets.plans.source_stages import verdicts
from formats import dataset, ledger
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.ledger import LedgerFile
from formats.naming import PairKey
from tests.assets import tiny
from tests.commands import command_line
from tests.formats import ledger_rows
from tests.plans import site_corpus
from tests.plans.tampering import a_build, as_they_lie


def previewed(capsys, layout: Layout, source: str, *words: str) -> dict:
    assert command_line.run(preview, layout.root, "preview", source, "--json", *words) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("source", tiny.SOURCES)
def test_its_verdicts_are_those_of_a_build(tmp_path, capsys, source):
    layout = tiny.copy(tmp_path / "root")
    pair = load_pair(layout, next(pair for pair in tiny.PAIRS if pair.source == source))
    stored = dataset.read_table(verdicts(a_build(layout), pair).open())
    said = previewed(capsys, layout, source, "--config", "tiny.v1")
    assert [one["verdict"] for one in said["documents"]] == stored["verdict"].to_pylist()
    assert [one["id"] for one in said["documents"]] == [f"{source}:{k}" for k in stored["k"].to_pylist()]


def test_listed_sites_are_left_out_as_in_a_build_and_the_line_is_told(tmp_path, capsys):
    layout = site_corpus.make(tmp_path / "root")
    pair = load_pair(layout, PairKey("shop", site_corpus.V3))
    stored = dataset.read_table(verdicts(a_build(layout), pair).open())
    before = as_they_lie(layout.root)
    said = previewed(capsys, layout, "shop", "--config", str(site_corpus.V3))
    assert [one["verdict"] for one in said["documents"]] == stored["verdict"].to_pylist()
    assert said["documents"][1]["verdict"] == "kept"  # the same text as the first, which is not there
    whys = [one["why"] for one in said["documents"] if one["verdict"] in ("opt_out", "blocked_site")]
    assert whys == [
        "its site asked to be left out: example.co.uk (list asked, line 1, since 2026-11-30: mail of the owner)",
        "its site is on a block list: https://forum.example.net/private/ (list forums, line 3)",
    ]
    assert not any("site lists" in note for note in said["notes"])
    assert as_they_lie(layout.root) == before


def test_it_writes_nothing(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    before = as_they_lie(layout.root)
    previewed(capsys, layout, "tales", "--config", "tiny.v1")
    assert as_they_lie(layout.root) == before


def test_a_dropped_document_says_which_rule_what_was_measured_and_the_limit(tmp_path, capsys):
    said = previewed(capsys, tiny.unbuilt(tmp_path), "tales", "--config", "tiny.v1")
    short = said["documents"][8]
    assert (short["beginning"], short["verdict"]) == ("Short.", "too_short")
    assert short["why"] == "characters is 6, expected at least 10 (filter length, profile prose)"
    assert said["documents"][7]["why"].endswith("a document that stays, tales:0")
    assert said["rejects"][0]["reason"] == "broken_json"


def test_personal_data_is_counted_by_kind(tmp_path, capsys):
    said = previewed(capsys, tiny.unbuilt(tmp_path), "notes", "--config", "tiny.v1")
    assert [said["documents"][i]["pii"][kind] for i, kind in enumerate(("email", "phone", "ip", "card"))] == [1] * 4


def test_without_a_version_the_defaults_decide(tmp_path, capsys):
    said = previewed(capsys, tiny.unbuilt(tmp_path), "tales")
    assert said["dropped"]["too_few_words"] == 8


@pytest.mark.parametrize("count", [1, 3])
def test_it_stops_when_it_has_its_documents(tmp_path, capsys, count):
    """The file is cut in its middle, so reading on would be an error."""
    layout = tiny.unbuilt(tmp_path)
    draw = random.Random(count)
    lines = [json.dumps({"text": draw.randbytes(4_000).hex(), "url": str(i)}) for i in range(2_000)]
    data = gzip.compress("\n".join(lines).encode())[: 4 * 1024 * 1024]
    (tmp_path / "inputs" / "web.jsonl.gz").write_bytes(data)
    file = {"url": "../inputs/web.jsonl.gz", "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    tiny.write_ledger(layout, tiny.ledger_row("web", files=[file]))
    assert len(previewed(capsys, layout, "web", "-n", str(count))["documents"]) == count
    with pytest.raises(CorruptDataError):
        previewed(capsys, layout, "web", "-n", "5000")


def test_a_source_without_documents_ends_too(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    data = b"{broken\n" * 5_000
    (tmp_path / "inputs" / "web.jsonl").write_bytes(data)
    file = {"url": "../inputs/web.jsonl", "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    tiny.write_ledger(layout, tiny.ledger_row("web", files=[file]))
    said = previewed(capsys, layout, "web", "-n", "2")
    assert (said["documents"], len(said["rejects"])) == ([], 1_000)
    assert said["notes"][-1].startswith("too few records become documents")


def remote(layout: Layout) -> LedgerFile:
    data = tiny.FILES["web"]
    file = LedgerFile("https://files.example/web.jsonl", hashlib.sha256(data).hexdigest(), len(data))
    values = {"url": file.url, "sha256": file.sha256, "bytes": file.num_bytes}
    tiny.write_ledger(layout, tiny.ledger_row("web", files=[values]))
    return file


def test_what_would_be_downloaded_is_said_and_not_done(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    remote(layout)
    before = as_they_lie(layout.root)
    with pytest.raises(ConfigError, match="would be downloaded; add --fetch"):
        previewed(capsys, layout, "web")
    assert as_they_lie(layout.root) == before


def test_what_was_fetched_is_read_from_the_cache(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    file = remote(layout)
    layout.cache.mkdir()
    (layout.cache / file.sha256).write_bytes(tiny.FILES["web"])
    assert len(previewed(capsys, layout, "web")["documents"]) == len(tiny.WEB)


def test_with_fetch_it_is_downloaded_as_it_is_read(tmp_path, capsys, monkeypatch):
    layout = tiny.unbuilt(tmp_path)
    file, asked = remote(layout), []

    class Network:
        def __init__(self, *_, access):
            pass

        def fetch_all(self, wanted):
            asked.extend(one.url for one in wanted)
            return [layout.root / "inputs" / "web.jsonl"]

    monkeypatch.setattr(preview, "Fetcher", Network)
    assert len(previewed(capsys, layout, "web", "--fetch")["documents"]) == len(tiny.WEB)
    assert asked == [file.url]


def test_a_row_that_breaks_a_rule_is_refused_before_anything_is_read(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    tiny.write_ledger(layout, tiny.ledger_row("web", license_spdx="no licence"))
    with pytest.raises(ConfigError, match="its row is not right"):
        previewed(capsys, layout, "web")


def test_a_version_that_would_refuse_the_source_is_a_note(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    tiny.write_config(layout, licenses={"allow": ["CC0-1.0"]})
    assert "tiny.v1 would refuse the source" in " ".join(
        previewed(capsys, layout, "web", "--config", "tiny.v1")["notes"]
    )


def test_people_see_beginnings_reasons_and_sums(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    assert command_line.run(preview, layout.root, "preview", "tales", "--config", "tiny.v1") == 0
    out = capsys.readouterr().out
    assert "tales:8  dropped: too_short" in out
    assert "    Short.\n    - characters is 6, expected at least 10" in out
    assert "10 documents; 3 would be dropped (exact_duplicate 1, too_short 1, top_4gram_too_frequent 1)" in out
    assert "; 1 record cannot become documents (broken_json 1)" in out


def test_a_password_in_the_url_of_a_record_is_not_shown(tmp_path, capsys):
    layout = Layout(tmp_path)
    lines = (
        b'{"text": "Tom naps.", "link": "http://me:hunter2@w.org/a@b"}\n'
        b'{"text": 1, "link": "http://me:hunter2@w.org/c"}\n'
    )
    (tmp_path / "a.jsonl").write_bytes(lines)
    file = ledger_rows.file("../a.jsonl", hashlib.sha256(lines).hexdigest()) | {"bytes": len(lines)}
    ledger.append(layout.ledger, ledger_rows.row(files=[file], fields={"url": "link"}))
    said = previewed(capsys, layout, "fables")
    assert [one["url"] for one in said["documents"]] == ["http://w.org/a@b"]
    assert [one["url"] for one in said["rejects"]] == ["http://w.org/c"]


@pytest.mark.parametrize(
    ("data", "is_told"),
    [
        (b'[{"text": "Tom naps."},\n{"text": "Mia."}]\n', True),
        (b'[{"text": "Tom naps."}]', True),
        (b'{"text": "Tom naps."}\r{"text": "Mia."}\r', True),
        (b'{"text": "Tom naps."}\r\n', False),
        (b'{"text": "Tom naps."}\nbroken\n', False),
        (b'{"body": "Tom naps."}\n', False),
    ],
)
def test_what_is_json_but_no_json_lines_is_told_as_such(tmp_path, capsys, data, is_told):
    layout = Layout(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(data)
    file = ledger_rows.file("../a.jsonl", hashlib.sha256(data).hexdigest()) | {"bytes": len(data)}
    ledger.append(layout.ledger, ledger_rows.row(files=[file]))
    said = previewed(capsys, layout, "fables")
    assert any("no line is a JSON object: a JSON array (`jq -c" in note for note in said["notes"]) == is_told

"""Pages that take the parser down, in the middle of a source: they are rejects, and their neighbours come out."""

import os
import random
import signal
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from corpus_assets.plans import extracted_records
from corpus_assets.plans.raw_set import make_raw_set
from corpus_assets.stages import extract_text
from formats import raw_set
from formats.layout import Layout
from formats.raw_set import RawSet
from resources.guarded.process import Limits
from tests.bench.measure import below
from tests.plans.test_raw_set import documents, page, rejects, source, tree
from tests.records.made_up_files import http, warc_record

FAULTY = "tests.resources.faulty_functions:page"
STRICT = Limits(cpu_seconds=0.5, wall_seconds=600, memory_bytes=128 * 1024**2)
GOOD = [page(f"Tom has a red ball, and Mia has {n}.") for n in range(12)]

HANGS = b"".join(b"<font id=%d>" % n for n in range(500)) + b"<div></font>" * 20_000
"""Within every limit that is counted; the real parser has not ended after minutes."""
EATS_MEMORY = b"<p>" + b"".join(b"<b id=%d>" % n for n in range(500)) + b"</p>" + b"<p>Tom</p>" * 20_000
"""160 KB of which the real parser makes 4 GB: every paragraph opens all 500 again."""


def acting(what: str) -> bytes:
    return f"<!--act: {what}-->".encode() + page("Tom is not seen.")


def url(n: int) -> str:
    return f"http://tales.example/{n}"


def archive(pages: list[bytes]) -> tuple[bytes, list[int]]:
    """A WARC of the pages, and the byte at which each begins."""
    data, places = b"", []
    for n, one in enumerate(pages):
        places.append(len(data))
        data += warc_record("response", http(one), url(n))
    return data, places


def made(folder: Path, data: bytes, workers: int = 1, name: str = "set") -> RawSet:
    row, paths = source(folder / "in", "warc", {"f": data})
    return make_raw_set(Layout(folder / name), row, paths, workers=workers)


def texts(raw: RawSet) -> list[tuple[str, str]]:
    return [(where, text) for where, _, text in documents(raw)]


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real parser, but for pages that hold something else to do; and limits that tests can wait for."""
    monkeypatch.setattr(extract_text, "PARSER", FAULTY)
    monkeypatch.setattr(extracted_records, "PARSER_LIMITS", STRICT)


@pytest.mark.usefixtures("faulty")
@pytest.mark.parametrize("workers", [1, 3])
def test_guilty_pages_are_rejects_with_their_place_and_all_others_come_out_in_order(tmp_path, workers, monkeypatch):
    monkeypatch.setattr(extracted_records, "_BATCH_RECORDS", 4)
    guilty = {2: "read-null", 3: "abort", 6: "loop", 11: "eat 10000"}
    reasons = {"loop": "parser_timeout"}
    pages = [acting(guilty[n]) if n in guilty else one for n, one in enumerate(GOOD)]
    data, places = archive(pages)
    raw = made(tmp_path, data, workers)
    undisturbed = texts(made(tmp_path / "undisturbed", archive(GOOD)[0]))
    assert texts(raw) == [one for n, one in enumerate(undisturbed) if n not in guilty]
    assert len(undisturbed) == len(GOOD)
    assert rejects(raw) == [(url(n), places[n], reasons.get(what, "parser_crashed")) for n, what in guilty.items()]
    [file] = raw.files
    assert (file.records, file.documents, file.rejects) == (12, 8, 4)


@pytest.mark.parametrize(
    ("guilty", "reason"), [(HANGS, "parser_timeout"), (EATS_MEMORY, "parser_crashed")], ids=["hangs", "eats memory"]
)
def test_pages_that_the_real_parser_cannot_take_cost_themselves_alone(tmp_path, monkeypatch, guilty, reason):
    monkeypatch.setattr(extracted_records, "PARSER_LIMITS", STRICT)
    raw = made(tmp_path, archive([GOOD[0], guilty, GOOD[1]])[0])
    assert [where for where, _ in texts(raw)] == [url(0), url(2)]
    assert [(where, why) for where, _, why in rejects(raw)] == [(url(1), reason)]


def test_pages_that_took_parsers_down_elsewhere_cost_themselves_at_most(tmp_path):
    """Reports 17 and 18: a table of a million rows, 50,000 levels, 200,000 unclosed tags, a template in a picture."""
    table = b"<table>" + b"<tr><td>Tom" * 700_000  # more is beyond the limit of bytes already
    hostile = [table, b"<div>" * 50_000 + b"Tom.", b"<a>Tom " * 200_000, b"<svg><template>\n", b"<a>Tom " * 200_001]
    pages = [one for pair in zip(hostile, GOOD, strict=False) for one in pair]
    raw = made(tmp_path, archive(pages)[0])
    found = dict(texts(raw))
    assert [where for where in found if int(where[-1]) % 2] == [url(n) for n in (1, 3, 5, 7, 9)]
    assert found[url(2)] == "Tom."
    assert found[url(4)].startswith("Tom Tom")
    assert [(where, why) for where, _, why in rejects(raw)] == [
        (url(0), "page_too_large"),
        (url(6), "no_main_text"),
        (url(8), "page_too_large"),
    ]


@pytest.mark.usefixtures("faulty")
def test_processes_killed_at_random_times_change_no_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(extracted_records, "_BATCH_RECORDS", 5)
    data, _ = archive([acting("burn 0.005 ") if n % 3 else one for n, one in enumerate(GOOD * 10)])
    first = tree(made(tmp_path, data, name="first").folder)
    others = set(below(os.getpid()))
    draw, over, kills = random.Random(5), threading.Event(), []

    def kill() -> None:
        """Three in all: so many as make an item the machine's fault could hit one on a machine that is slow enough."""
        while len(kills) < 3 and not over.wait(0.2 + draw.random() / 5):
            if found := sorted(set(below(os.getpid())) - others):
                with suppress(ProcessLookupError):
                    os.kill(draw.choice(found), signal.SIGKILL)
                    kills.append(1)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        while len(kills) < 3:
            assert tree(made(tmp_path, data, workers=3, name=f"after {len(kills)}").folder) == first
    finally:
        over.set()
        killer.join()


def test_one_page_many_times_gives_one_text_with_any_number_of_processes(tmp_path, monkeypatch):
    """Report 15: an option of an extractor kept state, and the page's text came three times, then never."""
    monkeypatch.setattr(extracted_records, "_BATCH_RECORDS", 3)
    data, _ = archive([GOOD[0], *GOOD[:1] * 10, GOOD[1], *GOOD[:1] * 10])
    found = [made(tmp_path, data, workers, name=str(workers)) for workers in (1, 4)]
    assert tree(found[0].folder) == tree(found[1].folder)
    assert len({text for _, text in texts(found[0])}) == 2
    assert found[0].documents == 22


def test_records_that_need_no_parser_start_no_process(tmp_path, monkeypatch):
    monkeypatch.setattr("resources.guarded.guard.Process", None)
    row, paths = source(tmp_path / "in", "jsonl", {"f": b'{"text": "Tom naps."}\n' * 1_000})
    assert make_raw_set(Layout(tmp_path), row, paths).documents == 1_000
    with pytest.raises(TypeError, match="NoneType"):
        made(tmp_path, archive(GOOD)[0])


def test_pages_and_plain_text_keep_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(extracted_records, "_BATCH_BYTES", 300)
    parts = [
        warc_record("response", http(b"Tom %d" % n, content_type="text/plain") if n % 3 else http(GOOD[n % 12]), url(n))
        for n in range(60)
    ]
    raw = made(tmp_path, b"".join(parts), workers=3)
    assert [where for where, _ in texts(raw)] == [url(n) for n in range(60)]
    assert raw_set.open_set(raw.folder) == raw

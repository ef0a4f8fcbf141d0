"""Raw sets of ledger rows: made once by identity, byte for byte the same, nothing lost."""

import gzip
import json
import multiprocessing
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from corpus_assets.plans import raw_set as plan
from corpus_assets.plans.raw_set import extractor_identity, fetch_raw_set, find_raw_set, make_raw_set
from formats import durable, raw_set, raw_set_rows
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.ledger import LedgerFile, LedgerRow
from formats.raw_set import RawSet
from resources.download.fetcher import Fetcher
from tests import faults
from tests.records.made_up_files import http, mapping, row, tar, warc_record
from tests.shared_data import DATA, needs_shared_data

LINES = (
    b'{"text": "Tom naps."}\nbroken\n{"text": "lone \\ud800"}\n{"text": "pair \\ud83d\\ude00"}\n{"text": "a\\u0000b"}\n'
)


def source(folder: Path, kind: str, contents: dict[str, bytes], **changes) -> tuple[LedgerRow, list[Path]]:
    """A ledger row over files written here, and their paths in its order."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for url, data in contents.items():
        (folder / url).write_bytes(data)
        files.append(LedgerFile(url, durable.sha256_of(folder / url), len(data)))
    made = row(kind, **{"files": tuple(files), **changes})
    return made, [folder / file.url for file in made.files]


def documents(raw: RawSet) -> list[tuple[str, str, str]]:
    batches = [batch for part in raw.parts for batch in raw_set_rows.read_part(part)]
    return [(row["url"], row["fetched_at"], row["text"]) for batch in batches for row in batch.to_pylist()]


def rejects(raw: RawSet) -> list[tuple[str, int, str]]:
    return [tuple(reject.values()) for reject in raw_set_rows.read_rejects(raw)]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_file_cut_after_it_was_verified_gives_no_raw_set_of_fewer_documents(tmp_path):
    made, [path] = source(tmp_path / "in", "jsonl", {"tales.jsonl": LINES})
    path.write_bytes(LINES[: LINES.index(b"\n") + 1])
    with pytest.raises(CorruptDataError, match=r"tales\.jsonl: sha256 is .* it changed while it was read: restore it"):
        make_raw_set(Layout(tmp_path), made, [path])
    assert tree(tmp_path / "corpus" / "raw").keys() == {"tales/.lock"}
    path.write_bytes(LINES)
    assert make_raw_set(Layout(tmp_path), made, [path]).documents == 3


@pytest.mark.parametrize(
    ("url", "published"),
    [
        ("http://user:topsecret@w.org/", "http://w.org/"),
        ("http://user:top%40secret@w.org:80/?mail=me@w.org#@", "http://w.org:80/?mail=me@w.org#@"),
        ("//user@w.org//x@y", "//w.org//x@y"),
        ("HTTP://W.org/%7E@ab?q=http://x:y@z/", "HTTP://W.org/%7E@ab?q=http://x:y@z/"),
    ],
)
def test_a_user_and_a_password_in_the_url_of_a_record_are_left_out_and_nothing_else(tmp_path, url, published):
    page = http(b"<p>Tom has a red ball, and Mia has a blue one. They play all day in the warm sun.</p>")
    lines = b"".join(
        json.dumps({"text": text, "link": url}).encode() + b"\n" for text in ("Tom naps.", "lone \ud800", "Mia.")
    )
    table = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": ["Tom naps."], "link": [url]}), table)
    for kind, name, data in (
        ("jsonl", "a.jsonl", lines),
        ("parquet", "a.parquet", table.getvalue().to_pybytes()),
        ("warc", "a.warc", warc_record("response", page, url) + warc_record("response", http(b"", "404 No"), url)),
    ):
        fields = {"fields": mapping(url="link")} if kind != "warc" else {}
        made, paths = source(tmp_path / kind / "in", kind, {name: data}, **fields)
        raw = make_raw_set(Layout(tmp_path / kind), made, paths)
        found = [one for one, *_ in (*documents(raw), *rejects(raw))]
        assert set(found) == {published}, kind
        assert b"topsecret" not in b"".join(tree(tmp_path / kind / "corpus").values())


def test_every_record_becomes_a_document_or_a_reject(tmp_path):
    made, paths = source(
        tmp_path / "in", "jsonl", {"b.jsonl": LINES, "a.jsonl.gz": gzip.compress(b'{"text": "Mia."}\n', mtime=0)}
    )
    raw = make_raw_set(Layout(tmp_path), made, paths)
    midnight = "2026-01-02T00:00:00Z"
    assert documents(raw) == [
        ("a.jsonl.gz#0", midnight, "Mia."),
        ("b.jsonl#0", midnight, "Tom naps."),
        ("b.jsonl#3", midnight, "pair 😀"),
        ("b.jsonl#4", midnight, "a\0b"),
    ]
    assert rejects(raw) == [("b.jsonl#1", 1, "broken_json"), ("b.jsonl#2", 2, "lone_surrogate")]
    assert [(f.url, f.records, f.documents, f.rejects, f.first_k) for f in raw.files] == [
        ("a.jsonl.gz", 1, 1, 0, 0),
        ("b.jsonl", 5, 3, 2, 1),
    ]
    assert [(f.bytes, f.decompressed_bytes) for f in raw.files] == [(paths[0].stat().st_size, 17), (len(LINES),) * 2]
    assert raw.folder == tmp_path / "corpus" / "raw" / "tales" / "20260102"
    assert (raw.source_id, raw.ledger_row_digest) == ("tales", made.digest)


def test_a_record_that_is_lost_between_reader_and_raw_set_leaves_no_set(tmp_path, monkeypatch):
    made, paths = source(tmp_path / "in", "jsonl", {"f.jsonl": b'{"text": "one"}\n{"text": "two"}\n'})
    whole = plan.extracted_records
    monkeypatch.setattr(plan, "extracted_records", lambda *args: list(whole(*args))[1:])
    with pytest.raises(CorruptDataError, match=r"f\.jsonl: records is 1 documents and 0 rejects, expected 2"):
        make_raw_set(Layout(tmp_path), made, paths)
    assert not list(tmp_path.rglob("manifest.json"))


def page(text: str) -> bytes:
    return f"<html><body><article><p>{text}</p></article></body></html>".encode()


CRAWL = (
    warc_record("response", http(page("Tom has a cat.")))
    + warc_record("response", http(b"<html></html>"), "http://tales.example/empty")
    + warc_record("request", b"GET / HTTP/1.1\r\n\r\n")
)


@pytest.mark.parametrize(
    ("kind", "data", "container", "expected", "reasons"),
    [
        ("text", "Tom, größer.".encode("cp1252"), None, [("f#0", "Tom, größer.")], []),
        ("markdown", b"\xef\xbb\xbf# Tom\n", None, [("f#0", "# Tom\n")], []),
        ("text", b"\x00\xff\xfe\x01", None, [], ["binary_content"]),
        ("html", page("Tom naps."), None, [("f", "Tom naps.")], []),
        ("html", b"<p></p>", None, [], ["no_main_text"]),
        ("warc", CRAWL, None, [("http://tales.example/cat", "Tom has a cat.")], ["no_main_text", "not_a_response"]),
        ("wet", warc_record("conversion", b"Tom."), None, [("http://tales.example/cat", "Tom.")], []),
        ("html", tar({"a.html": page("Tom."), "b": b""}), "tar", [("f#a.html", "Tom.")], ["other_file_name"]),
    ],
)
def test_every_kind_of_source_gives_its_text(tmp_path, kind, data, container, expected, reasons):
    made, paths = source(tmp_path / "in", kind, {"f": data}, container=container)
    raw = make_raw_set(Layout(tmp_path), made, paths)
    assert [(url, text) for url, _, text in documents(raw)] == expected
    assert [reason for _, _, reason in rejects(raw)] == reasons
    [file] = raw.files
    assert file.records == file.documents + file.rejects
    assert file.decompressed_bytes == len(data)


def test_parquet_rows_and_mapped_dates_go_through(tmp_path):
    pq.write_table(pa.table({"body": ["Tom.", None], "at": ["2024-05-06", "2024-05-07"]}), tmp_path / "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    made, paths = source(tmp_path / "in", "parquet", {"f": data}, fields=mapping(text="body", date="at"))
    raw = make_raw_set(Layout(tmp_path), made, paths)
    assert documents(raw) == [("f#0", "2024-05-06T00:00:00Z", "Tom.")]
    assert rejects(raw) == [("f#1", 1, "no_text_field")]


def test_the_crawl_date_is_the_records_own(tmp_path):
    made, paths = source(tmp_path / "in", "warc", {"f": CRAWL})
    assert [date for _, date, _ in documents(make_raw_set(Layout(tmp_path), made, paths))] == ["2024-05-06T07:08:09Z"]


def test_two_makings_at_other_places_give_the_same_bytes(tmp_path):
    found = []
    for name in ("one", "two"):
        made, paths = source(tmp_path / name / "in", "jsonl", {"f": LINES, "g": LINES})
        raw = make_raw_set(Layout(tmp_path / name), made, paths)
        found.append(tree(raw.folder))
    assert found[0] == found[1]


def test_the_same_identity_is_reused_without_reading_a_file(tmp_path):
    made, paths = source(tmp_path / "in", "jsonl", {"f": LINES})
    first = make_raw_set(Layout(tmp_path), made, paths)
    before = tree(tmp_path / "corpus")
    for path in paths:
        path.unlink()
    assert make_raw_set(Layout(tmp_path), made, paths) == first
    assert find_raw_set(Layout(tmp_path), made) == first
    assert tree(tmp_path / "corpus") == before


def test_a_row_that_was_not_made_is_named(tmp_path):
    made, _ = source(tmp_path / "in", "jsonl", {"f": LINES})
    with pytest.raises(ConfigError, match="tales is not materialized"):
        find_raw_set(Layout(tmp_path), made)


def test_another_set_of_the_same_day_lies_beside_the_first(tmp_path, monkeypatch):
    layout = Layout(tmp_path)
    made, paths = source(tmp_path / "in", "jsonl", {"f": LINES})
    first = make_raw_set(layout, made, paths)
    other = make_raw_set(layout, replace(made, title="Other tales"), paths)
    assert other.folder.name == f"20260102-{other.identity[:8]}"
    monkeypatch.setattr(plan, "CODE_VERSION", "of tomorrow")
    later = make_raw_set(layout, made, paths)
    assert later.folder.name == f"20260102-{later.identity[:8]}"
    assert make_raw_set(layout, replace(made, retrieved="2026-01-03"), paths).folder.name == "20260103"
    monkeypatch.undo()
    assert find_raw_set(layout, made) == first
    assert find_raw_set(layout, replace(made, title="Other tales")) == other


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "text", "markdown", "html", "warc", "wet"])
def test_the_identity_names_code_and_libraries_of_the_kind(kind):
    found = extractor_identity(row(kind))
    assert ("resiliparse" in found["libraries"]) == (kind in ("text", "markdown", "html", "warc"))
    assert ("fastwarc" in found["libraries"]) == (kind in ("warc", "wet"))
    assert ("extract_text" in found["code"]) == (kind in ("html", "warc"))
    assert found["libraries"]["zstandard"] == zstandard.__version__
    json.dumps(found)


def test_a_broken_file_leaves_nothing_and_the_next_try_makes_the_set(tmp_path):
    layout = Layout(tmp_path)
    made, paths = source(tmp_path / "in", "jsonl", {"a": LINES, "b": gzip.compress(LINES, mtime=0)})
    whole = paths[1].read_bytes()
    faults.truncate(paths[1])
    with pytest.raises(CorruptDataError, match=str(paths[1])):
        make_raw_set(layout, made, paths)
    assert [path.name for path in layout.raw_sets("tales").iterdir()] == [".lock"]
    paths[1].write_bytes(whole)
    assert make_raw_set(layout, made, paths).documents == 6


def test_what_a_killed_run_left_is_swept(tmp_path):
    layout = Layout(tmp_path)
    made, paths = source(tmp_path / "in", "jsonl", {"f": LINES})
    stale = layout.raw_sets("tales") / ".20260102.tmp"
    stale.mkdir(parents=True)
    (stale / "part-00007.jsonl.zst").write_bytes(b"half")
    raw = make_raw_set(layout, made, paths)
    assert not stale.exists()
    assert "part-00007.jsonl.zst" not in tree(raw.folder)


def test_a_damaged_set_is_an_error_not_a_reason_to_make_another(tmp_path):
    layout = Layout(tmp_path)
    made, paths = source(tmp_path / "in", "jsonl", {"f": LINES})
    raw = make_raw_set(layout, made, paths)
    faults.flip_byte(raw.folder / raw_set.MANIFEST, 20)
    with pytest.raises(CorruptDataError, match=r"manifest\.json"):
        make_raw_set(layout, made, paths)


@pytest.mark.parametrize("paths", [0, 2])
def test_paths_have_to_fit_the_files(tmp_path, paths):
    made, found = source(tmp_path / "in", "jsonl", {"f": LINES})
    with pytest.raises(ConfigError, match="paths for 1 files"):
        make_raw_set(Layout(tmp_path), made, found * paths)


def _make(folder: Path, made: LedgerRow, paths: list[Path]) -> str:
    return make_raw_set(Layout(folder), made, paths).digest


def test_makers_at_the_same_time_make_one_set(tmp_path):
    made, paths = source(tmp_path / "in", "jsonl", {"f": LINES * 200})
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        digests = set(pool.starmap(_make, [(tmp_path, made, paths)] * 4))
    assert len(digests) == 1
    folder = Layout(tmp_path).raw_sets("tales")
    assert sorted(path.name for path in folder.iterdir()) == [".lock", "20260102"]


def test_threads_wait_for_each_other(tmp_path):
    made, paths = source(tmp_path / "in", "jsonl", {"f": LINES * 200})
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(_make(tmp_path, made, paths))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1


def test_progress_counts_files_and_documents(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "_REPORT_EVERY", 4)
    made, paths = source(tmp_path / "in", "jsonl", {"a": LINES, "b": LINES})
    seen: list[tuple[int, int, int]] = []
    make_raw_set(Layout(tmp_path), made, paths, progress=lambda *now: seen.append(now))
    assert seen == [(0, 2, 2), (1, 2, 3), (1, 2, 4), (2, 2, 6)]


def test_fetching_makes_the_set_from_files_beside_the_ledger_once(tmp_path):
    layout = Layout(tmp_path)
    made, paths = source(layout.corpus, "jsonl", {"f.jsonl": LINES})
    fetcher = Fetcher(layout.cache)
    raw = fetch_raw_set(layout, made, fetcher)
    assert [url for url, _, _ in documents(raw)] == ["f.jsonl#0", "f.jsonl#3", "f.jsonl#4"]
    paths[0].unlink()
    assert fetch_raw_set(layout, made, fetcher) == raw


@needs_shared_data
@pytest.mark.parametrize(
    ("kind", "file", "fields", "expected"),
    [
        ("jsonl", "code/iipc__jwarc.jsonl.zst", mapping(license="license"), 144),
        ("jsonl", "docs-fastapi/fastapi-0.94.1.jsonl.zst", mapping(license="license"), 323),
        ("jsonl", "stories/aesop.jsonl.zst", mapping(license="license"), 283),
        ("warc", "web-warc/chatnoir-resiliparse/warcfile.warc.gz", None, 16),
        ("warc", "web-warc/whirlwind-python/whirlwind.warc.gz", None, 1),
        ("wet", "web-warc/whirlwind-python/whirlwind.warc.wet.gz", None, 1),
    ],
)
def test_real_sources_give_the_documents_their_list_says(tmp_path, kind, file, fields, expected):
    listed = {entry["file"]: entry for entry in map(json.loads, (DATA / "manifest.jsonl").read_bytes().splitlines())}
    changes = {"fields": fields} if fields else {}
    file_row = LedgerFile(file, listed[file]["sha256"], listed[file]["bytes"])
    made = row(kind, files=(file_row,), license_spdx=listed[file]["license_spdx"], **changes)
    raw = make_raw_set(Layout(tmp_path), made, [DATA / file])
    found = documents(raw)
    assert len(found) == raw.documents == expected
    assert all(text.strip() for _, _, text in found)
    assert kind != "jsonl" or raw.rejects == {}


@pytest.mark.parametrize(
    ("num_broken", "num_whole", "is_read"), [(5, 0, True), (6, 0, False), (8, 1, True), (9, 1, False)]
)
def test_a_file_of_far_more_rejects_than_documents_is_an_error(tmp_path, monkeypatch, num_broken, num_whole, is_read):
    monkeypatch.setattr(plan, "MAX_IDLE_REJECTS", 5)
    monkeypatch.setattr(plan, "MAX_REJECTS_A_DOCUMENT", 3)
    contents = b'{"text": "Tom naps."}\n' * num_whole + b"{}\n" * num_broken
    made, paths = source(tmp_path / "in", "jsonl", {"tales.jsonl": contents})
    if is_read:
        assert len(rejects(make_raw_set(Layout(tmp_path), made, paths))) == num_broken
    else:
        words = r"number of rejects is more; the last one is no_text_field, expected at most 5, and 3 for each document"
        with pytest.raises(CorruptDataError, match=words):
            make_raw_set(Layout(tmp_path), made, paths)

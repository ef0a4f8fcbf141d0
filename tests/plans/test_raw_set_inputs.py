"""Raw sets of hostile and odd inputs: every record is a document or a reject, and nothing is written but the set."""

import io
import json
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from corpus_assets.plans.raw_set import extractor_identity, make_raw_set
from formats.errors import CorruptDataError
from formats.layout import Layout
from tests.plans.test_raw_set import documents, rejects, source, tree
from tests.records.made_up_files import http, mapping, row, special, tar, warc_record, zipped

PAGE = b"<html><body><article><p>%b</p></article></body></html>"


def files_outside(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and "corpus" not in path.parts}


def test_an_archive_of_hostile_names_writes_nothing_beside_the_set(tmp_path):
    members = {
        "../../escape.html": PAGE % b"out",
        "/tmp/absolute.html": PAGE % b"out",
        "link.html": special("link.html", tarfile.SYMTYPE, "/etc/passwd"),
        "pipe.html": special("pipe.html", tarfile.FIFOTYPE),
        "a/good.html": PAGE % b"A fox looked at a vine.",
    }
    made, paths = source(tmp_path / "in", "html", {"t.tar.zst": zstandard.compress(tar(members))}, container="tar")
    before = files_outside(tmp_path)
    raw = make_raw_set(Layout(tmp_path), made, paths)
    assert [(url, text.strip()) for url, _, text in documents(raw)] == [
        ("t.tar.zst#a/good.html", "A fox looked at a vine.")
    ]
    assert rejects(raw) == [
        ("t.tar.zst#../../escape.html", 0, "unsafe_member_name"),
        ("t.tar.zst#/tmp/absolute.html", 1, "unsafe_member_name"),
        ("t.tar.zst#link.html", 2, "not_a_file"),
        ("t.tar.zst#pipe.html", 3, "not_a_file"),
    ]
    assert files_outside(tmp_path) == before
    assert not Path("/tmp/absolute.html").exists()


@pytest.mark.parametrize("container", ["tar", "zip"])
def test_web_archives_and_tables_in_archives_become_sets_by_their_own_urls(tmp_path, container):
    pack = {"tar": tar, "zip": zipped}[container]
    crawl = warc_record("response", http(PAGE % b"Tom has a red ball."), "http://tales.example/ball")
    made, paths = source(
        tmp_path / "a", "warc", {"w": pack({"x/1.warc": crawl, "x/2.warc": crawl})}, container=container
    )
    raw = make_raw_set(Layout(tmp_path / "warc"), made, paths)
    assert [(url, date) for url, date, _ in documents(raw)] == [
        ("http://tales.example/ball", "2024-05-06T07:08:09Z")
    ] * 2
    table = io.BytesIO()
    pq.write_table(pa.table({"text": ["Mia naps.", None]}), table)
    made, paths = source(tmp_path / "b", "parquet", {"p": pack({"x/1.parquet": table.getvalue()})}, container=container)
    raw = make_raw_set(Layout(tmp_path / "parquet"), made, paths)
    assert [(url, text) for url, _, text in documents(raw)] == [("p#x/1.parquet#0", "Mia naps.")]
    assert rejects(raw) == [("p#x/1.parquet#1", 1, "no_text_field")]


def test_a_broken_member_leaves_no_half_of_a_set(tmp_path):
    crawl = warc_record("response", http(PAGE % b"Tom has a red ball."))
    made, paths = source(tmp_path / "in", "warc", {"w": tar({"1.warc": crawl, "2.warc": crawl[:-9]})}, container="tar")
    with pytest.raises(CorruptDataError, match=r"w#2\.warc: "):
        make_raw_set(Layout(tmp_path), made, paths)
    assert [name for name in tree(tmp_path / "corpus") if not name.endswith(".lock")] == []


def test_surrogates_become_a_sign_or_a_reject_wherever_they_stand(tmp_path):
    values = {
        '"text": "\\ud83d\\ude00", "url": "u0"': "😀",
        '"text": "\\ud83d", "url": "u1"': None,
        '"text": "\\ude00\\ud83d", "url": "u2"': None,
        '"text": "a", "url": "u\\ud83d"': None,
        '"text": ["a", "\\ud83d"], "url": "u4"': None,
        '"text": ["a", "\\ud83d\\ude00"], "url": "u5"': "a\n😀",
    }
    data = "".join(f"{{{value}}}\n" for value in values).encode()
    made, paths = source(tmp_path / "in", "jsonl", {"f": data}, fields=mapping(url="url"))
    raw = make_raw_set(Layout(tmp_path), made, paths)
    assert [text for _, _, text in documents(raw)] == [text for text in values.values() if text]
    assert rejects(raw) == [
        ("u1", 1, "lone_surrogate"),
        ("u2", 2, "lone_surrogate"),
        ("u\\ud83d", 3, "lone_surrogate"),
        ("u4", 4, "lone_surrogate"),
    ]


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "text", "markdown", "html", "warc", "wet"])
def test_the_identity_of_a_set_from_archives_names_the_code_that_opens_them(kind):
    plain, packed = (extractor_identity(row(kind, container=container)) for container in (None, "zip"))
    assert packed["code"].keys() - plain["code"].keys() == {"archives"}
    json.dumps(packed)

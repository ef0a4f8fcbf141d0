"""Archives of every kind of file, in every container and compression: the same records as the files themselves give."""

import bz2
import gzip
import io
import json
from pathlib import Path
from tempfile import NamedTemporaryFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from corpus_assets.records import spooled
from corpus_assets.records.record import Record, Reject
from formats import compressed
from formats.errors import CorruptDataError, SchemaMismatchError
from formats.numbered_lines import numbered_lines
from tests.faults import small_files
from tests.records.made_up_files import http, mapping, read, rejects, tar, warc_record, zipped
from tests.shared_data import DATA, needs_shared_data

PACK = {
    "tar": tar,
    "tar.gz": lambda members: gzip.compress(tar(members), mtime=0),
    "tar.zst": lambda members: zstandard.compress(tar(members)),
    "tar.bz2": lambda members: bz2.compress(tar(members)),
    "zip": zipped,
}
PACK_MEMBER = {
    "": bytes,
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".zst": zstandard.compress,
    ".bz2": bz2.compress,
}


def crawl(word: str) -> bytes:
    page = f"<html><body><p>{word}</p></body></html>".encode()
    request = warc_record("request", b"GET / HTTP/1.1\r\n\r\n", f"http://tales.example/{word}")
    return request + warc_record("response", http(page), f"http://tales.example/{word}")


def wet(word: str) -> bytes:
    return warc_record("conversion", word.encode(), f"http://tales.example/{word}")


def parquet(word: str) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"text": [word, None, f"{word} again"]}), out)
    return out.getvalue()


MADE = {
    "warc": (".warc", crawl),
    "wet": (".warc.wet", wet),
    "parquet": (".parquet", parquet),
    "html": (".html", lambda word: f"<p>{word}</p>".encode()),
    "jsonl": (".jsonl", lambda word: f'{{"text": "{word}"}}\nbroken\n'.encode()),
    "text": (".txt", lambda word: word.encode()),
    "markdown": (".md", lambda word: f"# {word}".encode()),
}


@pytest.mark.parametrize("packed", PACK)
@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("member", PACK_MEMBER)
def test_members_give_the_records_of_the_files_themselves(tmp_path, kind, packed, member):
    suffix, make = MADE[kind]
    names = [f"{word}{suffix}{member}" for word in ("fox", "crow")]
    files = {name: make(name.partition(".")[0]) for name in names}
    (tmp_path / "f").write_bytes(PACK[packed]({name: PACK_MEMBER[member](data) for name, data in files.items()}))
    found = read(tmp_path / "f", kind, "t", container=packed.partition(".")[0])
    expected: list[Record | Reject] = []
    for index, (name, data) in enumerate(files.items()):
        (tmp_path / "alone").write_bytes(data)
        for record in read(tmp_path / "alone", kind, f"t#{name}"):
            if kind in ("text", "markdown", "html"):  # one document, named and placed by its member
                record = record._replace(url=f"t#{name}", position=index)
            expected.append(record)
    assert found == expected
    assert sum(isinstance(one, Record) for one in found) == (4 if kind == "parquet" else 2)


@pytest.mark.parametrize("packed", ["tar", "zip"])
@pytest.mark.parametrize("kind", ["warc", "wet", "parquet"])
def test_a_member_that_is_cut_is_an_error_that_names_it_and_leaves_nothing(tmp_path, monkeypatch, kind, packed):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "scratch").mkdir()
    suffix, make = MADE[kind]
    members = {f"a{suffix}": make("fox"), f"b{suffix}": make("crow")[:-3]}
    (tmp_path / "f").write_bytes(PACK[packed](members))
    with pytest.raises(CorruptDataError, match=rf"{tmp_path}/f#b{suffix}: "):
        read(tmp_path / "f", kind, container=packed)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_missing_column_of_a_member_names_archive_and_member(tmp_path):
    (tmp_path / "f").write_bytes(tar({"a.parquet": parquet("fox")}))
    with pytest.raises(
        SchemaMismatchError, match=r"f#a\.parquet: list of columns is text, expected one named body; say"
    ):
        read(tmp_path / "f", "parquet", container="tar", fields=mapping(text="body"))


def test_files_beside_them_are_rejects(tmp_path):
    members = {"README": b"x", "a.parquet": parquet("fox"), "b.warc": crawl("crow")}
    (tmp_path / "f").write_bytes(zipped(members))
    assert rejects(read(tmp_path / "f", "parquet", container="zip")) == [
        (0, "other_file_name"),
        (1, "no_text_field"),
        (2, "other_file_name"),
    ]


def test_a_member_is_read_where_no_name_from_outside_reaches(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    seen: list[Path] = []

    def made(**options):
        file = NamedTemporaryFile(**options)  # noqa: SIM115  closed by whom it is made for
        seen.append(Path(file.name))
        return file

    monkeypatch.setattr(spooled, "NamedTemporaryFile", made)
    (tmp_path / "f").write_bytes(tar({"sub/fox.parquet": parquet("fox")}))
    assert len(read(tmp_path / "f", "parquet", container="tar")) == 3
    (path,) = seen
    assert path.parent == tmp_path / "scratch"
    assert "fox" not in path.name
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_member_that_does_not_fit_on_the_disk_is_told_with_the_place(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "f").write_bytes(tar({"fox.parquet": parquet("fox")}))
    with small_files(100), pytest.raises(OSError, match="too large") as raised:
        read(tmp_path / "f", "parquet", container="tar")
    assert raised.value.filename.startswith(f"{tmp_path}/corpus-member-")


@needs_shared_data
@pytest.mark.parametrize("container", ["tar", "zip"])
@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("warc", "web-warc/whirlwind-python/whirlwind.warc.gz"),
        ("warc", "web-warc/chatnoir-resiliparse/warcfile.warc.gz"),
        ("wet", "web-warc/whirlwind-python/whirlwind.warc.wet.gz"),
        ("jsonl", "stories/aesop.jsonl.zst"),
    ],
)
def test_real_files_give_the_same_records_from_an_archive(tmp_path, kind, file, container):
    name = Path(file).name
    (tmp_path / "f").write_bytes(PACK[container]({name: (DATA / file).read_bytes()}))
    found = read(tmp_path / "f", kind, "t", container=container)
    assert found == read(DATA / file, kind, f"t#{name}")
    assert any(isinstance(one, Record) for one in found)


@needs_shared_data
def test_real_texts_give_the_same_records_from_parquet_and_json_lines(tmp_path):
    lines = numbered_lines(compressed.open_file(DATA / "stories/aesop.jsonl.zst"), 1 << 20)
    rows = [json.loads(line) for _, line in lines if line]
    table = pa.table({"meta": [{"body": row["text"]} for row in rows], "license": [row["license"] for row in rows]})
    pq.write_table(table, tmp_path / "f", row_group_size=100)
    found = read(tmp_path / "f", "parquet", "t", fields=mapping(text="meta.body"))
    assert found == read(DATA / "stories/aesop.jsonl.zst", "jsonl", "t")
    assert len(found) == 283


@needs_shared_data
def test_real_pages_in_folders_of_an_archive_are_found_among_other_files():
    found = read(DATA / "web-html-readability/test-pages.tar.zst", "html", "t", container="tar")
    pages = [one for one in found if isinstance(one, Record)]
    assert len([page for page in pages if page.url.endswith("/source.html")]) == 130
    assert {reason for _, reason in rejects(found)} <= {"other_file_name", "not_a_file"}

"""Archives and whole-file documents: members are data, never paths; nothing ends quietly."""

import bz2
import gzip
import io
import tarfile
import zipfile

import pytest
import zstandard

from corpus_assets.records.read import read_file
from corpus_assets.records.record import Limits, Record, Tally
from formats.compressed import Budget
from formats.errors import CorruptDataError
from formats.reject_reasons import DAMAGED, RejectReason
from tests.records.made_up_files import read, records, rejects, row, special, tar, zipped
from tests.shared_data import DATA, needs_shared_data

PAGES = {"a/cat.html": b"<p>Tom has a cat.</p>", "a/nap.htm": b"<p>Mia naps.</p>"}
PACK = {"tar": tar, "zip": zipped}


@pytest.mark.parametrize(
    ("kind", "is_html", "place"), [("text", False, "f#0"), ("markdown", False, "f#0"), ("html", True, "f")]
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gzip", "zstd"])
def test_a_file_is_one_document(tmp_path, kind, is_html, place, pack):
    (tmp_path / "f").write_bytes(pack(b"Tom has a cat."))
    assert read(tmp_path / "f", kind, "f") == [Record(place, 0, b"Tom has a cat.", is_html)]


def test_a_file_beyond_the_limit_is_a_reject(tmp_path):
    (tmp_path / "f").write_bytes(gzip.compress(b"x" * 2_000_000, mtime=0))
    assert rejects(read(tmp_path / "f", "text", limits=Limits(max_record_bytes=1_000))) == [(0, "record_too_large")]


@pytest.mark.parametrize("container", PACK)
def test_members_are_documents_named_by_archive_and_member(tmp_path, container):
    (tmp_path / "f").write_bytes(PACK[container](PAGES))
    found = read(tmp_path / "f", "html", "t.pack", container=container)
    assert found == [
        Record("t.pack#a/cat.html", 0, PAGES["a/cat.html"], True),
        Record("t.pack#a/nap.htm", 1, PAGES["a/nap.htm"], True),
    ]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bz2.compress])
def test_a_tar_may_be_compressed(tmp_path, pack):
    (tmp_path / "f").write_bytes(pack(tar(PAGES)))
    assert len(records(read(tmp_path / "f", "html", container="tar"))) == 2


@pytest.mark.parametrize("container", PACK)
def test_json_lines_in_members_are_named_by_member_and_line(tmp_path, container):
    members = {"one.jsonl": b'{"text": "a"}\nbroken\n', "two.jsonl.gz": gzip.compress(b'{"text": "b"}\n', mtime=0)}
    (tmp_path / "f").write_bytes(PACK[container](members))
    found = read(tmp_path / "f", "jsonl", "t", container=container)
    assert [one.url for one in found] == ["t#one.jsonl#0", "t#one.jsonl#1", "t#two.jsonl.gz#0"]
    assert rejects(found) == [(1, "broken_json")]


@pytest.mark.parametrize("container", PACK)
def test_files_of_another_kind_are_rejects(tmp_path, container):
    members = {
        "LICENSE": b"free",
        "a.html": b"<p>t</p>",
        "b.HTML.GZ": gzip.compress(b"<p>u</p>", mtime=0),
        "data.json": b"{}",
    }
    (tmp_path / "f").write_bytes(PACK[container](members))
    found = read(tmp_path / "f", "html", container=container)
    assert rejects(found) == [(0, "other_file_name"), (3, "other_file_name")]
    assert [record.content for record in records(found)] == [b"<p>t</p>", b"<p>u</p>"]
    assert len(records(read(tmp_path / "f", "text", container=container))) == 4


def test_links_devices_and_folders_of_a_tar_are_rejects(tmp_path):
    members = {
        "a": special("a", tarfile.DIRTYPE),
        "s.html": special("s.html", tarfile.SYMTYPE, "/etc/passwd"),
        "h.html": special("h.html", tarfile.LNKTYPE, "t.html"),
        "c.html": special("c.html", tarfile.CHRTYPE),
        "p.html": special("p.html", tarfile.FIFOTYPE),
        "t.html": b"<p>t</p>",
    }
    (tmp_path / "f").write_bytes(tar(members))
    found = read(tmp_path / "f", "html", container="tar")
    assert rejects(found) == [(i, "not_a_file") for i in range(5)]
    assert [record.position for record in records(found)] == [5]


def test_links_folders_and_secrets_of_a_zip_are_rejects(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.mkdir("a")
        link = zipfile.ZipInfo("s.html")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("e.html", b"<p>e</p>")
        archive.writestr("t.html", b"<p>t</p>")
    data = bytearray(out.getvalue())
    at = data.rindex(b"PK\x01\x02", 0, data.rindex(b"e.html"))
    data[at + 8] |= 1  # the flag that says encrypted
    (tmp_path / "f").write_bytes(data)
    found = read(tmp_path / "f", "html", container="zip")
    assert rejects(found) == [(0, "not_a_file"), (1, "not_a_file"), (2, "encrypted_member")]
    assert [record.content for record in records(found)] == [b"<p>t</p>"]
    assert RejectReason.ENCRYPTED_MEMBER in DAMAGED  # it would be a document, had it come with its password
    found = read(tmp_path / "f", "markdown", container="zip")
    assert {reason for _, reason in rejects(found)} == {"not_a_file", "other_file_name"}


@pytest.mark.parametrize("container", PACK)
def test_a_member_beyond_the_limit_is_a_reject_and_the_next_is_read(tmp_path, container):
    members = {
        "big.html": b"x" * 3_000_000,
        "bomb.html.gz": gzip.compress(b"x" * 3_000_000, mtime=0),
        "t.html": b"<p>t</p>",
    }
    (tmp_path / "f").write_bytes(PACK[container](members))
    found = read(tmp_path / "f", "html", limits=Limits(max_record_bytes=1_000_000), container=container)
    assert rejects(found) == [(0, "record_too_large"), (1, "record_too_large")]
    assert [record.content for record in records(found)] == [b"<p>t</p>"]


@pytest.mark.parametrize("container", PACK)
def test_an_archive_that_grows_beyond_its_budget_is_an_error(tmp_path, container):
    (tmp_path / "f").write_bytes(PACK[container]({f"{i}.txt": b"x" * 50_000 for i in range(30)}))
    limits = Limits(file_budget=Budget(max_bytes=1_000_000))
    with pytest.raises(CorruptDataError, match="decompressed bytes"):
        read(tmp_path / "f", "text", limits=limits, container=container)


@pytest.mark.parametrize("container", PACK)
def test_a_member_that_does_not_decompress_is_a_reject_among_pages_and_an_error_among_lines(tmp_path, container):
    cut = gzip.compress(b"<p>Tom has a cat.</p>", mtime=0)[:-5]
    (tmp_path / "f").write_bytes(PACK[container]({"cut.html.gz": cut, "t.html": b"<p>t</p>"}))
    found = read(tmp_path / "f", "html", container=container)
    assert rejects(found) == [(0, "broken_member")]
    assert len(records(found)) == 1
    (tmp_path / "f").write_bytes(PACK[container]({"cut.jsonl.gz": gzip.compress(b'{"text": "t"}\n', mtime=0)[:-5]}))
    with pytest.raises(CorruptDataError, match=r"cut\.jsonl\.gz"):
        read(tmp_path / "f", "jsonl", container=container)


def test_a_tar_cut_anywhere_is_an_error(tmp_path):
    whole = tar(PAGES)
    end = 2 * 1024  # the members: a header and a block each
    for length in [*range(0, end, 100), end, end + 100]:
        (tmp_path / "f").write_bytes(whole[:length])
        with pytest.raises(CorruptDataError):
            read(tmp_path / "f", "html", container="tar")
    (tmp_path / "f").write_bytes(gzip.compress(whole, mtime=0)[:-1])
    with pytest.raises(CorruptDataError, match="gzip stream"):
        read(tmp_path / "f", "html", container="tar")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gzip", "zstd"])
@pytest.mark.parametrize("zeros", [0, 512, 100_000])
def test_archives_that_were_joined_are_an_error_not_the_first_of_them(tmp_path, pack, zeros):
    (tmp_path / "f").write_bytes(pack(tar(PAGES) + bytes(zeros)))
    assert len(records(read(tmp_path / "f", "html", container="tar"))) == 2
    (tmp_path / "f").write_bytes(pack(tar(PAGES) + bytes(zeros) + tar({"more.html": b"<p>t</p>"})))
    with pytest.raises(CorruptDataError, match="follows the end mark"):
        read(tmp_path / "f", "html", container="tar")
    (tmp_path / "f").write_bytes(pack(tar(PAGES)) + pack(tar({"more.html": b"<p>t</p>"})))
    with pytest.raises(CorruptDataError, match="follows the end mark"):
        read(tmp_path / "f", "html", container="tar")


def test_a_broken_header_in_the_middle_of_a_tar_is_an_error_not_its_end(tmp_path):
    whole = bytearray(tar(PAGES))
    whole[1024 + 150] ^= 0xFF  # in the checksum of the second header
    (tmp_path / "f").write_bytes(whole)
    with pytest.raises(CorruptDataError, match="tar near byte"):
        read(tmp_path / "f", "html", container="tar")


def test_a_zip_cut_or_changed_anywhere_is_an_error(tmp_path):
    whole = zipped(PAGES)
    for length in range(0, len(whole), 10):
        (tmp_path / "f").write_bytes(whole[:length])
        with pytest.raises(CorruptDataError):
            read(tmp_path / "f", "html", container="zip")
    changed = bytearray(whole)
    changed[len("a/cat.html") + 34] ^= 0xFF
    (tmp_path / "f").write_bytes(changed)
    with pytest.raises(CorruptDataError):
        read(tmp_path / "f", "html", container="zip")


@needs_shared_data
@pytest.mark.parametrize(
    ("file", "kind", "documents"),
    [
        ("books/classics-md.tar.zst", "markdown", 20),
        ("books/novels-txt.tar.zst", "text", 13),
        ("books/sherlock-md.tar.zst", "markdown", 12),
        ("books/standardebooks-sherlock.tar.zst", "html", 12),
        ("web-html-aeb/html.tar", "html", 181),
    ],
)
def test_real_archives_give_the_documents_their_list_says(file, kind, documents):
    tally = Tally()
    found = list(read_file(DATA / file, file, row(kind, file, container="tar"), Limits(), tally))
    assert (len(records(found)), rejects(found)) == (documents, [])
    assert tally.decompressed_bytes > sum(len(record.content) for record in records(found)) * ("aeb" not in file)


def _with_entries(data: bytes, number: int) -> bytes:
    """The zip with another number of entries in the record at its end."""
    at = data.rindex(b"PK\x05\x06")
    return data[: at + 8] + number.to_bytes(2, "little") * 2 + data[at + 12 :]


def _later_directory(data: bytes) -> bytes:
    """The zip with a directory that begins at its second entry."""
    at, first = data.rindex(b"PK\x05\x06"), data.index(b"PK\x01\x02")
    second = data.index(b"PK\x01\x02", first + 4)
    return data[: at + 12] + (at - second).to_bytes(4, "little") + second.to_bytes(4, "little") + data[at + 20 :]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data + zipped({"more.html": b"<p>t</p>"}), r"before the first member is \d+ bytes"),
        (lambda data: b"#!/bin/sh\n" + data, "before the first member is 10 bytes"),
        (lambda data: b"PK\x07\x09" + data, "before the first member is 4 bytes"),
        (lambda data: data + b"more", "follows the end of the directory"),
        (lambda data: data + tar({"more.html": b"<p>t</p>"}), "follows the end of the directory"),
        (lambda data: _with_entries(data, 1), "entries of the directory is 2, expected 1"),
        (lambda data: _with_entries(data, 3), "entries of the directory is 2, expected 3"),
        (_later_directory, "before the first member is"),
    ],
)
def test_a_zip_that_is_not_all_of_its_file_is_an_error_not_a_part_of_it(tmp_path, change, words):
    (tmp_path / "f").write_bytes(change(zipped(PAGES)))
    with pytest.raises(CorruptDataError, match=words):
        read(tmp_path / "f", "html", container="zip")


class _Pipe(io.RawIOBase):
    """Where nothing can be written twice, so that sizes follow the members."""

    def __init__(self) -> None:
        self.data = b""

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        self.data += bytes(data)
        return len(data)


def _zip_to_a_pipe(members: dict[str, bytes]) -> bytes:
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return pipe.data


def _zip64(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            with archive.open(name, "w", force_zip64=True) as file:
                file.write(data)
    return out.getvalue()


def _with_comment(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"made up " * 1_000
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize(
    "pack",
    [
        _zip_to_a_pipe,
        _zip64,
        _with_comment,
        lambda members: b"PK\x07\x08" + zipped(members),
        lambda members: zipped(members) + bytes(600),
    ],
    ids=["sizes behind members", "zip64", "comment", "mark of a split archive", "zeros at its end"],
)
def test_a_zip_is_read_however_a_program_has_written_it(tmp_path, pack):
    (tmp_path / "f").write_bytes(pack(PAGES))
    found = read(tmp_path / "f", "html", container="zip")
    assert [record.content for record in records(found)] == list(PAGES.values())
    (tmp_path / "f").write_bytes(pack({}))
    assert read(tmp_path / "f", "html", container="zip") == []


def test_a_zip_of_more_members_than_its_end_can_count_is_whole(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for i in range(65_540):
            archive.writestr(f"{i}.txt", b"t")
    (tmp_path / "f").write_bytes(out.getvalue())
    assert len(read(tmp_path / "f", "text", container="zip")) == 65_540
    at = out.getvalue().rindex(b"PK\x06\x06")
    short = out.getvalue()[: at + 32] + (65_539).to_bytes(8, "little") + out.getvalue()[at + 40 :]
    (tmp_path / "f").write_bytes(short)
    with pytest.raises(CorruptDataError, match="entries of the directory is 65540, expected 65539"):
        read(tmp_path / "f", "text", container="zip")


@pytest.mark.parametrize("kind", ["text", "markdown", "html", "jsonl"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress], ids=["plain", "gzip", "bz2"])
def test_a_tar_without_its_container_named_is_an_error_not_one_text(tmp_path, kind, pack):
    (tmp_path / "f").write_bytes(pack(tar({"a.jsonl": b'{"text": "a"}\n', "b.txt": b"b"})))
    with pytest.raises(CorruptDataError, match="content is a tar archive, expected a document; name its container"):
        read(tmp_path / "f", kind)


@pytest.mark.parametrize("container", PACK)
def test_a_tar_in_an_archive_of_texts_is_a_reject_that_counts_as_damaged(tmp_path, container):
    inner = tar({"a.txt": b"A", "b.txt": b"B"})
    members = {"in.tar": inner, "in.tar.bz2": bz2.compress(inner), "t.txt": b"t"}
    (tmp_path / "f").write_bytes(PACK[container](members))
    found = read(tmp_path / "f", "text", container=container)
    assert rejects(found) == [(0, "broken_member"), (1, "broken_member")]
    assert [record.content for record in records(found)] == [b"t"]
    assert RejectReason.BROKEN_MEMBER in DAMAGED


def test_what_is_broken_of_a_zip_is_told_in_a_sentence(tmp_path):
    (tmp_path / "f").write_bytes(b"Tom has a cat. " * 10)
    with pytest.raises(CorruptDataError, match=r"/f: zip archive is broken \(File is not a zip file\), expected whole"):
        read(tmp_path / "f", "html", container="zip")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cat.html", b"<p>Tom has a cat.</p>" * 99)
    damaged = bytearray(packed.getvalue())
    damaged[30 + len("cat.html")] ^= 0xFF  # the first byte of the member's data
    (tmp_path / "f").write_bytes(damaged)
    with pytest.raises(CorruptDataError, match=r"/f#cat\.html: member of the archive is broken \(.*\), expected whole"):
        read(tmp_path / "f", "html", container="zip")

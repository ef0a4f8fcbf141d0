"""Hostile archives: names lead nowhere, headers and members cost no more than their budget, damage is an error that
names the file. Archives are made here; none of their members is more than a few words.
"""

import gzip
import io
import random
import struct
import tarfile
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from corpus_assets.records.record import Limits
from formats.compressed import Budget
from formats.errors import CorruptDataError
from tests.peak_memory import peak_growth
from tests.records.made_up_files import http, read, records, rejects, special, tar, warc_record, zipped

PACK = {"tar": tar, "zip": zipped}
SMALL = Limits(max_record_bytes=100_000, file_budget=Budget(min_bytes=1 << 20, max_ratio=100))


def pax_tar(*members: tuple[str, bytes]) -> bytes:
    """A tar whose names lie in extended headers, where any character fits."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for i, (name, data) in enumerate(members):
            info = tarfile.TarInfo(f"{i}.html")
            info.size, info.pax_headers = len(data), {"path": name}
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_with_nul(name: str) -> bytes:
    """A zip whose one member has this name, NUL and all; zipfile would cut it."""
    data = zipped({name.replace("\0", "~"): b"<p>t</p>"})
    return data.replace(name.replace("\0", "~").encode(), name.encode())


UNSAFE = [
    "../up.html", "a/../../up.html", "a/..", "..", "/etc/absolute.html", "//host/share.html", "\\\\host\\share.html",
    "C:\\boot.html", "c:/boot.html", "..\\up.html", "a\\..\\up.html", "line\nbreak.html", "bell\a.html",
    "esc\x1b[2J.html", "del\x7f.html", "c1\x9b.html", "x" * 4_097 + ".html",
]  # fmt: skip
SAFE = [
    "./a.html",
    "a\\b.html",
    "ünï.html",
    "a#b.html",
    "a..b.html",
    "...html",
    "a/...html",
    "c:colon.html",
    "~/a.html",
]


@pytest.mark.parametrize("container", PACK)
def test_names_that_lead_out_of_a_folder_are_rejects_and_nothing_is_written(tmp_path, container):
    folder = tmp_path / "in"
    folder.mkdir()
    names = [*UNSAFE, *SAFE]
    members = dict.fromkeys(names, b"<p>t</p>")
    (folder / "f").write_bytes(pax_tar(*members.items()) if container == "tar" else zipped(members))
    found = read(folder / "f", "html", "t", container=container)
    assert rejects(found) == [(i, "unsafe_member_name") for i in range(len(UNSAFE))]
    assert [record.url for record in records(found)] == [f"t#{name}" for name in SAFE]
    assert max(len(one.url) for one in found) < 250
    assert sorted(tmp_path.rglob("*")) == [folder, folder / "f"]


@pytest.mark.parametrize("container", PACK)
def test_a_nul_in_a_name_does_not_hide_what_follows_it(tmp_path, container):
    name = "good.html\0.exe"
    (tmp_path / "f").write_bytes(pax_tar((name, b"<p>t</p>")) if container == "tar" else zip_with_nul(name))
    assert [(one.url, one.reason) for one in read(tmp_path / "f", "html", "t", container=container)] == [
        (f"t#{name}", "unsafe_member_name")
    ]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("container", PACK)
def test_a_name_that_was_there_before_is_a_reject_so_every_url_is_one_document(tmp_path, container):
    out = io.BytesIO()
    if container == "tar":
        (tmp_path / "f").write_bytes(pax_tar(*((name, name.encode()) for name in ("a.txt", "b.txt", "a.txt", "a.txt"))))
    else:
        with zipfile.ZipFile(out, "w") as archive:
            for name in ("a.txt", "b.txt", "a.txt", "a.txt"):
                archive.writestr(name, name)
        (tmp_path / "f").write_bytes(out.getvalue())
    found = read(tmp_path / "f", "text", "t", container=container)
    assert [record.url for record in records(found)] == ["t#a.txt", "t#b.txt"]
    assert rejects(found) == [(2, "duplicate_member"), (3, "duplicate_member")]


def header_only(kind: bytes, size: int, body: bytes = b"") -> bytes:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT) + body


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_tar_header_that_wants_memory_is_an_error_before_it_is_read(tmp_path, kind):
    (tmp_path / "f").write_bytes(zstandard.compress(header_only(kind, 1 << 33, bytes(200 << 20))))

    def refuse() -> None:
        with pytest.raises(CorruptDataError, match="a header of 8589934592 bytes"):
            read(tmp_path / "f", "html", container="tar")

    assert peak_growth(refuse) < 100 << 20


def test_tar_headers_that_announce_each_other_without_end_are_an_error(tmp_path):
    chain = header_only(tarfile.GNUTYPE_LONGNAME, 2, b"a\0".ljust(512, b"\0")) * 5_000
    (tmp_path / "f").write_bytes(chain + tar({"t.html": b"<p>t</p>"}))
    with pytest.raises(CorruptDataError, match="tar near byte"):
        read(tmp_path / "f", "html", container="tar")


def sparse(size: int) -> bytes:
    """A GNU sparse member that is all hole: 512 bytes that say they are `size`."""
    info = tarfile.TarInfo("hole.jsonl")
    info.type, info.size = tarfile.GNUTYPE_SPARSE, 0
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = f"{size:011o}".encode() + b"\0"
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header[:512]):06o}\0 ".encode()
    return bytes(header) + bytes(1024)


def test_a_sparse_member_that_says_it_is_huge_is_stopped_by_the_budget(tmp_path):
    (tmp_path / "f").write_bytes(sparse(1 << 32))
    with pytest.raises(CorruptDataError, match=f"decompressed bytes is more than {1 << 20}"):
        read(tmp_path / "f", "jsonl", container="tar", limits=SMALL)
    assert rejects(read(tmp_path / "f", "text", container="tar", limits=Limits(100_000))) == [(0, "record_too_large")]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gz", "zst"])
@pytest.mark.parametrize("kind", ["html", "jsonl"])
def test_a_tar_of_zeros_is_stopped_by_its_ratio(tmp_path, pack, kind):
    zeros = bytes(20 << 20)
    (tmp_path / "f").write_bytes(pack(tar({f"a.{kind}": zeros, f"b.{kind}": zeros})))
    with pytest.raises(CorruptDataError, match=r"f: decompressed bytes is more than"):
        read(tmp_path / "f", kind, container="tar", limits=SMALL)


def test_the_limits_of_a_build_stop_a_tar_of_zeros(tmp_path):
    (tmp_path / "f").write_bytes(zstandard.compress(tar({"a.html": bytes(300 << 20)})))
    with pytest.raises(CorruptDataError, match="decompressed bytes"):
        read(tmp_path / "f", "html", container="tar")


def big_table(word: bytes) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"text": [word.decode()]}), out, compression="none")
    return out.getvalue()


LARGE = {
    "jsonl": lambda word: b'{"text": "%b"}\n' % word,
    "html": lambda word: b"<p>%b</p>" % word,
    "warc": lambda word: warc_record("response", http(b"<html>%b</html>" % word)),
    "wet": lambda word: warc_record("conversion", word),
    "parquet": big_table,
}


@pytest.mark.parametrize("container", PACK)
@pytest.mark.parametrize("kind", LARGE)
def test_layers_of_compression_share_one_budget(tmp_path, container, kind):
    """Each member is within its ratio, and so is the archive around them; together they are not."""
    packed = gzip.compress(LARGE[kind](b"x" * 400_000), mtime=0)
    (tmp_path / "f").write_bytes(PACK[container]({f"{i}.{kind}.gz": packed for i in range(40)}))
    assert len(read(tmp_path / "f", kind, container=container)) == 40
    with pytest.raises(CorruptDataError, match="look at the file") as caught:
        read(tmp_path / "f", kind, container=container, limits=SMALL)
    assert caught.value.path.partition("#")[0] == str(tmp_path / "f")


def test_archives_in_archives_are_not_opened(tmp_path):
    inner = zipped({"bomb.html": bytes(5_000_000)})
    for container in PACK:
        (tmp_path / "f").write_bytes(PACK[container]({"a.zip": inner, "b.tar": tar({"c.html": b"x"}), "t.html": b"t"}))
        found = read(tmp_path / "f", "html", container=container)
        assert rejects(found) == [(0, "other_file_name"), (1, "other_file_name")]
        assert [record.content for record in records(found)] == [b"t"]


@pytest.mark.parametrize("container", PACK)
def test_too_many_members_are_an_error(tmp_path, container):
    members = {f"{i}.txt": b"" for i in range(101)}
    (tmp_path / "f").write_bytes(PACK[container](members))
    assert len(read(tmp_path / "f", "text", container=container, limits=Limits(max_members=101))) == 101
    with pytest.raises(CorruptDataError, match="members is more, expected at most 100"):
        read(tmp_path / "f", "text", container=container, limits=Limits(max_members=100))


def test_the_directory_of_a_zip_is_not_read_into_memory_beyond_its_limit(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for i in range(12_000):
            archive.writestr(f"{i:060}.txt", b"")
    (tmp_path / "f").write_bytes(out.getvalue())
    with pytest.raises(CorruptDataError, match=r"directory of the zip is \d+, expected at most 1048576 bytes"):
        read(tmp_path / "f", "text", container="zip", limits=Limits(max_members=100))


def test_zip_members_that_overlap_are_not_read_twice(tmp_path):
    """The directory names the one member a thousand times."""
    data = zipped({"a.txt": b"once"})
    start = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry, tail = data[start:end], bytearray(data[end:])
    struct.pack_into("<HHL", tail, 8, 1_000, 1_000, len(entry) * 1_000)
    (tmp_path / "f").write_bytes(data[:start] + entry * 1_000 + tail)
    found = read(tmp_path / "f", "text", container="zip")
    assert [record.content for record in records(found)] == [b"once"]
    assert len(rejects(found)) == 999


def test_zip_names_that_are_no_text_are_an_error_that_names_the_file(tmp_path):
    data = zipped({"ü.txt": b"x"}).replace("ü".encode(), b"\xff\xfe")
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(CorruptDataError, match=f"{tmp_path}/f: zip"):
        read(tmp_path / "f", "text", container="zip")


@pytest.mark.parametrize("kind", ["html", "jsonl", "warc", "parquet"])
@pytest.mark.parametrize("container", ["tar", "tar.gz", "zip"])
def test_damage_anywhere_gives_records_or_an_error_that_names_the_file(tmp_path, container, kind):
    """Nothing else comes out: no other exception, no hang."""
    pick = random.Random(f"{container} {kind}")
    members = {f"{i}.{kind}{'' if i % 2 else '.gz'}": b'{"text": "fox"}\n' * 20 for i in range(6)}
    members["0." + kind + ".gz"] = gzip.compress(members[f"1.{kind}"], mtime=0)
    whole = zipped(members) if container == "zip" else pax_tar(*members.items())
    whole += b"" if container == "zip" else tar({"link": special("link", tarfile.SYMTYPE, "/etc/passwd")})
    for _ in range(250):
        data = bytearray(gzip.compress(whole, mtime=0, compresslevel=1) if container == "tar.gz" else whole)
        for _ in range(pick.randrange(1, 4)):
            data[pick.randrange(len(data))] = pick.randrange(256)
        (tmp_path / "f").write_bytes(data[: pick.choice([len(data), pick.randrange(len(data))])])
        failure = None
        try:
            read(tmp_path / "f", kind, container=container.partition(".")[0], limits=SMALL)
        except CorruptDataError as error:
            failure = error
        assert failure is None or failure.path.startswith(str(tmp_path / "f"))

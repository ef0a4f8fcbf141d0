"""Compressed streams: every member and frame, no quiet end, a budget."""

import bz2
import gzip
import io
import struct
import tracemalloc
from collections.abc import Callable

import pyarrow as pa
import pytest
import zstandard

from formats.compressed import Budget, Decompressed, open_file, open_stream
from formats.errors import CorruptDataError
from tests import faults

TEXT = "".join(f"line {i} of a short tale about {i % 7} cats\n" for i in range(5_000)).encode()
SKIPPABLE = struct.pack("<II", 0x184D2A53, 5) + b"aside"


def zstd(data: bytes, checksum: bool = True) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=checksum).compress(data)


def lz4(data: bytes) -> bytes:
    return pa.compress(data, codec="lz4", asbytes=True)


PACKERS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstd, "bz2": bz2.compress, "lz4": lz4}
WITH_CHECKSUM = ("gzip", "zstd", "bz2")
"""lz4's is a choice of the writer, and some leave it out."""


def opened(data: bytes, budget: Budget | None = None) -> Decompressed:
    return open_stream(io.BytesIO(data), "tale", budget=budget)


@pytest.mark.parametrize("codec", PACKERS)
def test_bytes_come_back_whatever_the_size_of_the_reads(codec):
    for size in (1_000, 65_536, 10_000_000):
        stream = opened(PACKERS[codec](TEXT))
        assert b"".join(iter(lambda s=stream, n=size: s.read(n), b"")) == TEXT
        assert stream.codec == codec
        assert stream.position == len(TEXT)


@pytest.mark.parametrize("codec", PACKERS)
def test_every_member_and_frame_is_read(codec):
    pack = PACKERS[codec]
    assert opened(pack(TEXT) + pack(b"") + pack(b"more\n")).read() == TEXT + b"more\n"


def test_skippable_frames_are_passed_over_wherever_they_stand():
    assert opened(SKIPPABLE + zstd(TEXT) + SKIPPABLE + zstd(b"more", False) + SKIPPABLE).read() == TEXT + b"more"
    assert opened(SKIPPABLE).read() == b""


LINES = [f"line {i} of a short tale about {i % 7} cats and {i % 11} dogs\n".encode() for i in range(400)]
TRAINED = zstandard.train_dictionary(2048, LINES)
CONTENT = zstandard.ZstdCompressionDict(b"".join(LINES[:30]), dict_type=zstandard.DICT_TYPE_RAWCONTENT)
DICTIONARIES = {"trained": TRAINED, "mere content": CONTENT}


def in_frame(data: bytes) -> bytes:
    """As the specification of zstd for web archives stores a dictionary."""
    return struct.pack("<II", 0x184D2A5D, len(data)) + data


def with_dictionary(name: str, *, is_packed: bool = False) -> bytes:
    dictionary = DICTIONARIES[name]
    compressor = zstandard.ZstdCompressor(dict_data=dictionary, write_checksum=True)
    frames = b"".join(compressor.compress(line) for line in LINES)
    data = dictionary.as_bytes()
    return in_frame(zstd(data) if is_packed else data) + SKIPPABLE + frames


@pytest.mark.parametrize("name", DICTIONARIES)
@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("size", [1, 1_000, 10_000_000])
def test_a_dictionary_in_the_first_frame_decodes_the_others(name, is_packed, size):
    stream = opened(with_dictionary(name, is_packed=is_packed))
    assert b"".join(iter(lambda: stream.read(size), b"")) == b"".join(LINES)
    assert stream.codec == "zstd"


def test_frames_that_need_a_dictionary_are_an_error_without_it():
    frames = with_dictionary("trained")[8 + len(TRAINED.as_bytes()) :]
    with pytest.raises(CorruptDataError, match="zstd stream is broken"):
        opened(frames).read()


@pytest.mark.parametrize("name", DICTIONARIES)
def test_a_file_with_a_dictionary_that_is_cut_anywhere_is_an_error(name):
    whole = with_dictionary(name)
    first_frame = 8 + len(DICTIONARIES[name].as_bytes())
    compressor = zstandard.ZstdCompressor(dict_data=DICTIONARIES[name], write_checksum=True)
    ends = [first_frame, first_frame + len(SKIPPABLE)]
    for line in LINES:
        ends.append(ends[-1] + len(compressor.compress(line)))
    assert ends[-1] == len(whole)
    for length in sorted({4, 8, first_frame - 1, *range(9, len(whole), 97), len(whole) - 1} - set(ends)):
        with pytest.raises(CorruptDataError, match="at compressed byte"):
            opened(whole[:length]).read()


@pytest.mark.parametrize("name", DICTIONARIES)
def test_no_damage_to_a_frame_that_needs_a_dictionary_gives_other_bytes(name):
    whole = with_dictionary(name)
    frames = 8 + len(DICTIONARIES[name].as_bytes()) + len(SKIPPABLE)
    for at in range(frames, len(whole), 1 + (len(whole) - frames) // 40):
        with pytest.raises(CorruptDataError, match="zstd stream"):
            opened(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]).read()


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack("<II", 0x184D2A5D, (8 << 20) + 1),
        in_frame(zstd(bytes((8 << 20) + 1))),
        in_frame(zstandard.ZstdCompressor().compress(bytes(1 << 28))),
        in_frame(zstd(TRAINED.as_bytes())[:-1]),
        in_frame(b"\x28\xb5\x2f\xfd and then nothing of zstd"),
    ],
    ids=["too large", "too large unpacked", "bomb", "cut", "broken"],
)
def test_a_dictionary_that_is_broken_or_too_large_is_an_error(frame):
    with pytest.raises(CorruptDataError, match="zstd stream is broken at compressed byte"):
        opened(frame + zstd(b"Tom naps.")).read()


def test_what_a_dictionary_unfolds_is_held_to_the_budget_in_bounded_memory():
    frames = zstandard.ZstdCompressor(dict_data=TRAINED).compress(bytes(1 << 28)) * 4
    stream = opened(in_frame(TRAINED.as_bytes()) + frames, Budget(min_bytes=1 << 26, max_ratio=50))
    tracemalloc.start()
    try:
        with pytest.raises(CorruptDataError, match="decompressed bytes"):
            all(iter(lambda: stream.read(1 << 16), b""))
        assert tracemalloc.get_traced_memory()[1] < 80 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("data", [b"", b"B", b"BZh9 is how this letter begins", b"\x1f", b"(\xb5"])
def test_what_only_begins_like_a_codec_is_plain(data):
    stream = opened(data)
    assert (stream.codec, stream.read()) == ("plain", data)


@pytest.mark.parametrize("codec", PACKERS)
@pytest.mark.parametrize(("members", "keep"), [(1, -1), (1, 0.8), (2, -1), (2, 0.8), (2, "header")])
def test_a_cut_stream_is_an_error_that_names_file_and_place(tmp_path, codec, members, keep):
    member = PACKERS[codec](TEXT)
    data = member * members
    end = len(member) + 3 if keep == "header" else keep if keep < 0 else int(len(data) * keep)
    path = tmp_path / "tale"
    path.write_bytes(data[:end])
    with open_file(path) as stream, pytest.raises(CorruptDataError, match="at compressed byte") as caught:
        stream.read()
    assert caught.value.path == str(path)


@pytest.mark.parametrize("codec", WITH_CHECKSUM)
def test_no_damage_gives_other_bytes_without_an_error(tmp_path, codec):
    path = tmp_path / "tale"
    for name, data in faults.every_change(PACKERS[codec](TEXT)).items():
        path.write_bytes(data)
        try:
            with open_file(path) as stream:
                found, read_as = stream.read(), stream.codec
        except CorruptDataError:
            continue
        # What does not begin like a codec any more is plain by its own word: its bytes come as they are.
        assert found in (TEXT, TEXT + TEXT) or (read_as == "plain" and found == data), name


@pytest.mark.parametrize("magic", [b"\xfd7zXZ\x00", b"\x02\x21\x4c\x18", b"7z\xbc\xaf\x27\x1c"])
def test_a_compression_that_is_not_read_here_is_named_not_read_as_text(tmp_path, magic):
    path = tmp_path / "tale"
    path.write_bytes(magic + TEXT)
    with pytest.raises(CorruptDataError, match="compression"):
        open_file(path)


@pytest.mark.parametrize("codec", PACKERS)
def test_a_file_that_grows_beyond_its_ratio_is_stopped(codec):
    budget = Budget(min_bytes=100_000, max_ratio=50)
    with pytest.raises(CorruptDataError, match="decompressed bytes") as caught:
        opened(PACKERS[codec](bytes(50_000_000)), budget).read()
    assert "100000" in str(caught.value.found) or "compressed byte" in str(caught.value.found)


def test_small_files_may_be_all_repetition():
    assert len(opened(gzip.compress(bytes(90_000), mtime=0), Budget(min_bytes=100_000, max_ratio=5)).read()) == 90_000


@pytest.mark.parametrize("data", [TEXT, gzip.compress(TEXT, mtime=0)])
def test_no_file_gives_more_than_the_budget(data):
    with pytest.raises(CorruptDataError, match="decompressed bytes"):
        opened(data, Budget(max_bytes=len(TEXT) - 1)).read()
    assert opened(data, Budget(max_bytes=len(TEXT))).read() == TEXT


def test_a_failing_disk_is_not_called_a_broken_file():
    class Failing:
        def __init__(self) -> None:
            self.first = gzip.compress(bytes(range(256)) * 5_000, mtime=0)[:2_000]

        def read(self, size: int) -> bytes:
            data, self.first = self.first[:size], self.first[size:]
            if not data:
                raise OSError(5, "Input/output error")
            return data

    with pytest.raises(OSError, match="Input/output error") as caught:
        open_stream(Failing(), "tale").read()
    assert not isinstance(caught.value, CorruptDataError)


def test_an_archive_that_is_cut_is_named_instead_of_its_member():
    outer = opened(zstd(gzip.compress(TEXT, mtime=0))[:-40])
    with pytest.raises(CorruptDataError, match="zstd stream"):
        open_stream(outer, "member").read()


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_file_that_is_nearly_all_repetition_is_stopped_while_it_is_read(codec):
    budget = Budget(min_bytes=1_000_000, max_ratio=50)
    stream = opened(PACKERS[codec](bytes(50_000_000)), budget)
    with pytest.raises(CorruptDataError, match="decompressed bytes"):
        stream.read()
    assert stream.position < 5_000_000


@pytest.mark.parametrize(("window_log", "is_read"), [(27, True), (28, False)])
def test_a_window_that_takes_too_much_memory_is_refused_and_says_how_to_pack_it(tmp_path, window_log, is_read):
    out = io.BytesIO()
    made_with = zstandard.ZstdCompressionParameters(window_log=window_log, enable_ldm=True)
    with zstandard.ZstdCompressor(compression_params=made_with).stream_writer(out, closefd=False) as writer:
        writer.write(b"a tale\n")
    (tmp_path / "f.zst").write_bytes(out.getvalue())
    with open_file(tmp_path / "f.zst") as stream:
        if is_read:
            assert stream.read() == b"a tale\n"
        else:
            with pytest.raises(CorruptDataError, match="pack it anew with a window of at most 128 MiB"):
                stream.read()

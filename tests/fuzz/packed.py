"""Inputs whose first byte says how the rest is packed, so that what is mutated lies behind the checksums."""

import bz2
import gzip

import zstandard

from tests.records import made_up_files

PLAIN, GZIP, ZSTD, DICTIONARY, PACKED_DICTIONARY, LZ4, BZ2 = range(7)
_DICTIONARY = made_up_files.raw_dictionary(
    b"WARC/1.0\r\nWARC-Type: response\r\nHTTP/1.1 200 OK\r\nContent-Type: text/html" * 4
)


def unpacked(data: bytes) -> bytes:
    """What the file of an input holds."""
    way, rest = (data[0] % 7, data[1:]) if data else (PLAIN, b"")
    if way == GZIP:
        half = len(rest) // 2
        return gzip.compress(rest[:half], 1, mtime=0) + gzip.compress(rest[half:], 1, mtime=0)
    if way == ZSTD:
        return zstandard.ZstdCompressor(write_checksum=True).compress(rest)
    if way in (DICTIONARY, PACKED_DICTIONARY):
        pieces = [rest[: len(rest) // 3], rest[len(rest) // 3 :]]
        return made_up_files.zstd_with_dictionary(pieces, _DICTIONARY, is_packed=way == PACKED_DICTIONARY)
    if way == LZ4:
        return made_up_files.lz4_frames([rest])
    return bz2.compress(rest, 1) if way == BZ2 else rest


def every_way(content: bytes) -> list[bytes]:
    """Inputs that hold the content packed in each way, and the packed bytes as a plain one."""
    ways = [bytes([way]) + content for way in range(7)]
    return ways + [b"\0" + unpacked(one) for one in ways[1:]]

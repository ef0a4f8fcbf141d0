"""Parquet files of several layouts: encodings, compressions, nested columns, row groups."""

import io
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from corpus_assets.records.read import read_file
from corpus_assets.records.record import Tally
from tests.fuzz.hold import LIMITS
from tests.records.made_up_files import mapping, row

WORDS = (b"PAR1", b"text", b"url", b"date", b"license")
_ROW = row("parquet", fields=mapping(text="text", url="url", date="date", license="license"))
_NESTED = row("parquet", fields=mapping(text="doc.text"))


def _file(table: pa.Table, **options: object) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def seeds() -> list[bytes]:
    texts = ["The miller slept.", "The fox came by.", None, "The miller slept."] * 5
    flat = pa.table(
        {
            "text": texts,
            "url": [str(i) for i in range(20)],
            "date": pa.array([datetime(2026, 1, 2)] * 20, pa.timestamp("us")),
            "license": pa.array(["CC0-1.0"] * 20).dictionary_encode(),
        }
    )
    lists = flat.set_column(0, "text", pa.array([["a", "b"]] * 20)).set_column(
        2, "date", pa.array([date(2026, 1, 2)] * 20)
    )
    nested = pa.table({"doc": pa.array([{"text": text, "n": 1} for text in texts])})
    files = [
        _file(flat),
        _file(flat, compression="zstd", row_group_size=7),
        _file(flat, use_dictionary=False, compression="gzip"),
        _file(flat, use_dictionary=False, column_encoding={"text": "DELTA_BYTE_ARRAY"}, compression="none"),
        _file(lists, compression="none"),
        _file(flat, data_page_version="2.0", store_schema=False),
    ]
    return [b"\0" + one for one in files] + [b"\1" + _file(nested)]


def run(data: bytes, folder: Path) -> None:
    path = folder / "file.parquet"
    path.write_bytes(data[1:])
    for _ in read_file(path, "file.parquet", _NESTED if data[:1] == b"\1" else _ROW, LIMITS, Tally()):
        pass

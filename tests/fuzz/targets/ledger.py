"""The ledger: read, checked with schema and licences, asked for a source, and put back."""

import json
from pathlib import Path

from corpus_assets.validation import ledger as validation
from formats import ledger
from tests.formats.ledger_rows import file, value

WORDS = (
    b'"source_id": "fables"',
    b"LicenseRef-a",
    b" WITH ",
    b" AND (",
    b"NaN",
    b"\xef\xbb\xbf",
    b"[[[[",
    b'"http://[',
    b"\n\n",
)
IS_JSON = True


def seeds() -> list[bytes]:
    rows = [
        value(
            fields={"text": "t", "url": "u"}, container="tar", license_spdx="MIT OR (Apache-2.0 WITH LLVM-exception)"
        ),
        value(
            source_id="web", kind="warc", files=[file("s3://bucket/a%20b.warc.gz"), file("file:///a/b")], source_rank=3
        ),
    ]
    return ["".join(json.dumps(one) + "\n" for one in rows).encode(), json.dumps(rows[0]).encode()]


def run(data: bytes, folder: Path) -> None:
    path = folder / "LEDGER.jsonl"
    path.write_bytes(data)
    found = validation.check_ledger(path)
    "\n".join(map(str, found)).encode("utf-8")
    rows, wrong = ledger.scan(path)
    for _, row in rows:
        assert ledger.from_json(ledger.to_json(row)) == row
        assert len(row.digest) == 64
    ledger.count_rows(path)
    if not wrong:
        ledger.read(path)
    ledger.find(path, "fables")

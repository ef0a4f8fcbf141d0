"""Ledger rows for tests: one that is right, and every way we know to make it wrong."""

from typing import Any

from formats.ledger import LedgerRow, from_json

SHA = "5e" * 32


def value(**changes: Any) -> dict[str, Any]:
    """The JSON value of a row that is right, but for `changes`; a change to None takes the field out."""
    row: dict[str, Any] = {
        "source_id": "fables",
        "title": "Fables retold",
        "kind": "jsonl",
        "files": [file("b.jsonl"), file("https://example.org/a.jsonl.gz")],
        "license_spdx": "CC-BY-4.0",
        "license_evidence": "https://example.org/about",
        "attribution": "Example Library",
        "retrieved": "2026-11-30",
        "bucket": "stories",
        "profile": "prose",
    }
    row.update(changes)
    return {key: item for key, item in row.items() if item is not None}


def file(url: str = "a.jsonl", sha256: Any = SHA, **more: Any) -> dict[str, Any]:
    return {"url": url, "sha256": sha256, "bytes": 10, **more}


def row(**changes: Any) -> LedgerRow:
    return from_json(value(**changes))


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "no source": (value(source_id=None), "source_id", "missing"),
    "upper case": (value(source_id="Web"), "source_id", "expected a name"),
    "source of 101 letters": (value(source_id="a" * 101), "source_id", "at most 100"),
    "newline after a name": (value(source_id="web\n"), "source_id", "expected a name"),
    "path as source": (value(source_id="../etc"), "source_id", "expected a name"),
    "title of spaces": (value(title="  "), "title", "one line of text"),
    "title of two lines": (value(title="a\nb"), "title", "one line of text"),
    "title as a number": (value(title=7), "title", "found 7; put it in quotes"),
    "kind unknown": (value(kind="json"), "kind", "did you mean jsonl?"),
    "kind as a list": (value(kind=["warc"]), "kind", "found a list"),
    "container unknown": (value(container="rar"), "container", "tar, zip"),
    "no files": (value(files=[]), "files", "at least 1"),
    "files as an object": (value(files={}), "files", "expected a list"),
    "file as a text": (value(files=["a"]), "files[0]", "expected an object"),
    "short sha256": (value(files=[file(sha256="5e")]), "files[0].sha256", "64 lower-case hex"),
    "upper-case sha256": (value(files=[file(sha256="5E" * 32)]), "files[0].sha256", "64 lower-case hex"),
    "sha256 null": (value(files=[file(sha256=None)]), "files[0].sha256", "found nothing (null)"),
    "negative bytes": (value(files=[file(bytes=-1)]), "files[0].bytes", "found -1"),
    "half a byte": (value(files=[file(bytes=1.5)]), "files[0].bytes", "found 1.5"),
    "true bytes": (value(files=[file(bytes=True)]), "files[0].bytes", "found true"),
    "bytes as a text": (value(files=[file(bytes="10")]), "files[0].bytes", "found '10'"),
    "unknown field in a file": (value(files=[file(size=1)]), "files[0].size", "unknown field"),
    "unknown field": (value(licence="MIT"), "licence", "unknown field"),
    "no licence": (value(license_spdx=None), "license_spdx", "missing"),
    "empty licence": (value(license_spdx=""), "license_spdx", "an SPDX licence expression"),
    "date of another form": (value(retrieved="30.11.2026"), "retrieved", "YYYY-MM-DD"),
    "date and time": (value(retrieved="2026-11-30T00:00:00Z"), "retrieved", "YYYY-MM-DD"),
    "profile unknown": (value(profile="proze"), "profile", "did you mean prose?"),
    "rank below 0": (value(source_rank=-1), "source_rank", "from 0"),
    "rank as a text": (value(source_rank="1"), "source_rank", "found '1'"),
    "mapping for warc": (value(kind="warc", fields={"text": "t"}), "fields", "kind is warc"),
    "mapping of an unknown field": (value(fields={"body": "t"}), "fields.body", "unknown field"),
    "mapping to a number": (value(fields={"text": 1}), "fields.text", "name of a field"),
}
"""name: (JSON value, field, part of the message). The JSON Schema refuses each of these too."""

WRONG_BEYOND_SCHEMA: dict[str, tuple[dict[str, Any], str, str]] = {
    "reserved source": (value(source_id="raw"), "source_id", "reserved"),
    "day that is none": (value(retrieved="2026-02-30"), "retrieved", "not a day"),
    "one url twice": (value(files=[file(), file()]), "files[1]", "already"),
    "path not in shortest form": (value(files=[file("./a.jsonl")]), "files[0].url", "write a.jsonl"),
    "path with a backslash": (value(files=[file("a\\b")]), "files[0].url", "backslash"),
    "url with a fragment": (value(files=[file("http://example.org/#1")]), "files[0].url", "has a #"),
    "unknown scheme": (value(files=[file("htp://example.org/a")]), "files[0].url", "scheme htp"),
    "url without host": (value(files=[file("http:///a")]), "files[0].url", "has no host"),
    "url with a password": (value(files=[file("http://me:secret@example.org/a")]), "files[0].url", "password"),
    "port that is none": (value(files=[file("http://example.org:x/a")]), "files[0].url", "is not a URL"),
    "file url of another machine": (value(files=[file("file://host/a")]), "files[0].url", "file:///"),
    "half a surrogate pair": (value(title="a \ud800 b"), "title", "lone surrogate"),
}

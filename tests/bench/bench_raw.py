"""Reading and making raw sets, web archives and HTML, beside the libraries that do the inner work alone.

FOLDER's web archives and pages are those of the shared collection (web-warc, web-html-aeb); without one they are made
from the documents. A peer does equal work: FastWARC reads the same bodies, Resiliparse has the same switches.
"""

import gzip
import json
import re
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import zstandard
from fastwarc.stream_io import GzipReader
from fastwarc.warc import ArchiveIterator, WarcRecordType
from resiliparse.extract.html2text import extract_plain_text

from corpus_assets.plans.extracted_records import extracted_records, parsing_guard
from corpus_assets.records import warc, web_page
from corpus_assets.records.fields import FieldReader
from corpus_assets.records.jsonl import read_jsonl
from corpus_assets.records.record import Limits, Record, Tally
from corpus_assets.stages.extract_text import extract
from formats import compressed, ledger, raw_set, raw_set_rows, raw_set_writer
from formats.errors import CorpusError
from formats.raw_set_writer import RawSetWriter
from tests.bench.documents import Corpus, megabytes
from tests.bench.measure import Case, Prepared, Quality

WARC_BYTES = 12_000_000
"""Compressed; the archives of FOLDER are read again and again until there are so many."""
PAGES_DOCUMENTS = 4
"""Documents in one page that is made."""
SWITCHES = {"preserve_formatting": True, "main_content": True, "links": False, "alt_texts": False}
SHINGLE = 4
"""Words, by the published measure of the article extraction benchmark."""
TEXTS = web_page.HTML_TYPES | web_page.TEXT_TYPES
STAMP, LICENSE = "2026-01-01T00:00:00Z", "CC0-1.0"


def _raw_set(corpus: Corpus, name: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=name, dir=corpus.scratch))
    _write(folder, corpus.texts())
    return folder


def _write(folder: Path, texts: list[str]) -> None:
    writer = RawSetWriter(folder, "bench", "0" * 64, {})
    for number, text in enumerate(texts):
        writer.add_document(f"bench#{number}", STAMP, LICENSE, text)
    writer.end_file("bench", "0" * 64, 0, 0, len(texts))
    writer.finish()


def read_parts(corpus: Corpus) -> Prepared:
    """A raw set's parts as Arrow batches."""
    parts = raw_set.open_set(_raw_set(corpus, "read-")).parts

    def work() -> list[pa.RecordBatch]:
        return [batch for part in parts for batch in raw_set_rows.read_part(part)]

    work()
    return Prepared(work, megabytes(corpus.text()))


def json_of_parts(corpus: Corpus) -> Prepared:
    """The same lines through zstandard and json alone."""
    paths = [part.path for part in raw_set.open_set(_raw_set(corpus, "json-")).parts]

    def work() -> list[dict[str, str]]:
        found = []
        for path in paths:
            data = zstandard.ZstdDecompressor().decompress(Path(path).read_bytes())
            found += [json.loads(line) for line in data.splitlines()]
        return found

    return Prepared(work, megabytes(corpus.text()))


def write_set(corpus: Corpus) -> Prepared:
    """A raw set of the documents, with its fsyncs, hashes and manifest."""
    texts = corpus.texts()
    return Prepared(
        lambda: _write(Path(tempfile.mkdtemp(prefix="write-", dir=corpus.scratch)), texts), megabytes(texts)
    )


def json_and_zstd(corpus: Corpus) -> Prepared:
    """The same lines through json and zstandard alone, into memory."""
    texts = corpus.texts()
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

    def work() -> bytes:
        head = {"url": "bench", "fetched_at": STAMP, "license_spdx": LICENSE}
        lines = b"".join((encode({**head, "text": text}) + "\n").encode() for text in texts)
        return zstandard.ZstdCompressor(level=raw_set_writer.ZSTD_LEVEL, write_checksum=True).compress(lines)

    return Prepared(work, megabytes(texts))


def read_source(corpus: Corpus) -> Prepared:
    """A fetched .jsonl.zst as records, line by line, each held to the row's mapping."""
    texts = corpus.texts()
    path = corpus.scratch / "source.jsonl.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(b"".join(_line(text) for text in texts)))
    row = {
        "source_id": "bench", "title": "bench", "kind": "jsonl", "license_spdx": LICENSE, "license_evidence": "none",
        "files": [{"url": path.name, "sha256": "0" * 64, "bytes": 1}], "attribution": "none", "retrieved": STAMP[:10],
        "bucket": "bench", "profile": "prose",
    }  # fmt: skip
    fields = FieldReader(ledger.from_json(row))

    def work() -> int:
        with compressed.open_file(path) as stream:
            return sum(1 for _ in read_jsonl(stream, path.name, fields, Limits()))

    return Prepared(work, megabytes(texts))


def _line(text: str) -> bytes:
    return json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n"


def archive(corpus: Corpus) -> Path:
    """One .warc.gz: FOLDER's whole ones after each other, or pages made of the documents."""
    path = corpus.scratch / "bench.warc.gz"
    if not path.exists():
        once = b"".join(_whole_archives(corpus.folder) if corpus.folder else _made_archive(corpus))
        wanted = WARC_BYTES * corpus.sizes.slice // 12_000_000
        temporary = path.with_suffix(".tmp")
        temporary.write_bytes(once * max(1, wanted // len(once)))
        temporary.rename(path)
    return path


def _whole_archives(folder: Path) -> Iterator[bytes]:
    for path in sorted((folder / "web-warc").rglob("*.warc.gz")):
        try:
            for _ in warc.read_warc(path, path.name, Limits(), Tally()):
                pass
        except CorpusError:  # broken on purpose
            continue
        yield path.read_bytes()


def _made_archive(corpus: Corpus) -> Iterator[bytes]:
    for number, page in enumerate(_made_pages(corpus)):
        http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + page
        uri = f"https://example.org/{number}"
        for kind, media, content in (
            ("request", "application/http; msgtype=request", b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"),
            ("response", "application/http; msgtype=response", http),
            ("metadata", "application/warc-fields", b"fetchTimeMs: 12\r\n"),
        ):
            head = (
                f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\nWARC-Date: {STAMP}\r\n"
                f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012d}>\r\nContent-Type: {media}\r\n"
                f"Content-Length: {len(content)}\r\n\r\n"
            )
            yield gzip.compress(head.encode() + content + b"\r\n\r\n", 6, mtime=0)


def _made_pages(corpus: Corpus) -> Iterator[bytes]:
    texts = corpus.texts(corpus.sizes.peer)
    for first in range(0, len(texts), PAGES_DOCUMENTS):
        body = "".join(
            f"<div><p>{text}</p><a href='/{first}'>more</a></div>" for text in texts[first:][:PAGES_DOCUMENTS]
        )
        menu = "<nav><ul>" + "<li><a href='/'>home</a></li>" * 20 + "</ul></nav>"
        yield f"<html><head><title>Page</title></head><body>{menu}<article>{body}</article></body></html>".encode()


def read_archive(corpus: Corpus) -> Prepared:
    path = archive(corpus)

    def work() -> int:
        return sum(1 for _ in warc.read_warc(path, path.name, Limits(), Tally()))

    return Prepared(work, work())


def fastwarc_alone(corpus: Corpus) -> Prepared:
    """FastWARC reads what `read_archive` does: URLs of all records, headers of responses, decoded bodies of pages."""
    path = archive(corpus)

    def work() -> int:
        found = 0
        with path.open("rb") as file:
            for record in ArchiveIterator(GzipReader(file), parse_http=False):
                found += 1
                record.headers.get("WARC-Target-URI")
                if record.record_type != WarcRecordType.response or not record.is_http:
                    continue
                record.parse_http(auto_decode="all")
                media_type = record.http_content_type
                if record.http_headers.status_code != 200 or (media_type and media_type not in TEXTS):
                    continue
                record.reader.read()
                record.headers.get("WARC-Date")
        return found

    return Prepared(work, work())


def pages(corpus: Corpus) -> dict[str, bytes]:
    """Name -> page."""
    if corpus.folder is None:
        return {str(number): page for number, page in enumerate(_made_pages(corpus))}
    with tarfile.open(corpus.folder / "web-html-aeb" / "html.tar") as tar:
        members = [(member.name, tar.extractfile(member)) for member in tar if member.isfile()]
        return {Path(name).name.split(".")[0]: gzip.decompress(file.read()) for name, file in members if file}


def _extraction(corpus: Corpus, one: Callable[[bytes], object]) -> Prepared:
    found = list(pages(corpus).values())
    one(found[0])
    return Prepared(lambda: [one(page) for page in found], sum(map(len, found)) / 1e6)


def extract_pages(corpus: Corpus) -> Prepared:
    """As the pipeline does it: in a guarded process, its start included."""
    records = [Record(name, 0, page, is_html=True) for name, page in pages(corpus).items()]

    def work() -> int:
        with parsing_guard(1) as guard:
            return sum(1 for _ in extracted_records(records, guard))

    work()
    return Prepared(work, sum(len(record.content) for record in records) / 1e6)


def extract_unguarded(corpus: Corpus) -> Prepared:
    return _extraction(corpus, extract)


def resiliparse_alone(corpus: Corpus) -> Prepared:
    return _extraction(
        corpus, lambda page: extract_plain_text(page.decode("utf-8", "replace"), list_bullets=False, **SWITCHES)
    )


CASES = {
    "raw part: jsonl.zst -> Arrow": Case(read_parts, 120),
    "zstandard, json.loads": Case(json_of_parts, peer_of="raw part: jsonl.zst -> Arrow"),
    "raw set written": Case(write_set),
    "json.dumps, zstandard, in memory": Case(json_and_zstd, peer_of="raw set written"),
    "source: jsonl.zst -> records": Case(read_source),
    "WARC -> records": Case(read_archive, 45_000, unit="records"),
    "FastWARC": Case(fastwarc_alone, peer_of="WARC -> records", unit="records"),
    "HTML -> text": Case(extract_pages, unit="MB HTML"),
    "the same in this process, unguarded": Case(extract_unguarded, peer_of="HTML -> text", unit="MB HTML"),
    "Resiliparse": Case(resiliparse_alone, peer_of="HTML -> text", unit="MB HTML"),
}


def quality(corpus: Corpus) -> Iterator[Quality]:
    """F1 of the articles' text on web-html-aeb: mean precision and recall of 4-word shingles, counted, over pages."""
    if corpus.folder is None:
        return
    truth = json.loads((corpus.folder / "web-html-aeb" / "ground-truth.json").read_text("utf-8"))
    scores = [_overlap(truth[name]["articleBody"], extract(page).text) for name, page in pages(corpus).items()]
    precision, recall = (sum(score[side] for score in scores) / len(scores) for side in (0, 1))
    f1 = 2 * precision * recall / (precision + recall)
    yield Quality(
        "bench_raw", "article text, F1", round(f1, 3), 0.917, note=f"precision {precision:.3f}, recall {recall:.3f}"
    )


def _overlap(truth: str, found: str) -> tuple[float, float]:
    """(precision, recall) of a page; nothing found where nothing is wanted is right."""
    wanted, given = _shingles(truth), _shingles(found)
    both = (wanted & given).total()
    if not wanted or not given:
        return float(not given), float(not wanted)
    return both / given.total(), both / wanted.total()


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = re.findall(r"\w+", text)
    return (
        Counter(tuple(words[i : i + SHINGLE]) for i in range(max(1, len(words) - SHINGLE + 1))) if words else Counter()
    )

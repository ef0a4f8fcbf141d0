"""One crawl stored in several containers, each a source of one version: every text comes out once, and each container
alone holds the same pages.
"""

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from corpus_assets.plans.raw_set import find_raw_set
from formats import evidence, ledger, raw_set_rows
from formats.corpus_shard import read_shards
from formats.layout import Layout
from formats.naming import VersionKey
from tests.plans import tiny_corpus
from tests.records.made_up_files import (
    ARC_FILE,
    arc_record,
    http,
    trained_dictionary,
    warc_record,
    zstd_with_dictionary,
)
from tests.shared_data import DATA, needs_shared_data

KEY = VersionKey("crawl", "v1")
TEXTS = {
    "http://tales.example/owl": tiny_corpus.OWL,
    "http://tales.example/the ferry": tiny_corpus.FERRY,
    "http://tales.example/clock": tiny_corpus.CLOCK,
}
PAGES = {
    url: http(f"<html><body><article><p>{text}</p></article></body></html>".encode()) for url, text in TEXTS.items()
}
ARC = [ARC_FILE, *(arc_record(content, url) for url, content in PAGES.items())]
WARC = [
    warc_record("warcinfo", b"software: made by hand\r\n", None),
    *(warc_record("response", content, url) for url, content in PAGES.items()),
]
CONTAINERS = {
    "arc": b"".join(ARC),
    "arc-gz": b"".join(gzip.compress(record, mtime=0) for record in ARC),
    "warc": b"".join(WARC),
    "warc-gz": b"".join(gzip.compress(record, mtime=0) for record in WARC),
    "warc-one-member": gzip.compress(b"".join(WARC), mtime=0),
    "warc-zst": zstd_with_dictionary(WARC, trained_dictionary(WARC)),
}


def built(root: Path, containers: Mapping[str, bytes], allowed: str = "CC0-1.0") -> Layout:
    """A version of which each container is a source."""
    layout = Layout(root)
    layout.corpus.mkdir(parents=True)
    for rank, (source, data) in enumerate(sorted(containers.items())):
        (layout.corpus / source).write_bytes(data)
        row: dict[str, Any] = {
            "source_id": source, "title": source, "kind": "warc", "license_spdx": allowed,
            "license_evidence": "made up for a test", "attribution": "nobody", "retrieved": "2026-11-30",
            "bucket": "web", "profile": "prose", "source_rank": rank,
            "files": [{"url": source, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}],
        }  # fmt: skip
        ledger.append(layout.ledger, ledger.from_json(row))
    config = {
        "dataset": KEY.dataset,
        "version": KEY.version,
        "sources": sorted(containers),
        "licenses": {"allow": [allowed]},
    }
    path = layout.config(KEY)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(config))
    tiny_corpus.build(layout, KEY)
    return layout


def documents_of(layout: Layout) -> dict[str, list[tuple[str, str]]]:
    """Source -> (url, text) of its raw documents, in order."""
    found = {}
    for row in ledger.read(layout.ledger):
        parts = find_raw_set(layout, row).parts
        rows = [one for part in parts for batch in raw_set_rows.read_part(part) for one in batch.to_pylist()]
        found[row.source_id] = [(one["url"], one["text"]) for one in rows]
    return found


def test_each_container_has_the_same_pages_and_the_version_has_each_text_once(tmp_path: Path) -> None:
    layout = built(tmp_path / "root", CONTAINERS)
    pages = [(url.replace(" ", "%20"), text) for url, text in TEXTS.items()]
    assert documents_of(layout) == dict.fromkeys(CONTAINERS, pages)
    kept = list(read_shards(layout.version(KEY)))
    assert sorted((doc.meta["url"], doc.text) for doc in kept) == sorted(pages)
    assert {doc.source_id for doc in kept} == {min(CONTAINERS)}


FOLDER = DATA / "web-warc"
WHOLE = ("aut/example.arc.gz", "aut/example.warc.gz")
BEGINNING = tuple(
    f"webarchive-discovery/IAH-20080430204825-00000-blackbook-truncated.{end}"
    for end in ("arc", "arc.gz", "warc", "warc.gz")
)


@pytest.fixture(scope="module")
def crawl_of_2008(tmp_path_factory: pytest.TempPathFactory) -> tuple[Layout, dict[str, str]]:
    """The version, and source -> file."""
    sources = {f"crawl-{i}": file for i, file in enumerate((*WHOLE, *BEGINNING))}
    contents = {source: (FOLDER / file).read_bytes() for source, file in sources.items()}
    license_spdx = "LicenseRef-third-party-web-content"
    return built(tmp_path_factory.mktemp("crawl") / "root", contents, license_spdx), sources


@needs_shared_data
def test_each_container_of_a_real_crawl_has_the_same_pages(crawl_of_2008: tuple[Layout, dict[str, str]]) -> None:
    layout, sources = crawl_of_2008
    by_file = {sources[source]: documents for source, documents in documents_of(layout).items()}
    assert by_file[WHOLE[0]] == by_file[WHOLE[1]]
    assert len(by_file[WHOLE[0]]) > 80
    for file in BEGINNING:
        assert by_file[file] == by_file[BEGINNING[0]] != []
        assert set(by_file[file]) <= set(by_file[WHOLE[0]])


@needs_shared_data
def test_a_real_crawl_in_six_containers_comes_out_once(crawl_of_2008: tuple[Layout, dict[str, str]]) -> None:
    layout, _ = crawl_of_2008
    kept = list(read_shards(layout.version(KEY)))
    assert len(kept) > 20
    assert [text for text, n in Counter(doc.text for doc in kept).items() if n > 1] == []
    assert {doc.source_id for doc in kept} == {"crawl-0"}
    num_rows = sum(batch.num_rows for batch in evidence.read(layout.evidence(KEY), "documents"))
    assert num_rows == sum(map(len, documents_of(layout).values())) > 2 * len(kept)

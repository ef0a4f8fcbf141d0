"""What counts as the web address of a document, and what is the name of a file."""

import pyarrow as pa
import pytest

from corpus_assets.stages.web_addresses import has_address

PAGES = [
    "https://example.org/owl", "HTTP://EXAMPLE.ORG", " ftp://example.org/a", "//example.org/a", "www.example.org",
    "example.org/owl", "sub.example.co.uk:8080/", "xn--strae-oqa.xn--p1ai/a",
]  # fmt: skip
PLACES = [
    "owl.txt", "raw/owls.jsonl#3", "../inputs/a.tar#b/c.txt", "/data/a.jsonl#1", "s3://bucket/a.jsonl#1", "v1.0/a.txt",
    "README.md", "", None,
]  # fmt: skip


@pytest.mark.parametrize(("urls", "is_page"), [(PAGES, True), (PLACES, False)])
def test_pages_have_an_address_and_places_in_files_have_none(urls, is_page):
    assert has_address(pa.array(urls, pa.large_string())).to_pylist() == [is_page] * len(urls)

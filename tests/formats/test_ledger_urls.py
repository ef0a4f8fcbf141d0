"""Urls of the ledger: which schemes it knows, and that none brings a credential into the corpus."""

import pytest

from formats import ledger
from formats.ledger_urls import STORE_SCHEMES

FILE = {"sha256": "0f" * 32, "bytes": 1}


def wrong(url: str) -> str:
    return "; ".join(words for _, words in ledger.problems_of_file({"url": url, **FILE}))


@pytest.mark.parametrize("scheme", STORE_SCHEMES)
def test_stores_are_named_by_their_scheme_and_bucket_or_host(scheme):
    assert wrong(f"{scheme}://tales/a/b.jsonl.gz") == ""
    assert "has no host or bucket" in wrong(f"{scheme}:///a/b.jsonl.gz")
    assert "user name or password" in wrong(f"{scheme}://me:hunter2@tales/a")
    assert scheme.upper() in wrong(f"{scheme.upper()}://tales/a")


@pytest.mark.parametrize("url", ["local:///etc/passwd", "zip://a.zip", "simplecache://x/y", "gopher://e.example/a"])
def test_other_schemes_are_refused(url):
    assert "is not one of http, https, file, s3" in wrong(url)


@pytest.mark.parametrize("url", ["simplecache::file:///etc/passwd", "zip://a::s3://b/c"])
def test_chains_of_schemes_are_refused(url):
    assert wrong(url)


@pytest.mark.parametrize(
    "query",
    [
        "X-Amz-Algorithm=x&X-Amz-Credential=hunter2", "X-Amz-Signature=hunter2", "AWSAccessKeyId=hunter2",
        "sv=2020&sig=hunter2", "access_token=hunter2", "api_key=hunter2", "apikey=hunter2", "key=hunter2",
        "a=1&auth=hunter2", "Password=hunter2", "x%2Dtoken=hunter2", "Key-Pair-Id=hunter2", "secret=hunter2",
        "X-Goog-Signature=hunter2",
    ],
)  # fmt: skip
def test_a_signed_url_is_refused_without_being_repeated(query):
    found = wrong(f"https://e.example/a.jsonl?{query}")
    assert "holds a credential" in found
    assert "hunter2" not in found


@pytest.mark.parametrize(
    "query",
    ["id=12", "author=x", "design=1", "codec=gz", "keyword=fox", "monkey=1", "tokenizer=x", "v=0f0f0f0f0f0f0f0f0f"],
)
def test_other_queries_are_part_of_an_address(query):
    assert wrong(f"https://e.example/a.jsonl?{query}") == ""

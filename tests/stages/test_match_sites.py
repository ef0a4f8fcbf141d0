"""Which documents lie at a listed site: every form of a host and of a path, and the same as one entry at a time."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.stages import match_sites
from corpus_assets.stages.match_sites import SiteIndex, key_of, url_parts
from corpus_assets.stages.site_names import Site, parse_site
from formats.stage_tables import SITE_ENTRIES
from tests.stages import naive_sites


def index(*sites: Site | str) -> SiteIndex:
    found = [parse_site(site) if isinstance(site, str) else site for site in sites]
    rows = [
        {"reason": "blocked_site", "list": "l", "line": i + 1, "what": str(site), "is_domain": site.is_domain,
         "host": site.host, "key": key_of(site)}
        for i, site in enumerate(found)
    ]  # fmt: skip
    return SiteIndex(pa.Table.from_pylist(rows, SITE_ENTRIES))


def entries(urls: list[str], *sites: Site | str) -> list[int]:
    return index(*sites).first_entries(pa.array(urls, pa.large_string())).tolist()


def matched(url: str, site: str) -> bool:
    return entries([url], site) == [0]


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://a.example.co.uk/x", "example.co.uk"),
        ("https://example.co.uk", "example.co.uk"),
        ("https://example.co.uk?q", "example.co.uk"),
        ("HTTPS://EXAMPLE.CO.UK/x", "example.co.uk"),
        ("http://example.org/", "EXAMPLE.org."),
        ("http://example.org:8080/x", "example.org"),
        ("http://ann:pass@example.org/x", "example.org"),
        ("http://ann@other.net@example.org/x", "example.org"),
        ("http://example.org./x", "example.org"),
        ("http://www.example.org.:80", "example.org"),
        ("http://straße.example.de/", "straße.example.de"),
        ("http://xn--strae-oqa.example.de/", "straße.example.de"),
        ("http://STRAẞE.example.de/", "xn--strae-oqa.example.de"),
        ("http://例え。jp/", "例え.jp"),
        ("http://ex%61mple.org/", "example.org"),
        ("http://example.org\\path", "example.org"),
        ("http:\\\\example.org/path", "example.org"),
        ("ftp://example.org/file", "example.org"),
        ("//example.org/file", "example.org"),
        ("www.example.org/page", "example.org"),
        ("  https://example.org/", "example.org"),
        ("https://exam\nple.org/", "example.org"),
        ("http://192.168.0.1/x", "192.168.0.1"),
        ("http://0xc0.0250.1/x", "192.168.0.1"),
        ("http://[2001:DB8:0:0::1]:8080/x", "[2001:db8::1]"),
        ("https://anybody.co.uk/", "*.co.uk"),
        ("https://me.github.io/", "*.github.io"),
        ("https://example.org/a/b", "https://example.org/a"),
        ("https://example.org/ab", "http://example.org/a"),
        ("https://example.org/a?b", "http://example.org:80/a"),
        ("http://example.org:8080/a", "https://example.org/a"),
        ("http://example.org:8080/a", "https://example.org:8080/a"),
        ("http://example.org", "https://example.org"),
        ("http://example.org/?q=1", "https://example.org/?q"),
        ("http://example.org/%7eann/", "http://example.org/~ann"),
        ("http://example.org/stra%c3%9fe", "http://example.org/straße"),
        ("http://[::1]/a", "http://[0::1]/a"),
    ],
)
def test_a_url_of_a_listed_site_is_matched_in_every_form(url, site):
    assert matched(url, site)


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://notexample.co.uk/", "example.co.uk"),
        ("https://example.co.uk.evil.net/", "example.co.uk"),
        ("https://evil.net/example.co.uk", "example.co.uk"),
        ("https://evil.net/?u=https://example.co.uk/", "example.co.uk"),
        ("https://example.co.uk@evil.net/", "example.co.uk"),
        ("https://evil.net\\@example.co.uk/", "example.co.uk"),
        ("https://co.uk/", "example.co.uk"),
        ("https://uk/", "example.co.uk"),
        ("https://fass.de/", "faß.de"),
        ("http://5.192.168.0.1/", "192.168.0.1"),
        ("http://192.168.0.11/", "192.168.0.1"),
        ("https://www.example.org/a", "https://example.org/a"),
        ("https://example.org/b/a", "https://example.org/a"),
        ("https://example.org/A", "https://example.org/a"),
        ("http://example.org/a", "http://example.org:8080/a"),
        ("http://example.org:80801/a", "http://example.org:8080/a"),
        ("http://example.org:x/a", "example.org"),
        ("http://a..example.org/", "example.org"),
        ("http://exa mple.org/", "example.org"),
        ("owl.txt", "example.org"),
        ("../inputs/handbook.tar#example.org", "example.org"),
        ("", "example.org"),
    ],
)
def test_a_url_elsewhere_is_not_matched(url, site):
    assert not matched(url, site)


def test_the_first_entry_counts_where_several_match():
    sites = ("https://a.example.org/x", "example.org", "a.example.org", "example.org")
    urls = ["https://a.example.org/x/y", "https://a.example.org/", "https://b.example.org/x", "https://example.net/"]
    assert entries(urls, *sites) == [0, 1, 1, -1]


def test_equal_lines_are_found_as_the_first_of_them():
    assert entries(["http://e.org/a"], "http://e.org/a", "https://E.org:443/a", "e.org") == [0]


def test_no_entries_and_no_rows_match_nothing():
    assert entries(["https://example.org/"]) == [-1]
    assert entries([], "example.org") == []


def test_names_whose_hashes_are_equal_are_told_apart(monkeypatch):
    monkeypatch.setattr(match_sites, "hashes_of", lambda names: np.zeros(len(names), np.uint64))
    urls = ["https://b.example.org/", "https://c.example.org/", "https://a.example.org/"]
    assert entries(urls, "a.example.org", "x.example.org", "b.example.org") == [2, -1, 0]


def test_each_host_of_a_batch_is_read_once(monkeypatch):
    seen = []
    monkeypatch.setattr(match_sites, "canonical_host", lambda name: seen.append(name) or name)
    urls = pa.array([f"https://h{i % 7}.example.org/{i}" for i in range(1000)], pa.large_string())
    assert len(url_parts(urls).hosts) == len(seen) == 7


LABELS = st.sampled_from(["a", "b", "ex", "example", "notexample", "B", "ß", "xn--zca", "co", "*", "0x7f", "1", ""])
HOSTS = st.one_of(
    st.lists(LABELS, min_size=1, max_size=4).map(".".join),
    st.sampled_from(
        ["example.org", "a.example.org", "127.1", "127.0.0.1", "[::1]", "[0:0::1]", "[", "[x]", "e%78ample.org"]
    ),
)
ODD = st.text(st.sampled_from("/\\?#@:%[].aAfF7eE9~é \t\n"), max_size=8)
URLS = st.builds(
    lambda scheme, user, host, port, rest: scheme + user + host + port + rest,
    st.sampled_from(["http://", "https://", "HTTP:/", "ftp:", "//", "", "s3://", " http://"]),
    st.sampled_from(["", "u@", "u:p@", "a@b@", "example.org@"]),
    HOSTS,
    st.sampled_from(["", ":", ":80", ":443", ":8080", ":08080", ":x"]),
    ODD | st.sampled_from(["/a", "/a/b?c", "?a", "/%61", "/%e9", "/é", "\\a"]),
)
SITES = st.one_of(
    st.sampled_from(["example.org", "a.example.org", "b", "xn--zca", "127.0.0.1", "[::1]", "co", "a.b"]).map(Site),
    st.builds(
        Site,
        st.sampled_from(["example.org", "a.example.org", "127.0.0.1", "[::1]", "b"]),
        st.sampled_from(["", "8080"]),
        ODD.filter(lambda t: "#" not in t) | st.sampled_from(["", "/", "/a", "/é", "/a/b", "?a"]),
    ),
)


@settings(max_examples=300)
@given(st.lists(URLS | ODD | st.text(max_size=10), max_size=6), st.lists(SITES, max_size=6))
def test_matching_equals_one_url_and_one_entry_at_a_time(urls, sites):
    assert entries(urls, *sites) == [naive_sites.first_entry(url, sites) for url in urls]

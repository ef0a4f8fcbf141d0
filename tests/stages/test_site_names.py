"""Hosts in their one form, and what a line of a list may say."""

import hashlib
import re
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.stages import site_names
from corpus_assets.stages.site_names import Site, canonical_host, is_public_suffix, parse_site, registered_domain
from formats import site_lists
from formats.errors import ConfigError
from formats.site_lists import block_list, opt_outs


@pytest.mark.parametrize(
    ("written", "host"),
    [
        ("Example.ORG", "example.org"),
        ("example.org.", "example.org"),
        ("example.org..", None),
        (".example.org", None),
        ("faß.de", "xn--fa-hia.de"),
        ("i❤.ws", "xn--i-7iq.ws"),
        ("ｅｘａｍｐｌｅ．org", "example.org"),
        ("127.1", "127.0.0.1"),
        ("0x7f.0.0.01", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("4294967296", None),
        ("1.2.3.256", None),
        ("1.2.3.4.5", None),
        ("09.1.1.1", None),
        ("example.1", None),
        ("[::FFFF:1.2.3.4]", "[::ffff:102:304]"),
        ("[fe80::1%25eth0]", "[fe80::1]"),
        ("[::1", None),
        ("[]", None),
        ("%ff", None),
        ("a%2Fb", None),
        ("a b", None),
        ("", None),
        ("a_b.example.org", "a_b.example.org"),
    ],
)
def test_a_host_has_one_form(written, host):
    assert canonical_host(written) == host


@given(st.text() | st.text(st.sampled_from("aA.0189x:[]%é。-_"), max_size=12))
def test_the_one_form_is_ascii_and_its_own(written):
    host = canonical_host(written)
    if host is not None:
        assert host.isascii()
        assert canonical_host(host) == host


@pytest.mark.parametrize("suffix", ["com", "co.uk", "github.io", "xn--fiqs8s", "kobe.jp", "localhost"])
def test_public_suffixes_are_known_with_their_private_section(suffix):
    assert is_public_suffix(suffix)
    assert not is_public_suffix(f"www.{suffix}") or suffix == "kobe.jp"


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("a.b.example.co.uk", "example.co.uk"),
        ("me.github.io", "me.github.io"),
        ("co.uk", "co.uk"),
        ("city.kobe.jp", "city.kobe.jp"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("host", "host"),
    ],
)
def test_a_registered_domain_is_one_name_more_than_its_suffix(host, domain):
    assert registered_domain(host) == domain


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("co.uk", "is a public suffix, below which anybody has domains; write \\*.co.uk"),
        ("Co.UK.", "write \\*.co.uk if all of them are meant"),
        ("*.example.org", "example.org is no public suffix; write example.org"),
        ("*", "is no domain"),
        ("*.", "is no domain"),
        ("ads*.example.org", "is no domain"),
        (".example.org", "is no domain"),
        ("0.0.0.0 example.org", "is no domain"),
        ("||example.org^", "is no domain"),
        ("example.org:80", "write http://example.org:80/ for that port alone"),
        ("example.org/path", "write https:// before it"),
        ("ann@example.org", "has an @"),
        ("https://ann:pass@example.org/", "leave everything up to the @ out"),
        ("https://example.org/#top", "has a fragment"),
        ("https:///path", "has no host"),
        ("https://a..b/", "has no host"),
        ("https://[::1/", "has no host"),
        ("https://example.org:80x/", "has no host"),
        ("s3://bucket/key", "expected http, https or ftp"),
    ],
)
def test_a_line_that_is_neither_is_refused_and_says_what_to_write(words, says):
    with pytest.raises(ConfigError, match=says):
        parse_site(words)


def test_a_password_in_a_line_is_not_told():
    with pytest.raises(ConfigError) as raised:
        parse_site("https://ann:sesame@example.org/")
    assert "sesame" not in str(raised.value)


def test_ports_that_say_nothing_are_left_out():
    assert (
        parse_site("https://example.org:443/a")
        == parse_site("http://example.org:0080/a")
        == Site("example.org", "", "/a")
    )
    assert parse_site("http://[::1]:8080").port == "8080"


def test_the_lines_of_the_page_are_sites():
    page = Path(site_lists.__file__).with_name("site_lists.md").read_text("utf-8")
    block, opt_out = re.findall(r"```(?:json)?\n(.*?)```", page, re.DOTALL)
    found = [*block_list(block.encode(), "l"), *opt_outs(opt_out.encode(), "l")]
    assert [parse_site(one.what).host for one in found] == [
        "casino.example", "forum.example.org", "github.io", "ann.example.org", "www.example.net",
    ]  # fmt: skip


def test_the_digest_is_of_the_list_in_use():
    data = resources.files("publicsuffixlist").joinpath("public_suffix_list.dat").read_bytes()
    assert site_names.suffix_list_digest() == hashlib.sha256(data).hexdigest()


def test_top_level_domains_are_the_last_labels_of_the_suffixes_in_ascii():
    known = site_names.top_level_domains()
    assert {"org", "uk", "museum", "ck", "xn--p1ai", "xn--fiqs8s"} <= known
    assert not {"", "setter", "example", "co.uk", "*", "transpose"} & known
    assert all(name.isascii() and "." not in name for name in known)

"""User names and passwords: each way to write one is found, masked, and left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import userinfo

SCHEMES = ["s3", "gs", "abfs", "sftp", "ftp", "webdav", "http", "https", "hdfs"]
SECRETS = ["hunter2", "hun/ter2", "hun@ter2", "hun#ter2", "hun?ter2", "hun'ter2", 'hun"ter2', "hun%2Fter2"]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("secret", SECRETS)
def test_a_password_of_any_letters_is_found_and_masked_in_every_scheme(scheme, secret):
    url = f"{scheme}://AKIAKEY:{secret}@b/x.jsonl"
    assert userinfo.is_in(url)
    assert userinfo.mask_url(url) == f"{scheme}://***@b/x.jsonl"
    assert userinfo.mask(f"no such file: {url} there") == f"no such file: {scheme}://***@b/x.jsonl there"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("ftp://me@h/a", "ftp://***@h/a"),
        ("ftp://me:my pass@h/a", "ftp://***@h/a"),
        ("s3://key%3Asecret%40b/a", "s3://***@b/a"),
        ("s3://:secret@b/a", "s3://***@b/a"),
    ],
)
def test_a_user_alone_white_space_and_escapes_hide_nothing(url, shown):
    assert userinfo.is_in(url)
    assert userinfo.mask_url(url) == shown


def test_what_a_driver_repeats_without_the_scheme_is_masked_too():
    assert userinfo.mask('Invalid bucket name "AKIAKEY:s3secret@b": no') == 'Invalid bucket name "***@b": no'
    assert userinfo.mask("s3:/AKIAKEY:s3/secret@b/x: no such file") == "***@b/x: no such file"


@pytest.mark.parametrize(
    "url",
    [
        "https://medium.com/@me/a", "https://e.org:8080/a@b", "http://[::1]:80/a@b", "s3://b/User:me@home.txt",
        "https://e.org/?mail=me@e.org", "books/me@home.txt", "mail me@e.org", "mailto:me@e.org", "ratio: 3:4",
    ],
)  # fmt: skip
def test_an_at_sign_elsewhere_is_no_user(url):
    assert not userinfo.is_in(url)
    assert userinfo.mask_url(url) == userinfo.without(url) == url


@given(st.text(), st.text(st.characters(exclude_characters="/?#@"), min_size=1), st.text())
def test_without_user_every_other_byte_of_a_url_stays(path, user, query):
    rest = f"w.org/{path}?{query}"
    assert userinfo.without(f"http://{user}:top@{rest}") == userinfo.without(f"http://{rest}") == f"http://{rest}"

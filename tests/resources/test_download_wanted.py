"""What may be asked of the fetcher, and how URLs are shown."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.errors import ConfigError
from formats.ledger_urls import STORE_SCHEMES
from resources.download.settings import FetchSettings
from resources.download.wanted import Wanted, check, mask_foreign, mask_text, masked
from tests.fault_server import Answer, FaultServer
from tests.resources.download_helpers import Remembered, fetcher, sha256, some_bytes, wanted

GOOD = sha256(b"x")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.org/a/b.gz?id=12#part", "https://example.org/a/b.gz?id=12"),
        ("https://user:pass@example.org:81/a", "https://***@example.org:81/a"),
        ("https://user@example.org/a", "https://***@example.org/a"),
        ("https://e.org/a?id=1&token=abc&X-Amz-Signature=f00", "https://e.org/a?id=1&token=***&X-Amz-Signature=***"),
        ("https://e.org/a?AWSAccessKeyId=A&Expires=9&sig=s", "https://e.org/a?AWSAccessKeyId=***&Expires=9&sig=***"),
        ("https://e.org/a?%74oken=abc", "https://e.org/a?%74oken=***"),
        ("https://e.org/a?0123456789abcdef0123", "https://e.org/a?***"),
        ("https://e.org/a?raw", "https://e.org/a?raw"),
        ("books/one.txt", "books/one.txt"),
    ],
)
def test_urls_are_shown_without_secrets(url, shown):
    assert masked(url) == shown


def test_secrets_are_masked_inside_any_message():
    text = "cannot reach http://me:secret1@e.org/a?b=1&auth_token=secret2 or /a?password=secret3 either"
    assert mask_text(text) == "cannot reach http://***@e.org/a?b=1&auth_token=*** or /a?password=*** either"


@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=8, max_size=30))
def test_no_secret_comes_through_in_any_place(secret):
    url = f"https://u:{secret}@e.org/a?x-token={secret}&api_key={secret}#{secret}"
    # The frame of the URL has words of its own; a secret made of them would be found in it.
    if secret not in masked("https://u:p@e.org/a?x-token=&api_key="):
        assert secret not in masked(url)
        assert secret not in repr(Wanted(url, GOOD, 1))


def test_neither_events_nor_errors_nor_the_log_nor_the_checkpoint_hold_a_secret(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    content, memory = some_bytes(100_000), Remembered()
    with FaultServer() as server:
        url = server.put("/f", content, [Answer(drop_after=70_000), Answer(status=503), Answer(status=404)])
        secret_url = url.replace("http://", "http://me:hunter2@") + "?token=hunter3"
        with pytest.raises(ConfigError, match="404") as caught:
            fetcher(tmp_path, memory).fetch_all([wanted(secret_url, content)])
        assert server.requests[0].path.endswith("?token=hunter3")
        assert server.requests[0].headers["authorization"] == "Basic bWU6aHVudGVyMg=="
    stored = "".join(path.read_text("utf-8", "replace") for path in tmp_path.glob("*.json"))
    assert "token=***" in stored
    assert "token=***" in caplog.text  # urllib3 logs its request lines
    for text in (*memory.events, *memory.files, str(caught.value), caplog.text, stored):
        assert "hunter" not in text


@pytest.mark.parametrize(
    ("url", "digest", "num_bytes", "words"),
    [
        ("gopher://e.org/a", GOOD, 1, "no fetcher for the scheme 'gopher'"),
        ("local:///etc/passwd", GOOD, 1, "no fetcher for the scheme 'local'"),
        ("simplecache::file:///etc/passwd", GOOD, 1, "no fetcher for the scheme 'simplecache'"),
        ("s3:///a", GOOD, 1, "names no host"),
        ("books/a.txt", GOOD, 1, "no fetcher for the scheme ''"),
        ("http:///a", GOOD, 1, "names no host"),
        ("http://e.org:port/a", GOOD, 1, "not a URL"),
        ("http://[::1/a", GOOD, 1, "not a URL"),
        ("http://e.org/a b", GOOD, 1, "no spaces or control characters"),
        ("http://e.org/a\r\nHost: other", GOOD, 1, "no spaces or control characters"),
        ("http://e.org/\ud800", GOOD, 1, "no spaces or control characters"),
        ("http://e.org/" + "a" * 5000, GOOD, 1, "at most 4000 characters"),
        ("http://e.org/a", "", 1, "sha256"),
        ("http://e.org/a", "../" * 21 + "a", 1, "sha256"),
        ("http://e.org/a", GOOD.upper(), 1, "sha256"),
        ("http://e.org/a", GOOD + "\n", 1, "sha256"),
        ("http://e.org/a", GOOD, -1, "num_bytes"),
        ("http://e.org/a", GOOD, True, "num_bytes"),
        ("http://e.org/a", GOOD, 0, "num_bytes is 0"),
    ],
)
def test_what_cannot_be_fetched_is_a_config_error_before_any_work(tmp_path, url, digest, num_bytes, words):
    bad = Wanted(url, digest, num_bytes)
    with pytest.raises(ConfigError, match=words):
        check(bad)
    with FaultServer() as server:
        good = wanted(server.put("/f", b"x"), b"x")
        for call in (fetcher(tmp_path / "cache").fetch_all, fetcher(tmp_path / "cache").plan):
            with pytest.raises(ConfigError, match=words):
                call([good, bad])
    assert server.requests == []
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    "values",
    [
        {"interval_bytes": 0},
        {"max_tries": 0},
        {"parallel_files": 0},
        {"max_redirects": -1},
        {"backoff_seconds": -1},
        {"read_timeout_seconds": 0},
        {"connect_timeout_seconds": float("nan")},
    ],
)
def test_settings_that_make_no_sense_are_refused(values):
    with pytest.raises(ConfigError, match=next(iter(values))):
        FetchSettings(**values)


@pytest.mark.parametrize(
    "repeated", ['bucket "AKIAKEY:s3/secret@b"', "user AKIAKEY", "401 for s3/secret", "s3%2Fsecret"]
)
def test_the_words_of_a_library_lose_whatever_they_repeat_of_the_secrets_of_a_url(repeated):
    told = mask_foreign(ValueError(f"invalid: {repeated}!"), "s3://AKIAKEY:s3%2Fsecret@b/x.jsonl?sig=abc&v=12")
    assert told.startswith("ValueError: invalid: ")
    for secret in ("AKIAKEY", "s3/secret", "s3%2Fsecret"):
        assert secret not in told


@pytest.mark.parametrize("scheme", STORE_SCHEMES)
def test_a_store_is_never_asked_with_a_user_or_password(scheme):
    with pytest.raises(ConfigError, match="holds a user name or password") as caught:
        check(Wanted(f"{scheme}://me:hunter2@b/x", GOOD, 1))
    assert f"{scheme}://***@b/x" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_scheme_without_host_is_shown_as_it_was_written():
    assert masked("local:///etc/passwd") == "local:///etc/passwd"

"""No command repeats a password that stands in a url, or asks anybody with it."""

import json
from pathlib import Path

import pytest

from corpus_assets import cli
from formats import ledger, ledger_urls
from formats.layout import Layout
from resources.remote_store import RemoteStore
from tests.formats import ledger_rows

SCHEMES = ["s3", "gs", "abfs", "sftp", "ftp", "webdav", "webhdfs", "http", "https"]
SECRETS = ["hunter2", "hun/ter2", "hun@ter2", "hun#ter2"]


@pytest.fixture
def corpus(tmp_path, capsys):
    """Runs a command line; gives its exit code and all that it said."""

    def run(*words: str) -> tuple[int, str]:
        try:
            code = cli.main(["--root", str(tmp_path), *words])
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def holds_none(said: str) -> None:
    for word in ("AKIAKEY", "hun", "ter2"):
        assert word not in said


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("secret", SECRETS)
def test_ledger_add_refuses_a_password_before_anything_is_asked(corpus, scheme, secret):
    url = f"{scheme}://AKIAKEY:{secret}@b/x.jsonl"
    code, said = corpus("ledger", "add", "s1", url, "--kind", "jsonl", "--license", "CC0-1.0")
    assert (code, said) == (2, f"corpus: {scheme}://***@b/x.jsonl: {ledger_urls.USER_IN_URL}\n")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("secret", [*SECRETS, "hun\nter2"])
def test_a_row_with_a_password_is_neither_checked_fetched_nor_previewed_with_it_in_clear(
    corpus, tmp_path, scheme, secret
):
    value = ledger.to_json(ledger_rows.row())
    value["files"][0]["url"] = f"{scheme}://AKIAKEY:{secret}@b/x.jsonl"
    path = Layout(tmp_path).ledger
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(value) + "\n")
    source = value["source_id"]
    for words in (("ledger", "check"), ("ledger", "check", "--json"), ("fetch", source), ("preview", source)):
        code, said = corpus(*words)
        assert code == (1 if words[0] == "ledger" else 2)
        assert "files[0].url" in said
        holds_none(said)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("words", [("push", "a.v1"), ("pull", "a.v1"), ("verify", "a.v1")], ids=lambda words: words[0])
def test_a_store_with_a_password_is_refused_by_option_and_by_environment(corpus, monkeypatch, words, secret):
    for start in ("s3", "gs", "http"):
        code, said = corpus(*words, "--store", url := f"{start}://AKIAKEY:{secret}@b/x")
        assert code == 2
        holds_none(said)
    monkeypatch.setenv("CORPUS_STORE", url)
    code, said = corpus(*words, *(["--store"] if words[0] == "verify" else []))
    assert code == 2
    holds_none(said)
    holds_none(RemoteStore.of_environment().url)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_url_is_no_place_to_write_to_or_read_a_benchmark_from(corpus, tmp_path, monkeypatch, scheme):
    monkeypatch.chdir(tmp_path)
    url = f"{scheme}://AKIAKEY:hunter2@b/x.jsonl"
    benchmark = ("contamination", "bench.jsonl", "--snapshot", "a.v1.t")
    for words in (
        ("export", "a.v1", "--to", "huggingface", url),
        ("contamination", url, "--snapshot", "a.v1.t"),
        *((*benchmark, option, url) for option in ("--run", "--index", "--write-clean")),
    ):
        code, said = corpus(*words)
        assert code == 2
        assert "is a url, expected a path on this machine" in said
        holds_none(said)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("option", ["--evidence", "--title", "--attribution"])
def test_words_of_a_row_that_are_published_hold_no_password(corpus, tmp_path, option):
    (tmp_path / "a.txt").write_text("Tom naps.")
    words = ("ledger", "add", "s1", str(tmp_path / "a.txt"), "--license", "CC0-1.0", option)
    code, said = corpus(*words, "see (https://AKIAKEY:hunter2@e.example/licence)")
    assert (code, said.endswith(f": {ledger_urls.USER_IN_URL}\n")) == (2, True)
    holds_none(said)
    assert corpus(*words, "see https://e.example/@me, mailto:me@e.example")[0] == 0


def test_a_word_of_the_command_line_that_is_none_is_repeated_without_its_password(corpus):
    code, said = corpus("ledger", "add", "s1", "a", "--kind", "s3://AKIAKEY:hunter2@b", "--license", "CC0-1.0")
    assert code == 2
    assert "invalid choice: 's3://***@b'" in said
    holds_none(said)

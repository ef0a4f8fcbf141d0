"""What stops `corpus up` and `corpus build` before any work, in words, with exit code 2."""

import socket
from collections.abc import Iterator
from pathlib import Path
from unittest import mock
from urllib.parse import urlsplit

import pytest

from corpus_assets import cli
from corpus_assets.commands import up
from formats.layout import Layout
from tests import ports
from tests.assets import tiny
from tests.plans.tampering import as_they_lie


@pytest.fixture
def layout(tmp_path: Path) -> Iterator[Layout]:
    """A root that every refusal leaves as it is."""
    layout = tiny.unbuilt(tmp_path)
    before = as_they_lie(tmp_path)
    yield layout
    assert as_they_lie(tmp_path) == before


def refused(capsys: pytest.CaptureFixture[str], layout: Layout, *words: str) -> str:
    """What `corpus` says as it exits with 2, with neither a build nor a UI begun."""
    with mock.patch("corpus_assets.commands.environment.prepare", side_effect=AssertionError("work began")):
        assert cli.main(["--root", str(layout.root), *words]) == cli.WRONG_USAGE
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    assert all(line.startswith("corpus: ") or line.startswith(str(layout.root)) for line in said.err.splitlines())
    return said.err


@pytest.mark.parametrize("words", [[], ["--build", "tiny.v1"]])
def test_a_port_that_is_taken_is_refused_before_a_build_begins(
    layout: Layout, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused(capsys, layout, "up", "--port", str(port), *words)
    assert f"127.0.0.1:{port}: Address already in use; end what listens there, or take another --port" in said


@pytest.mark.parametrize("port", ["0", "-1", "65536", "99999999999"])
def test_a_port_that_is_none_is_refused(layout: Layout, capsys: pytest.CaptureFixture[str], port: str) -> None:
    assert f"--port {port}: expected a port from 1 to 65535" in refused(capsys, layout, "up", f"--port={port}")


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "not an address"])
def test_a_host_that_is_not_this_machine_is_refused(
    layout: Layout, capsys: pytest.CaptureFixture[str], host: str
) -> None:
    said = refused(capsys, layout, "up", "--host", host)
    assert f"{host}:3000: " in said
    assert "--host takes an address of this machine, such as 127.0.0.1" in said
    assert "end what listens there" not in said


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:3000"),
        ("build.example.org", "http://build.example.org:3000"),
        ("::1", "http://[::1]:3000"),
        ("0.0.0.0", "http://corpora.example.org:3000"),
        ("::", "http://corpora.example.org:3000"),
    ],
)
def test_alerts_link_to_an_address_that_can_be_opened(host: str, url: str) -> None:
    with mock.patch("socket.getfqdn", return_value="corpora.example.org"):
        assert up.url_of(host, 3000) == url
    assert urlsplit(url).port == 3000


def test_a_port_that_was_in_use_a_moment_ago_is_free() -> None:
    port = ports.free()
    address = "127.0.0.1", port
    with socket.create_server(address) as listener, socket.create_connection(address):
        listener.accept()[0].close()
    up.check_port("127.0.0.1", port)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("tiny.v9", ["v9.yaml: is missing; write it with `corpus config new tiny.v9`"]),
        ("tiny", ["has no dot; expected <dataset>.<version>"]),
        ("Tiny.v1", ["dataset 'Tiny' is not a name"]),
        ("../etc.v1", ["is not a name"]),
        ("", ["has no dot"]),
    ],
)
@pytest.mark.parametrize("command", ["build", "up --build"])
def test_an_unknown_version_is_refused_in_words(
    layout: Layout, capsys: pytest.CaptureFixture[str], command: str, version: str, words: list[str]
) -> None:
    with mock.patch.object(up, "check_port"):
        said = refused(capsys, layout, *command.split(), version)
    for word in words:
        assert word in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dataset: [tiny", "line 1"),
        ("dataset: tiny\nversion: bad\nsources: []\nlicenses: {allow: [MIT]}\n", "sources"),
        ("dataset: tiny\nversion: bad\nsources: [web]\nlicenses: {allow: [MIT]}\nshard_row: 5\n", "shard_row: unknown"),
        ("dataset: tiny\nversion: bad\nsources: [web]\nlicenses: {allow: [MITT]}\n", "did you mean MIT?"),
        ("", "is empty"),
    ],
)
def test_a_broken_config_is_refused_with_file_line_and_setting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    layout = tiny.unbuilt(tmp_path)
    path = layout.configs / "tiny" / "bad.yaml"
    path.write_text(text, "utf-8")
    said = refused(capsys, layout, "build", "tiny.bad")
    assert str(path) in said
    assert words in said


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"CORPUS_WEBHOOK": "nonsense"}, ["CORPUS_WEBHOOK: expected a URL that begins with http:// or https://"]),
        ({"CORPUS_SLACK_WEBHOOK": "https://me:secret@host"}, ["CORPUS_SLACK_WEBHOOK: is not a URL"]),
        ({"CORPUS_SMTP": "smtp.example.org"}, ["CORPUS_SMTP: expected smtp://HOST"]),
        ({"CORPUS_SMTP": "smtp://a.example", "CORPUS_MAIL_FROM": "a@a.example"}, ["CORPUS_MAIL_TO: is not set"]),
        ({"CORPUS_MAIL_TO": "a@a.example"}, ["CORPUS_SMTP: is not set, and CORPUS_MAIL_TO is"]),
        ({"CORPUS_UI_URL": "nonsense"}, ["CORPUS_UI_URL: expected a URL that begins with http:// or https://", "link"]),
        ({"CORPUS_UI_URL": "https://me:secret@host"}, ["CORPUS_UI_URL: is not a URL"]),
        ({"CORPUS_WEBHOOK": "x", "CORPUS_SMTP": "y"}, ["CORPUS_WEBHOOK: expected", "CORPUS_SMTP: expected"]),
    ],
)
def test_an_alert_channel_that_is_of_no_use_is_refused_and_none_is_hidden_behind_another(
    layout: Layout,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    words: list[str],
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with mock.patch("corpus_assets.commands.environment.prepare", side_effect=AssertionError("work began")):
        assert cli.main(["--root", str(layout.root), "up"]) == cli.WRONG_USAGE
    said = capsys.readouterr().err
    assert all(one in said for one in words)
    assert "secret" not in said


def test_the_channels_that_are_set_are_named_without_what_is_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    assert up.channels() == []
    for name, value in {
        "CORPUS_WEBHOOK": "https://a.example/secret",
        "CORPUS_SMTP": "smtps://b.example",
        "CORPUS_MAIL_FROM": "corpus@b.example",
        "CORPUS_MAIL_TO": "ann@d.example, bo@d.example",
    }.items():
        monkeypatch.setenv(name, value)
    assert up.channels() == ["webhook (CORPUS_WEBHOOK)", "mail (CORPUS_SMTP, to 2 addresses)"]

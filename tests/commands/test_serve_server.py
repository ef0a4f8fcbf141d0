"""`corpus serve` as a server: where it is reachable, by which names and with which token, and what is no HTTP."""

import http.client
import json
import socket
import threading
from contextlib import contextmanager, suppress

import pytest
import uvicorn

from corpus_assets.commands import serve, serve_requests
from corpus_assets.commands.serve_app import make_app
from formats.errors import ConfigError
from formats.snapshot import manifest
from tests.commands.serving import TOKEN, client_of
from tests.plans import tiny_snapshot


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    return tiny_snapshot.copy(tmp_path_factory.mktemp("serve") / "root")


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "evil.example:8330", "[::1", "a b", "localhost:x"]
)
def test_a_name_of_somebody_elses_does_not_lead_here(served, host):
    answer = client_of(served[0]).get("/", headers={"host": host})
    assert answer.status_code == 400
    assert client_of(served[0], only_loopback=False).get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8330", "localhost:1", "LOCALHOST", "[::1]:8330", "[::1]"])
def test_the_loopback_by_any_of_its_names_does(served, host):
    assert client_of(served[0]).get("/", headers={"host": host}).status_code == 200


@contextmanager
def running(layout):
    """(host, port) of a real server in a thread."""
    listener = socket.create_server(("127.0.0.1", 0))  # who connects waits in its queue until the server is there
    server = uvicorn.Server(uvicorn.Config(make_app(layout, TOKEN), log_level="critical"))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield listener.getsockname()
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def begin_of_answer(address, data):
    """The first bytes that come back; none where the server cuts the connection, before or after it has read all."""
    with socket.create_connection(address, timeout=600) as raw, suppress(ConnectionError):
        raw.sendall(data)
        return raw.recv(64)
    return b""


def test_a_real_server_answers_over_a_socket_and_survives_what_is_no_http(served):
    layout, snapshot = served
    with running(layout) as address:
        for data in (b"\x00" * 100, b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"/" * 200_000 + b" HTTP/1.1\r\n\r\n",
                     b"POST /snapshots HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -5\r\n\r\n"):  # fmt: skip
            assert not begin_of_answer(address, data).startswith(b"HTTP/1.1 200")
        connection = http.client.HTTPConnection(*address, timeout=600)
        connection.request("GET", f"/snapshots/{snapshot.snapshot_id}/manifest")
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("server")) in ((200, None), (200, "uvicorn"))
        assert manifest.id_of(json.loads(answer.read())) == snapshot.snapshot_id
        connection.close()


def test_a_body_that_does_not_come_is_given_up(served, monkeypatch):
    monkeypatch.setattr(serve_requests, "BODY_SECONDS", 0.2)
    head = f"POST /snapshots HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n"
    head += "content-type: application/json\r\ncontent-length: 10\r\n\r\n{"
    with running(served[0]) as address, socket.create_connection(address, timeout=600) as raw:
        raw.sendall(head.encode())
        assert raw.recv(64).startswith(b"HTTP/1.1 408")


def test_the_token_comes_from_a_file_or_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv(serve.TOKEN, raising=False)
    assert serve.read_token(None) is None
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert serve.read_token(tmp_path / "token") == TOKEN
    monkeypatch.setenv(serve.TOKEN, "another-token-of-the-environment")
    assert serve.read_token(None) == "another-token-of-the-environment"
    assert serve.read_token(tmp_path / "token") == TOKEN


@pytest.mark.parametrize("text", ["", "short", "with spaces in it, many", "x" * 2000, "ü" * 20])
def test_a_token_that_is_no_secret_is_refused_without_being_shown(tmp_path, text):
    (tmp_path / "token").write_text(text)
    with pytest.raises(ConfigError) as refused:
        serve.read_token(tmp_path / "token")
    assert not text or text not in str(refused.value)
    with pytest.raises(ConfigError, match="cannot be read"):
        serve.read_token(tmp_path / "none")


def test_it_is_reachable_from_this_machine_alone_unless_it_is_told_otherwise():
    from corpus_assets import cli

    args = cli.parser().parse_args(["serve"])
    assert (args.host, args.token_file) == ("127.0.0.1", None)

"""A real S3 server on this machine (moto's), behind a proxy that misbehaves as told and remembers what it was asked.

What changes something goes through one at a time, as a store that holds conditions would do it; moto alone looks first
and puts afterwards.
"""

import http.client
import os
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import pytest

from resources.remote.address import Address
from resources.remote.s3 import S3Settings, S3Store

KEY_ID, SECRET = "AKIAMADEUP0000000000", "hunter2/hunter2/hunter2"
BUCKET = "tales"
QUICK = S3Settings(max_tries=4, backoff_seconds=0.001, timeout_seconds=120, parallel_files=3)


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: str
    condition: str | None


@dataclass
class Fault:
    """Meets the next `times` requests that `of` says yes to, once `after` of them have passed."""

    of: Callable[[Request], bool]
    drop: bool = False  # the connection breaks in the middle of the body, and nothing was stored
    lose_answer: bool = False  # it was done, and nobody hears so
    cut_answer: bool = False  # half of the answer's body comes
    status: int = 0
    code: str = "SlowDown"
    call: Callable[[], None] | None = None
    times: int = 1
    after: int = 0


@dataclass
class S3Server:
    """`url` is the endpoint, `client` one of botocore's for all tests."""

    url: str
    upstream: tuple[str, int]
    requests: list[Request] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    ignores_conditions: bool = False

    @cached_property
    def client(self) -> Any:
        made = S3Store(Address(BUCKET), QUICK)._client
        made.create_bucket(Bucket=BUCKET)
        return made

    def fault_of(self, request: Request) -> Fault | None:
        with self.lock:
            self.requests.append(request)
            for fault in self.faults:
                if fault.of(request):
                    if fault.after:
                        fault.after -= 1
                    elif fault.times:
                        fault.times -= 1
                        return fault
        return None

    def puts(self) -> list[str]:
        """The keys that were put, or tried to, in this order."""
        return [one.path.split("/", 2)[2] for one in self.requests if one.method == "PUT" and one.path.count("/") > 1]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Proxy"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _answer(self) -> None:
        s3, parts = self.server.s3, urlsplit(self.path)
        fault = s3.fault_of(Request(self.command, parts.path, parts.query, self.headers.get("If-None-Match")))
        length = int(self.headers.get("Content-Length") or 0)
        if fault and fault.drop:
            self.rfile.read(length // 2)
            self.close_connection = True
            return
        body = self.rfile.read(length)
        if fault and fault.call:
            fault.call()
        if fault and fault.status:
            self._send(fault.status, [("Content-Type", "application/xml")], _error(fault.code))
            return
        status, headers, data = self._forwarded(body)
        if fault and fault.lose_answer:
            self.close_connection = True
            return
        cut = len(data) // 2 if fault and fault.cut_answer else None
        self._send(status, headers, data, cut)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _answer

    def _forwarded(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        s3 = self.server.s3
        headers = {name: value for name, value in self.headers.items() if name.lower() != "expect"}
        if s3.ignores_conditions:
            headers.pop("If-None-Match", None)
        with self.server.one_at_a_time:
            connection = http.client.HTTPConnection(*s3.upstream, timeout=120)
            try:
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                return answer.status, answer.getheaders(), answer.read()
            finally:
                connection.close()

    def _send(self, status: int, headers: list[tuple[str, str]], data: bytes, cut: int | None = None) -> None:
        self.send_response_only(status)
        said = {name.lower() for name, _ in headers}
        for name, value in headers:
            if name.lower() not in ("transfer-encoding", "connection"):
                self.send_header(name, value)
        if "content-length" not in said:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[:cut])
        if cut is not None:
            self.close_connection = True


def _error(code: str) -> bytes:
    return (
        f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{SECRET} of {KEY_ID} does not do</Message>"
        f"<AWSAccessKeyId>{KEY_ID}</AWSAccessKeyId></Error>"
    ).encode()


class _Proxy(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    s3: S3Server
    one_at_a_time: threading.Lock

    def handle_error(self, request: object, client_address: object) -> None:
        """Broken connections are what this server is for."""


@contextmanager
def running() -> Iterator[S3Server]:
    """The server, and an environment in which clients find it."""
    moto_server = pytest.importorskip("moto.server", reason="moto is not installed: pip install 'corpus-assets[dev]'")
    pytest.importorskip("botocore", reason="botocore is not installed: pip install 'corpus-assets[s3]'")
    moto = moto_server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    moto.start()
    proxy = _Proxy(("127.0.0.1", 0), _Handler)
    proxy.one_at_a_time = threading.Lock()
    proxy.s3 = S3Server(f"http://127.0.0.1:{proxy.server_address[1]}", moto.get_host_and_port())
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    settings = {
        "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": proxy.s3.url,
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1",
    }  # fmt: skip
    try:
        with mock.patch.dict(os.environ, settings):
            yield proxy.s3
    finally:
        proxy.shutdown()
        proxy.server_close()
        moto.stop()


def new_store(server: S3Server, settings: S3Settings = QUICK) -> S3Store:
    """A store under a prefix of its own; the server forgets what it was asked and told before."""
    store = S3Store(Address(BUCKET, f"team/{uuid.uuid4().hex[:8]}"), settings)
    vars(store)["_client"] = server.client  # to make one takes half a second
    server.requests.clear()
    server.faults.clear()
    server.ignores_conditions = False
    return store

"""A real HTTP server on this machine that misbehaves as told, and remembers what it was asked and what it sent.

One `Answer` is used up a request, in order; when none is left the server behaves as it should: Range, If-Range, ETag.
"""

import contextlib
import gzip
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

OLD = "Mon, 06 Jan 2020 08:00:00 GMT"
"""A Last-Modified that is strong beside any Date of today."""


@dataclass(frozen=True)
class Answer:
    """How one request is answered. The defaults are a good server's."""

    drop_after: int | None = None  # body bytes after which the connection is closed
    reset: bool = False  # a dropped connection is reset (RST) instead of closed (FIN)
    drop_before_status: bool = False
    status: int | None = None  # an error status, with an empty body
    headers: dict[str, str] = field(default_factory=dict)  # added, or put in place of the server's own
    leave_out: tuple[str, ...] = ()  # headers that are not sent
    ignore_range: bool = False  # 200 and the whole file
    ignore_if_range: bool = False
    say_200: bool = False  # a slice and its Content-Range, under status 200
    shift: int = 0  # the slice begins so many bytes after the one asked for
    max_slice: int | None = None  # a 206 brings at most so many bytes
    length: str = "content-length"  # or "chunked", or "close": the end of the connection ends the body
    announced_length: int | None = None  # a Content-Length that is not true
    junk: bytes = b""  # sent behind the body
    content: bytes | None = None  # from this answer on the file has these bytes …
    etag: str | None = None  # … and this ETag
    silent_until: threading.Event | None = None  # after drop_after bytes say nothing until then, then close


GOOD = Answer()


@dataclass
class Request:
    """One request as it came, and the body bytes that went back."""

    path: str
    headers: dict[str, str]
    sent: int = 0

    @property
    def start(self) -> int:
        """The first byte asked for; 0 without a Range."""
        value = self.headers.get("range")
        return int(value.removeprefix("bytes=").partition("-")[0]) if value else 0

    @property
    def if_range(self) -> str | None:
        return self.headers.get("if-range")


@dataclass
class _File:
    content: bytes
    etag: str | None
    last_modified: str | None
    script: list[Answer]


class FaultServer:
    """`with FaultServer() as server:`; `url(path)` of what `put` placed; `requests` in the order they came."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.on_sent: Callable[[Request], None] = lambda _: None
        self.piece_bytes = 16 * 1024
        self.send_buffer_bytes: int | None = None
        self.wants: str | None = None  # the Authorization without which every answer is 401
        self.files: dict[str, _File] = {}
        self.lock = threading.Lock()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.faults = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def put(
        self,
        path: str,
        content: bytes,
        script: list[Answer] | None = None,
        *,
        etag: str | None = '"v1"',
        last_modified: str | None = None,
    ) -> str:
        """Place a file; returns its URL."""
        self.files[path] = _File(content, etag, last_modified, list(script or []))
        return self.url(path)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}{path}"

    @property
    def sent(self) -> int:
        return sum(request.sent for request in self.requests)

    def __enter__(self) -> "FaultServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    faults: FaultServer

    def handle_error(self, request: object, client_address: object) -> None:
        """Broken pipes are what this server is for."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def setup(self) -> None:
        if (size := self.server.faults.send_buffer_bytes) is not None:
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
        super().setup()

    def do_GET(self) -> None:
        faults = self.server.faults
        request = Request(self.path, {key.lower(): value for key, value in self.headers.items()})
        with faults.lock:
            faults.requests.append(request)
            file = faults.files.get(self.path.partition("?")[0])
            answer = file.script.pop(0) if file and file.script else GOOD
            if file and answer.content is not None:
                file.content = answer.content
            if file and answer.etag is not None:
                file.etag = answer.etag
        if faults.wants not in (None, request.headers.get("authorization")):
            self._send_head(answer, 401, {"Content-Length": "0"})
        elif answer.drop_before_status:
            self._drop(answer)
        elif file is None or answer.status is not None:
            self._send_head(answer, answer.status or 404, {"Content-Length": "0"})
        else:
            self._send_file(request, file, answer)

    def _send_file(self, request: Request, file: _File, answer: Answer) -> None:
        content, total = file.content, len(file.content)
        headers: dict[str, str] = {}
        if "gzip" in request.headers.get("accept-encoding", "gzip"):  # without the header anything goes
            content = gzip.compress(content, mtime=0)
            headers["Content-Encoding"] = "gzip"
        if file.etag is not None:
            headers["ETag"] = file.etag
        if file.last_modified is not None:
            headers["Last-Modified"] = file.last_modified
        status, body = 200, content
        fresh = answer.ignore_if_range or request.if_range in (None, file.etag, file.last_modified)
        if "range" in request.headers and fresh and not answer.ignore_range:
            start = request.start + answer.shift
            if start >= total:
                self._send_head(answer, 416, {"Content-Length": "0", "Content-Range": f"bytes */{total}"})
                return
            body = content[start:][: answer.max_slice]
            headers["Content-Range"] = f"bytes {start}-{start + len(body) - 1}/{total}"
            status = 200 if answer.say_200 else 206
        length = len(body) if answer.announced_length is None else answer.announced_length
        if answer.length == "content-length":
            headers["Content-Length"] = str(length)
        elif answer.length == "chunked":
            headers["Transfer-Encoding"] = "chunked"
        else:
            headers["Connection"] = "close"
        self._send_head(answer, status, headers)
        self._send_body(request, body + answer.junk, answer)

    def _send_head(self, answer: Answer, status: int, headers: dict[str, str]) -> None:
        self.send_response_only(status)
        if "Date" not in answer.headers:
            self.send_header("Date", self.date_time_string())
        for name, value in {**headers, **answer.headers}.items():
            if name not in answer.leave_out:
                self.send_header(name, value)
        self.end_headers()

    def _send_body(self, request: Request, body: bytes, answer: Answer) -> None:
        end = len(body) if answer.drop_after is None else min(answer.drop_after, len(body))
        for at in range(0, end, self.server.faults.piece_bytes):
            piece = body[at : min(end, at + self.server.faults.piece_bytes)]
            framed = b"%x\r\n%b\r\n" % (len(piece), piece) if answer.length == "chunked" else piece
            request.sent += len(piece)  # before the client can have it, so that who has it all finds it counted
            try:
                self.connection.sendall(framed)
            except OSError:
                request.sent -= len(piece)
                self.close_connection = True
                return
            self.server.faults.on_sent(request)
        if answer.silent_until is not None:
            answer.silent_until.wait()
        if answer.drop_after is not None or answer.length == "close" or answer.announced_length is not None:
            self._drop(answer)
        elif answer.length == "chunked":
            self.connection.sendall(b"0\r\n\r\n")

    def _drop(self, answer: Answer) -> None:
        if answer.reset:  # linger 0: what the client has not read yet may be lost too
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        else:
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True


@contextlib.contextmanager
def serving(content: bytes, script: list[Answer] | None = None) -> Iterator[tuple[FaultServer, str]]:
    """A server with one file, and the file's URL."""
    with FaultServer() as server:
        yield server, server.put("/file.bin", content, script)

"""A real HTTP server that takes alerts as told: one answer a request, in order, then 200; it keeps what it took."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

DROP = 0
"""In place of a status: the connection ends without an answer."""
HANG = -1
"""In place of a status: no answer comes until the server ends."""
Answer = int | tuple[int, str]
"""A status, with Retry-After where that is told."""


class Receiver:
    """`with Receiver(503, 503) as receiver:`; `receiver.url`; `taken` are the payloads answered with 200."""

    def __init__(self, *statuses: Answer) -> None:
        self.statuses = list(statuses)
        self.ends = threading.Event()
        self.taken: list[dict[str, Any]] = []
        self.requests: list[dict[str, str]] = []
        self.changed = threading.Condition()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.receiver = self
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/secret-path"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def wait_for(self, wanted: Callable[[dict[str, Any]], bool], deadline_seconds: float) -> dict[str, Any]:
        """The first payload that is wanted, once it came. Raises TimeoutError."""

        def found() -> list[dict[str, Any]]:
            return [payload for payload in self.taken if wanted(payload)]

        with self.changed:
            if not self.changed.wait_for(found, deadline_seconds):
                raise TimeoutError(f"no such alert within {deadline_seconds} s; came: {self.taken}")
            return found()[0]

    def wait_until_asked(self, times: int, deadline_seconds: float) -> None:
        """Until so many requests came: who gives up on one may do so before it is read here. Raises TimeoutError."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.requests) >= times, deadline_seconds):
                raise TimeoutError(f"{len(self.requests)} of {times} requests within {deadline_seconds} s")

    def __enter__(self) -> "Receiver":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.ends.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    receiver: Receiver


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        receiver = self.server.receiver
        payload = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with receiver.changed:
            receiver.requests.append({key.lower(): value for key, value in self.headers.items()})
            answer = receiver.statuses.pop(0) if receiver.statuses else 200
            status, retry_after = answer if isinstance(answer, tuple) else (answer, "")
            if status == 200:
                receiver.taken.append(payload)
            receiver.changed.notify_all()
        if status in (DROP, HANG):
            self.close_connection = True
            if status == HANG:
                receiver.ends.wait()
            return
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", receiver.url)
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        raise AssertionError("an alert is posted, never fetched")

"""A root with files to enter into a ledger, and a server of files, for the tests of `corpus ledger`."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from corpus_assets.commands import ledger as command
from formats import ledger
from formats.layout import Layout
from tests.commands.command_line import run

TEXT = b"A fox looked at a vine.\n"


def with_files(root: Path) -> Path:
    """Two texts and a Markdown file, and hidden ones."""
    for name in ("in/a.txt", "in/more/b.txt", "in/.hidden/c.txt", "in/.d.txt", "in/more/e.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(TEXT)
    return root


def add(root: Path, source: str, *words: object) -> int:
    return run(command, root, "ledger", "add", source, *map(str, words), "--license", "cc0-1.0")


def only_row(root: Path) -> ledger.LedgerRow:
    (row,) = ledger.read(Layout(root).ledger)
    return row


class _Files(BaseHTTPRequestHandler):
    """/whole: TEXT; /cut: half of it, then the connection ends; /busy: 503."""

    def do_GET(self) -> None:
        if self.path == "/busy.txt":
            self.send_error(503)
        elif self.path == "/none.txt":
            self.send_error(404)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(TEXT)))
            self.end_headers()
            self.wfile.write(TEXT if self.path == "/whole.txt" else TEXT[:10])

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Files) as files:
        thread = threading.Thread(target=files.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{files.server_address[1]}"
        finally:
            files.shutdown()
            thread.join()

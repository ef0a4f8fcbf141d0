"""Everything that a build over a network leaves behind, held to two promises: no credential is in it, wherever it came
from, and its files are as private as the umask says. Sources come through a proxy with a password, from a server that
redirects to signed addresses, drops connections and fails at first.
"""

import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import zstandard

from formats.layout import Layout
from tests.assets import tiny
from tests.fault_server import Answer, FaultServer

SECRETS = ("hunter", "aHVudGVy")
"""As written, and as Basic authorization codes it: `hunter` begins each password and each signature here."""
HOST = "http://tales.invalid"
SIGNED = "X-Amz-Credential=hunter2&X-Amz-Signature=hunter3&Expires=99"
UMASK = 0o027
pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Built:
    root: Path
    before: frozenset[Path]
    out: str
    seen_by_server: str


def redirect(name: str) -> Answer:
    return Answer(status=302, headers={"Location": f"{HOST}/signed/{name}?{SIGNED}", "Content-Length": "0"})


def place(server: FaultServer) -> None:
    """The sources, as a proxy serves them; each first request goes wrong in its own way."""
    for source, script in {
        "notes": [Answer(drop_after=700), Answer(status=503), Answer(drop_after=300)],
        "tales": [Answer(drop_before_status=True), Answer(drop_after=1_000, reset=True)],
        "web": [Answer(status=404, headers={"X-Why": f"no {SIGNED}"})],
    }.items():
        server.put(f"{HOST}/signed/{source}.jsonl", tiny.FILES[source], script)
        server.put(f"{HOST}/{source}.jsonl", b"", [redirect(f"{source}.jsonl") for _ in range(9)])


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Built:
    root = tmp_path_factory.mktemp("root")
    layout = tiny.unbuilt(root)
    rows = []
    for source in tiny.SOURCES:
        row = tiny.ledger_row(source)
        rows.append({**row, "files": [{**row["files"][0], "url": f"{HOST}/{source}.jsonl"}]})
    tiny.write_ledger(layout, *rows)
    before = frozenset(root.rglob("*"))
    said, codes = "", []
    with FaultServer() as server:
        place(server)
        proxy = server.url("").replace("http://", "http://me:hunter1@")
        environment = {
            **os.environ,
            "http_proxy": proxy,
            "no_proxy": "",
            "CORPUS_WORKERS": "1",
            "PYTHONWARNINGS": "ignore",
        }
        for name in ("DAGSTER_HOME", "CORPUS_ROOT", "CORPUS_CACHE"):
            environment.pop(name, None)
        for _ in range(2):
            command = [sys.executable, "-m", "corpus_assets.cli", "--root", str(root), "build", "tiny.v1"]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, umask=UMASK)
            said += done.stdout + done.stderr
            codes.append(done.returncode)
        seen = "".join(f"{request.path} {request.headers}" for request in server.requests)
    assert codes == [1, 0], said
    return Built(root, before, said, seen)


def content(path: Path) -> bytes:
    """A file's bytes as they lie there and, where they are compressed, what they say."""
    data = path.read_bytes()
    if path.suffix == ".zst":
        data += zstandard.ZstdDecompressor().stream_reader(data).read()
    if path.suffix == ".parquet":
        data += str(pq.read_table(path).to_pydict()).encode()
    return data


def test_the_secrets_were_used(built):
    """The test's own proof: they went over the wire and the failures happened."""
    assert "hunter2" in built.seen_by_server
    assert "aHVudGVy" in built.seen_by_server or "Basic bWU6aHVudGVyMQ==" in built.seen_by_server
    assert "404" in built.out


def test_no_credential_is_in_anything_that_a_build_says_or_writes(built):
    files = [path for path in built.root.rglob("*") if path.is_file()]
    assert any(path.suffix == ".db" for path in files)  # Dagster's events
    assert (Layout(built.root).version(tiny.V1) / "_MANIFEST.json").exists()
    assert not [secret for secret in SECRETS if secret in built.out]
    found = [str(path) for path in files if any(secret.encode() in content(path) for secret in SECRETS)]
    assert found == []


def test_files_are_as_private_as_the_umask_says_and_none_is_executable(built):
    made = [path for path in built.root.rglob("*") if path not in built.before and not path.is_symlink()]
    assert len(made) > 50
    assert [str(path) for path in made if stat.S_IMODE(path.stat().st_mode) & UMASK] == []
    assert [str(path) for path in made if path.is_file() and path.stat().st_mode & 0o111] == []
    cached = Layout(built.root).cache / tiny.ledger_row("web")["files"][0]["sha256"]
    assert stat.S_IMODE(cached.stat().st_mode) == 0o440

"""The text stages fetch nothing and share nothing: many workers over an empty home, without a network, agree."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import corpus_assets.kernels  # noqa: F401  says where numba keeps its code

REPOSITORY = Path(__file__).parents[2]
WORKERS = 4
PROGRAM = """
import hashlib, socket, sys

def refuse(*_args, **_more):
    raise OSError("a text stage asked for the network")

socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse

import pyarrow as pa
from corpus_assets.stages.identify_language import identify
from corpus_assets.stages.measure_documents import measure_documents
from corpus_assets.stages.normalize_documents import normalize_documents
from corpus_assets.stages.scrub_pii import scrub
from formats.stage_tables import RAW

texts = ["The baker opened his shop before sunrise, and by seven the street smelled of bread.", "", "call 650-253-0000"]
rows = [{"raw_line": i, "url": "u", "fetched_at": "2026-01-01T00:00:00Z", "license_spdx": "MIT", "text": text}
        for i, text in enumerate(texts)]
documents = normalize_documents(pa.RecordBatch.from_pylist(rows, RAW), source_id="s", raw_part=0, first_k=0)
found = [measure_documents(documents).to_pylist()]
found += [scrub(documents["text"], ips="public", phone_regions=("US",), code=False)[0].to_pylist()]
print(hashlib.sha256(repr(found).encode()).hexdigest())
"""


@pytest.mark.slow
def test_workers_that_start_at_once_with_nothing_at_home_and_no_network_agree(tmp_path):
    """The first use of a filter fetched and unpacked a list, in all workers at once, and some read half of it."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith(("_proxy", "_PROXY"))}
    compiled = str(Path(numba.config.CACHE_DIR).parent)  # machine code is no download
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "CORPUS_KERNEL_CACHE": compiled}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM], cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )
        for _ in range(WORKERS)
    ]  # fmt: skip
    ended = [worker.communicate() for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * WORKERS, ended[0][1]
    assert len({printed for printed, _ in ended}) == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []

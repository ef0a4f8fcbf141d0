"""The commands of docs/quickstart.md, run as they stand there, by a shell, in a copy of the starter."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e import starter_runs

pytestmark = pytest.mark.slow
PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / "docs" / "quickstart.md"
OURS = ("CORPUS_ROOT", "CORPUS_CACHE", "CORPUS_STORE", "DAGSTER_HOME")


def commands() -> str:
    """Its blocks of bash, one after the other. What only a terminal can do is in blocks of a console."""
    return "".join(re.findall(r"^```bash\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE))


def test_the_commands_of_the_quickstart_run_as_they_stand(tmp_path):
    root, home, programs = tmp_path / "starter", tmp_path / "home", tmp_path / "bin"
    starter_runs.copy_of_starter(root)
    for folder in (home, programs):
        folder.mkdir()
    (programs / "corpus").write_text(f'#!/bin/sh\nexec "{sys.executable}" -W ignore -m corpus_assets.cli "$@"\n')
    (programs / "corpus").chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name not in OURS}
    environment |= {
        "HOME": str(home),
        "PYTHONPATH": str(PROJECT),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }
    before = "corpus tokenize starter.v1.bpe-512\n"  # as examples/starter/run has done
    ran = subprocess.run(
        ["bash", "-e", "-x", "-c", before + commands()],
        cwd=root, env=environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    assert "dropped: near_duplicate" in ran.stdout
    assert "is not allowed by starter.v2" in ran.stdout + ran.stderr
    assert (root / "corpus" / "mine" / "v2.lock").exists()

"""A cut `.jsonl.zst` is an error that names file and position, whoever vouches for its checksum; nothing is lost in
silence, and no raw set is left behind.
"""

import os
import re
import sys

import pytest

from formats.layout import Layout
from tests.bench import cut_zstd


def test_a_cut_file_of_3000_documents_loses_none_in_silence_wherever_in_a_line_it_ends(tmp_path):
    ours = cut_zstd.rows(tmp_path, {"ours": cut_zstd.tools()["ours"]})
    assert [one.file for one in ours] == ["in a line", "after a line"]
    for number, one in enumerate(ours):
        root = tmp_path / str(number)
        assert (one.code, one.documents, one.lost_in_silence) == (1, 0, 0)
        path = re.escape(str(root / "corpus/tales.jsonl.zst"))
        place = r"compressed byte \d+ or before it \(the first \d+ bytes decompressed are good\)"
        said = rf"^{path}: zstd stream is broken at {place}: .*, expected whole; fetch"
        assert re.search(said, one.words), one.words
        left = Layout(root).raw_sets("tales")
        assert [one.name for one in left.iterdir()] == [".lock"]


@pytest.mark.skipif(
    not os.environ.get(cut_zstd.DOLMA_PYTHON), reason="no interpreter with dolma is named: DOLMA_PYTHON"
)
def test_dolma_loses_more_than_a_thousand_documents_of_it_with_exit_code_0(tmp_path):
    dolma = {name: command for name, command in cut_zstd.tools().items() if name.startswith("dolma")}
    found = {(one.tool, one.file): one for one in cut_zstd.rows(tmp_path, dolma)}
    assert found["dolma dedupe", "in a line"].lost_in_silence > 1_000
    assert found["dolma dedupe", "after a line"].lost_in_silence > 1_000


def test_peers_run_in_the_interpreters_that_are_named_and_are_left_out_without(monkeypatch):
    monkeypatch.delenv(cut_zstd.DATATROVE_PYTHON, raising=False)
    monkeypatch.delenv(cut_zstd.DOLMA_PYTHON, raising=False)
    assert list(cut_zstd.tools()) == ["ours"]
    monkeypatch.setenv(cut_zstd.DATATROVE_PYTHON, "python-of-datatrove")
    monkeypatch.setenv(cut_zstd.DOLMA_PYTHON, "python-of-dolma")
    assert {name: command[0] for name, command in cut_zstd.tools().items()} == {
        "ours": sys.executable,
        "datatrove": "python-of-datatrove",
        "dolma tag": "python-of-dolma",
        "dolma dedupe": "python-of-dolma",
    }


def test_what_a_tool_leaves_out_with_exit_code_0_is_counted():
    assert cut_zstd.Read("peer", "a", 1_856, 0, "").lost_in_silence == 1_144
    assert cut_zstd.Read("peer", "a", 0, 1, "an error").lost_in_silence == 0

"""A cut `.jsonl.zst` is an error that names file and position, whoever vouches for its checksum; nothing is lost in
silence, and no raw set is left behind.
"""

import re

from formats.layout import Layout
from tests.bench import cut_zstd


def test_a_cut_file_of_3000_documents_loses_none_in_silence(tmp_path):
    [ours] = cut_zstd.rows(tmp_path / "root", None)
    assert (ours.code, ours.documents, ours.lost_in_silence) == (1, 0, 0)
    path = re.escape(str(tmp_path / "root/corpus/tales.jsonl.zst"))
    said = (
        rf"^{path}: zstd stream is broken at compressed byte \d+ \(byte \d+ decompressed\): .*, expected whole; fetch"
    )
    assert re.search(said, ours.words), ours.words
    left = Layout(tmp_path / "root").raw_sets("tales")
    assert [one.name for one in left.iterdir()] == [".lock"]


def test_what_a_tool_leaves_out_with_exit_code_0_is_counted():
    assert cut_zstd.Read("peer", 1_856, 0, "").lost_in_silence == 1_144
    assert cut_zstd.Read("peer", 0, 1, "an error").lost_in_silence == 0

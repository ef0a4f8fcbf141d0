"""The benches run from end to end on a few documents and say what they promise to; how fast they are is not tested."""

import json

import pytest
import zstandard

from tests.bench import __main__ as entry
from tests.bench import documents
from tests.bench.documents import Sizes

TINY = Sizes(60_000, 30_000, 10_000, 90_000)


@pytest.mark.slow
def test_every_row_is_printed_and_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(entry, "QUICK", TINY)
    assert entry.main(["--quick", "--json", str(tmp_path / "found.json")]) == 0
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    printed = capsys.readouterr().out
    by_bench = {bench: {row["name"] for row in found["speed"] if row["bench"] == bench} for bench in entry.BENCHES}
    for bench in entry.BENCHES[:-1]:
        assert by_bench[bench] >= set(entry.module_of(bench).CASES)
    assert {name for name in by_bench["bench_pipeline"] if not name.startswith("  ")} == {
        "all text stages, both voices",
        "all text stages, second voice where unsure",
        "whole near dedup, documents written",
        "all text stages, both voices, 0 MB",
        "2 workers against 1, the same",
        "import corpus_assets.definitions",
    }
    assert all(row["name"].strip() in printed and min(row["rounds"]) > 0 for row in found["speed"])
    peers = [row for row in found["speed"] if row["peer_of"]]
    assert {"rensa", "datasketch", "FastWARC", "Resiliparse"} <= {row["name"] for row in peers}
    assert all(row["ratio"] > 0 for row in peers)
    right = {row["name"]: row["value"] for row in found["quality"]}
    assert right["near pairs (Jaccard >= 0.8), precision"] == right["signatures equal datasketch's"] == 1.0


def test_the_slice_takes_one_document_of_each_folder_in_turn(tmp_path):
    long, short = "x" * documents.SHORTEST, "x" * (documents.SHORTEST - 1)
    for name, letters in (("a/1", "abc"), ("a/2", "d"), ("b/1", "e")):
        path = tmp_path / f"{name}.jsonl.zst"
        path.parent.mkdir(exist_ok=True)
        lines = [json.dumps({"text": text}) for letter in letters for text in (short, letter + long)]
        path.write_bytes(zstandard.ZstdCompressor().compress("\n".join([*lines, '{"other": 1}']).encode()))
    assert [text[0] for text in documents.in_turn(tmp_path)] == ["a", "e", "b", "c", "d"]


def test_made_documents_are_the_same_every_time():
    first, again = (documents.first_bytes(documents.made(), 20_000) for _ in range(2))
    assert first == again
    assert sum(map(len, first[:-1])) < 20_000 <= sum(map(len, first))

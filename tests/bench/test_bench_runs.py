"""The benches run from end to end on a few documents and say what they promise to; how fast they are is not tested."""

import json
import sys

import pytest
import zstandard

from tests.bench import __main__ as entry
from tests.bench import documents, report_tables, world_change, world_change_program
from tests.bench.documents import Sizes
from tests.bench.world_change import CHANGES, Outcome

TINY = Sizes(60_000, 30_000, 10_000, 90_000)


@pytest.mark.slow
def test_every_row_is_printed_and_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(entry, "QUICK", TINY)
    monkeypatch.delenv(report_tables.PEERS_PYTHON, raising=False)  # with peers there are more rows, and for long
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
        "peak of corpus build, 4 times the text",
        "import corpus_assets.definitions",
    }
    assert all(row["name"].strip() in printed and min(row["rounds"]) > 0 for row in found["speed"])
    peers = [row for row in found["speed"] if row["peer_of"]]
    assert {"rensa", "datasketch", "FastWARC", "Resiliparse"} <= {row["name"] for row in peers}
    assert all(row["ratio"] > 0 for row in peers)
    right = {row["name"]: row["value"] for row in found["quality"]}
    assert right["near pairs (Jaccard >= 0.8), precision"] == right["signatures equal datasketch's"] == 1.0
    assert {value for name, value in right.items() if name.startswith("ours: 4 to ")} == {1.0}


def in_this_process(told):
    """Every rank's answer, as JSON brings it."""
    return [json.loads(json.dumps(world_change_program.answer_of(json.loads(json.dumps(one))))) for one in told]


def test_ours_repeats_and_loses_nothing_when_the_ranks_change_in_the_middle_of_an_epoch(tmp_path):
    _, outcomes = world_change.found("ours", tmp_path / "ours", in_this_process)
    assert outcomes == dict.fromkeys(CHANGES, Outcome(twice=0, never=0, same=1.0))


def test_what_a_loader_repeats_loses_or_refuses_after_a_change_is_counted(tmp_path):
    """One that repeats a batch and loses the last two on 2 ranks, and refuses 3."""

    def broken(told):
        answers = in_this_process(told)
        if told[0].get("world") == 3:
            return [*answers[1:], {"refused": "ValueError: not 3"}]
        if told[0].get("world") == 2:
            for answer in answers:
                answer["batches"] = [answer["batches"][0], *answer["batches"][:-2]]
        return answers

    _, outcomes = world_change.found("ours", tmp_path / "ours", broken)
    assert outcomes == {
        (4, 4): Outcome(0, 0, 1.0),
        (4, 2): Outcome(24, 48, 1 / 23),
        (4, 3): Outcome(refused="ValueError: not 3"),
        (4, 2, 3): Outcome(refused="ValueError: not 3"),
    }


def test_a_rank_in_a_process_of_its_own_says_with_what_words_it_refused(tmp_path):
    ask = world_change.in_processes([sys.executable, world_change_program.__file__])
    told = {"peer": "ours", "folder": str(tmp_path / "set"), "num": 16, "seq_len": 8, "global_batch": 4}
    assert ask([{**told, "write": True}]) == [{"written": "ours"}]
    rank = {**told, "rank": 0, "world": 1, "save_after": 1}
    (first,) = ask([{**rank, "states": None}])
    (rest,) = ask([{**rank, "states": [first["state"]]}])
    assert rest["batches"] == first["batches"][1:]
    (other,) = ask([{**rank, "states": [{**first["state"], "seed": 2}]}])
    assert other["refused"].startswith("OrderError: ")


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

"""`corpus contamination`: what it prints, what it writes and how it ends."""

import errno
import gzip
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets import cli
from corpus_assets.commands import contamination
from formats import durable, run_record
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import TokensKey
from formats.snapshot import manifest
from tests.commands import command_line
from tests.plans import indexed_corpus, tiny_snapshot
from tests.plans.tiny_corpus import FERRY, OWL, V1

OTHER = (
    "Seven grey geese walked to the market on a Tuesday and nobody there could say whose geese they might have been."
)
LINES = [
    b'{"question": "' + OTHER.encode() + b'"}\r\n',
    b'  {"question":"' + FERRY[:200].encode() + b'", "id": 1}\n',
    b"\n",
    b'{"question": "Too short."}\n',
    b'{"question": "' + OWL.upper().encode() + b'"}\n',
    '{"question": "Nine gr\\u00fcne geese — ten, perhaps — walk to a market and nobody says a word."}'.encode(),
]
CLEAN = b"".join(LINES[i] for i in (0, 2, 3, 5))


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    layout, snapshot = indexed_corpus.copy(tmp_path_factory.mktemp("indexed") / "root")
    record = layout.root / "run.json"
    run_record.write(record, tiny_snapshot.trained(layout, snapshot))
    return layout, snapshot.snapshot_id, record


@pytest.fixture
def quiz(tmp_path):
    path = tmp_path / "quiz.jsonl"
    path.write_bytes(b"".join(LINES))
    return path


def run(layout, *words):
    return command_line.run(contamination, layout.root, "contamination", *map(str, words))


def test_what_is_hit_is_told_with_spans_documents_steps_rate_and_limit(indexed, quiz, capsys):
    layout, snapshot_id, record = indexed
    assert run(layout, quiz, "--snapshot", snapshot_id, "--from", "index", "--run", record) == 1
    out = capsys.readouterr().out
    assert f"quiz.jsonl against {snapshot_id} of tiny.v1\nread from the index " in out
    assert "5 items: 2 of 4 checked are hit, 50.00 % (95 % interval 15.00 to 85.00 %, Wilson score)" in out
    assert "  not checked: 1 too short to count\n" in out
    assert "line 2 (id 1): question characters 0 to 199\n  web:1 characters 0 to 199\n" in out
    assert "2 documents of the snapshot:\n" in out
    assert "  web:1: train/web/0000" in out
    assert "    trained on at steps " in out
    assert out.splitlines()[-1] == "limit: copied text alone is found: no paraphrase, no translation"


def test_a_sampled_index_tells_the_chance_to_miss(tmp_path, quiz, capsys):
    layout, snapshot = indexed_corpus.copy(tmp_path / "root", rate=16)
    run(layout, quiz, "--snapshot", snapshot.snapshot_id, "--from", "index")
    out = capsys.readouterr().out
    assert ": runs of 13 words, 1 in 16 by hash\n" in out
    assert out.endswith("missed with probability (1 - 1/16)^n: 52 % at 10, 14 % at 30, 0.16 % at 100\n")


def test_a_filter_tells_how_many_are_hit_by_chance(tmp_path, quiz, capsys):
    layout, snapshot = indexed_corpus.copy(tmp_path / "root", form="filter")
    assert run(layout, quiz, "--snapshot", snapshot.snapshot_id, "--from", "index") == 1
    out = capsys.readouterr().out
    assert "  a filter: 1.5e-05 of n-grams are hit by chance; of the items that were checked " in out
    assert "documents of the snapshot" not in out
    assert "note: the index is a filter: it says which items are hit, not by which documents\n" in out


def test_a_clean_benchmark_ends_with_0(indexed, tmp_path, capsys):
    layout, snapshot_id, _ = indexed
    path = tmp_path / "clean.jsonl"
    path.write_text(json.dumps({"question": OTHER}))
    for read_from in ("index", "corpus"):
        assert run(layout, path, "--snapshot", snapshot_id, "--from", read_from) == 0
        assert "1 item: 0 of 1 checked are hit, 0.00 % (95 % interval 0.00 to 79.35 %" in capsys.readouterr().out


@pytest.mark.parametrize("read_from", ["index", "corpus"])
def test_the_clean_file_has_the_other_lines_byte_for_byte_and_is_clean(indexed, quiz, tmp_path, read_from, capsys):
    layout, snapshot_id, _ = indexed
    clean = tmp_path / "clean.jsonl"
    how = ("--snapshot", snapshot_id, "--from", read_from)
    assert run(layout, quiz, *how, "--write-clean", clean) == 1
    assert clean.read_bytes() == CLEAN
    assert f"{clean}: the 3 items not hit, as they were\n" in capsys.readouterr().out
    again = tmp_path / "again.jsonl"
    assert run(layout, clean, *how, "--write-clean", again) == 0
    assert again.read_bytes() == CLEAN
    assert quiz.read_bytes() == b"".join(LINES)


def test_a_compressed_benchmark_and_one_of_rows_are_read_likewise(indexed, tmp_path):
    layout, snapshot_id, _ = indexed
    packed, clean = tmp_path / "quiz.jsonl.gz", tmp_path / "clean.jsonl"
    packed.write_bytes(gzip.compress(b"".join(LINES)))
    assert run(layout, packed, "--snapshot", snapshot_id, "--write-clean", clean) == 1
    assert clean.read_bytes() == CLEAN
    rows = tmp_path / "quiz.csv"
    rows.write_text(f'n,q\n1,"{OWL}"\n2,"{OTHER}\n"\n', newline="")
    clean.unlink()
    assert run(layout, rows, "--snapshot", snapshot_id, "--fields", "q", "--write-clean", clean) == 1
    assert clean.read_bytes() == f'n,q\n2,"{OTHER}\n"\n'.encode()


def test_the_json_form_holds_what_the_words_say(indexed, quiz, capsys):
    layout, snapshot_id, record = indexed
    how = ("--snapshot", snapshot_id, "--run", record, "--json", "--from", "index")
    assert run(layout, quiz, *how) == 1
    value = json.loads(capsys.readouterr().out)
    assert value["contaminated"] is True
    assert value["counts"]["rate"] == 0.5
    assert value["counts"]["interval_95"] == pytest.approx([0.15, 0.85], abs=1e-3)
    assert value["limit"].startswith("copied text alone")
    assert [(item["line"], item["id"]) for item in value["items"]] == [(2, 1), (5, None)]
    assert all(set(item) == {"line", "id", "spans", "num_documents", "documents"} for item in value["items"])
    assert value["items"][0]["documents"] == [{"id": "web:1", "spans": [[0, 199]]}]
    steps = {one["id"]: [s["step"] for s in one["servings"]] for one in value["documents"]["listed"]}
    assert set(steps) == {"web:1", "fables:0"}
    assert all(steps.values())
    assert value["miss_chance_by_ngrams"] == {"10": 0.0, "30": 0.0, "100": 0.0}


def test_the_program_ends_as_others_do(indexed, quiz, tmp_path, capsys):
    layout, snapshot_id, _ = indexed
    root = ("--root", str(layout.root), "contamination", str(quiz), "--snapshot")
    assert cli.main([*root, snapshot_id, "--from", "index"]) == 1
    assert cli.main([*root, "latest"]) == 2
    assert cli.main([*root, snapshot_id, "--run", str(tmp_path / "none.json")]) == 2
    broken = Layout(tmp_path / "root")
    shutil.copytree(layout.root, broken.root)
    shutil.rmtree(broken.version(V1))
    (index,) = broken.evidence(V1).rglob("index.json")
    index.write_bytes(index.read_bytes()[:-1])
    capsys.readouterr()
    assert cli.main(["--root", str(broken.root), *root[2:], snapshot_id]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"corpus: {index}: sha256 is" in captured.err


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("clean.jsonl.gz", "leave .gz out of the name"),
        ("quiz.jsonl", "is the benchmark itself"),
        ("no/clean.jsonl", "its folder is missing"),
        ("there.jsonl", "is there already, expected a new file"),
    ],
)
def test_a_place_that_cannot_take_the_clean_file_is_refused_before_any_work(quiz, tmp_path, name, says):
    (tmp_path / "there.jsonl").write_text("kept")
    with pytest.raises(ConfigError, match=says):
        run(Layout(tmp_path / "nothing"), quiz, "--snapshot", "latest", "--write-clean", tmp_path / name)
    assert (tmp_path / "there.jsonl").read_text() == "kept"


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("quiz.jsonl", b'{"question": "one"}\n{"question"\n', "line 2 (counted from 1): is no JSON"),
        (
            "quiz.csv",
            b'question\n"one\n',
            "line 2 (counted from 1): a cell of the row that begins here opens with a quote",
        ),
        ("quiz.jsonl", b'{"id": 1, "q": "one"}\n', "no item has a field 'question'; its fields are 'id', 'q'"),
        (
            "quiz.jsonl.gz",
            gzip.compress(b'{"question": "one"}\n' * 9, mtime=0)[:-9],
            "its gzip stream is broken in the member that begins at compressed byte 0",
        ),
        ("quiz.txt", b"", "its name says no format"),
    ],
)
def test_a_bad_benchmark_is_wrong_usage_and_told_as_one(indexed, tmp_path, capsys, name, data, says):
    layout, snapshot_id, _ = indexed
    (tmp_path / name).write_bytes(data)
    words = ("contamination", tmp_path / name, "--snapshot", snapshot_id, "--fields", "question", "--json")
    assert cli.main(["--root", str(layout.root), *map(str, words)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"corpus: {tmp_path / name}: {says}")
    assert "ledger" not in captured.err
    assert "eval set" not in captured.err


def test_a_clean_file_that_cannot_be_written_is_wrong_usage(indexed, quiz, tmp_path, capsys, monkeypatch):
    layout, snapshot_id, _ = indexed

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(durable, "write_file", full)
    words = ("contamination", quiz, "--snapshot", snapshot_id, "--write-clean", tmp_path / "clean.jsonl")
    assert cli.main(["--root", str(layout.root), *map(str, words)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "clean.jsonl: cannot be written (No space left on device); name another place" in captured.err


def test_a_benchmark_is_checked_against_a_snapshot_named_by_token_set_or_folder(indexed, quiz):
    layout, snapshot_id, _ = indexed
    snapshot = manifest.read(layout.root, snapshot_id)
    key = TokensKey(V1, snapshot.document["tokens"])
    durable.write_digest(layout.snapshot_lock(key), snapshot.folder.name)
    for name in (str(key), snapshot.folder.name):
        assert run(layout, quiz, "--snapshot", name, "--from", "index") == 1


def test_an_item_without_the_field_is_told_as_not_checked(indexed, tmp_path, capsys):
    layout, snapshot_id, _ = indexed
    (tmp_path / "quiz.jsonl").write_text(json.dumps({"q": OTHER}) + '\n{"text": "no q"}\n')
    assert run(layout, tmp_path / "quiz.jsonl", "--snapshot", snapshot_id, "--fields", "q") == 0
    assert "2 items: 0 of 1 checked are hit" in (out := capsys.readouterr().out)
    assert "  not checked: 1 without a field q\n" in out


def test_an_empty_benchmark_is_told(indexed, tmp_path, capsys):
    layout, snapshot_id, _ = indexed
    (tmp_path / "quiz.jsonl").touch()
    assert run(layout, tmp_path / "quiz.jsonl", "--snapshot", snapshot_id, "--fields", "q") == 0
    assert "note: the benchmark is empty: it has no item" in capsys.readouterr().out


def test_fields_that_name_nothing_are_refused(quiz, tmp_path):
    with pytest.raises(ConfigError, match="--fields names none"):
        run(Layout(tmp_path), quiz, "--snapshot", "latest", "--fields", " ,")


def test_parquet_rows_hit_are_told_and_left_out_with_the_schema_kept(indexed, tmp_path, capsys):
    layout, snapshot_id, _ = indexed
    quiz, clean, again = (tmp_path / f"{name}.parquet" for name in ("quiz", "clean", "again"))
    table = pa.table({"id": [3, 4, 5], "question": [OTHER, FERRY[:200], OTHER], "score": [0.5, 1.0, 1.5]})
    pq.write_table(table, quiz)
    how = ("--snapshot", snapshot_id, "--from", "corpus", "--fields", "question")
    assert run(layout, quiz, *how, "--write-clean", clean) == 1
    out = capsys.readouterr().out
    assert "hit are the items in these rows of the file, counted from 1:\nrow 2 (id 4): question characters 0 to" in out
    assert pq.read_table(clean).equals(table.take([0, 2]))
    assert run(layout, clean, *how, "--write-clean", again) == 0
    assert pq.read_table(again).schema.equals(table.schema)


@pytest.mark.parametrize(("benchmark", "target"), [("quiz.parquet", "clean.jsonl"), ("quiz.jsonl", "clean.parquet")])
def test_a_clean_file_has_the_format_of_the_benchmark(indexed, tmp_path, benchmark, target):
    layout, snapshot_id, _ = indexed
    (tmp_path / benchmark).write_bytes(b"")
    with pytest.raises(ConfigError, match=f"--write-clean .*{target}: the benchmark is {benchmark}"):
        run(layout, tmp_path / benchmark, "--snapshot", snapshot_id, "--write-clean", tmp_path / target)


def test_a_parquet_benchmark_that_is_broken_or_lacks_a_field_is_told(indexed, tmp_path):
    layout, snapshot_id, _ = indexed
    quiz = tmp_path / "quiz.parquet"
    quiz.write_bytes(b"PAR1")
    with pytest.raises(ConfigError, match=r"quiz.parquet: Parquet file from row 1 \(counted from 1\) on is broken"):
        run(layout, quiz, "--snapshot", snapshot_id)
    pq.write_table(pa.table({"question": [OTHER]}), quiz)
    with pytest.raises(ConfigError, match="no item has a field 'answer'; its fields are 'question'"):
        run(layout, quiz, "--snapshot", snapshot_id, "--fields", "answer")

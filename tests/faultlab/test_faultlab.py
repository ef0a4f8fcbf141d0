"""Builds of the starter corpus that are hurt at random end with the same bytes, or with words that lead to them.

One seed is one trial: what was hurt, when and how is drawn from it. A trial that fails prints its seed;
`python -m tests.faultlab SEED` replays it. FAULTLAB_TRIALS sets how many there are in all, the quick ones among them.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from formats import corpus_manifest, corpus_shard, durable
from formats.layout import Layout
from tests import faults
from tests.e2e import starter_runs
from tests.faultlab import damage, roots, tally
from tests.faultlab.kinds import KINDS
from tests.faultlab.lab import V1, Golden
from tests.faultlab.remedies import Person, UnclearError, follow
from tests.faultlab.results import AFTER_KILL, AFTER_REMEDY, AT_ONCE, LATE, WRONG, Hurt, Result, WrongError
from tests.faultlab.roots import Tree
from tests.faultlab.trial import Trial

QUICK_TRIALS = 100
READ_BY_LATER_STEPS = (
    "stage output",
    "stage manifest",
    "eval index",
    "raw part",
    "raw set's manifest",
    "raw set's lock",
)
READ_WHERE_THEY_ARE_MADE = ("/band_parts/", "/placed_rows/", "/near_items/")
"""Their readers are done when the step is: the rest of the build has no use for them, and looks at none."""
TRIALS = int(os.environ.get("FAULTLAB_TRIALS", "1000"))


def lab(folder: Path, *words: str) -> list[dict[str, Any]]:
    """Run the lab in a process of its own, since it forks; its table is printed (`pytest -s` or a failure shows it)."""
    out = folder / "trials.json"
    command = [sys.executable, "-m", "tests.faultlab", *words, "--json", str(out)]
    done = subprocess.run(command, cwd=starter_runs.PROJECT, capture_output=True, text=True, timeout=3 * 3600)
    print(done.stdout, done.stderr[-3000:])
    assert done.returncode == 0, "\n".join(line for line in done.stdout.splitlines() if "replay" in line)
    return json.loads(out.read_text("utf-8"))


def kinds_of(trials: list[dict[str, Any]]) -> set[str]:
    return {fault["kind"] for trial in trials for fault in trial["faults"]}


def outcomes_of(trials: list[dict[str, Any]], kind: str) -> set[str]:
    return {fault["outcome"] for trial in trials for fault in trial["faults"] if fault["kind"] == kind}


def test_a_hundred_hurt_builds_give_the_same_bytes_or_say_what_to_do(tmp_path: Path) -> None:
    trials = lab(tmp_path, "--trials", str(QUICK_TRIALS), "--real-every", "0")
    assert [trial["seed"] for trial in trials] == list(range(QUICK_TRIALS))
    assert outcomes_of(trials, "kill") >= {AFTER_KILL}
    assert outcomes_of(trials, "damage") >= {AT_ONCE, AFTER_REMEDY}


@pytest.mark.slow
def test_a_thousand_hurt_builds_give_the_same_bytes_or_say_what_to_do(tmp_path: Path) -> None:
    """The quick ones and these; one in two hundred is `corpus build` itself, with Dagster's storage among the hurt."""
    trials = lab(tmp_path, "--from", str(QUICK_TRIALS), "--trials", str(TRIALS - QUICK_TRIALS))
    assert [trial["seed"] for trial in trials] == list(range(QUICK_TRIALS, TRIALS))
    if TRIALS >= 1000:
        assert kinds_of(trials) == set(KINDS)


@pytest.mark.slow
def test_every_intermediate_that_is_short_is_refused_by_name(tmp_path: Path) -> None:
    """Each file of each step, right after that step: cut by its last byte, and with one byte flipped."""
    refused = 0
    for trial in lab(tmp_path, "--every-intermediate"):
        [fault] = trial["faults"]
        kind = fault["detail"].partition(":")[0]
        if kind in READ_BY_LATER_STEPS and not any(stage in fault["detail"] for stage in READ_WHERE_THEY_ARE_MADE):
            assert fault["outcome"] == AFTER_REMEDY, fault
            refused += 1
    assert refused > 70


# The lab itself: what would be wrong is seen as wrong.


def a_person(root: Path, restored: list[Path] | None = None) -> Person:
    return Person(root, lambda path: not (restored or []).append(path), lambda _: True)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "corpus: something went wrong",
        "corpus: No space left on device",
        "Traceback (most recent call last):",
        "corpus: ROOT/corpus/work/documents/ab/part-00000.parquet: sha256 is 1, expected 2",
    ],
)
def test_words_that_say_no_file_or_nothing_to_do_are_not_clear(tmp_path: Path, words: str) -> None:
    with pytest.raises(UnclearError):
        follow(words.replace("ROOT", str(tmp_path)), a_person(tmp_path))


def test_a_person_deletes_what_is_named_and_nothing_that_no_build_makes_again(tmp_path: Path) -> None:
    folder = tmp_path / "corpus/work/documents/ab"
    folder.mkdir(parents=True)
    (folder / "part-00000.parquet").write_bytes(b"x")
    todo = "sha256 is 1, expected 2; delete its folder and materialize the stage again"
    assert follow(f"corpus: {folder}/part-00000.parquet: {todo}", a_person(tmp_path)) == ["deleted work/documents/…"]
    assert not folder.exists()
    with pytest.raises(UnclearError, match="told to delete"):
        follow(f"corpus: {tmp_path}/corpus/LEDGER.jsonl: {todo}", a_person(tmp_path))


def test_the_file_that_a_check_names_is_told_from_the_check(tmp_path: Path) -> None:
    folder = tmp_path / "corpus/raw/tales/20210801"
    folder.mkdir(parents=True)
    said = f"{folder}/part-00000.jsonl.zst: sha256 is 1, expected 2; delete its folder and materialize the stage again"
    line = f"      ERROR raw_fetch/records_accounted_for: tales@starter.v1: {said}"
    assert follow(line, a_person(tmp_path)) == ["deleted raw/tales/…"]
    assert not folder.exists()


@pytest.mark.parametrize("way", [way for way in damage.WAYS if way != "another file's bytes"])
def test_every_way_of_damage_changes_the_file(tmp_path: Path, way: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    damage.hurt(path, way, random.Random(1))
    assert not path.is_file() or path.read_bytes() != b"0123456789"


def test_what_is_hurt_while_it_is_written_is_known_by_its_finished_name() -> None:
    names = {
        "corpus/starter/v1.tmp/shard-00000-of-00001.parquet": "corpus/starter/v1/shard-00000-of-00001.parquet",
        "corpus/raw/tales/.20210801.tmp/part-00000.jsonl.zst": "corpus/raw/tales/20210801/part-00000.jsonl.zst",
        "corpus/work/documents/ab12.0123abcd.tmp/.part-00000.parquet.89abcdef.tmp": (
            "corpus/work/documents/ab12/part-00000.parquet"
        ),
        "corpus/starter/v1.lock": "corpus/starter/v1.lock",
    }
    assert {name: damage.finished_name(name) for name in names} == names


def test_a_second_name_of_a_finished_file_is_not_cut_as_unfinished(tmp_path: Path) -> None:
    (tmp_path / "v1.evidence.tmp").mkdir()
    (tmp_path / "v1.evidence.tmp" / "files.parquet").write_bytes(b"x" * 1000)
    (tmp_path / "part-00000.parquet").write_bytes(b"y" * 1000)
    (tmp_path / "v1.evidence.tmp" / "part-00000.parquet").hardlink_to(tmp_path / "part-00000.parquet")
    damage.cut_unfinished(tmp_path, random.Random(1))
    sizes = {path.name: path.stat().st_size for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    assert sizes["part-00000.parquet"] == 1000
    assert sizes["files.parquet"] < 1000


@pytest.fixture
def ended_well(tmp_path: Path) -> Trial:
    """A trial whose last build ended with exit code 0, and the bytes it had to have."""
    trial = Trial(SimpleNamespace(scratch=tmp_path), 0)
    layout = Layout(trial.root)
    docs = [corpus_shard.Doc(f"a:{i}", f"text {i}", "a", {"url": "u", "license_spdx": "CC0-1.0"}) for i in range(3)]
    corpus_shard.write_shards(docs, layout.version(V1), dataset="starter", version="v1", shard_rows=2)
    durable.write_lock(layout.lock(V1), layout.version(V1) / corpus_manifest.NAME_ON_DISK)
    layout.evidence(V1).mkdir()
    (layout.evidence(V1) / "nobody-checks-this").write_text("x")
    trial.golden = Golden({}, [Tree()], published={V1: roots.published(trial.root, V1)})
    return trial


SHARD = "corpus/starter/v1/shard-00001-of-00002.parquet"


def test_a_build_that_ends_well_has_the_bytes_of_golden(ended_well: Trial) -> None:
    assert ended_well._compare() == AT_ONCE
    faults.flip_byte(ended_well.root / SHARD, 40)
    with pytest.raises(WrongError, match=f"other bytes than golden: ..{SHARD}"):
        ended_well._compare()


def test_what_was_hurt_while_a_build_ran_is_late_where_verify_names_it(ended_well: Trial) -> None:
    faults.flip_byte(ended_well.root / SHARD, 40)
    ended_well.hurt_on_the_way = {SHARD}
    assert ended_well._compare() == LATE
    faults.flip_byte(ended_well.root / SHARD.replace("1-of", "0-of"), 40)
    with pytest.raises(WrongError, match="other bytes than golden"):  # that one was not hurt
        ended_well._compare()


def test_what_was_hurt_and_verify_does_not_name_is_wrong(ended_well: Trial) -> None:
    name = "corpus/starter/v1.evidence/nobody-checks-this"
    (ended_well.root / name).write_text("y")
    ended_well.hurt_on_the_way = {name}
    with pytest.raises(WrongError, match="does not name what is damaged"):
        ended_well._compare()


def test_the_table_counts_faults_by_what_was_hurt() -> None:
    faults = [Hurt("damage", "ledger: empty (corpus/LEDGER.jsonl)", AFTER_REMEDY), Hurt("kill", "", AFTER_KILL)]
    results = [Result(1, "local", "1", faults, 2), Result(2, "local", "2", [Hurt("kill", "", WRONG)], 0, "other bytes")]
    assert tally.counted(results) == {"damage: ledger": {AFTER_REMEDY: 1}, "kill": {AFTER_KILL: 1, WRONG: 1}}
    assert "WRONG: 1 trials, seeds 2" in tally.table(results, 1.0)
    told = json.loads(json.dumps([one.as_json() for one in results]))
    assert [Result.from_json(one) for one in told] == results

"""`corpus build` before and around its runs: what stops it at once, and runs whose process died."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import dagster as dg
import pytest

from corpus_assets import cli
from corpus_assets.commands import build, build_published, builder, dead_runs, environment
from corpus_assets.plans.pinned import load_version
from formats import evidence
from formats.layout import Layout
from resources import run_process
from tests import faults
from tests.assets import graph, tiny
from tests.plans.tampering import as_they_lie

HOLDER = """
import sys, time
from pathlib import Path
from resources.run_process import this_process
from formats.layout import Layout
with this_process(Layout(Path(sys.argv[1]))) as tags:
    print(tags["corpus/process"], flush=True)
    sys.stdin.read()
"""


def holder(root):
    """A process that says it builds in `root`, until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return process, process.stdout.readline().strip()


def started_run(instance, token):
    run = instance.create_run_for_job(job_def=dg.define_asset_job("nothing").resolve(asset_graph=graph_of_one()))
    instance.add_run_tags(run.run_id, {run_process.TAG: token})
    instance.report_dagster_event(
        dg.DagsterEvent(event_type_value=dg.DagsterEventType.RUN_START.value, job_name=run.job_name), run.run_id
    )
    return run.run_id


def graph_of_one():
    @dg.asset
    def one() -> None: ...

    return dg.Definitions(assets=[one]).resolve_asset_graph()


def test_the_runs_of_a_killed_process_are_marked_and_those_of_a_living_one_are_left(tmp_path):
    layout = Layout(tmp_path)
    killed, killed_token = holder(tmp_path)
    alive, alive_token = holder(tmp_path)
    try:
        with dg.DagsterInstance.ephemeral() as instance:
            dead_run, live_run = started_run(instance, killed_token), started_run(instance, alive_token)
            assert dead_runs.bury(layout, instance) == 0
            os.kill(killed.pid, signal.SIGKILL)
            killed.wait()
            assert dead_runs.bury(layout, instance) == 1
            assert instance.get_run_by_id(dead_run).status == dg.DagsterRunStatus.FAILURE
            assert instance.get_run_by_id(live_run).status == dg.DagsterRunStatus.STARTED
    finally:
        for process in (killed, alive):
            process.kill()
            process.communicate()


def test_runs_of_another_machine_or_root_in_a_shared_history_are_left_alone(tmp_path):
    layout, other = Layout(tmp_path / "here"), Layout(tmp_path / "there")
    with dg.DagsterInstance.ephemeral() as instance, run_process.this_process(other) as tags:
        run = started_run(instance, tags[run_process.TAG])
        instance.add_run_tags(run, tags)
        assert dead_runs.bury(layout, instance) == 0
        instance.add_run_tags(run, {run_process.PLACE_TAG: f"elsewhere:{layout.root}"})
        assert dead_runs.bury(layout, instance) == 0
        assert instance.get_run_by_id(run).status == dg.DagsterRunStatus.STARTED
    with dg.DagsterInstance.ephemeral() as instance:
        with run_process.this_process(layout) as tags:
            run = started_run(instance, tags[run_process.TAG])
            instance.add_run_tags(run, tags)
        assert dead_runs.bury(layout, instance) == 1


def test_a_process_that_ends_well_leaves_no_lock(tmp_path):
    layout = Layout(tmp_path)
    with run_process.this_process(layout):
        assert list(layout.work("locks", "x").parent.glob("process-*"))
    assert not list(layout.work("locks", "x").parent.glob("process-*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["build", "nodots"], "version key 'nodots' has no dot"),
        (["build", "starter.v9"], "v9.yaml"),
        (["build", "Starter.v1"], "is not a name"),
    ],
)
def test_a_version_that_is_none_stops_before_any_work(tmp_path, capsys, words, said):
    assert cli.main(["--root", str(tmp_path), *words]) == cli.WRONG_USAGE
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "variables", "said"),
    [
        (["--workers", "0"], {}, "engine workers is 0; expected at least 1"),
        (["--memory", "5"], {}, "memory '5' is no size; expected a number and a unit"),
        (["--memory", "1KiB"], {}, "engine memory is 1024 bytes"),
        ([], {"CORPUS_WORKERS": "abc"}, "CORPUS_WORKERS is 'abc'; expected a whole number of workers"),
        ([], {"CORPUS_WORKERS": "0"}, "engine workers is 0"),
        ([], {"CORPUS_MEMORY": "much"}, "memory 'much' is no size"),
    ],
)
def test_settings_of_the_machine_that_are_wrong_stop_before_any_work(
    tmp_path, capsys, monkeypatch, words, variables, said
):
    monkeypatch.setattr(environment, "prepare", lambda _: pytest.fail("a build began"))
    for name in ("CORPUS_WORKERS", "CORPUS_MEMORY"):
        monkeypatch.setenv(name, variables.get(name, ""))  # so that what --workers sets is undone
        if name not in variables:
            monkeypatch.delenv(name)
    tiny.unbuilt(tmp_path)
    assert cli.main(["--root", str(tmp_path), "build", "tiny.v1", *words]) == cli.WRONG_USAGE
    assert said in capsys.readouterr().err


def test_every_source_without_its_one_row_is_named_before_any_work(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(environment, "prepare", lambda _: pytest.fail("a build began"))
    layout = tiny.unbuilt(tmp_path)
    tiny.write_config(layout, sources=[*tiny.SOURCES, "letters", "maps"])
    row = json.dumps(tiny.ledger_row("web", license_spdx="MTI"))  # wrong, but a row: the checks of it have the words
    with layout.ledger.open("a", encoding="utf-8") as file:
        file.write(row + "\nno JSON\n")
    assert cli.main(["--root", str(tmp_path), "build", "tiny.v1"]) == cli.WRONG_USAGE
    assert capsys.readouterr().err.splitlines() == [
        "corpus: LEDGER.jsonl: 0 rows of source letters, expected 1; add it with: corpus ledger add letters …",
        "LEDGER.jsonl: 0 rows of source maps, expected 1; add it with: corpus ledger add maps …",
        "LEDGER.jsonl: 2 rows of source web, expected 1; leave one",
    ]


def test_a_published_version_asks_nothing_of_the_ledger(tmp_path):
    layout = tiny.unbuilt(tmp_path)
    layout.lock(tiny.V1).parent.mkdir(parents=True)
    layout.lock(tiny.V1).touch()
    layout.ledger.unlink()
    build.check_rows(layout, load_version(layout, tiny.V1))


def pulled(root):
    """The tiny corpus as `corpus pull` leaves it: what is published, config and ledger."""
    layout = tiny.copy(root)
    for folder in (layout.corpus / "raw", layout.corpus / "work", root / "inputs"):
        shutil.rmtree(folder)
    return layout


def test_of_a_pulled_version_nothing_is_fetched_or_made_and_the_build_says_that_it_is_whole(
    tmp_path, capsys, monkeypatch
):
    layout = pulled(tmp_path / "root")
    monkeypatch.setattr(environment, "prepare", lambda _: pytest.fail("a run began"))
    before = as_they_lie(layout.root)
    assert build.build(layout, tiny.V1) == 0
    said = capsys.readouterr().out
    assert "tiny.v1 is published and whole: 1" in said
    assert "nothing to do" in said
    assert "not here, and not needed: raw sets of notes, tales, web" in said
    assert as_they_lie(layout.root) == before


def test_of_a_pulled_version_only_what_is_made_after_the_lock_is_made(tmp_path, capsys, monkeypatch):
    layout = pulled(tmp_path / "root")
    sealed = evidence.read_seal(layout.evidence(tiny.V1))
    kept = {name: dict(entry) for name, entry in sealed.items() if name != evidence.DATASHEET_HTML}
    (layout.evidence(tiny.V1) / evidence.DATASHEET_HTML).unlink()
    evidence.seal(layout.evidence(tiny.V1), kept)
    monkeypatch.setattr(environment, "prepare", lambda _: None)
    with graph.loaded(layout), monkeypatch.context() as patched:
        patched.chdir(layout.root)
        patched.setenv("DAGSTER_HOME", str(layout.root))
        assert build.build(layout, tiny.V1) == 0
    assert "tiny.v1" in capsys.readouterr().out
    assert evidence.read_seal(layout.evidence(tiny.V1)) == sealed


@pytest.mark.parametrize(("stored", "code", "said"), [(True, 0, ""), (False, 1, "tiny.v1 stopped; mend")])
def test_a_pulled_version_reaches_the_store_that_is_named(tmp_path, capsys, monkeypatch, stored, code, said):
    asked = []
    runs = builder.Builder(None, None, {}, False)

    def materialize(_: builder.Builder, partition: str, assets: tuple[str, ...]) -> str | None:
        asked.append((partition, *assets))
        runs.failed.append("stored_version/whole of tiny.v1")
        return "run" if stored else None

    monkeypatch.setenv("CORPUS_STORE", "s3://bucket/place")
    monkeypatch.setattr(builder.Builder, "materialize", materialize)
    monkeypatch.setattr(build_published, "opened", lambda *_, **__: nullcontext((runs, [])))
    assert build.build(pulled(tmp_path / "root"), tiny.V1) == code
    assert asked == [("tiny.v1", "stored_version")]
    told = capsys.readouterr()
    assert "nothing to do" not in told.out
    assert said in told.err
    assert ("1 check failed, and stopped nothing: stored_version/whole of tiny.v1" in told.err) == stored


def test_a_pulled_version_that_is_damaged_says_what_is_not_here_and_what_mends_it_without(
    tmp_path, capsys, monkeypatch
):
    layout = pulled(tmp_path / "root")
    faults.flip_byte(next(layout.version(tiny.V1).glob("shard-00001*")), 200)
    monkeypatch.setattr(build, "opened", lambda *_, **__: pytest.fail("the build goes on"))
    with pytest.raises(pytest.fail.Exception, match="the build goes on"):
        build.build(layout, tiny.V1)
    said = capsys.readouterr().out
    assert "damaged: " in said
    assert "shard-00001" in said
    assert "raw sets of notes, tales, web. They are made again from the sources" in said
    assert "`corpus pull tiny.v1` mends it from an object store" in said


STOPPED = """
import os, signal, sys
import {module}
from corpus_assets import cli

as_it_is = {module}.{function}

def then_the_signal(*args, **options):
    os.kill(os.getpid(), signal.{signal})
    return as_it_is(*args, **options)

{module}.{function} = then_the_signal
sys.exit(cli.main(["--root", sys.argv[1], "build", "tiny.v1"]))
"""


@pytest.mark.parametrize(
    ("module", "function", "name"),
    [
        ("corpus_assets.plans.pinned", "pin_row", "SIGINT"),  # inside a step
        pytest.param("corpus_assets.plans.pinned", "pin_row", "SIGTERM", marks=pytest.mark.slow),
        pytest.param("corpus_assets.alerts", "failed_checks", "SIGINT", marks=pytest.mark.slow),  # between two runs
    ],
)
def test_ctrl_c_stops_the_whole_build_in_words(tmp_path, module, function, name):
    layout = tiny.unbuilt(tmp_path)
    program = STOPPED.format(module=module, function=function, signal=name)
    words = [sys.executable, "-c", program, str(tmp_path)]
    stopped = subprocess.run(words, capture_output=True, text=True, timeout=1200, check=False)
    assert (stopped.returncode, stopped.stderr) == (130, "corpus: stopped; a rerun goes on from what is finished\n")
    assert "FAILED" not in stopped.stdout
    assert "tales" not in stopped.stdout
    assert not list(layout.work("locks", "x").parent.glob("process-*"))


@pytest.mark.slow
def test_a_licence_that_is_not_allowed_is_one_line_of_words_and_one_of_what_to_do(tmp_path):
    layout = tiny.unbuilt(tmp_path)
    tiny.write_ledger(layout, tiny.ledger_row("web", license_spdx="GPL-3.0-only"))
    command = [sys.executable, "-m", "corpus_assets.cli", "--root", str(tmp_path), "build", "tiny.v1"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == cli.FAILED
    failed, words = ran.stdout.splitlines()[-2:]
    assert failed.split()[:2] == ["FAILED", "web@tiny.v1"]
    assert words.startswith("    ERROR ledger_entry/licence_allowed: web@tiny.v1: ")
    assert "source web: licence GPL-3.0-only is not allowed by tiny.v1; allowed: " in words
    assert ran.stderr == "tiny.v1 stopped: web@tiny.v1 failed; mend what is named above and run again\n"


def test_a_build_says_where_the_shards_and_the_datasheet_are(tmp_path):
    layout = tiny.unbuilt(tmp_path)
    words = [sys.executable, "-m", "corpus_assets.cli", "--root", str(tmp_path), "build", "tiny.v1"]
    built = subprocess.run(words, capture_output=True, text=True, timeout=1200, check=True)
    *_, shards, datasheet = built.stdout.splitlines()
    assert shards.endswith(f": {layout.version(tiny.V1)}")
    path = datasheet.removeprefix("what is in it, for people: ")
    assert "tiny.v1" in Path(path).read_text("utf-8")
    assert path.endswith(".html")


@pytest.mark.slow
def test_a_check_that_failed_and_stopped_nothing_is_named_at_the_end_of_this_build_and_of_the_next(tmp_path):
    layout = tiny.unbuilt(tmp_path)
    cut = b"".join(b'{"text": "cut o\n' for _ in range(20))
    file = {"url": "../inputs/web.jsonl", "sha256": hashlib.sha256(cut).hexdigest(), "bytes": len(cut)}
    (tmp_path / "inputs/web.jsonl").write_bytes(cut)
    tiny.write_ledger(layout, *(tiny.ledger_row(s, **({"files": [file]} if s == "web" else {})) for s in tiny.SOURCES))
    words = [sys.executable, "-m", "corpus_assets.cli", "--root", str(tmp_path), "build", "tiny.v1"]
    for _ in range(2):
        built = subprocess.run(words, capture_output=True, text=True, timeout=1200, check=True)
        assert "1 check failed, and stopped nothing: raw_fetch/few_records_damaged of web@tiny.v1" in built.stderr


_PINNED = {"path": "pinned", "sha256": "0" * 64}
_PINS = {
    "an eval set": {
        "decontaminate": {"eval_sets": [{**_PINNED, "name": "quiz", "format": "jsonl", "fields": ["question"]}]}
    },
    "a site list": {"sites": {"block": [{**_PINNED, "name": "bad"}]}},
    "a word list": {"words": {"lists": [{**_PINNED, "name": "bad", "lang": "*", "max_ratio": 0.1}]}},
    "a model": {"quality": {"model": _PINNED}},
    "an extractor": {"extract": {"extractor": "blocks", "model": _PINNED}},
}


@pytest.mark.parametrize("what", _PINS)
@pytest.mark.parametrize("there", [False, True], ids=["missing", "of other bytes"])
def test_a_pinned_file_that_is_not_the_one_stops_a_build_before_anything_is_fetched(tmp_path, capsys, what, there):
    layout = tiny.unbuilt(tmp_path)
    tiny.write_config(layout, **_PINS[what])
    if there:
        (tmp_path / "pinned").write_text("other\n")
    assert cli.main(["--root", str(tmp_path), "build", "tiny.v1"]) in (cli.WRONG_USAGE, cli.FAILED)
    said = capsys.readouterr()
    assert str(tmp_path / "pinned") in said.err
    assert "layer 1" not in said.out
    assert not (layout.corpus / "raw").exists()


def test_an_eval_set_without_its_field_stops_a_build_before_anything_is_fetched(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    config = tiny.config()
    config["decontaminate"]["eval_sets"][0]["fields"] = ["ansver"]
    tiny.write_config(layout, decontaminate=config["decontaminate"])
    assert cli.main(["--root", str(tmp_path), "build", "tiny.v1"]) in (cli.WRONG_USAGE, cli.FAILED)
    assert "ansver" in capsys.readouterr().err
    assert not (layout.corpus / "raw").exists()

"""A week of a data team in one story: a source comes in, its licence stops it, an alert says so, the row is mended, and
what is published leads back to it. By the commands and clicks that README.md names; each test goes on from the one
before.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from formats import evidence, ledger
from formats.layout import Layout
from formats.naming import VersionKey
from tests.assets import tiny, ui
from tests.browser.pages import Asset, Backfill, Graph, Group, Locations, Run, Runs
from tests.browser.person import Person, at, missing
from tests.receiver import Receiver

pytestmark = [pytest.mark.slow, pytest.mark.browser]
V2 = VersionKey("tiny", "v2")
POEMS = f"poems@{V2}"
OLD_PAIRS = tuple(f"{source}@{V2}" for source in tiny.SOURCES)
REFUSED, ALLOWED = "CC-BY-NC-4.0", "CC-BY-4.0"
WORDS = f"source poems: licence {REFUSED} is not allowed by {V2}; allowed: CC-BY-4.0, CC0-1.0, MIT"
TEXTS = [
    "The lighthouse learned to whistle in the year the lamp was broken, and ships came home by ear along the rocks, "
    "with every sailor humming what the keeper hummed to them.",
    "Two ferries passed each other every noon for twenty years without a word, and when the bridge was built at last "
    "both captains crossed it once, on foot, to shake a hand.",
]


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """A corpus whose first version was published, by the command."""
    layout = tiny.unbuilt(tmp_path_factory.mktemp("story") / "root")
    command(layout, "build", str(tiny.V1))
    return layout


@pytest.fixture(scope="module")
def served(root: Layout, receiver: Receiver) -> Iterator[ui.Ui]:
    """Skips, with what is missing, where there is no browser."""
    if why := missing():
        pytest.skip(f"the UI in a browser: {why}")
    with ui.running(root.root, CORPUS_WEBHOOK=receiver.url) as served:
        yield served


@pytest.fixture(scope="module")
def person(served: ui.Ui) -> Iterator[Person]:
    with at(f"http://127.0.0.1:{served.port}") as person:
        yield person


def command(layout: Layout, *words: str) -> str:
    """What a command that goes well prints."""
    ran = ui.corpus(layout.root, *words)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def raw_sets(layout: Layout) -> dict[str, int]:
    """When each file of a raw set was written, by its place."""
    files = (path for path in (layout.corpus / "raw").rglob("*") if path.is_file())
    return {path.relative_to(layout.corpus).as_posix(): path.stat().st_mtime_ns for path in files}


@pytest.fixture(scope="module")
def added(person: Person, served: ui.Ui, root: Layout) -> dict[str, int]:
    """A row by the command, a version with the source, and the definitions loaded again; the raw sets of before."""
    before = raw_sets(root)
    lines = [json.dumps({"text": text, "url": f"https://poems.example/{i}"}) + "\n" for i, text in enumerate(TEXTS)]
    (root.root / "inputs" / "poems.jsonl").write_text("".join(lines), "utf-8")
    command(
        root, "ledger", "add", "poems", str(root.root / "inputs" / "poems.jsonl"),
        "--license", REFUSED, "--evidence", "the page says so", "--url-field", "url", "--rank", "4",
    )  # fmt: skip
    said = command(root, "config", "new", str(V2), "--from", str(tiny.V1), "--add-source", "poems")
    assert f"{REFUSED} is not allowed" in said  # a person is told at once, and goes on all the same
    loaded_at = served.loaded_at()
    Locations(person).open().reload()
    person.wait("definitions loaded later", lambda: served.loaded_at() > loaded_at)
    return before


@pytest.fixture(scope="module")
def refused(person: Person, added: dict[str, int]) -> str:
    """Its first assets materialized from the UI; the run."""
    assert added
    Group(person, "ingest").open().materialize_all().pick(POEMS).launch("Launch 1 run")
    return Runs(person).open_newest(set())


@pytest.fixture(scope="module")
def published(person: Person, root: Layout, refused: str) -> str:
    """The row mended by hand, as in an editor, and the whole version backfilled; how that ended."""
    text = root.ledger.read_text("utf-8")
    assert text.count(REFUSED) == 1
    root.ledger.write_text(text.replace(REFUSED, ALLOWED), "utf-8")
    Graph(person).open().materialize_all().pick(POEMS, *OLD_PAIRS).launch("Launch backfill")
    Runs(person).open_newest({refused})
    return Backfill(person).how_it_ended()


def test_the_graph_shows_every_asset(person: Person) -> None:
    graph = Graph(person).open()
    graph.expand()
    for asset in ("ledger", "ledger_entry", "raw_fetch", "dedup_clusters", "scrubbed_docs", "shards", "datasheet"):
        person.read(rf"^{asset}$")


@pytest.mark.usefixtures("added")
def test_the_new_source_is_a_partition_once_the_definitions_are_loaded_again(person: Person) -> None:
    Asset(person, "ledger_entry").open()
    Asset(person, "ledger_entry").partitions()
    person.read(rf"^{POEMS}$")


def test_its_licence_stops_it_before_a_byte_is_fetched(person: Person, root: Layout, refused: str) -> None:
    assert Run(person).how_it_ended() == "Failure", refused
    Run(person).log_of_failed_step("ledger_entry_licence_allowed")
    person.read(WORDS)
    assert not (root.corpus / "raw" / "poems").exists()


@pytest.mark.usefixtures("refused")
def test_the_check_says_why_and_what_to_do(person: Person) -> None:
    Asset(person, "ledger_entry").open().check("licence_allowed", POEMS)
    person.read(WORDS)
    person.read("take the source out of the config, or allow the licence if the terms were read and fit")


def test_the_alert_arrives_and_leads_to_the_run(person: Person, receiver: Receiver, refused: str) -> None:
    alert = receiver.wait_for(lambda one: one["partition"] == POEMS, 120)
    (check,) = alert["failed_checks"]
    assert (alert["source"], alert["version"], check["check"]) == ("poems", str(V2), "licence_allowed")
    assert WORDS in check["description"]
    assert alert["run_id"].startswith(refused)
    assert alert["run_url"].startswith(person.address)
    person.go(alert["run_url"].removeprefix(person.address))
    assert Run(person).how_it_ended() == "Failure"


def test_with_the_row_mended_the_backfill_publishes_and_takes_the_other_sources_over(
    root: Layout, published: str, added: dict[str, int]
) -> None:
    assert published.startswith(("Completed", "Succe")), published
    command(root, "verify", str(V2), "--deep")
    now = raw_sets(root)
    assert {name: now[name] for name in added} == added
    assert {name.split("/")[1] for name in set(now) - set(added)} == {"poems"}


@pytest.mark.usefixtures("published")
def test_what_was_made_by_clicks_has_the_bytes_that_corpus_build_makes_of_nothing(root: Layout, tmp_path: Path) -> None:
    other = Layout(tmp_path / "by command")
    for name in ("inputs", "evals", "corpus/configs"):
        shutil.copytree(root.root / name, other.root / name)
    shutil.copy(root.ledger, other.ledger)
    for key in (tiny.V1, V2):  # the evidence tells what differs from the version before
        command(other, "build", str(key))
    assert ui.published(root, V2) == ui.published(other, V2)


@pytest.mark.usefixtures("published")
def test_the_check_holds_now(person: Person) -> None:
    Asset(person, "ledger_entry").open().check("licence_allowed", POEMS)
    person.read(f"{POEMS}: CC-BY-4.0 is allowed by tiny.v2")


@pytest.mark.usefixtures("published")
def test_the_datasheet_opens_and_counts_the_new_source(person: Person, root: Layout) -> None:
    Asset(person, "datasheet").open().partition(str(V2))
    page = root.evidence(V2) / evidence.DATASHEET_HTML
    person.read(str(page))
    Asset(person, "datasheet").read_metadata("datasheet")
    person.read(rf"poems.*{ALLOWED}|{ALLOWED}.*poems")
    person.driver.get(page.as_uri())
    person.read(rf"(?s){V2}.*poems")


@pytest.mark.usefixtures("published")
def test_a_row_of_a_shard_leads_to_the_row_of_the_ledger(person: Person, root: Layout) -> None:
    Asset(person, "shards").open().partition(str(V2))
    Asset(person, "shards").read_metadata("ledger_rows")
    person.read(rf"poems.{{0,3}}: {ALLOWED}, {len(TEXTS)} rows?")
    person.click("//a[normalize-space()='poems']")
    person.read(rf'"license_spdx": "{ALLOWED}"')
    row = next(row for row in ledger.read(root.ledger) if row.source_id == "poems")
    person.read(row.digest)
    told = command(root, "trace", "https://poems.example/1", "--version", str(V2))
    assert f"ledger row  poems: {ALLOWED}" in told
    assert row.digest in told

"""The UI as a person uses it: a row that may not be used, its words, the row mended, a backfill, and from a shard back
to the ledger. What is made by clicks has the bytes that `corpus build` makes.
"""

from pathlib import Path
from typing import Any

import pytest

from formats import evidence
from formats.layout import Layout
from tests.assets import tiny, ui
from tests.browser.conftest import NOT_ALLOWED
from tests.browser.pages import Asset, Backfill, Graph, Run, Runs
from tests.browser.person import Person

pytestmark = [pytest.mark.slow, pytest.mark.browser]
WEB = f"web@{tiny.V1}"
WORDS = f"source web: licence {NOT_ALLOWED} is not allowed by {tiny.V1}; allowed: CC-BY-4.0, CC0-1.0, MIT"


@pytest.fixture(scope="module")
def refused(person: Person) -> str:
    """The run of ledger_entry of the row as it stands, launched by hand; its short name."""
    Asset(person, "ledger_entry").open().materialize().pick(WEB).launch("Launch 1 run")
    return Runs(person).open_newest(set())


@pytest.fixture(scope="module")
def mended(person: Person, root: Layout, refused: str) -> str:
    """The same again, with the licence of the ledger's row put right."""
    tiny.write_ledger(root, tiny.ledger_row("web"))
    Asset(person, "ledger_entry").open().materialize().pick(WEB).launch("Launch 1 run")
    name = Runs(person).open_newest({refused})
    assert Run(person).how_it_ended() == "Success"
    return name


@pytest.fixture(scope="module")
def backfilled(person: Person, refused: str, mended: str) -> str:
    """All pairs of the version, and what follows from them, backfilled from the graph; how it ended."""
    Graph(person).open().materialize_all().pick(*map(str, tiny.PAIRS)).launch("Launch backfill")
    Runs(person).open_newest({refused, mended})
    return Backfill(person).how_it_ended()


def test_the_graph_shows_every_asset(person: Person) -> None:
    graph = Graph(person).open()
    graph.expand()
    for asset in ("ledger", "ledger_entry", "raw_fetch", "dedup_clusters", "scrubbed_docs", "shards", "datasheet"):
        person.read(rf"^{asset}$")


def test_a_row_that_may_not_be_used_ends_its_run_and_the_log_says_why(person: Person, refused: str) -> None:
    assert Run(person).how_it_ended() == "Failure", refused
    Run(person).log_of_failed_step("ledger_entry_licence_allowed")
    person.read(WORDS)


@pytest.mark.usefixtures("refused")
def test_the_check_says_why_and_what_to_do(person: Person) -> None:
    Asset(person, "ledger_entry").open().check("licence_allowed", WEB)
    person.read(WORDS)
    person.read("take the source out of the config, or allow the licence if the terms were read and fit")


@pytest.mark.usefixtures("mended")
def test_the_mended_row_passes(person: Person) -> None:
    Asset(person, "ledger_entry").open().check("licence_allowed", WEB)
    person.read(f"{WEB}: holds")


def test_a_backfill_from_the_graph_gives_the_bytes_that_corpus_build_gives(
    backfilled: str, root: Layout, tmp_path: Path
) -> None:
    assert backfilled.startswith(("Completed", "Succe")), backfilled
    other = tiny.unbuilt(tmp_path / "by command")
    ran = ui.corpus(other.root, "build", str(tiny.V1))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ui.published(root, tiny.V1) == ui.published(other, tiny.V1)


@pytest.mark.usefixtures("backfilled")
def test_from_a_shard_to_the_ledger_row_it_stands_on(person: Person, root: Layout) -> None:
    Asset(person, "shards").open().partition(str(tiny.V1))
    Asset(person, "shards").read_metadata("ledger_rows")
    person.read(r"web.{0,3}: MIT, \d+ rows?")
    person.click("//a[normalize-space()='web']")
    person.read(r'"license_spdx": "MIT"')
    (digest,) = {row["ledger_row_digest"].hex() for row in _lineage(root) if row["source_id"] == "web"}
    person.read(digest)


@pytest.mark.usefixtures("backfilled")
def test_the_datasheet_is_read_in_the_ui_and_leads_to_its_page(person: Person, root: Layout) -> None:
    Asset(person, "datasheet").open().partition(str(tiny.V1))
    page = root.evidence(tiny.V1) / evidence.DATASHEET_HTML
    person.read(str(page))
    assert page.is_file()
    Asset(person, "datasheet").read_metadata("datasheet")
    person.read("CC-BY-4.0")


def _lineage(root: Layout) -> list[dict[str, Any]]:
    return [row for batch in evidence.read(root.evidence(tiny.V1), "lineage") for row in batch.to_pylist()]

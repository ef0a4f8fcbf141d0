"""Pages of Dagster's UI by what a person does on them. Where the UI calls things by words, so do these."""

import re

from selenium.webdriver.common.keys import Keys

from tests.assets.ui import BACKFILL_SECONDS
from tests.browser.person import Person, words

DIALOG = "//*[@role='dialog']"
RUN_SECONDS = 600


class Graph:
    """Lineage: all assets with their edges."""

    def __init__(self, person: Person) -> None:
        self.person = person

    def open(self) -> "Graph":
        self.person.go("/")
        self.person.click(words("Lineage", "a"))
        self.person.read(r"^Materialize all")
        return self

    def expand(self) -> None:
        """Open all groups, by the UI's shortcut, once they are drawn beside the list of them."""
        self.person.wait("groups", lambda: len(self.person.seen("//*[normalize-space(text())='ingest']")) > 1)
        self.person.press(Keys.ALT, "e")

    def materialize_all(self) -> "MaterializeDialog":
        self.person.click("//button[starts-with(normalize-space(), 'Materialize all')]")
        return MaterializeDialog(self.person)


class Group(Graph):
    """Lineage of the assets of one group."""

    def __init__(self, person: Person, name: str) -> None:
        super().__init__(person)
        self.name = name

    def open(self) -> "Group":
        self.person.go(f"/locations/__repository__@corpus/asset-groups/{self.name}/lineage")
        self.person.read(r"^Materialize all")
        return self


class Locations:
    """Deployment: the code that is loaded."""

    def __init__(self, person: Person) -> None:
        self.person = person

    def open(self) -> "Locations":
        self.person.go("/deployment/locations")
        self.person.read(r"^Loaded$")
        return self

    def reload(self) -> None:
        self.person.click(words("Reload", "button"))


class MaterializeDialog:
    """What "Materialize…" opens: which partitions."""

    def __init__(self, person: Person) -> None:
        self.person = person
        person.wait("dialog", lambda: person.seen(f"{DIALOG}//*[contains(text(), 'Partition selection')]"))

    def pick(self, *partitions: str) -> "MaterializeDialog":
        self.person.click(f"{DIALOG}//*[text()='Select a partition or create one']")
        for partition in partitions:
            self.person.click(f"//*[@role='menuitem'][.//*[@title='{partition}']]")
        self.person.click(f"{DIALOG}//*[starts-with(text(), 'Launch runs to materialize')]")  # closes the list
        return self

    def launch(self, button: str) -> None:
        """Press the button; the dialog goes once the run or the backfill is on its way."""
        self.person.click(f'{DIALOG}//button[normalize-space()="{button}"]')
        self.person.wait("end of the dialog", lambda: not self.person.seen(DIALOG))


class Runs:
    """The list of runs and backfills, newest first."""

    def __init__(self, person: Person) -> None:
        self.person = person

    def open_newest(self, not_one_of: set[str]) -> str:
        """Open the newest run or backfill that is not among these; returns its short name."""
        self.person.click(words("Runs", "a"))

        def newest() -> str:
            links = self.person.seen("//a[contains(@href, '/runs/')]")
            names = [link.text.strip() for link in links if re.fullmatch(r"[0-9a-z]{8}", link.text.strip())]
            return next((name for name in names if name not in not_one_of), "")

        name = self.person.wait("new run", newest)
        self.person.click(words(name, "a"))
        return name


class Run:
    """The page of one run: how it ended, and its log."""

    def __init__(self, person: Person) -> None:
        self.person = person

    def how_it_ended(self) -> str:
        return self.person.read(r"^(Success|Failure|Canceled)$", RUN_SECONDS)

    def log_of_failed_step(self, step: str) -> None:
        """Click the step where the page lists what erred: the log shows that step alone."""
        self.person.click(f"//*[text()='{step}'][preceding::*[starts-with(normalize-space(text()), 'Errored')]]")


class Backfill:
    """The page of one backfill: what is targeted, done and failed, by asset."""

    def __init__(self, person: Person) -> None:
        self.person = person

    def how_it_ended(self) -> str:
        return self.person.read(
            r"(?<=^Status\n)(Completed|Success|Succeeded|Failed|Failure|Canceled).*$", BACKFILL_SECONDS
        )


class Asset:
    """The page of one asset."""

    def __init__(self, person: Person, name: str) -> None:
        self.person, self.name = person, name

    def open(self) -> "Asset":
        self.person.go(f"/assets/{self.name}")
        self.person.read(r"^Materialize")
        return self

    def materialize(self) -> MaterializeDialog:
        self.person.click("//button[starts-with(normalize-space(), 'Materialize')]")
        return MaterializeDialog(self.person)

    def partitions(self) -> None:
        """Open the tab of partitions."""
        self.person.click(words("Partitions", "a"))

    def partition(self, partition: str) -> None:
        """Open the tab of partitions, and one of them."""
        self.partitions()
        self.person.click(f"//*[text()='{partition}']")
        self.person.read(r"^Latest materialization\n(?!None$).+$")

    def read_metadata(self, name: str) -> None:
        """Bring the Markdown of an entry into view: a long one is behind a button."""
        self.person.read(rf"^{name}\n.+$")
        button = "//*[text()='[Show Markdown]']"
        if self.person.seen(button):
            self.person.click(button)

    def check(self, check: str, partition: str) -> None:
        """Open the tab of checks, one of them, and what it said of one partition."""
        self.person.click(words("Checks", "a"))
        self.person.click(f"//*[text()='{check}']")
        self.person.click("//*[@role='tab'][normalize-space()='Partitions']", which=-1)  # the first is the asset's
        self.person.read(r"^Select a partition to view details$")
        self.person.click(f"//*[text()='{partition}']", which=-1)  # others are in the selection above the list
        self.person.read(r"^Target materialization$")

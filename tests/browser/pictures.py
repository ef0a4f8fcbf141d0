"""The pictures of README.md, taken of the running UI: python -m tests.browser.pictures

Builds the starter, and one version that is refused, in a folder of its own; needs chromium and chromium-driver. Writes
docs/pictures/*.png.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver.common.by import By

from formats import evidence
from formats.layout import Layout
from formats.naming import VersionKey
from tests.assets import ui
from tests.browser.pages import Asset
from tests.browser.person import Person, at, missing, words
from tests.e2e import starter_runs

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"
SIZE = (1400, 900)
V1, REFUSED = VersionKey("starter", "v1"), VersionKey("starter", "v2")


def main() -> None:
    if why := missing():
        sys.exit(f"no picture without a browser: {why}")
    with neutral_folder() as folder:
        root = starter_runs.copy_of_starter(folder / "starter")
        for key, code in ((V1, 0), (REFUSED, 1)):
            ran = ui.corpus(root, "build", str(key))
            assert ran.returncode == code, ran.stdout + ran.stderr
        with ui.running(root) as served, at(f"http://127.0.0.1:{served.port}") as person:
            person.driver.set_window_size(*SIZE)
            take(person, Layout(root))


@contextmanager
def neutral_folder() -> Iterator[Path]:
    """The pages name where files lie, and so do the pictures: a folder whose name anybody's could have."""
    folder = Path(tempfile.gettempdir()) / "data"
    try:
        folder.mkdir()
    except FileExistsError:
        sys.exit(f"{folder}: is there already; the pictures are taken of a folder of this name, move it away first")
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def take(person: Person, layout: Layout) -> None:
    person.go("/assets/dedup_clusters?view=lineage")
    person.click(words("Hide navigation"))
    for name in ("minhash_signatures", "scrubbed_docs"):
        person.read(rf"^{name}$")
    keep(person, "graph")
    Asset(person, "ledger_entry").open().check("licence_allowed", f"forum@{REFUSED}")
    person.read("is not allowed by")
    keep(person, "check")
    person.driver.get((layout.evidence(V1) / evidence.DATASHEET_HTML).as_uri())
    person.read(str(V1))
    keep(person, "datasheet")


def keep(person: Person, name: str) -> None:
    """The window as it is, once nothing in it turns any more."""
    person.wait("quiet page", lambda: not person.driver.find_elements(By.CSS_SELECTOR, "[class*=Spinner]"))
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.png"
    path.write_bytes(person.driver.get_screenshot_as_png())
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

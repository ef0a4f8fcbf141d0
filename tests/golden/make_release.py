"""The golden store of a release: python -m tests.golden.make_release

A published version with its n-gram index and datasheet, and a snapshot of it, as the release that made it wrote them.
It is made once a release, into a folder of its own, and never again: what it is for is that later programs open it.
"""

import shutil
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from corpus_assets.plans.ngram_index import write_ngram_index
from corpus_assets.plans.raw_set import make_raw_set
from corpus_assets.plans.snapshot import make_snapshot
from corpus_assets.plans.token_build import open_build
from formats import ledger, ledger_urls
from formats.layout import Layout
from tests import build_by_plans
from tests.assets import tiny, tiny_tokens
from tests.plans.tampering import a_build

FOLDER = Path(__file__).with_name("releases")
KEY, TOKENS = tiny.V1, tiny_tokens.KEY
_SETTINGS = {
    "sources": ["tales", "web"],
    "licenses": {"allow": ["CC0-1.0", "MIT"]},
    "ngram_index": {"form": "postings", "rate": 4},
}


def releases() -> list[Path]:
    """The folders of all releases that have one, each an artifacts root. None may be written to."""
    return sorted(path for path in FOLDER.iterdir() if path.is_dir())


def copy(release: Path, root: Path) -> Layout:
    """A root of its own, which may be written to."""
    shutil.copytree(release, root)
    return Layout(root)


def make(folder: Path) -> None:
    """Build below a temporary root, and keep what is published. Raises FileExistsError for a release that has one."""
    with tempfile.TemporaryDirectory() as root:
        layout = tiny.unbuilt(Path(root))
        tiny.write_config(layout, KEY, **_SETTINGS)
        build = a_build(layout)

        def fetch(row: ledger.LedgerRow) -> object:
            return make_raw_set(layout, row, [ledger_urls.resolve_local(layout.ledger, file.url) for file in row.files])

        for _, work in build_by_plans.steps(build, KEY, fetch):
            work()
        write_ngram_index(build, KEY)
        tiny_tokens.write(layout, TOKENS)
        snapshot = make_snapshot(open_build(layout, build.engine, TOKENS))
        folder.mkdir(parents=True)
        for path in (
            layout.ledger, layout.config(KEY), layout.token_config(TOKENS), layout.version(KEY), layout.lock(KEY),
            layout.evidence(KEY), snapshot.folder, layout.snapshot_lock(TOKENS),
        ):  # fmt: skip
            to = folder / path.relative_to(layout.root)
            to.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, to)
            else:
                shutil.copyfile(path, to)


if __name__ == "__main__":
    make(FOLDER / (sys.argv[1] if sys.argv[1:] else metadata.version("corpus-assets")))

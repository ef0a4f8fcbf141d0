"""The two labelled collections of the shared folder as pages to train and judge by."""

import io
import json
import tarfile
from pathlib import Path
from urllib.parse import urlsplit

import zstandard

from corpus_assets.plans.labelled_pages import LabelledPage
from corpus_assets.stages import main_text
from tests.bench.bench_raw import pages
from tests.bench.documents import Corpus


def articles(data: Path) -> list[LabelledPage]:
    """web-html-aeb: 181 pages of 120 sites; a group is a site, by the last two labels of its host."""
    truth = json.loads((data / "web-html-aeb" / "ground-truth.json").read_text("utf-8"))
    found = pages(Corpus(data, data))
    return [
        LabelledPage(name, _site(truth[name]["url"]), found[name], truth[name]["articleBody"]) for name in sorted(found)
    ]


def _site(url: str) -> str:
    return ".".join((urlsplit(url).hostname or "").split(".")[-2:])


def readable(data: Path) -> list[LabelledPage]:
    """web-html-readability: 130 pages, the wanted text being all text of their expected.html."""
    with open(data / "web-html-readability" / "test-pages.tar.zst", "rb") as file:
        packed = zstandard.ZstdDecompressor().stream_reader(file).read()
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        files = {member.name: _content(tar, member) for member in tar if member.isfile()}
    found = []
    for path in sorted(files):
        folder, _, name = path.rpartition("/")
        if name == "source.html" and f"{folder}/expected.html" in files:
            wanted = main_text.main_text(files[f"{folder}/expected.html"], False) or ""
            found.append(LabelledPage(folder, folder, files[path], wanted))
    return found


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    return file.read() if file else b""

"""How right an extractor is on labelled pages, and how fast: the measure of the article extraction benchmark.

Precision and recall of 4-word shingles, counted, averaged over pages; F1 of the two averages. Each page is judged by a
model that saw no page of its group.
"""

import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from corpus_assets.plans.block_training import LEAVES, train_on
from corpus_assets.plans.labelled_pages import LabelledPage, example, overlap
from corpus_assets.stages import block_text, decode_charset, extract_text, main_text
from corpus_assets.stages.extract_text import Extracted, Page
from formats import canonical
from formats.block_model import BlockModel
from formats.errors import ConfigError

FOLDS = 5


@dataclass(frozen=True)
class Score:
    """One extractor on all pages: means over pages, and millions of bytes of HTML a CPU second."""

    name: str
    f1: float
    precision: float
    recall: float
    megabytes_per_second: float

    def as_json(self) -> dict[str, float | str]:
        return dict(vars(self))


def folds(pages: Sequence[LabelledPage]) -> list[int]:
    """The fold of each page: groups in the order of a hash, dealt out in turn, so that none is split. Raises
    ConfigError for fewer groups than folds.
    """
    groups = sorted({page.group for page in pages}, key=canonical.digest)
    if len(groups) < FOLDS:
        raise ConfigError(
            f"{len(groups)} groups (folders) of pages, at least {FOLDS} are needed to judge by; see --help"
        )
    number = {group: i % FOLDS for i, group in enumerate(groups)}
    return [number[page.group] for page in pages]


def out_of_fold(
    pages: Sequence[LabelledPage], also: Sequence[LabelledPage] = (), leaves: int = LEAVES
) -> dict[str, BlockModel]:
    """Page -> the model of all pages of other folds, and of `also`."""
    of_fold, examples = folds(pages), [example(page) for page in pages]
    more = [example(page) for page in also]
    models = [
        train_on([one for one, of in zip(examples, of_fold, strict=True) if of != fold] + more, leaves)
        for fold in range(FOLDS)
    ]
    return {page.name: models[fold] for page, fold in zip(pages, of_fold, strict=True)}


def score(name: str, pages: Sequence[LabelledPage], extract: Callable[[LabelledPage], str]) -> Score:
    """The extractor's score. Its first page is run once before the clock starts."""
    extract(pages[0])
    start = time.process_time()
    found = [extract(page) for page in pages]
    seconds = time.process_time() - start
    sides = [overlap(page.text, text) for page, text in zip(pages, found, strict=True)]
    precision, recall = (sum(side[i] for side in sides) / len(sides) for i in (0, 1))
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return Score(name, f1, precision, recall, sum(len(page.html) for page in pages) / 1e6 / max(seconds, 1e-9))


def by_blocks(page: LabelledPage, model: BlockModel) -> str:
    """What the model alone keeps."""
    judged = block_text.judge(decode_charset.to_utf8(page.html, is_html=True), model)
    return judged.text(model.cut) if judged else ""


def routed(page: LabelledPage, model: BlockModel) -> str:
    """As the pipeline does it, but in this process."""
    return _parsed(block_text.prepare(page.html, None, model))


def by_resiliparse(page: LabelledPage) -> str:
    return _parsed(extract_text.prepare(page.html))


def _parsed(prepared: Page | Extracted) -> str:
    if isinstance(prepared, Page):
        return extract_text.finish(main_text.main_text(*prepared)).text
    return prepared.text


def peers() -> Iterator[tuple[str, Callable[[LabelledPage], str]]]:
    """What this package has as its other setting, and those of others that are installed; none of them is needed."""
    yield "resiliparse", by_resiliparse
    if by_trafilatura := _installed("trafilatura", "extract"):
        yield "trafilatura", lambda page: by_trafilatura(page.html, include_comments=False) or ""
        yield "trafilatura, fast", lambda page: by_trafilatura(page.html, include_comments=False, fast=True) or ""
    if document := _installed("readability", "Document"):

        def by_readability(page: LabelledPage) -> str:
            summary = document(decode_charset.decode(page.html, is_html=True)).summary()
            return main_text.main_text(summary.encode("utf-8"), False) or ""

        yield "readability-lxml", by_readability


def _installed(module: str, name: str) -> Any:
    """What a module has by this name; None where it is not installed."""
    return vars(importlib.import_module(module))[name] if importlib.util.find_spec(module) else None


def evaluate(
    pages: Sequence[LabelledPage],
    also: Sequence[LabelledPage] = (),
    *,
    leaves: int = LEAVES,
    model: BlockModel | None = None,
) -> Iterator[Score]:
    """Scores of ours, out of fold or of a given model, and of the peers. Raises what `folds` and training raise."""
    models = dict.fromkeys((page.name for page in pages), model) if model else out_of_fold(pages, also, leaves)
    yield score("blocks", pages, lambda page: by_blocks(page, models[page.name]))
    yield score("blocks, second opinion where unsure", pages, lambda page: routed(page, models[page.name]))
    for name, extract in peers():
        yield score(name, pages, extract)

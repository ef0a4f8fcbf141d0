"""How right an extractor is on labelled pages, and how fast: the measure of the article extraction benchmark.

Precision and recall of 4-word shingles, counted, averaged over pages; F1 of the two averages. Each page is judged by a
model that saw no page of its group. Beside it: how far F1 may be off, since some hundred pages are few, and whether the
error that the model expects of a page is the one that it makes.
"""

import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpus_assets.plans.block_training import LEAVES, train_on
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.labelled_pages import LabelledPage, example, overlap
from corpus_assets.stages import block_text, decode_charset, extract_text, main_text, quality_text
from corpus_assets.stages.extract_text import Extracted, Page
from formats import canonical
from formats.block_model import BlockModel
from formats.errors import ConfigError

QUALITY = "blocks, trafilatura where unsure"
FOLDS = 5
DRAWS = 1_000
"""Times that groups are drawn anew, with replacement, for the interval of F1."""
BANDS = (0, 20, 50, 100, 200, 500)
"""Thousandths of expected error from which on pages are told apart; the last has no end."""


@dataclass(frozen=True)
class Score:
    """One extractor on all pages: means over pages, and millions of bytes of HTML a CPU second. F1 lies between
    `f1_low` and `f1_high` in 95 of 100 draws of as many groups.
    """

    name: str
    f1: float
    f1_low: float
    f1_high: float
    precision: float
    recall: float
    megabytes_per_second: float

    def as_json(self) -> dict[str, float | str]:
        return dict(vars(self))


@dataclass(frozen=True)
class Band:
    """Pages whose expected error is at least so many thousandths: how many, what was expected (mean, as a share), and
    what is wrong of them (1 less the page's own F1, mean).
    """

    from_permille: int
    pages: int
    expected: float
    measured: float

    def as_json(self) -> dict[str, float]:
        return dict(vars(self))


def folds(pages: Sequence[LabelledPage]) -> list[int]:
    """The fold of each page: groups in the order of a hash, dealt out in turn, so that none is split. Raises
    ConfigError for fewer groups than folds.
    """
    groups = sorted({page.group for page in pages}, key=canonical.digest)
    if len(groups) < FOLDS:
        raise ConfigError(
            f"{plural(len(groups), 'group')} (folders) of pages, at least {FOLDS} are needed to judge by; see --help"
        )
    number = {group: i % FOLDS for i, group in enumerate(groups)}
    return [number[page.group] for page in pages]


def out_of_fold(
    pages: Sequence[LabelledPage], also: Sequence[LabelledPage] = (), leaves: int = LEAVES
) -> dict[str, BlockModel]:
    """Page -> the model of all pages of other folds, and of `also`, which is another collection."""
    of_fold, examples = folds(pages), [example(page) for page in pages]
    more = [example(page) for page in also]
    models = [
        train_on([one for one, of in zip(examples, of_fold, strict=True) if of != fold], leaves, more)
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
    low, high = interval(sides, [page.group for page in pages])
    rate = sum(len(page.html) for page in pages) / 1e6 / max(seconds, 1e-9)
    return Score(name, f1_of(precision, recall), low, high, precision, recall, rate)


def f1_of(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def interval(sides: Sequence[tuple[float, float]], groups: Sequence[str]) -> tuple[float, float]:
    """The 2.5th and 97.5th percentile of F1 over draws of groups, each with all its pages: those of one site are right
    or wrong together.
    """
    of_group = {group: i for i, group in enumerate(sorted(set(groups)))}
    sums = np.zeros((len(of_group), 3))
    for side, group in zip(sides, groups, strict=True):
        sums[of_group[group]] += (*side, 1)
    draw = np.random.default_rng(1)
    drawn = draw.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=DRAWS) @ sums
    found = [f1_of(precision / pages, recall / pages) for precision, recall, pages in drawn.tolist()]
    low, high = np.percentile(found, (2.5, 97.5)).tolist()
    return low, high


def by_blocks(page: LabelledPage, model: BlockModel) -> str:
    """What the model alone keeps."""
    judged = block_text.judge(decode_charset.to_utf8(page.html, is_html=True), model)
    return judged.text(model.cut) if judged else ""


def routed(page: LabelledPage, model: BlockModel) -> str:
    """As the pipeline does it, but in this process."""
    return _parsed(block_text.prepare(page.html, None, model))


def quality_mode() -> Callable[[LabelledPage, BlockModel], str] | None:
    """The same with trafilatura as second opinion; None where that is not installed."""
    if importlib.util.find_spec("trafilatura") is None:
        return None
    return lambda page, model: quality_text.text_here(page.html, None, model).text


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


def bands(pages: Sequence[LabelledPage], models: Mapping[str, BlockModel]) -> list[Band]:
    """Expected beside measured error of what the models alone keep; bands without pages are left out. A page with too
    many blocks has no expectation and is in none.
    """
    errors: list[tuple[int, float]] = []
    for page in pages:
        model = models[page.name]
        if judged := block_text.judge(decode_charset.to_utf8(page.html, is_html=True), model):
            errors.append((judged.error, 1 - f1_of(*overlap(page.text, judged.text(model.cut)))))
    found = []
    for least, end in zip(BANDS, (*BANDS[1:], None), strict=True):
        of_band = [one for one in errors if one[0] >= least and (end is None or one[0] < end)]
        if of_band:
            expected = sum(min(1000, one[0]) for one in of_band) / 1000
            measured = sum(one[1] for one in of_band)
            found.append(Band(least, len(of_band), expected / len(of_band), measured / len(of_band)))
    return found


def evaluate(pages: Sequence[LabelledPage], models: Mapping[str, BlockModel]) -> Iterator[Score]:
    """Scores of ours, each page by its model of `out_of_fold` or of any other mapping, and of the peers."""
    yield score("blocks", pages, lambda page: by_blocks(page, models[page.name]))
    yield score("blocks, second opinion where unsure", pages, lambda page: routed(page, models[page.name]))
    if by_quality := quality_mode():
        yield score(QUALITY, pages, lambda page: by_quality(page, models[page.name]))
    for name, extract in peers():
        yield score(name, pages, extract)

"""Main text of pages by blocks and trees of our own, beside Resiliparse and, where installed, trafilatura and
readability-lxml: how right on pages whose sites the model did not see, and how fast, in one run.

The pages are those of FOLDER's web-html-aeb; without it, made ones. How fast is measured with the model that is shipped
and with one of as many trees as training makes, which is what a user's own has.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from corpus_assets.plans import block_evaluation
from corpus_assets.plans.block_evaluation import by_blocks, by_resiliparse, out_of_fold, peers, routed, score
from corpus_assets.plans.block_training import BAGS
from corpus_assets.plans.extractors import shipped_model
from corpus_assets.plans.labelled_pages import LabelledPage
from formats.block_model import BlockModel
from tests.bench.bench_raw import pages
from tests.bench.documents import Corpus
from tests.bench.labelled_collections import articles, readable
from tests.bench.measure import Case, Prepared, Quality

BENCH = "bench_extract"
LEAVES, TREES = 15, 120 * BAGS
F1, SPEED = 0.970, 120


def _pages(corpus: Corpus) -> list[LabelledPage]:
    return [LabelledPage(name, name, page, "") for name, page in pages(corpus).items()]


def _prepared(corpus: Corpus, one: Callable[[LabelledPage], str]) -> Prepared:
    found = _pages(corpus)
    one(found[0])
    return Prepared(lambda: [one(page) for page in found], sum(len(page.html) for page in found) / 1e6)


def full_size_model() -> BlockModel:
    """As many trees as training makes, of 15 leaves: each a balanced one, on features and thresholds of a fixed draw,
    so that a block takes the steps that it takes of a trained model.
    """
    draw = np.random.default_rng(1)
    model, rows, roots = shipped_model(), [], []
    for _ in range(TREES):
        first = len(rows)
        roots.append(first)
        for place in range(2 * LEAVES - 1):
            inner = place < LEAVES - 1
            below = (first + 2 * place + 1, first + 2 * place + 2)
            feature = int(draw.integers(len(model.feature_names)))
            rows.append(
                (feature, int(draw.integers(1_000)), *below) if inner else (-1, int(draw.integers(-9, 9)), 0, 0)
            )
    return replace(model, nodes=np.array(rows, np.int32), roots=np.array(roots, np.int32))


def blocks_of_a_full_size_model(corpus: Corpus) -> Prepared:
    model = full_size_model()
    return _prepared(corpus, lambda page: by_blocks(page, model))


def blocks_of_the_shipped_model(corpus: Corpus) -> Prepared:
    model = shipped_model()
    return _prepared(corpus, lambda page: by_blocks(page, model))


def shipped_with_second_opinion(corpus: Corpus) -> Prepared:
    model = shipped_model()
    return _prepared(corpus, lambda page: routed(page, model))


def resiliparse(corpus: Corpus) -> Prepared:
    return _prepared(corpus, by_resiliparse)


_OURS = f"blocks, {TREES} trees of 15 leaves"
CASES = {
    _OURS: Case(blocks_of_a_full_size_model, SPEED, unit="MB HTML"),
    "Resiliparse's main text": Case(resiliparse, peer_of=_OURS, unit="MB HTML"),
    "blocks, the shipped model": Case(blocks_of_the_shipped_model, unit="MB HTML"),
    "the same, second opinion where unsure": Case(shipped_with_second_opinion, unit="MB HTML"),
}


def quality(corpus: Corpus) -> Iterator[Quality]:
    """Out of fold by site, trained on four fifths of web-html-aeb and all of web-html-readability; then the rest."""
    if corpus.folder is None:
        return
    judged = articles(corpus.folder)
    models = out_of_fold(judged, readable(corpus.folder))
    shipped = shipped_model()
    ours: dict[str, Callable[[LabelledPage], str]] = {
        "blocks, out of fold": lambda page: by_blocks(page, models[page.name]),
        "the same, second opinion where unsure": lambda page: routed(page, models[page.name]),
        "blocks, the shipped model": lambda page: by_blocks(page, shipped),
        "the shipped model, second opinion": lambda page: routed(page, shipped),
    }
    for name, extract in (*ours.items(), *peers()):
        yield _row(score(name, judged, extract), F1 if "out of fold" in name else None)


def _row(one: block_evaluation.Score, figure: float | None) -> Quality:
    note = (
        f"{one.f1_low:.3f} to {one.f1_high:.3f} in 95 % of draws; precision {one.precision:.3f}, recall "
        f"{one.recall:.3f}; {one.megabytes_per_second:.0f} MB HTML a CPU second"
    )
    return Quality(BENCH, f"main text by {one.name}, F1", round(one.f1, 4), figure, note=note)

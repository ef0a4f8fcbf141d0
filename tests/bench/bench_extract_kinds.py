"""Main text of pages other than English articles, by kind: ours beside Resiliparse and, where installed, trafilatura
and readability-lxml, in one run. Ours must not be below trafilatura on any.

Made pages are judged by the package's own way of training without the template that they were made by
(`tests/golden/written_kinds.py`); real ones, of FOLDER's two labelled collections, by the model that is shipped, which
saw none of either.
"""

from collections.abc import Callable, Iterator, Mapping

from corpus_assets.plans.block_evaluation import QUALITY, by_blocks, peers, quality_mode, routed, score
from corpus_assets.plans.block_training import train_on
from corpus_assets.plans.extractors import shipped_model
from corpus_assets.plans.labelled_pages import LabelledPage, example, words_of
from formats.block_model import BlockModel
from tests.bench.documents import Corpus
from tests.bench.labelled_collections import articles, readable
from tests.bench.measure import Case, Quality
from tests.golden.make_block_model import LEAVES, training_pages
from tests.golden.written_kinds import TEMPLATES, kind_page

BENCH = "bench_extract_kinds"
CASES: dict[str, Case] = {}
FIRST, PAGES_OF_A_TEMPLATE = 1_000, 20
SHORT = 150
"""Fewer words are wanted of a page that is short."""
_FUNCTION_WORDS = "the of and to in a is that for it on was with as are by be this have from at not"
_ENGLISH = frozenset(_FUNCTION_WORDS.split())
_MADE_UP_LATIN = frozenset(("lorem", "ipsum", "dolor"))


def held_out_models() -> dict[str, BlockModel]:
    """Template -> the model that is trained as the shipped one is, without it."""
    pages = training_pages()
    examples = {page.name: example(page) for page in pages}
    return {
        one.__name__: train_on([examples[page.name] for page in pages if page.group != one.__name__], LEAVES)
        for of_kind in TEMPLATES.values()
        for one in of_kind
    }


def made_pages() -> dict[str, list[LabelledPage]]:
    """Kind -> its pages; none of them was in training."""
    return {
        kind: [kind_page(FIRST + number, one) for one in of_kind for number in range(PAGES_OF_A_TEMPLATE)]
        for kind, of_kind in TEMPLATES.items()
    }


def real_pages(corpus: Corpus) -> dict[str, list[LabelledPage]]:
    if corpus.folder is None:
        return {}
    pages = articles(corpus.folder) + readable(corpus.folder)
    words = {page.name: words_of(page.text.lower()) for page in pages}
    natural = [page for page in pages if not _MADE_UP_LATIN & set(words[page.name])]
    return {
        "real, other languages": [page for page in natural if words[page.name] and not _is_english(words[page.name])],
        "real, short": [page for page in natural if 0 < len(words[page.name]) < SHORT],
    }


def _is_english(words: list[str]) -> bool:
    return sum(word in _ENGLISH for word in words) > 0.1 * len(words)


def quality(corpus: Corpus) -> Iterator[Quality]:
    held_out, shipped = held_out_models(), shipped_model()
    for kind, pages in made_pages().items():
        yield from _rows(kind, pages, held_out)
    for kind, pages in real_pages(corpus).items():
        yield from _rows(kind, pages, dict.fromkeys((page.group for page in pages), shipped))


def _rows(kind: str, pages: list[LabelledPage], models: Mapping[str, BlockModel]) -> Iterator[Quality]:
    ours: dict[str, Callable[[LabelledPage], str]] = {
        "blocks": lambda page: by_blocks(page, models[page.group]),
        "blocks, second opinion where unsure": lambda page: routed(page, models[page.group]),
    }
    if by_quality := quality_mode():
        ours[QUALITY] = lambda page: by_quality(page, models[page.group])
    scores = [score(name, pages, extract) for name, extract in (*ours.items(), *peers())]
    figure = next((round(one.f1, 4) for one in scores if one.name == "trafilatura"), None)
    for one in scores:
        note = f"{len(pages)} pages; precision {one.precision:.3f}, recall {one.recall:.3f}"
        must = figure if "second opinion" in one.name or one.name == QUALITY else None
        yield Quality(BENCH, f"{kind}, main text by {one.name}, F1", round(one.f1, 4), must, note=note)

"""Tables of main text, languages and models, ours beside others, for the report."""

import hashlib
import random
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import fasttext
import pyarrow as pa
import pycld2

from corpus_assets.kernels.quality_words import quality_scores
from corpus_assets.plans import kneser_ney, train_quality
from corpus_assets.plans.block_evaluation import Score, bands, by_blocks, out_of_fold, peers, routed, score
from corpus_assets.plans.block_training import train_on
from corpus_assets.plans.extractors import shipped_model
from corpus_assets.plans.labelled_pages import LabelledPage, example
from corpus_assets.plans.pictures import bars_in_order
from corpus_assets.plans.train_perplexity import sentences_of
from corpus_assets.stages import score_perplexity
from corpus_assets.stages.identify_language import identify, lid_176_file
from corpus_assets.stages.language_codes import iso_639_1
from formats.errors import ConfigError
from formats.quality_model import SCALE
from tests.bench.bench_text import SAME_LANGUAGE, labelled_texts
from tests.bench.documents import Corpus, first_bytes, json_rows, megabytes
from tests.bench.labelled_collections import articles, readable
from tests.bench.report_tables import Table
from tests.golden.written_pages import KINDS, written_page

Texts = list[str]
PORTED = "readability-lxml"
PORT = (
    "; the wanted text of these pages is what Mozilla's Readability itself puts out, and readability-lxml follows the "
    "same rules: it is measured on its own answers"
)
UNSEEN, PAGES_OF_A_KIND = 100_000, 30
"""The first number of written pages that no model was trained on."""
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def extraction(data: Path) -> Iterator[Table]:
    """Both labelled collections, each judged by models that saw none of the site and all of the other collection."""
    news, kept = articles(data), readable(data)
    for name, judged, others in (
        ("news articles (web-html-aeb)", news, kept),
        ("pages of many kinds (web-html-readability)", kept, news),
    ):
        models = out_of_fold(judged, others)
        ours: dict[str, Callable[[LabelledPage], str]] = {
            "ours: blocks, out of fold": lambda page, m=models: by_blocks(page, m[page.name]),
            "ours: the same, second opinion": lambda page, m=models: routed(page, m[page.name]),
        }
        scores = [score(tool, judged, extract) for tool, extract in (*ours.items(), *peers())]
        best = max(one.f1 for one in scores[:2])
        missing = {"trafilatura", "readability-lxml"} - {one.name for one in scores}
        told = f" Not installed here: {', '.join(sorted(missing))}." if missing else ""
        yield Table(
            f"Main text of {name}",
            f"{len(judged)} pages; multisets of runs of four words, means over pages (the published measure of "
            f"article-extraction-benchmark).{told}",
            ("tool", "F1", "in 95 % of draws", "precision", "recall", "MB HTML a CPU s"),
            [
                [
                    one.name,
                    one.f1,
                    f"{one.f1_low:.3f} to {one.f1_high:.3f}",
                    one.precision,
                    one.recall,
                    one.megabytes_per_second,
                ]
                for one in scores
            ],
            [
                f"{one.name} has F1 {one.f1:.3f}, ours {best:.3f}{PORT if (one.name, judged) == (PORTED, kept) else ''}"
                for one in scores[2:]
                if one.f1 > best
            ],
            (_bars("F1 in thousandths", scores),),
        )
        yield Table(
            f"Expected error of {name}",
            "What the model alone expects to get wrong of a page, which decides on the second opinion, beside what is "
            "wrong of it (1 less the page's F1); means over the pages of a band.",
            ("expected error from", "pages", "expected", "measured"),
            [[band.from_permille / 1000, band.pages, band.expected, band.measured] for band in bands(judged, models)],
        )


def kinds_of_pages(data: Path) -> Table:
    """F1 by kind of page, on pages that were written for this project: a model of the labelled collections, which saw
    no page of these rules, and the shipped one, which was trained on others by the same rules.
    """
    of_real = train_on([example(page) for page in (*articles(data), *readable(data))])
    shipped = shipped_model()
    tools: dict[str, Callable[[LabelledPage], str]] = {
        "ours: blocks, of the labelled pages": lambda page: by_blocks(page, of_real),
        "ours: the same, second opinion": lambda page: routed(page, of_real),
        "ours: blocks, the shipped model": lambda page: by_blocks(page, shipped),
        "ours: the shipped model, second opinion": lambda page: routed(page, shipped),
        **dict(peers()),
    }
    kinds = {
        kind.__name__.replace("_", " "): [written_page(UNSEEN + n, kind) for n in range(PAGES_OF_A_KIND)]
        for kind, _ in KINDS
    }
    found = {tool: [score(tool, pages, extract).f1 for pages in kinds.values()] for tool, extract in tools.items()}
    behind = [
        f"{tool} has {f1:.3f} on pages of kind {kind}, ours {best:.3f}"
        for tool, values in found.items()
        for kind, f1, best in zip(kinds, values, map(max, zip(*list(found.values())[:4], strict=True)), strict=True)
        if not tool.startswith("ours") and f1 > best
    ]
    return Table(
        "Main text of other kinds of pages",
        f"{PAGES_OF_A_KIND} made-up pages of each kind, a third of them in Cyrillic, some in ideographs; F1 as above. "
        "The shipped model was trained on other pages by the same rules, which is kind to it.",
        ("tool", *kinds),
        [[tool, *values] for tool, values in found.items()],
        behind,
    )


def _bars(title: str, scores: Sequence[Score]):
    return bars_in_order(title, [(one.name, round(1000 * one.f1)) for one in scores])


def languages(data: Path) -> Table:
    """Accuracy, macro over languages, of three kinds of texts; `und` of strings of two words."""
    model = fasttext.load_model(str(lid_176_file())).f

    def ours(texts: Texts) -> Texts:
        return list(identify(pa.array(texts, pa.large_string()))[0].to_pylist())

    def cld2(texts: Texts) -> Texts:
        return [iso_639_1(pycld2.detect(_CONTROLS.sub("", text))[2][0][1]) for text in texts]

    def lid_176(texts: Texts) -> Texts:
        return [_label(model.predict(text.replace("\n", " ") + "\n", 1, 0.0, "strict")) for text in texts]

    labelled = {name: labelled_texts(data, name) for name in ("sentences", "word pairs", "documents")}
    rows: list[list[object]] = []
    for tool, find in (("ours", ours), ("CLD2 alone", cld2), ("lid.176 on whole texts", lid_176)):
        row: list[object] = [tool]
        size, seconds = 0.0, 0.0
        for name, pairs in labelled.items():
            texts = [text for _, text in pairs]
            find(texts[:1])
            start = time.process_time()
            found = find(texts)
            seconds, size = seconds + time.process_time() - start, size + megabytes(texts)
            row += [macro(pairs, found)] if name != "word pairs" else [found.count("und") / len(found)]
        rows.append([*row, size / max(seconds, 1e-6)])
    behind = [
        f"{row[0]} has {float(str(row[i])):.3f} on {name}, ours {float(str(rows[0][i])):.3f}"
        for row in rows[1:]
        for i, name in ((1, "sentences"), (3, "documents"))
        if float(str(row[i])) > float(str(rows[0][i]))
    ]
    return Table(
        "Languages",
        "Sentences of 75 languages (100 each) and pages of documentation: accuracy, macro over languages; strings of "
        "two words: the share called und, which most of them should be.",
        ("tool", "sentences", "two words und", "documents", "MB a CPU s"),
        rows,
        behind,
    )


def _label(found: list[tuple[float, str]]) -> str:
    return iso_639_1(found[0][1].removeprefix("__label__")) if found else "und"


def macro(labelled: Sequence[tuple[str, str]], found: Texts) -> float:
    total = Counter(SAME_LANGUAGE.get(language, language) for language, _ in labelled)
    right: Counter[str] = Counter()
    for (language, _), answer in zip(labelled, found, strict=True):
        code = SAME_LANGUAGE.get(language, language)
        right[code] += SAME_LANGUAGE.get(answer, answer) == code
    return sum(right[code] / total[code] for code in total) / len(total)


def _of(data: Path, folder: str, num_bytes: int) -> Texts:
    """The first texts of a folder, cut to pieces of 1,500 characters so that classes differ in no length."""
    pieces = (
        row["text"][at : at + 1_500]
        for path in sorted((data / folder).glob("*.jsonl.zst"))
        for row in json_rows(path)
        for at in range(0, min(len(row.get("text") or ""), 6_000), 1_500)
    )
    return first_bytes((piece for piece in pieces if len(piece) >= 400), num_bytes)


def quality_models(data: Path) -> Table:
    """A classifier of prose against code, judged on texts held out, beside scikit-learn's hashing pipeline."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline

    good, bad = _of(data, "stories", 2_000_000), _of(data, "docs-fastapi", 2_000_000)
    train, held = (
        [[text for i, text in enumerate(side) if (i % 4 == 0) == is_held] for side in (good, bad)]
        for is_held in (False, True)
    )
    column = [pa.array(side, pa.large_string()) for side in (*train, *held)]
    model = train_quality.fit(column[0], column[1], *train_quality.libraries(), 1)
    peer = make_pipeline(HashingVectorizer(ngram_range=(1, 2), n_features=1 << 18), SGDClassifier(loss="log_loss"))
    peer.set_params(sgdclassifier__random_state=1)
    peer.fit([*train[0], *train[1]], [1] * len(train[0]) + [0] * len(train[1]))

    def ours(texts: Texts) -> list[bool]:
        return [
            bool(one >= 500)
            for one in quality_scores(pa.array(texts, pa.large_string()), model.weights, model.bias, SCALE)
        ]

    rows: list[list[object]] = []
    for name, tell in (("ours", ours), ("scikit-learn, hashing and SGD", lambda t: list(peer.predict(t) == 1))):
        tell(held[0][:1])
        start = time.process_time()
        right = [sum(tell(held[0])), len(held[1]) - sum(tell(held[1]))]
        seconds = time.process_time() - start
        shares = [n / len(side) for n, side in zip(right, held, strict=True)]
        rows.append([name, *shares, sum(shares) / 2, megabytes([*held[0], *held[1]]) / max(seconds, 1e-6)])
    return Table(
        "Quality models",
        f"Stories held to be good against pages of documentation, {len(train[0]) + len(train[1]):,} texts to train and "
        f"{sum(map(len, held)):,} held out, each of 400 to 1,500 characters. What is told apart here is a genre, which "
        "is easy: the table says that fixed point loses nothing, and what it costs.",
        ("model", "good found", "bad found", "balanced accuracy", "MB a CPU s"),
        rows,
    )


def perplexity(data: Path) -> Table:
    """Median perplexity by a model of stories: of stories held out, of their words in disorder, and of other texts."""
    stories = _of(data, "stories", 2_000_000)
    held, train = stories[::5], [text for i, text in enumerate(stories) if i % 5]
    draw = random.Random(2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stories.arpa"
        arpa = kneser_ney.to_arpa(kneser_ney.train(sentences_of(pa.array(train, pa.large_string()))))
        path.write_bytes(arpa)
        model = score_perplexity.stored_model(str(path), hashlib.sha256(arpa).hexdigest())
        kinds = {
            "stories, held out": held,
            "the same words in disorder": [" ".join(draw.sample(text.split(), len(text.split()))) for text in held],
            "encyclopedic": _of(data, "encyclopedic", 300_000),
            "documentation": _of(data, "docs-fastapi", 300_000),
            "code": _of(data, "code", 300_000),
        }
        rows: list[list[object]] = []
        for kind, texts in kinds.items():
            start = time.process_time()
            found = score_perplexity.perplexities(pa.array(texts, pa.large_string()), model).drop_null().to_pylist()
            speed = megabytes(texts) / max(time.process_time() - start, 1e-6)
            rows.append([kind, len(texts), statistics.median(found) / score_perplexity.SCALE, speed])
    return Table(
        "Perplexity",
        f"A model of order 3 by our trainer ({len(arpa) / 1e6:.1f} MB of ARPA), scored by KenLM; medians.",
        ("texts", "number", "perplexity", "MB a CPU s"),
        rows,
    )


def tables(corpus: Corpus) -> Iterator[Table]:
    if corpus.folder is None:
        return
    yield from extraction(corpus.folder)
    yield kinds_of_pages(corpus.folder)
    yield languages(corpus.folder)
    for make in (quality_models, perplexity):
        try:
            yield make(corpus.folder)
        except (ConfigError, ImportError) as error:
            title = make.__name__.replace("_", " ").capitalize()
            yield Table(title, f"Not measured here: {error}", ("reason",), [[str(error)]])

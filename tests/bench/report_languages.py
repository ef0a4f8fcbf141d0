"""Tables of each language for the report: how often it is told, how far its score can be trusted, what the rules of
Gopher leave of its documents.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import fasttext
import pyarrow as pa
import pycld2

from corpus_assets.plans.pictures import bars_in_order
from corpus_assets.stages.filter_documents import filter_documents
from corpus_assets.stages.identify_language import identify, lid_176_file
from corpus_assets.stages.language_codes import iso_639_1
from corpus_assets.stages.measure_documents import measure_documents
from corpus_assets.stages.mixed_languages import is_mixed
from corpus_assets.stages.normalize_documents import normalize_documents
from formats import corpus_config
from tests.bench import report_tables
from tests.bench.bench_signals import NO_DUPLICATES, raw_batches
from tests.bench.bench_text import SAME_LANGUAGE, calibration, labelled_texts
from tests.bench.documents import Corpus, json_rows
from tests.bench.report_tables import CONTROLS, Table

Tell = Callable[[list[str]], list[str]]
PAGES_A_LANGUAGE, MIN_PAGES, SENTENCES = 20, 5, 24
FILTERS = ("gopher", "repetition")
HALVES = (0.5, 0.5)
MIXTURES = {
    "two languages, half each": HALVES, "two languages, 70 and 30 %": (0.7, 0.3),
    "two languages, 80 and 20 %": (0.8, 0.2), "three languages, a third each": (1 / 3, 1 / 3, 1 / 3),
}  # fmt: skip
NUM_MIXTURES, MIXTURE_CHARS = 400, (600, 1_500, 4_000, 12_000)


def ours(texts: list[str]) -> list[str]:
    return list(identify(pa.array(texts, pa.large_string()))[0].to_pylist())


def cld2(texts: list[str]) -> list[str]:
    return [iso_639_1(pycld2.detect(CONTROLS.sub("", text))[2][0][1]) for text in texts]


def lid_176() -> Tell:
    model = fasttext.load_model(str(lid_176_file())).f

    def tell(texts: list[str]) -> list[str]:
        found = [model.predict(text.replace("\n", " ") + "\n", 1, 0.0, "strict") for text in texts]
        return [iso_639_1(one[0][1].removeprefix("__label__")) if one else "und" for one in found]

    return tell


def of_each_language(data: Path) -> Table:
    labelled = labelled_texts(data, "sentences")
    codes = [SAME_LANGUAGE.get(language, language) for language, _ in labelled]
    texts = [text for _, text in labelled]
    tools: dict[str, Tell] = {"ours": ours, "CLD2 alone": cld2, "lid.176 on whole texts": lid_176()}
    total = Counter(codes)
    shares: dict[str, dict[str, float]] = {}
    confused: dict[str, Counter[str]] = {code: Counter() for code in total}
    for tool, tell in tools.items():
        right: Counter[str] = Counter()
        for code, answer in zip(codes, tell(texts), strict=True):
            same = SAME_LANGUAGE.get(answer, answer)
            right[code] += same == code
            if tool == "ours" and same != code:
                confused[code][same] += 1
        shares[tool] = {code: right[code] / n for code, n in total.items()}
    order = sorted(total, key=lambda code: (shares["ours"][code], code))
    rows: list[list[object]] = [
        [code, *(shares[tool][code] for tool in tools), ", ".join(f"{c} {n}" for c, n in confused[code].most_common(3))]
        for code in order
    ]
    worse = [code for code in order if max(shares[tool][code] for tool in tools) > shares["ours"][code] + 0.02]
    told = "; ".join(f"{code} {shares['ours'][code]:.2f} ({_best(code, shares)})" for code in worse)
    return Table(
        "Accuracy of each language",
        "At most 100 sentences a language, the lowest first; the last column is what ours says instead, and how often.",
        ("language", *tools, "ours says"),
        rows,
        [f"another tool tells these by more than two sentences in a hundred better: {told}"] if worse else (),
        (bars_in_order("Sentences told right in thousandths, the lowest twenty", [
            (code, round(1000 * shares["ours"][code])) for code in order[:20]
        ]),),
    )  # fmt: skip


def _best(code: str, shares: dict[str, dict[str, float]]) -> str:
    tool = max(shares, key=lambda name: shares[name][code])
    return f"{tool} {shares[tool][code]:.2f}"


def of_scores(data: Path) -> Table:
    rows: list[list[object]] = []
    errors = []
    for name in ("sentences", "word pairs", "documents"):
        error, bins = calibration(labelled_texts(data, name))
        errors.append(f"{error:.4f} on {name}")
        rows += [[name, said, right, n] for said, right, n in bins]
    return Table(
        "How far lang_score can be trusted",
        "Labels by tenth of their score: the mean score, and the share that is right. Expected calibration error: "
        f"{', '.join(errors)}. Of texts without a label (und) no score is told.",
        ("texts", "score", "right", "labels"),
        rows,
    )


def mixtures(texts: Mapping[str, list[str]], shares: Sequence[float], number: int, draw: random.Random) -> list[str]:
    """So many texts that begin with a stretch of one language and go on with those of others, in these shares."""

    def stretch(text: str, size: int) -> str:
        at = draw.randrange(0, max(1, len(text) - size))
        return text[at : at + size]

    made = []
    for _ in range(number):
        size, codes = draw.choice(MIXTURE_CHARS), draw.sample(sorted(texts), len(shares))
        parts = [stretch(draw.choice(texts[c]), int(size * share)) for c, share in zip(codes, shares, strict=True)]
        made.append("\n\n".join(parts))
    return made


def of_mixtures(data: Path) -> Table:
    """What `lang: {mixed: und}` calls a mixture: texts in one language, wrongly; what is made of them, rightly."""
    pages: dict[str, list[str]] = {}
    for language, text in labelled_texts(data, "documents"):
        pages.setdefault(SAME_LANGUAGE.get(language, language), []).append(text)
    kinds = {"documentation": pages, "prose": sentences_together(data)}
    rows: list[list[object]] = []
    for kind, texts in kinds.items():
        labelled = [(code, text) for code, of_code in texts.items() for text in of_code]
        column = pa.array([text for _, text in labelled], pa.large_string())
        told = [SAME_LANGUAGE.get(code, code) for code in identify(column)[0].to_pylist()]
        right = [code == said for (code, _), said in zip(labelled, told, strict=True)]
        found = [one and is_right for one, is_right in zip(is_mixed(column).to_pylist(), right, strict=True)]
        rows.append([f"{kind}, labelled rightly as one language", sum(right), sum(found) / sum(right)])
        for name, shares in MIXTURES.items():
            made = mixtures(texts, shares, NUM_MIXTURES, random.Random(f"{kind} {name}"))
            share = sum(is_mixed(pa.array(made, pa.large_string())).to_pylist()) / len(made)
            rows.append([f"{kind}, {name}", len(made), share])
    return Table(
        "Texts in two languages",
        "What `lang: {mixed: und}` leaves without a label: texts in one language, which should keep theirs, and texts "
        f"of {MIXTURE_CHARS[0]} to {MIXTURE_CHARS[-1]:,} characters put together from these, of any pair of languages, "
        "close ones too. By default all of them have the label of the greatest part.",
        ("texts", "number", "und"),
        rows,
    )


def retention(data: Path) -> Iterator[Table]:
    """What is kept should not depend on the language."""
    pages: dict[str, list[str]] = {}
    for language, text in labelled_texts(data, "documents"):
        pages.setdefault(SAME_LANGUAGE.get(language, language), []).append(text)
    pages = {
        code: random.Random(code).sample(texts, min(PAGES_A_LANGUAGE, len(texts)))
        for code, texts in sorted(pages.items())
        if len(texts) >= MIN_PAGES
    }
    yield _retention(
        "What Gopher's rules keep of prose in each language",
        f"Texts of {SENTENCES} labelled sentences, up to {PAGES_A_LANGUAGE} a language: prose by any standard, of "
        "which a rule that suits the language drops little.",
        sentences_together(data),
    )
    yield _retention(
        "What Gopher's rules keep of documentation in each language",
        f"At most {PAGES_A_LANGUAGE} pages a language, most of them translations of the same English pages; lists, "
        "tables and code are why so much goes.",
        pages,
    )


def sentences_together(data: Path) -> dict[str, list[str]]:
    """Language -> texts of so many of its sentences, in two paragraphs."""
    sentences: dict[str, list[str]] = {}
    for row in json_rows(data / "langid" / "lingua-sentences.jsonl.zst"):
        sentences.setdefault(SAME_LANGUAGE.get(row["lang"], row["lang"]), []).append(row["text"].strip())
    half = SENTENCES // 2
    return {
        code: [
            f"{' '.join(of_code[at : at + half])}\n\n{' '.join(of_code[at + half : at + SENTENCES])}"
            for at in range(0, min(len(of_code) - SENTENCES + 1, PAGES_A_LANGUAGE * SENTENCES), SENTENCES)
        ]
        for code, of_code in sorted(sentences.items())
    }


def _retention(title: str, about: str, chosen: dict[str, list[str]]) -> Table:
    columns = {"ours, one set of limits": kept(chosen, {}), "ours, limits of languages": kept(chosen, _own_limits())}
    if report_tables.can("datatrove_gopher"):
        texts = [text for of_code in chosen.values() for text in of_code]
        answers, _ = report_tables.ask("datatrove_gopher", texts=texts)
        columns["datatrove"] = {}
        for code, of_code in chosen.items():
            columns["datatrove"][code] = sum(answers[: len(of_code)]) / len(of_code)
            answers = answers[len(of_code) :]
    mean = [sum(found.values()) / len(found) for found in columns.values()]
    rows = [[code, len(texts), *(found[code] for found in columns.values())] for code, texts in chosen.items()]
    own = columns["ours, limits of languages"]
    least = sorted(own, key=lambda code: (own[code], code))[:20]
    return Table(
        title,
        f"{about} The share that is kept by the rules of quality and repetition for prose; datatrove's two filters are "
        "at their defaults, which are for English.",
        ("language", "texts", *columns),
        [*rows, ["mean of languages", sum(map(len, chosen.values())), *mean]],
        (),
        (bars_in_order("Kept in thousandths, limits of languages", [(c, round(1000 * own[c])) for c in least]),),
    )


def _own_limits() -> dict[str, dict[str, int | None]]:
    document = {"dataset": "bench", "version": "v1", "sources": ["bench"], "licenses": {"allow": ["CC0-1.0"]}}
    return corpus_config.from_document({**document, "lang": {"own_rules": True}}).language_thresholds("prose")


def kept(chosen: dict[str, list[str]], by_language: dict[str, dict[str, int | None]]) -> dict[str, float]:
    """Language -> the share of its texts that the rules keep."""
    found = {}
    for code, texts in chosen.items():
        verdicts: list[str] = []
        for raw in raw_batches(pa.array(texts, pa.large_string())):
            measured = measure_documents(normalize_documents(raw, source_id="bench", raw_part=0, first_k=0))
            rules = {"profile": "prose", "thresholds": {}, "filters": FILTERS, "lang_allow": ()}
            verdicts += filter_documents(measured, NO_DUPLICATES, **rules, by_language=by_language)[
                "verdict"
            ].to_pylist()
        found[code] = verdicts.count("kept") / len(texts)
    return found


def tables(corpus: Corpus) -> Iterator[Table]:
    if corpus.folder is not None:
        yield of_each_language(corpus.folder)
        yield of_scores(corpus.folder)
        yield of_mixtures(corpus.folder)
        yield from retention(corpus.folder)

"""Language and personal data: how fast, and how right on labelled texts of FOLDER.

Whole texts through lid.176 stand for what a plain pipeline does; Python's `re` with two patterns for what a plain one
does about e-mail and IP addresses, which is less. Scores: personal data on the presidio texts (same kind, overlap of
at least half of the union); languages on labelled sentences, two-word strings and translated documentation.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import fasttext
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.stages.identify_language import SecondVoice, identify, lid_176_file
from corpus_assets.stages.pii_patterns import PiiRules
from corpus_assets.stages.scrub_pii import find, scrub
from formats.stage_tables import PII_KINDS
from tests.bench.documents import Corpus, json_rows, megabytes
from tests.bench.measure import Case, Prepared, Quality

BENCH = "bench_text"
REGIONS = ("US", "GB", "FR", "DE", "IT", "ES", "AU", "IN", "BR")
PRESIDIO_KINDS = {"EMAIL_ADDRESS": "email", "PHONE_NUMBER": "phone", "CREDIT_CARD": "card", "IP_ADDRESS": "ip"}
F1_FIGURES = {"email": 1.0, "ip": 1.0, "card": 0.958, "phone": 0.80}
PHONES_PER_MB_OF_CODE = 11
SAME_LANGUAGE = {"zh-hant": "zh", "zh-tw": "zh", "pt-br": "pt", "no": "nb"}
LANGUAGE_FIGURES = {"sentences": 0.955, "documents": 0.985}
CALIBRATION_FIGURE = 0.01
PLAIN_EMAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
PLAIN_IP = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b")


def _language(corpus: Corpus, voice: SecondVoice) -> Prepared:
    text = corpus.text()
    identify(text[:2])
    return Prepared(lambda: identify(text, second_voice=voice), megabytes(text))


def both_voices(corpus: Corpus) -> Prepared:
    return _language(corpus, "always")


def second_where_unsure(corpus: Corpus) -> Prepared:
    return _language(corpus, "unsure")


def whole_texts_through_lid_176(corpus: Corpus) -> Prepared:
    texts, model = corpus.texts(), fasttext.load_model(str(lid_176_file())).f
    return Prepared(
        lambda: [model.predict(text.replace("\n", " ") + "\n", 1, 0.0, "strict") for text in texts], megabytes(texts)
    )


def personal_data(corpus: Corpus) -> Prepared:
    text = corpus.text()
    scrub(text[:200], ips="public", phone_regions=REGIONS, code=False)
    return Prepared(lambda: scrub(text, ips="public", phone_regions=REGIONS, code=False), megabytes(text))


def plain_patterns(corpus: Corpus) -> Prepared:
    texts = corpus.texts()
    return Prepared(
        lambda: [PLAIN_IP.sub("<IP>", PLAIN_EMAIL.sub("<EMAIL>", text)) for text in texts], megabytes(texts)
    )


CASES = {
    "language, both voices": Case(both_voices, 8),
    "lid.176 on whole texts": Case(whole_texts_through_lid_176, peer_of="language, both voices"),
    "language, second voice where unsure": Case(second_where_unsure, 40),
    "personal data, five kinds": Case(personal_data, 30),
    "Python re, e-mail and IP alone": Case(plain_patterns, peer_of="personal data, five kinds"),
}


def quality(corpus: Corpus) -> Iterator[Quality]:
    if corpus.folder is None:
        return
    for kind, (found, wrong, missed) in pii_scores(corpus.folder).items():
        if kind in F1_FIGURES:
            f1 = 2 * found / (2 * found + wrong + missed or 1)
            note = f"{found} found, {wrong} alarms, {missed} missed"
            yield Quality(BENCH, f"personal data, {kind}, F1", f1, F1_FIGURES[kind], note=note)
    alarms = alarms_per_mb(corpus.folder)
    yield Quality(BENCH, "phones in a MB of code", alarms["phone"], PHONES_PER_MB_OF_CODE, is_cost=True)
    for name in ("sentences", "word pairs", "documents"):
        labelled = labelled_texts(corpus.folder, name)
        accuracy, undetermined = language_score(labelled)
        note = f"{undetermined:.1%} und; lowest: {lowest_languages(labelled)}"
        yield Quality(BENCH, f"language of {name}, macro accuracy", accuracy, LANGUAGE_FIGURES.get(name), note=note)
        error, bins = calibration(labelled)
        note = "said/right (n): " + ", ".join(f"{said:.3f}/{right:.3f} ({n})" for said, right, n in bins)
        figure = CALIBRATION_FIGURE if name == "sentences" else None
        yield Quality(BENCH, f"language of {name}, calibration error", error, figure, is_cost=True, note=note)


def pii_scores(data: Path) -> dict[str, tuple[int, int, int]]:
    """kind -> (found, false alarms, missed) on the presidio texts."""
    scores = {kind: [0, 0, 0] for kind in PII_KINDS}
    for row in json.loads((data / "pii/presidio/synth_dataset_v2.json").read_text("utf-8")):
        text = row["full_text"]
        truth = []
        for span in row["spans"]:
            if span["entity_type"] in PRESIDIO_KINDS:
                start, end = (len(text[: span[f"{side}_position"]].encode()) for side in ("start", "end"))
                truth.append((PRESIDIO_KINDS[span["entity_type"]], start, end))
        for kind, start, end in find(text.encode(), PiiRules("public", REGIONS, False)):
            same = [t for t in truth if t[0] == kind and _half_overlaps((start, end), (t[1], t[2]))]
            scores[kind][0 if same else 1] += 1
            if same:
                truth.remove(same[0])
        for kind, _, _ in truth:
            scores[kind][2] += 1
    return {kind: (found, alarms, missed) for kind, (found, alarms, missed) in scores.items()}


def _half_overlaps(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return 2 * (min(a[1], b[1]) - max(a[0], b[0])) >= max(a[1], b[1]) - min(a[0], b[0])


def alarms_per_mb(data: Path) -> dict[str, float]:
    """kind -> replacements a MB of code; not all are false (authors' addresses are real)."""
    paths = sorted((data / "code").glob("*.jsonl.zst"))
    column = pa.array([row["text"] for path in paths for row in json_rows(path)], pa.large_string())
    counts = scrub(column, ips="public", phone_regions=REGIONS, code=True)[1]
    return {kind: pc.sum(count).as_py() / megabytes(column) for kind, count in counts.items()}


def language_score(labelled: list[tuple[str, str]]) -> tuple[float, float]:
    """(accuracy, macro over languages; share of `und`) of (language, text) pairs."""
    found = identify(pa.array([text for _, text in labelled], pa.large_string()))[0].to_pylist()
    total = Counter(SAME_LANGUAGE.get(language, language) for language, _ in labelled)
    right: Counter[str] = Counter()
    for (language, _), answer in zip(labelled, found, strict=True):
        right[answer] += answer == SAME_LANGUAGE.get(language, language)
    return sum(right[code] / total[code] for code in total) / len(total), found.count("und") / len(found)


def calibration(labelled: list[tuple[str, str]]) -> tuple[float, list[tuple[float, float, int]]]:
    """(expected calibration error; by tenths of lang_score, from low to high: mean score, share right, labels)."""
    lang, score = identify(pa.array([text for _, text in labelled], pa.large_string()))
    tenths: dict[int, list[tuple[int, bool]]] = {}
    for (language, _), answer, said in zip(labelled, lang.to_pylist(), score.to_pylist(), strict=True):
        if answer != "und":
            right = answer == SAME_LANGUAGE.get(language, language)
            tenths.setdefault(min(9, said // 100), []).append((said, right))
    bins = [
        (sum(said for said, _ in one) / len(one) / 1000, sum(right for _, right in one) / len(one), len(one))
        for _, one in sorted(tenths.items())
    ]
    total = sum(n for *_, n in bins)
    return sum(n * abs(said - right) for said, right, n in bins) / total, bins


def lowest_languages(labelled: list[tuple[str, str]], count: int = 8) -> str:
    """The languages that are told worst, with their accuracy."""
    found = identify(pa.array([text for _, text in labelled], pa.large_string()))[0].to_pylist()
    rights: dict[str, list[bool]] = {}
    for (language, _), answer in zip(labelled, found, strict=True):
        code = SAME_LANGUAGE.get(language, language)
        rights.setdefault(code, []).append(answer == code)
    accuracy = sorted((sum(one) / len(one), code) for code, one in rights.items())
    return ", ".join(f"{code} {share:.2f}" for share, code in accuracy[:count])


def labelled_texts(data: Path, name: str) -> list[tuple[str, str]]:
    """`sentences` and `word pairs` of 75 languages, at most 100 each; `documents`: pages of documentation, where a page
    that says it is not translated yet, and so is English, is left out.
    """
    if name == "documents":
        files = sorted((data / "docs-fastapi").glob("*.jsonl.zst"))
        pages = [row for path in files for row in json_rows(path) if "missing-translation" not in row["text"][:80]]
        return [(row["lang"], row["text"]) for row in pages]
    seen: Counter[str] = Counter()
    chosen = []
    for row in json_rows(data / "langid" / f"lingua-{name.replace(' ', '-')}.jsonl.zst"):
        seen[row["lang"]] += 1
        if seen[row["lang"]] <= 100:
            chosen.append((row["lang"], row["text"]))
    return chosen

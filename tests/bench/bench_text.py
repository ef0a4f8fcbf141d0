"""Language and personal data: MB of text a CPU second, and how right they are.

Run: python -m tests.bench.bench_text [FOLDER]; FOLDER is the shared collection. Speeds are medians of 3 over at most
4 MB of documents of 200 to 12,000 characters; whole texts through lid.176 stand for what a plain pipeline does. Scores:
personal data on the presidio texts (same kind, overlap of at least half of the union), languages on labelled sentences,
two-word strings and translated documentation.
"""

import io
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from corpus_assets.stages.identify_language import identify, lid_176
from corpus_assets.stages.pii_patterns import PiiRules
from corpus_assets.stages.scrub_pii import find, scrub
from formats.stage_tables import PII_KINDS
from tests.shared_data import DATA

REGIONS = ("US", "GB", "FR", "DE", "IT", "ES", "AU", "IN", "BR")
SLICES = {
    "code": ("code", True),
    "docs": ("docs-fastapi", False),
    "prose": ("encyclopedic", False),
    "stories": ("stories", False),
}
MAX_BYTES, MIN_CHARS, MAX_CHARS = 4_000_000, 200, 12_000
PRESIDIO_KINDS = {"EMAIL_ADDRESS": "email", "PHONE_NUMBER": "phone", "CREDIT_CARD": "card", "IP_ADDRESS": "ip"}
SAME_LANGUAGE = {"zh-hant": "zh", "zh-tw": "zh", "pt-br": "pt", "no": "nb"}


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        yield from map(json.loads, io.TextIOWrapper(stream, "utf-8"))


def texts(folder: Path, *, whole: bool = False) -> list[str]:
    """Documents of a folder's files; cut to at most MAX_CHARS each and MAX_BYTES in all, unless whole."""
    chosen, num_bytes = [], 0
    for path in sorted(folder.glob("*.jsonl.zst")):
        for row in rows(path):
            text = row["text"] if whole else row["text"][:MAX_CHARS]
            if whole or (len(text) >= MIN_CHARS and num_bytes < MAX_BYTES):
                chosen.append(text)
                num_bytes += len(text.encode("utf-8"))
    return chosen


def megabytes(column: pa.Array) -> float:
    return pc.sum(pc.binary_length(column)).as_py() / 1e6


def mb_per_cpu_second(column: pa.Array, work: Callable[[pa.Array], object]) -> float:
    """Median of three runs."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        work(column)
        seconds.append(time.process_time() - start)
    return megabytes(column) / statistics.median(seconds)


def whole_texts_through_lid_176(column: pa.Array) -> None:
    model = lid_176()
    for value in column:
        model.predict(value.as_py().replace("\n", " ") + "\n", 1, 0.0, "strict")


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
    column = pa.array(texts(data / "code", whole=True), pa.large_string())
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


def labelled_texts(data: Path, name: str) -> list[tuple[str, str]]:
    """`sentences` and `word pairs` of 75 languages, at most 100 each; `documents`: pages of documentation, where a page
    that says it is not translated yet, and so is English, is left out.
    """
    if name == "documents":
        files = sorted((data / "docs-fastapi").glob("*.jsonl.zst"))
        pages = [row for path in files for row in rows(path) if "missing-translation" not in row["text"][:80]]
        return [(row["lang"], row["text"]) for row in pages]
    seen: Counter[str] = Counter()
    chosen = []
    for row in rows(data / "langid" / f"lingua-{name.replace(' ', '-')}.jsonl.zst"):
        seen[row["lang"]] += 1
        if seen[row["lang"]] <= 100:
            chosen.append((row["lang"], row["text"]))
    return chosen


def main(data: Path = DATA) -> None:
    columns = {name: pa.array(texts(data / folder), pa.large_string()) for name, (folder, _) in SLICES.items()}
    stages: dict[str, Callable[[pa.Array, bool], object]] = {
        "language, both voices": lambda column, _: identify(column),
        "language, second where unsure": lambda column, _: identify(column, second_voice="unsure"),
        "(lid.176 on whole texts)": lambda column, _: whole_texts_through_lid_176(column),
        "personal data, five kinds": lambda column, code: scrub(column, ips="public", phone_regions=REGIONS, code=code),
    }
    print(f"{'MB a CPU second':32}" + "".join(f"{name:>10}" for name in columns))
    for stage, work in stages.items():
        speeds = [
            mb_per_cpu_second(column, lambda c, code=SLICES[name][1], work=work: work(c, code))
            for name, column in columns.items()
        ]
        print(f"{stage:32}" + "".join(f"{speed:10.1f}" for speed in speeds))

    alarms = alarms_per_mb(data)
    print(f"\n{'personal data':32}{'found':>10}{'alarms':>10}{'missed':>10}{'P':>8}{'R':>8}{'F1':>8}{'code/MB':>10}")
    for kind, (found, wrong, missed) in pii_scores(data).items():
        measures = (
            found / (found + wrong or 1),
            found / (found + missed or 1),
            2 * found / (2 * found + wrong + missed or 1),
        )
        print(
            f"{kind:32}{found:10}{wrong:10}{missed:10}"
            + "".join(f"{m:8.3f}" for m in measures)
            + f"{alarms[kind]:10.2f}"
        )

    print(f"\n{'language':32}{'accuracy':>10}{'und':>10}{'long only':>10}")
    for name in ("sentences", "word pairs", "documents"):
        labelled = labelled_texts(data, name)
        accuracy, undetermined = language_score(labelled)
        asked = identify(pa.array([text for _, text in labelled], pa.large_string()))[1].is_valid().to_pylist()
        long = language_score([pair for pair, long in zip(labelled, asked, strict=True) if long])[0]
        print(f"{name:32}{accuracy:10.4f}{undetermined:10.4f}{long:10.4f}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))

"""How CPU time grows with a text of one shape: four times the text, how many times the seconds. 4 is linear; 16 would
be the square. The worst shape of each stage is shown.
"""

from collections.abc import Callable, Iterator

import pyarrow as pa

from corpus_assets.kernels import html_depth
from corpus_assets.kernels.exact_text import exact_digests, normalize
from corpus_assets.kernels.minhash import signatures
from corpus_assets.kernels.ngram_match import match
from corpus_assets.kernels.shingles import shingle_sets
from corpus_assets.kernels.text_signals import text_signals
from corpus_assets.stages import decode_charset
from corpus_assets.stages.eval_items import EvalText, build_index
from corpus_assets.stages.identify_language import identify
from corpus_assets.stages.scrub_pii import scrub
from formats.benchmark_rules import DecontaminationRules, EvalSet
from tests.bench.documents import QUICK, Corpus
from tests.bench.measure import Case, Quality, cpu_of

BENCH = "bench_growth"
CASES: dict[str, Case] = {}
FIGURE = 8.0
"""Times the seconds for four times the text that still pass: caches and memory make 4 to 6 of what is linear."""
LEAST_SECONDS = 0.01
"""Shorter ones are noise."""

SHAPES = {
    "plain words": "word ",
    "one word": "a",
    "one letter a word": "a ",
    "dots": ".",
    "carets": "^",
    "blanks": " ",
    "line ends": "\n",
    "carriage returns": "\r",
    "NUL": "\0",
    "an address without end": "a@a.",
    "at signs": "a@",
    "digits": "1",
    "numbers": "1 2 3 ",
    "phones": "650-253-0000 ",
    "phones, one hiding the next": "+1 650 253 0000,",
    "addresses of machines, one hiding the next": "93.184.216.34/",
    "phones, an extension before each": "202-555-0123 ext. 45)",
    "colons": "a:",
    "secrets": "password=",
    "open quotes": 'password="',
    "heads of keys": "-----BEGIN PRIVATE KEY-----",
    "wide digits": "１２３ ",
    "fences": "```\n",
    "fences in a line": "a ``` b",
    "backticks": "`",
    "open tags": "<a",
    "open tags with a value": '<a b="',
    "open scripts": "<script></",
    "open comments": "<!--",
    "meta tags": "<meta charset ",
    "schemes": "http://",
    "the beginning of a protected item": "one two three four five six seven eight ",
    "ideographs": "猫",
    "marks apart": "e\u0301",
    "marks without end": "\u0301\u0327",
    "jamo": "\u1100\u1161\u11a8",
    "from right to left": "\u202eאב ",
    "emoji": "😀",
    "equal lines": "word\n",
    "equal paragraphs": "word word\n\n",
}
"""What is repeated."""


def stages() -> dict[str, Callable[[pa.Array], object]]:
    evals = EvalSet("quiz", "quiz.jsonl", "0" * 64, "jsonl", ("q",))
    items = [EvalText("quiz", 0, "q", SHAPES["the beginning of a protected item"] + "nine")]
    index, _ = build_index(items, DecontaminationRules(eval_sets=(evals,)))
    return {
        "normalization": normalize,
        "exact digests": exact_digests,
        "text signals": text_signals,
        "signatures": signatures,
        "shingle sets": shingle_sets,
        "decontamination": lambda text: match(text, index),
        "language": identify,
        "personal data": lambda text: scrub(text, ips="public", phone_regions=("US", "GB", "FR", "DE"), code=False),
        "charset": lambda text: decode_charset.decode(text[0].as_buffer().to_pybytes() + b"\xe9", None, is_html=True),
        "depth of HTML": lambda text: html_depth.measure(text[0].as_buffer().to_pybytes()),
    }


def repeated(unit: str, num_bytes: int) -> pa.Array:
    return pa.array([unit * (num_bytes // len(unit.encode()))], pa.large_string())


def quality(corpus: Corpus) -> Iterator[Quality]:
    """For each stage the shape whose time grows most, among those that take time at all."""
    small = 100_000 if corpus.sizes.slice <= QUICK.slice else 400_000
    for name, stage in stages().items():
        stage(repeated("warm up ", 1_000))
        worst, of = 0.0, "no shape takes time"
        for shape, unit in SHAPES.items():
            less, more = (_seconds(stage, repeated(unit, size)) for size in (small, 4 * small))
            growth = more / max(less, LEAST_SECONDS / 4)
            if more > LEAST_SECONDS and growth > worst:
                worst, of = growth, shape
        yield Quality(BENCH, f"{name}: seconds for 4 times the text", worst, FIGURE, is_cost=True, note=of)


def _seconds(stage: Callable[[pa.Array], object], text: pa.Array) -> float:
    return min(cpu_of(lambda: stage(text)) for _ in range(2))

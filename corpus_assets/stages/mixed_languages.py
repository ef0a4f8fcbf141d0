"""Which texts are in two languages. Asked only where a config says `lang: {mixed: und}`. Spec: languages.md.

Cost: six pieces of a text are each shown to both voices, some 0.5 ms a document.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.arrow import large_strings, string_buffers
from corpus_assets.kernels.letters import letter_count
from corpus_assets.kernels.prose_windows import prose_windows
from corpus_assets.stages.function_words import among_neighbours
from corpus_assets.stages.identify_language import ENOUGH_LETTERS, cld2_voice, lid_176, lid_codes
from corpus_assets.stages.language_codes import UNDETERMINED

CODE_VERSION = "1"

NUM_PIECES = 6
MIN_SHARE = 150
"""Thousandths of a text's letters in pieces of one language, from which it is one of the text's: one piece of six."""
AGREED, NOT_AGAINST = 0.7, 0.5
"""lid.176's probability from which it and CLD2 are two for a language; and from which it is one against CLD2's."""
_EVERYWHERE = ("en",)
"""Code, names and loan words sound like it on pages in every language: CLD2 alone is not believed."""
_CLOSE = tuple(
    frozenset(codes.split())
    for codes in (
        "bs hr sl sr", "bg mk sr", "be ru uk", "cs sk", "da nb nn sv", "af nl", "de lb", "ca es gl oc pt", "co it la",
        "id ms", "az tr", "fa ur", "hi mr ne", "nr ss xh zu", "st tn",
    )
)  # fmt: skip
"""Languages of which a piece may be taken for another: two of them are no mixture."""


@dataclass(frozen=True)
class Heard:
    """What one piece is heard as: `agreed` by both voices, `maybe` by either; UNDETERMINED where by none."""

    letters: int
    agreed: str
    maybe: str


def is_mixed(text: pa.Array) -> pa.Array:
    """bool per row of a large_string column: two languages, not close ones, have each MIN_SHARE of the letters that
    were heard, one of them by pieces of which both voices say so. Null rows are empty texts, and no mixture.
    """
    heard = list(_heard(prose_windows(_pieces(text))))
    of_each = (heard[i : i + NUM_PIECES] for i in range(0, len(heard), NUM_PIECES))
    return pa.array([are_two_languages(pieces) for pieces in of_each], pa.bool_())


def are_two_languages(pieces: Sequence[Heard]) -> bool:
    spoken = [one for one in pieces if one.letters >= ENOUGH_LETTERS]
    least = MIN_SHARE * sum(one.letters for one in spoken)
    agreed, maybe = Counter[str](), Counter[str]()
    for one in spoken:
        agreed[one.agreed] += 1000 * one.letters
        maybe[one.maybe] += 1000 * one.letters
    certain = {code for code, letters in agreed.items() if letters >= least} - {UNDETERMINED}
    likely = {code for code, letters in maybe.items() if letters >= least} - {UNDETERMINED}
    pairs = permutations(certain | likely, 2)
    return any(a in certain and b in likely and not any({a, b} <= close for close in _CLOSE) for a, b in pairs)


def _pieces(text: pa.Array) -> pa.Array:
    """Each text as NUM_PIECES texts of as many bytes, cut before characters."""
    offsets, data = string_buffers(text)
    if not len(text):
        return pa.array([], pa.large_string())
    lengths = np.diff(offsets)
    cuts = offsets[:-1, None] + lengths[:, None] * np.arange(NUM_PIECES) // NUM_PIECES
    cuts = np.append(cuts.ravel(), offsets[-1])
    for _ in range(3):  # no character has more than three bytes behind its first
        inside = np.flatnonzero(cuts < offsets[-1])
        cuts[inside] += (data[cuts[inside]] & 0xC0) == 0x80
    return large_strings(cuts - offsets[0], data[offsets[0] : offsets[-1]])


def _heard(lines: pa.Array) -> Iterator[Heard]:
    model = lid_176()
    numbers, likeliest = model.best(model.line_vectors(lines))
    second = [lid_codes()[number] for number in numbers]
    columns = letter_count(lines).tolist(), lines.to_pylist(), second, likeliest.tolist()
    for letters, line, code, probability in zip(*columns, strict=True):
        if letters < ENOUGH_LETTERS:
            yield Heard(letters, UNDETERMINED, UNDETERMINED)
            continue
        first = cld2_voice(line)
        label = among_neighbours(line, first.code)
        both = label == code and not first.unknown and probability >= AGREED
        alone = first.sure and label not in _EVERYWHERE and (label == code or probability < NOT_AGAINST)
        yield Heard(letters, label if both else UNDETERMINED, label if both or alone else UNDETERMINED)

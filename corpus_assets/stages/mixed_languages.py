"""Which texts are in two languages, and in which. Asked only where a config says `lang: {mixed: und}`. Spec:
languages.md.

Cost: six pieces of a text are each shown to both voices, some 0.5 ms a document.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import permutations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.arrow import large_strings, string_buffers
from corpus_assets.kernels.letters import letter_count
from corpus_assets.kernels.prose_windows import prose_windows
from corpus_assets.stages import identify_language
from corpus_assets.stages.function_words import among_neighbours
from corpus_assets.stages.identify_language import ENOUGH_LETTERS, cld2_voice, lid_176, lid_codes
from corpus_assets.stages.side_rows import rows_of, take_or_null
from formats.languages import UNDETERMINED
from formats.stage_tables import MIXED_LANGUAGES

CODE_VERSION = "1"
LIBRARIES = ("pyarrow", *identify_language.LIBRARIES)

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


@dataclass(frozen=True)
class Mixture:
    """Two languages of a text, and the share of its letters in pieces of each, in thousandths."""

    certain: str
    certain_share: int
    likely: str
    likely_share: int


def is_mixed(text: pa.Array) -> pa.Array:
    """bool per row of a large_string column: whether `mixture_of` it is one. Null rows are empty texts."""
    return pa.array([mixture is not None for mixture in _mixtures(text)], pa.bool_())


def mixed_languages(batch: pa.RecordBatch, signals: pa.Table) -> pa.RecordBatch:
    """`k` and `text` of DOCUMENTS -> MIXED_LANGUAGES, a row for each document that `is_mixed`. signals: k and lang; of
    documents with a label nobody is asked.
    """
    lang = take_or_null(signals, "lang", rows_of(batch, signals))
    asked = np.flatnonzero(pc.fill_null(pc.equal(lang, UNDETERMINED), False).to_numpy(zero_copy_only=False))
    mixtures = _mixtures(batch.column("text").take(pa.array(asked)))
    found = [(row, mixture) for row, mixture in zip(asked.tolist(), mixtures, strict=True) if mixture]
    k = batch.column("k").take(pa.array([row for row, _ in found], pa.int64()))
    rows = [(number, *astuple(mixture)) for number, (_, mixture) in zip(k.to_pylist(), found, strict=True)]
    columns = list(zip(*rows, strict=True)) or [()] * len(MIXED_LANGUAGES)
    return pa.RecordBatch.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, MIXED_LANGUAGES, strict=True)],
        schema=MIXED_LANGUAGES,
    )


def mixture_of(pieces: Sequence[Heard]) -> Mixture | None:
    """Two languages, not close ones, that have each MIN_SHARE of the letters that were heard, one of them by pieces of
    which both voices say so: those of which the lesser one has the most. None for a text in one language.
    """
    spoken = [one for one in pieces if one.letters >= ENOUGH_LETTERS]
    letters = sum(one.letters for one in spoken)
    agreed, maybe = Counter[str](), Counter[str]()
    for one in spoken:
        agreed[one.agreed] += one.letters
        maybe[one.maybe] += one.letters
    pairs = [
        Mixture(a, 1000 * agreed[a] // letters, b, 1000 * maybe[b] // letters)
        for a, b in permutations({*agreed, *maybe} - {UNDETERMINED}, 2)
        if not any({a, b} <= close for close in _CLOSE)
    ]
    mixtures = [one for one in pairs if min(one.certain_share, one.likely_share) >= MIN_SHARE]
    return min(
        mixtures,
        key=lambda one: (-min(one.certain_share, one.likely_share), -one.certain_share, one.certain, one.likely),
        default=None,
    )


def _mixtures(text: pa.Array) -> Iterator[Mixture | None]:
    heard = list(_heard(prose_windows(_pieces(text))))
    for i in range(0, len(heard), NUM_PIECES):
        yield mixture_of(heard[i : i + NUM_PIECES])


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

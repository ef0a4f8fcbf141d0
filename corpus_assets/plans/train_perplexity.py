"""Train a language model on documents of one language, and tell by held-out ones which perplexities are usual."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.sentence_words import sentence_words
from corpus_assets.plans import kneser_ney
from corpus_assets.plans.model_texts import Collection, draw
from corpus_assets.stages import score_perplexity
from formats import durable

CODE_VERSION = "1"
LIBRARIES = ("numpy", "pyarrow", *score_perplexity.LIBRARIES)
PERCENTILES = (10, 20, 30, 40, 50, 60, 70, 80, 90)


@dataclass(frozen=True)
class TrainedPerplexity:
    """`sha256` names the ARPA file; `ngrams` counts those of one, two and three words; `held_out` are the perplexities
    of documents that were not trained on, in thousandths, ascending.
    """

    sha256: str
    num_bytes: int
    trained: int
    ngrams: tuple[int, ...]
    held_out: np.ndarray

    def percentile(self, part: float) -> int | None:
        """The least perplexity that `part` per cent of the held-out documents do not pass; None without any."""
        if not len(self.held_out):
            return None
        return int(self.held_out[max(0, int(np.ceil(len(self.held_out) * part / 100)) - 1)])


def train(
    collection: Collection,
    lang: str,
    sources: Sequence[str],
    place: Callable[[str], Path],
    *,
    max_chars: int,
    seed: int,
) -> TrainedPerplexity:
    """Write the ARPA file of documents of these sources in this language, as many as have `max_chars`, to where `place`
    says for its SHA-256.

    Raises ConfigError where KenLM is not installed, for an unknown source and where there are no such documents;
    CorruptDataError.
    """
    score_perplexity.library()
    texts = draw(collection, sources, lang=lang, max_chars=max_chars, seed=seed)
    model = kneser_ney.train(sentences_of(texts.train))
    data = kneser_ney.to_arpa(model)
    sha256 = hashlib.sha256(data).hexdigest()
    durable.write_file(out := place(sha256), data)
    scored = score_perplexity.perplexities(texts.held_out, score_perplexity.stored_model(str(out), sha256))
    held_out = np.sort(scored.drop_null().to_numpy())
    return TrainedPerplexity(
        sha256, len(data), len(texts.train), tuple(len(one.log10) for one in model.orders), held_out
    )


def sentences_of(texts: pa.Array) -> pa.Array:
    """The sentences of a large_string column, one a row, as the model will see them when it scores."""
    written, words = sentence_words(texts)
    return pc.split_pattern(written.filter(pa.array(words > 0)), "\n").flatten()

"""How good a text is by a pinned classifier: a quality model of this project, or one label of a fastText file."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels import fasttext_file
from corpus_assets.kernels.fasttext import FastText
from corpus_assets.kernels.quality_words import quality_scores
from formats import quality_model
from formats.errors import ConfigError

CODE_VERSION = "1"

Scorer = Callable[[pa.Array], np.ndarray]
"""A large_string column -> int32, thousandths from 0 to 1000."""
_FASTTEXT_MAGIC = fasttext_file.MAGIC.to_bytes(4, "little")


@cache
def stored_scorer(path: str, sha256: str, label: str | None) -> Scorer:
    """The scorer in a file, loaded once a process. `label` names the good documents of a fastText classifier, which is
    asked for the text as one line: a line feed counts as a space.

    Raises CorruptDataError where the file is missing, not the pinned one, or no such model; ConfigError for a label
    that is missing, unknown, or given for a model without labels.
    """
    file = Path(path)
    if file.is_file() and _head(file) == _FASTTEXT_MAGIC:
        return _of_fasttext(FastText.load(file, sha256), file, label)
    model = quality_model.read(file, sha256)
    if label is not None:
        raise ConfigError(f"{file}: has no labels, model.label is {label!r}; leave label out")
    return lambda text: quality_scores(text, model.weights, model.bias, quality_model.SCALE)


def _head(file: Path) -> bytes:
    with open(file, "rb") as opened:
        return opened.read(len(_FASTTEXT_MAGIC))


def _of_fasttext(model: FastText, file: Path, label: str | None) -> Scorer:
    labels = model.labels
    if label is None or label not in labels:
        said = "missing" if label is None else repr(label)
        raise ConfigError(f"{file}: model.label is {said}; its labels are {', '.join(labels)}: name the good one")
    number = labels.index(label)

    def score(text: pa.Array) -> np.ndarray:
        lines = pc.replace_substring(text.fill_null(""), "\n", " ")
        probability = model.probability(model.line_vectors(lines), number)
        # The library adds a little to each factor, so that a product may pass 1.
        return np.clip(np.rint(probability.astype(np.float64) * 1000), 0, 1000).astype(np.int32)

    return score

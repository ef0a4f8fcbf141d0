"""Train a quality model from documents held to be good and documents held to be bad, and judge it by held-out ones.

scikit-learn fits a logistic regression by stochastic gradient descent: one thread, a fixed number of passes and a seed,
so equal documents give equal bytes. Both classes weigh the same, whatever their sizes.
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.quality_words import quality_features, quality_scores
from corpus_assets.plans.model_texts import Collection, ModelTexts, draw
from formats.errors import ConfigError
from formats.quality_model import MAX_WEIGHT, SCALE, QualityModel

CODE_VERSION = "1"
LIBRARIES = ("numpy", "pyarrow", "scikit-learn", "scipy")
NUM_BITS, NUM_PASSES, PENALTY = 18, 30, 1e-5
THRESHOLDS = tuple(range(100, 1000, 100))


@dataclass(frozen=True)
class TrainedQuality:
    """The model; of good and bad documents how many it was trained on, and scores and languages of those held out."""

    model: QualityModel
    trained: tuple[int, int]
    scores: tuple[np.ndarray, np.ndarray]
    langs: tuple[pa.Array, pa.Array]

    @property
    def auc_millionths(self) -> int | None:
        return auc_millionths(*self.scores)

    def kept_by(self, threshold: int, lang: str | None = None) -> tuple[int, int]:
        """How many of the held-out good and bad documents (of this language) have this score or a higher one."""
        good, bad = (int((scores >= threshold).sum()) for scores in self.of_lang(lang))
        return good, bad

    def of_lang(self, lang: str | None) -> tuple[np.ndarray, np.ndarray]:
        """The scores of held-out good and bad documents, of all languages for None."""
        if lang is None:
            return self.scores
        good, bad = (
            scores[pc.equal(langs, lang).to_numpy(zero_copy_only=False)]
            for scores, langs in zip(self.scores, self.langs, strict=True)
        )
        return good, bad


def train(
    collection: Collection,
    positive: Sequence[str],
    negative: Sequence[str],
    *,
    lang: str | None = None,
    max_chars: int,
    seed: int,
) -> TrainedQuality:
    """A model of documents of `positive` sources against those of `negative` ones, each as many as have `max_chars`.

    Raises ConfigError where scikit-learn is not installed, where a source is on both sides or unknown, and where one
    side has no documents; CorruptDataError.
    """
    linear_model, sparse = libraries()
    if both := sorted(set(positive) & set(negative)):
        raise ConfigError(f"{', '.join(both)} cannot be both positive and negative; leave it out of one of them")
    good, bad = (
        draw(collection, sources, lang=lang, max_chars=max_chars, seed=seed) for sources in (positive, negative)
    )
    model = fit(good.train, bad.train, linear_model, sparse, seed)
    scores = _held(good, model), _held(bad, model)
    return TrainedQuality(model, (len(good.train), len(bad.train)), scores, (good.held_out_langs, bad.held_out_langs))


def libraries() -> tuple[Any, Any]:
    """scikit-learn's linear models and SciPy's sparse matrices. Raises ConfigError where they are not installed."""
    try:
        return importlib.import_module("sklearn.linear_model"), importlib.import_module("scipy.sparse")
    except ImportError:
        raise ConfigError("training needs scikit-learn: pip install 'corpus-assets[train]'") from None


def fit(good: pa.Array, bad: pa.Array, linear_model: Any, sparse: Any, seed: int) -> QualityModel:
    """The model that tells two large_string columns apart."""
    starts, rows = quality_features(pa.concat_arrays([good, bad]), 1 << NUM_BITS)
    counts = np.diff(starts)
    values = np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts)
    features = sparse.csr_matrix((values, rows, starts), shape=(len(counts), 1 << NUM_BITS))
    features.sum_duplicates()
    is_good = np.repeat([1, 0], [len(good), len(bad)])
    fitted = linear_model.SGDClassifier(
        loss="log_loss",
        alpha=PENALTY,
        max_iter=NUM_PASSES,
        tol=None,
        class_weight="balanced",
        random_state=seed,
        average=True,
    ).fit(features, is_good)
    return QualityModel(_whole(fitted.coef_[0]), int(_whole(fitted.intercept_)[0]))


def _whole(values: np.ndarray) -> np.ndarray:
    """Fixed point; what the format does not hold is cut to its largest."""
    return np.clip(np.rint(values * SCALE), -MAX_WEIGHT, MAX_WEIGHT).astype(np.int32)


def _held(texts: ModelTexts, model: QualityModel) -> np.ndarray:
    return quality_scores(texts.held_out, model.weights, model.bias, SCALE)


def auc_millionths(good: np.ndarray, bad: np.ndarray) -> int | None:
    """The chance that a good document scores above a bad one, a tie as half (Mann-Whitney); None without both."""
    if not len(good) or not len(bad):
        return None
    ordered = np.sort(bad)
    below, up_to = (int(np.searchsorted(ordered, good, side).sum()) for side in ("left", "right"))
    return (below + up_to) * 1_000_000 // (2 * len(good) * len(bad))

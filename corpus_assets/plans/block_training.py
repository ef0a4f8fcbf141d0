"""A block model from labelled pages, by gradient boosting: the same pages give the same bytes.

scikit-learn grows the trees, on one thread and from fixed seeds; what it found is rounded to whole numbers here, and
what the model then says is the kernel's to say alone. A model is the mean of BAGS, which differ by the columns
that each tree was let see, since one of them alone is off by chance: some thousandths of F1.

Pages of another collection teach, too, but what is wanted of them was decided by others: whether captions, headings,
names. So trees may ask which of the two a page is of, and in the model that question is answered beforehand.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from corpus_assets.kernels.block_features import NAMES
from corpus_assets.plans.labelled_pages import Example, LabelledPage, example
from corpus_assets.plans.work import library_version
from corpus_assets.stages.block_text import FEATURES_VERSION
from formats import canonical
from formats.block_model import ONE, BlockModel
from formats.errors import ConfigError

LIBRARY = "scikit-learn"
SETTINGS: dict[str, Any] = {
    "max_iter": 120,
    "learning_rate": 0.06,
    "min_samples_leaf": 20,
    "l2_regularization": 5.0,
    "max_bins": 63,
    "max_features": 0.4,
    "early_stopping": False,
}
BAGS = 3
"""Seeds 1 to BAGS."""
LEAVES = 15
"""Of a tree. Pages that are made by few rules, or of few sites, teach small trees better: 2 (block_model.md)."""
CUT = 0.5
UNSURE = 600
"""Thousandths of expected error; measured in block_model.md."""


def train(
    pages: Sequence[LabelledPage],
    notes: dict[str, str] | None = None,
    leaves: int = LEAVES,
    also: Sequence[LabelledPage] = (),
) -> BlockModel:
    """The model of these pages, and of those of another collection, each in any order; `notes` (what they are, their
    licence) go into the file. Raises ConfigError where nothing, or everything, of the pages is wanted, or scikit-learn
    is missing.
    """
    pages, also = (sorted(some, key=lambda page: page.name) for some in (pages, also))
    model = train_on([example(page) for page in pages], leaves, [example(page) for page in also])
    training = {
        **_of_pages(pages),
        "library": f"{LIBRARY} {library_version(LIBRARY)}",
        "settings": {**SETTINGS, "max_leaf_nodes": leaves, "bags": BAGS},
        **({"also": _of_pages(also)} if also else {}),
        **(notes or {}),
    }
    return replace(model, training=training)


def _of_pages(pages: Sequence[LabelledPage]) -> dict[str, Any]:
    digest = canonical.digest([[page.name, _sha256(page.html), _sha256(page.text.encode())] for page in pages])
    return {"pages": len(pages), "pages_sha256": digest}


def train_on(examples: Sequence[Example], leaves: int = LEAVES, also: Sequence[Example] = ()) -> BlockModel:
    """The model of these examples, and of those of another collection, in this order."""
    every = [*examples, *also]
    features = np.concatenate([one.features for one in every]) if every else np.zeros((0, len(NAMES)), np.int32)
    share = np.concatenate([one.share for one in every]) if every else np.zeros(0)
    weight = np.concatenate([one.weight for one in every]) if every else np.zeros(0)
    if also:
        is_also = np.arange(len(features)) >= sum(len(one.share) for one in examples)
        features = np.column_stack([features, is_also.astype(np.int32)])
    some, rest = share > 0, share < 1
    if not some.any() or not rest.any():
        raise ConfigError("the pages teach nothing: some of their text must be wanted, and some not")
    # A block that is wanted in part stands once on each side, with its share of the weight.
    rows_of_training = (
        np.concatenate([features[some], features[rest]]).astype(np.float32),
        np.concatenate([np.ones(some.sum()), np.zeros(rest.sum())]),
        np.concatenate([(weight * share)[some], (weight * (1 - share))[rest]]) * (len(weight) / weight.sum()),
    )
    rows: list[tuple[int, int, int, int]] = []
    roots = []
    for seed in range(1, BAGS + 1):
        grown = _grow(*rows_of_training, leaves, seed)
        for (tree,) in grown._predictors:
            roots.append(len(rows))
            rows += _rows(tree.nodes, len(rows))
    # All bags begin with the same share of what is wanted.
    base = round(float(grown._baseline_prediction.item()) * ONE)
    nodes = np.array(rows, np.int32).reshape(-1, 4)
    return BlockModel(FEATURES_VERSION, NAMES, round(CUT * ONE), UNSURE, base, nodes, np.array(roots, np.int32), {})


def _grow(features: np.ndarray, wanted: np.ndarray, weight: np.ndarray, leaves: int, seed: int) -> Any:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise ConfigError("training needs scikit-learn: pip install 'corpus-assets[train]'") from None
    with threadpool_limits(limits=1):
        trees = HistGradientBoostingClassifier(**SETTINGS, max_leaf_nodes=leaves, random_state=seed)
        return trees.fit(features, wanted, sample_weight=weight)


def _rows(nodes: np.ndarray, first: int) -> list[tuple[int, int, int, int]]:
    """A tree's nodes as rows of the model. Features are whole, so the whole part of a threshold splits them alike."""
    reached = {_behind(nodes, 0)}
    for at, node in enumerate(nodes):
        if at in reached and not node["is_leaf"]:
            reached |= {_behind(nodes, int(node["left"])), _behind(nodes, int(node["right"]))}
    places = sorted(reached)
    row_of = {at: first + i for i, at in enumerate(places)}
    return [
        (-1, round(float(node["value"]) * ONE / BAGS), 0, 0)
        if node["is_leaf"]
        else (
            int(node["feature_idx"]),
            int(np.floor(node["num_threshold"])),
            row_of[_behind(nodes, int(node["left"]))],
            row_of[_behind(nodes, int(node["right"]))],
        )
        for node in nodes[places]
    ]


def _behind(nodes: np.ndarray, at: int) -> int:
    """The node itself, or where it asks whether the page is of the other collection, the one that follows on no."""
    while not nodes[at]["is_leaf"] and nodes[at]["feature_idx"] == len(NAMES):
        at = int(nodes[at]["left"])
    return at


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

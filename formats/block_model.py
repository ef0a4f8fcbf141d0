"""Block model: the trees that say which blocks of a page are its main text. Spec: block_model.md.

One JSON object in canonical bytes, so that equal models are equal files; its SHA-256 names it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from formats import canonical, durable
from formats.errors import CorruptDataError

VERSION = 1
MAX_BYTES = 16 * 1024 * 1024
MAX_TREES, MAX_NODES = 10_000, 1_000_000
ONE = 1 << 16
_KEYS = {"format", "version", "features", "feature_names", "cut", "unsure", "base", "trees", "training"}
_TODO = "take the file as `corpus extract train` wrote it"
_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class BlockModel:
    """A model that was checked. `features` is the code version that its columns are of; a block is kept from `cut` on,
    in 65536ths; from `unsure` on, in thousandths of expected error, a page is given to the second opinion. `nodes` is
    int32 (n, 4): feature, threshold, low, high, as in `kernels.block_trees`; `training` is for people.
    """

    features: str
    feature_names: tuple[str, ...]
    cut: int
    unsure: int
    base: int
    nodes: np.ndarray
    roots: np.ndarray
    training: dict[str, Any]
    digest: str = ""
    """SHA-256 of the file."""


def to_bytes(model: BlockModel) -> bytes:
    """The file's bytes: canonical JSON and a newline."""
    ends = [*model.roots.tolist()[1:], len(model.nodes)]
    trees = [_tree(model.nodes[first:end], first) for first, end in zip(model.roots.tolist(), ends, strict=True)]
    value = {
        "format": "block_model",
        "version": VERSION,
        "features": model.features,
        "feature_names": list(model.feature_names),
        "cut": model.cut,
        "unsure": model.unsure,
        "base": model.base,
        "trees": trees,
        "training": model.training,
    }
    return canonical.to_bytes(value) + b"\n"


def write(model: BlockModel, path: Path) -> str:
    """Write the file, whole or not at all; returns its SHA-256."""
    data = to_bytes(model)
    from_bytes(data, path)
    durable.write_file(path, data)
    return hashlib.sha256(data).hexdigest()


def read(path: Path, sha256: str | None = None) -> BlockModel:
    """The model of a file. Raises CorruptDataError where it is none or has another digest, OSError."""
    with durable.naming(path), open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    return from_bytes(data, path, sha256)


def from_bytes(data: bytes, path: Path | str, sha256: str | None = None) -> BlockModel:
    """The model of a file's bytes; `path` is for messages. Raises CorruptDataError."""
    if len(data) > MAX_BYTES:
        raise CorruptDataError(path, "length", f"at most {MAX_BYTES}", "more", _TODO)
    digest = hashlib.sha256(data).hexdigest()
    if sha256 not in (None, digest):
        raise CorruptDataError(path, "sha256", sha256, digest, _TODO)
    try:
        model = _model(durable.json_value(data), digest)
        exact = to_bytes(model)  # not of Infinity or half a surrogate pair, which Python's JSON reads
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptDataError(path, "content", "a block model", str(error)[:200] or repr(error), _TODO) from None
    if exact != data:
        raise CorruptDataError(path, "bytes", "canonical JSON and a newline", "another form", _TODO)
    return model


def _model(value: Any, digest: str) -> BlockModel:
    if not isinstance(value, dict) or set(value) != _KEYS:
        raise ValueError(f"expected an object of {', '.join(sorted(_KEYS))}")
    if (form := (value["format"], value["version"])) != ("block_model", VERSION):
        raise ValueError(f"format {form!r}, expected block_model {VERSION}")
    names, trees, training = value["feature_names"], value["trees"], value["training"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError("feature_names is no list of different names")
    if not isinstance(value["features"], str) or not isinstance(training, dict) or not isinstance(trees, list):
        raise ValueError("features is no text, training no object, or trees no list")
    if not 1 <= len(trees) <= MAX_TREES:
        raise ValueError(f"{len(trees)} trees, expected 1 to {MAX_TREES}")
    rows: list[Sequence[int]] = []
    roots = []
    for tree in trees:
        roots.append(len(rows))
        rows += _nodes(tree, len(rows), len(names))
        if len(rows) > MAX_NODES:
            raise ValueError(f"more than {MAX_NODES} nodes")
    nodes = np.array(rows, np.int32).reshape(-1, 4)
    return BlockModel(
        value["features"],
        tuple(names),
        _whole(value["cut"], 1, ONE),
        _whole(value["unsure"], 0, _LIMIT),
        _whole(value["base"], -_LIMIT, _LIMIT),
        nodes,
        np.array(roots, np.int32),
        training,
        digest,
    )


def _tree(nodes: np.ndarray, first: int) -> list[list[int]]:
    """The nodes of a tree, places counted from its own first; a leaf is its value alone."""
    return [
        [threshold] if feature < 0 else [feature, threshold, low - first, high - first]
        for feature, threshold, low, high in nodes.tolist()
    ]


def _nodes(tree: Any, first: int, num_features: int) -> list[Sequence[int]]:
    """Rows of the one array. A child that does not come after its parent could be walked for ever."""
    if not isinstance(tree, list) or not tree:
        raise ValueError("a tree that is no list of nodes")
    rows: list[Sequence[int]] = []
    for place, node in enumerate(tree):
        if not isinstance(node, list) or len(node) not in (1, 4):
            raise ValueError(f"node {place} is neither [value] nor [feature, threshold, low, high]")
        if len(node) == 1:
            rows.append((-1, _whole(node[0], -_LIMIT, _LIMIT), 0, 0))
        else:
            feature = _whole(node[0], 0, num_features - 1)
            low, high = (_whole(child, place + 1, len(tree) - 1) + first for child in node[2:])
            rows.append((feature, _whole(node[1], -_LIMIT, _LIMIT), low, high))
    return rows


def _whole(value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{value!r:.50} where a whole number from {least} to {most} belongs")
    return value

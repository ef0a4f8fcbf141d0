"""Quality model: weights of hashed words and pairs of words, by which documents are scored. Spec: quality_model.md.

One model has one byte form, so its SHA-256, which a corpus config pins, names it.
"""

import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from formats import durable
from formats.errors import ConfigError, CorruptDataError

MAGIC, VERSION = b"corpusqm", 1
SCALE = 1 << 20
"""Weights and bias are whole numbers of 1 / SCALE."""
MIN_BITS, MAX_BITS = 4, 26
MAX_WEIGHT = 64 * SCALE
"""Far beyond a trained weight; a logit of so many words stays within what 64 bits hold."""
_HEAD = struct.Struct("<8sIIIi")
_TODO = "restore the file that was pinned, or train a model with `corpus model quality`"


@dataclass(frozen=True)
class QualityModel:
    """`weights` int32, 2^bits of them; `bias` int32; both in 1 / SCALE."""

    weights: np.ndarray
    bias: int


def to_bytes(model: QualityModel) -> bytes:
    """The one byte form. Raises ConfigError for weights that the format does not hold."""
    bits = model.weights.size.bit_length() - 1
    if model.weights.ndim != 1 or model.weights.size != 1 << bits or not MIN_BITS <= bits <= MAX_BITS:
        raise ConfigError(f"{model.weights.size} weights, expected 2^{MIN_BITS} to 2^{MAX_BITS}, a power of two")
    if max(int(np.abs(model.weights.astype(np.int64)).max()), abs(model.bias)) > MAX_WEIGHT:
        raise ConfigError(f"a weight is beyond {MAX_WEIGHT // SCALE}; train with more documents")
    return _HEAD.pack(MAGIC, VERSION, bits, SCALE, model.bias) + model.weights.astype("<i4").tobytes()


def from_bytes(data: bytes, path: object) -> QualityModel:
    """The model in these bytes; `path` is where they came from. Raises CorruptDataError."""
    if len(data) < _HEAD.size:
        raise CorruptDataError(path, "length", f"{_HEAD.size} bytes or more", len(data), _TODO)
    magic, version, bits, scale, bias = _HEAD.unpack_from(data)
    for field, expected, found in (("magic", MAGIC, magic), ("version", VERSION, version), ("scale", SCALE, scale)):
        if found != expected:
            raise CorruptDataError(path, field, expected, found, _TODO)
    if not MIN_BITS <= bits <= MAX_BITS:
        raise CorruptDataError(path, "bits", f"{MIN_BITS} to {MAX_BITS}", bits, _TODO)
    if len(data) != (expected := _HEAD.size + 4 * (1 << bits)):
        raise CorruptDataError(path, "length", expected, len(data), _TODO)
    weights = np.frombuffer(data, "<i4", offset=_HEAD.size).astype(np.int32)
    if (largest := max(int(np.abs(weights.astype(np.int64)).max()), abs(bias))) > MAX_WEIGHT:
        raise CorruptDataError(path, "weights", f"within {MAX_WEIGHT}", largest, _TODO)
    return QualityModel(weights, bias)


def digest(model: QualityModel) -> str:
    """The SHA-256 of the byte form, which names the model."""
    return hashlib.sha256(to_bytes(model)).hexdigest()


def write(model: QualityModel, path: Path) -> str:
    """Write the file whole; returns its SHA-256, which a config pins."""
    data = to_bytes(model)
    durable.write_file(path, data)
    return hashlib.sha256(data).hexdigest()


def read(path: Path, sha256: str) -> QualityModel:
    """The model that a config pins. Raises CorruptDataError where the file is missing or holds other bytes."""
    data = path.read_bytes() if path.is_file() else None
    found = durable.instead_of_a_file(path) if data is None else hashlib.sha256(data).hexdigest()
    if data is None or found != sha256:
        raise CorruptDataError(path, "sha256", sha256, found, _TODO)
    return from_bytes(data, path)

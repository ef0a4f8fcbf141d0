"""Quality models: one byte form, which is what the page says, and what a reader refuses."""

import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest

from formats import quality_model
from formats.errors import ConfigError, CorruptDataError
from formats.quality_model import MAX_WEIGHT, SCALE, QualityModel
from tests import faults

PAGE = Path(quality_model.__file__).with_suffix(".md").read_text("utf-8")


def example() -> QualityModel:
    weights = np.zeros(16, np.int32)
    weights[3] = 2 * SCALE
    return QualityModel(weights, -SCALE)


def test_the_example_of_the_page_has_the_bytes_it_says():
    data = quality_model.to_bytes(example())
    assert len(data) == 88
    assert hashlib.sha256(data).hexdigest() in PAGE
    assert data == struct.pack("<8sIIIi16i", b"corpusqm", 1, 4, 1 << 20, -SCALE, *example().weights)
    assert "The empty text scores 269." in PAGE
    assert round(1000 / (1 + np.e)) == 269


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "model.bin"
    digest = quality_model.write(example(), path)
    read = quality_model.read(path, digest)
    assert (read.bias, read.weights.tolist()) == (-SCALE, example().weights.tolist())
    assert read.weights.dtype == np.int32
    assert quality_model.to_bytes(read) == path.read_bytes()


@pytest.mark.parametrize("change", faults.every_change(b"0123456789"))
def test_a_changed_file_is_refused_by_name(tmp_path, change):
    path = tmp_path / "model.bin"
    digest = quality_model.write(QualityModel(np.arange(1, 17, dtype=np.int32), 0), path)
    path.write_bytes(faults.every_change(path.read_bytes())[change])
    with pytest.raises(CorruptDataError, match="sha256") as raised:
        quality_model.read(path, digest)
    assert raised.value.path == str(path)


def test_a_missing_file_is_refused_by_name(tmp_path):
    with pytest.raises(CorruptDataError, match=r"none\.bin"):
        quality_model.read(tmp_path / "none.bin", "0" * 64)


def changed(at: int, layout: str, value: object) -> bytes:
    data = bytearray(quality_model.to_bytes(example()))
    struct.pack_into("<" + layout, data, at, value)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (b"", "length"),
        (quality_model.to_bytes(example())[:23], "length"),
        (quality_model.to_bytes(example())[:-1], "length"),
        (quality_model.to_bytes(example()) + b"\0", "length"),
        (changed(0, "8s", b"corpusqn"), "magic"),
        (changed(8, "I", 2), "version"),
        (changed(12, "I", 3), "bits"),
        (changed(12, "I", 2**32 - 1), "bits"),
        (changed(12, "I", 5), "length"),
        (changed(16, "I", 1), "scale"),
        (changed(20, "i", MAX_WEIGHT + 1), "weights"),
        (changed(24, "i", -(2**31)), "weights"),
    ],
)
def test_bytes_that_are_no_model_are_refused_by_the_field_that_is_wrong(data, field):
    with pytest.raises(CorruptDataError) as raised:
        quality_model.from_bytes(data, "model.bin")
    assert raised.value.field == field


@pytest.mark.parametrize(
    "model",
    [
        QualityModel(np.zeros(17, np.int32), 0),
        QualityModel(np.zeros(8, np.int32), 0),
        QualityModel(np.zeros((4, 4), np.int32), 0),
        QualityModel(np.full(16, MAX_WEIGHT + 1, np.int32), 0),
        QualityModel(np.zeros(16, np.int32), -MAX_WEIGHT - 1),
    ],
)
def test_what_the_format_does_not_hold_is_not_written(tmp_path, model):
    with pytest.raises(ConfigError):
        quality_model.write(model, tmp_path / "model.bin")
    assert not list(tmp_path.iterdir())

"""fastText model files, dense and quantized, under the digest of their own bytes; what is read answers for a line."""

import hashlib
import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.fasttext import FastText
from tests.kernels.test_fasttext import model_bytes


def _quantized() -> bytes:
    """The dense model's dictionary, with both matrices quantized: two parts of two numbers."""
    dense = model_bytes()
    rows, labels = 7 + 97, 5
    head = dense[: len(dense) - (17 + rows * 16) - (17 + labels * 16)]
    centroids = np.linspace(-1, 1, 4 * 256, dtype=np.float32).tobytes()
    quantizer = struct.pack("<4i", 4, 2, 2, 2) + centroids
    matrix = [
        struct.pack("<??qqi", True, False, n, 4, 2 * n) + bytes(i % 256 for i in range(2 * n)) + quantizer
        for n in (rows, labels)
    ]
    return head + b"".join(matrix)


def seeds() -> list[bytes]:
    """As a side effect the kernels are compiled, which no input is to pay for."""
    made = [model_bytes(), model_bytes(pruned=True), _quantized()]
    with TemporaryDirectory() as folder:
        for one in made:
            run(one, Path(folder))
    return made


def run(data: bytes, folder: Path) -> None:
    path = folder / "model.bin"
    path.write_bytes(data)
    model = FastText.load(path, hashlib.sha256(data).hexdigest())
    vectors = model.line_vectors(pa.array(["The miller bread", "", "面包 breads"], pa.large_string()))
    numbers, _ = model.best(vectors)
    assert all(-1 <= number < len(model.labels) for number in numbers.tolist())  # -1: none is likely enough

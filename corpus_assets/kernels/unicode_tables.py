"""Frozen Unicode tables: what each code point is to the word pass, and its simple lower case. Spec: words.md."""

from functools import cache
from pathlib import Path

import numpy as np

PATH = Path(__file__).with_name("unicode_tables.npz")

OTHER, SPACE, LETTER, MARK, NUMBER, SINGLE = (
    np.uint8(0),
    np.uint8(1),
    np.uint8(2),
    np.uint8(3),
    np.uint8(4),
    np.uint8(5),
)
"""Classes. LETTER, MARK and NUMBER form words together; each SINGLE (ideograph, kana, Thai …) is a word by itself."""


@cache
def tables() -> tuple[np.ndarray, np.ndarray]:
    """(kind uint8, lower uint32), each indexed by code point, read-only."""
    with np.load(PATH, allow_pickle=False) as stored:
        kind = stored["kind"].copy()
        lower = np.arange(0x110000, dtype=np.uint32)
        lower[stored["lower_from"]] = stored["lower_to"]
    kind.setflags(write=False)
    lower.setflags(write=False)
    return kind, lower


@cache
def unicode_version() -> str:
    with np.load(PATH, allow_pickle=False) as stored:
        return str(stored["unicode_version"])

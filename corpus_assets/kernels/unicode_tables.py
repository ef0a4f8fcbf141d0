"""Frozen Unicode tables: what each code point is to the word pass, its lower case, its place in NFC. Spec: words.md."""

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


NFC_UNSURE = np.uint8(255)
"""In `nfc_table`: the code point is changed by NFC, or may be by what stands before it."""


@cache
def nfc_table() -> np.ndarray:
    """uint8 per code point: its combining class, or NFC_UNSURE; read-only.

    A text without NFC_UNSURE whose combining classes never fall, except to 0, is in NFC (the quick check of UAX 15).
    """
    with np.load(PATH, allow_pickle=False) as stored:
        table = stored["nfc"].copy()
    table.setflags(write=False)
    return table


@cache
def unicode_version() -> str:
    with np.load(PATH, allow_pickle=False) as stored:
        return str(stored["unicode_version"])


@cache
def case_version() -> str:
    """The Unicode version of the lower case, older than that of the classes: letters newer than it stay as they are."""
    with np.load(PATH, allow_pickle=False) as stored:
        return str(stored["case_version"])

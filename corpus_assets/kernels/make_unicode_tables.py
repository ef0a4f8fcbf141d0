"""Makes `unicode_tables.npz`: python -m corpus_assets.kernels.make_unicode_tables

Run by hand when the tables move to another Unicode version; that is a new code version of every stage that reads words.
Classes and NFC are those of the installed `unicodedata2`. Lower case is that of the Python that makes them (its version
is stored too): `unicodedata2` has none.
"""

import unicodedata
from pathlib import Path

import numpy as np
import unicodedata2 as ucd

from corpus_assets.kernels.unicode_tables import LETTER, MARK, NFC_UNSURE, NUMBER, OTHER, PATH, SINGLE, SPACE

# Scripts written without spaces: each character is a word by itself (design section 4).
SINGLE_NAMES = (
    "CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "HENTAIGANA", "TANGUT", "NUSHU", "KHITAN",
    "THAI", "LAO", "KHMER", "MYANMAR",
)  # fmt: skip
WHITE_SPACE = {0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
WHITE_SPACE |= set(range(0x2000, 0x200B))


def build() -> tuple[np.ndarray, np.ndarray]:
    """Per code point: its class (uint8), and its simple lower case (uint32)."""
    kind = np.full(0x110000, OTHER, np.uint8)
    lower = np.arange(0x110000, dtype=np.uint32)
    for code in range(0x110000):
        if 0xD800 <= code <= 0xDFFF:
            continue
        char = chr(code)
        category = ucd.category(char)
        if code in WHITE_SPACE:
            kind[code] = SPACE
        elif category[0] in "LNM":
            if ucd.name(char, "").startswith(SINGLE_NAMES):
                kind[code] = SINGLE
            else:
                kind[code] = {"L": LETTER, "N": NUMBER, "M": MARK}[category[0]]
        folded = char.lower()
        if len(folded) == 1:
            lower[code] = ord(folded)
    return kind, lower


def build_nfc() -> np.ndarray:
    """Per code point: its combining class, or NFC_UNSURE where the quick check of UAX 15 says no or maybe (uint8)."""
    table = np.zeros(0x110000, np.uint8)
    table[0x1161:0x1176] = table[0x11A8:0x11C3] = NFC_UNSURE  # Hangul vowels and finals join what stands before them
    for code in range(0x110000):
        if 0xD800 <= code <= 0xDFFF:
            continue
        char = chr(code)
        if ucd.normalize("NFC", char) != char:
            table[code] = NFC_UNSURE
            continue
        if table[code] != NFC_UNSURE:
            table[code] = ucd.combining(char)
        parts = ucd.decomposition(char).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            table[int(parts[1], 16)] = NFC_UNSURE
    return table


def main(path: Path = PATH) -> None:
    kind, lower = build()
    changed = np.flatnonzero(lower != np.arange(0x110000, dtype=np.uint32))
    np.savez_compressed(
        path,
        unicode_version=np.array(ucd.unidata_version),
        case_version=np.array(unicodedata.unidata_version),
        kind=kind,
        lower_from=changed.astype(np.uint32),
        lower_to=lower[changed],
        nfc=build_nfc(),
    )


if __name__ == "__main__":
    main()

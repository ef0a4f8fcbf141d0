"""Pages with the text that is wanted of them, to train and to judge an extractor by.

A folder of `<group>/<name>.html` with `<group>/<name>.txt` (UTF-8) beside it, at any depth. Pages of one folder are of
one group (a site, as a rule), which is never split between training and judging.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corpus_assets.kernels.block_features import block_features
from corpus_assets.kernels.html_blocks import html_blocks
from corpus_assets.stages import block_text, decode_charset
from formats import durable
from formats.errors import ConfigError

SHINGLE = 4
"""Words of a shingle, as the article extraction benchmark counts them."""
_LEAST_WORDS = 20
_LEAST_WEIGHT = 0.0005
_WORD = re.compile(r"\w+")

Shingle = tuple[str, ...]


@dataclass(frozen=True)
class LabelledPage:
    """A page as it was served, the text wanted of it, and the group it belongs to."""

    name: str
    group: str
    html: bytes
    text: str


@dataclass(frozen=True)
class Example:
    """A page's blocks to train on: features, the share of each block's words that is wanted, and its weight."""

    features: np.ndarray
    share: np.ndarray
    weight: np.ndarray


def read(folder: Path) -> list[LabelledPage]:
    """The pages of a folder, by name. Raises ConfigError where there are none or one lacks its half."""
    pages = []
    for path in sorted(folder.rglob("*.html")):
        wanted = path.with_suffix(".txt")
        if not wanted.is_file():
            raise ConfigError(
                f"{path}: no {wanted.name} lies beside it; write the text that is wanted of the page there"
            )
        name = path.relative_to(folder).with_suffix("").as_posix()
        with durable.naming(path):
            html = path.read_bytes()
        try:
            text = wanted.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise ConfigError(f"{wanted}: is not UTF-8 at byte {error.start}; save it as UTF-8") from None
        pages.append(LabelledPage(name, path.relative_to(folder).parent.as_posix(), html, text))
    if not pages:
        raise ConfigError(f"{folder}: holds no page; expected <group>/<name>.html with <name>.txt beside it")
    return pages


def words_of(text: str) -> list[str]:
    return _WORD.findall(text)


def shingles(words: list[str]) -> Counter[Shingle]:
    """All runs of four words, counted; of a shorter text its words as one."""
    if not words:
        return Counter()
    return Counter(tuple(words[i : i + SHINGLE]) for i in range(max(1, len(words) - SHINGLE + 1)))


def overlap(wanted: str, found: str) -> tuple[float, float]:
    """(precision, recall) of a page's text; nothing found where nothing is wanted is right."""
    truth, given = shingles(words_of(wanted)), shingles(words_of(found))
    if not truth or not given:
        return float(not given), float(not truth)
    both = (truth & given).total()
    return both / given.total(), both / truth.total()


def example(page: LabelledPage) -> Example:
    """The page's blocks with what is wanted of them. Raises ConfigError for a page with too many blocks."""
    blocks = html_blocks(decode_charset.to_utf8(page.html, is_html=True))
    if blocks is None:
        raise ConfigError(f"page {page.name} has too many blocks to learn from; leave it out")
    words = [words_of(text) for _, text in block_text.texts_of(blocks, blocks.blocks)]
    wanted = words_of(page.text)
    size = np.array([len(one) for one in words], np.float64)
    covered = np.array(list(_covered(words, wanted)), np.float64)
    weight = np.minimum(size / max(_LEAST_WORDS, len(wanted)), 1) + _LEAST_WEIGHT
    return Example(block_features(blocks), covered / np.maximum(size, 1), weight)


def _covered(words: list[list[str]], wanted: list[str]) -> Iterator[int]:
    """Per block, how many of its words lie in a run of wanted shingles. Longer runs take their shingles first, each as
    often as it is wanted, so that a headline repeated in a menu does not count there.
    """
    flat = [word for block in words for word in block]
    left = shingles(wanted)
    width = min(SHINGLE, max(1, len(wanted)))
    at = [tuple(flat[i : i + width]) for i in range(len(flat) - width + 1)]
    runs, start = [], None
    for i, shingle in enumerate([*at, ()]):
        if shingle in left and start is None:
            start = i
        elif shingle not in left and start is not None:
            runs.append((start - i, start, i))
            start = None
    is_covered = np.zeros(len(flat), np.int64)
    for _, first, end in sorted(runs):
        for i in range(first, end):
            if left[at[i]] > 0:
                left[at[i]] -= 1
                is_covered[i : i + width] = 1
    i = 0
    for block in words:
        yield int(is_covered[i : i + len(block)].sum())
        i += len(block)

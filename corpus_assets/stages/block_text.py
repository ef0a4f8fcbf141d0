"""HTML to the text of its main content by our own pass: blocks, their features, and a block model that says which stay.

A page of which the model expects to get too much wrong, or of which nothing would stay, is given to the second opinion:
the parser of `extract_text`, under its limits and in its guarded process. The pass itself is bounded in time and memory
whatever the page, and keeps no state between pages.
"""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from corpus_assets.kernels.block_features import NAMES, block_features
from corpus_assets.kernels.block_texts import BYTES
from corpus_assets.kernels.block_trees import expected_error, probabilities
from corpus_assets.kernels.html_blocks import ELEMENT, END, START, Blocks, html_blocks
from corpus_assets.kernels.html_elements import IN_CODE, IN_TABLE
from corpus_assets.stages import decode_charset, extract_text
from corpus_assets.stages.extract_text import Extracted, ExtractRules, Page
from formats.block_model import BlockModel
from formats.errors import ConfigError
from formats.judged_pages import BLOCKS, MAX_ERROR, Judgement
from formats.reject_reasons import RejectReason

CODE_VERSION = "5"
FEATURES_VERSION = "4"
"""Of blocks and features: a model that was trained on others is refused."""
LIBRARIES = ("resiliparse",)
LONGEST_ROW = 1_000
"""Characters of a row of a table that is set as a line; a longer one is what some pages lay out their columns by."""
LONG_BLOCK = 1_500
"""Bytes of a block that is not kept twice; what a page says again on purpose is shorter."""
_RULES = ExtractRules()
_CELL, _LINE, _PARAGRAPH = "\t", "\n", "\n\n"


@dataclass(frozen=True, slots=True)
class Judged:
    """A page's blocks with their probabilities (65536ths), and the share of its text that is expected to be wrong, in
    thousandths.
    """

    page: Blocks
    probability: np.ndarray
    error: int

    def text(self, cut: int) -> str:
        """The blocks from `cut` on, but for long ones that say again what one before them said."""
        return text_of(self.page, _once(self.page, self.probability >= cut))


def fitting(model: BlockModel) -> BlockModel:
    """The model itself. Raises ConfigError for one that was trained on other features than these."""
    if (model.features, model.feature_names) != (FEATURES_VERSION, NAMES):
        raise ConfigError(
            f"block model {model.digest[:12]} was trained on features {model.features}, and this release has "
            f"{FEATURES_VERSION}; train it again with `corpus extract train`"
        )
    return model


def judge(utf8: bytes, model: BlockModel) -> Judged | None:
    """A page in UTF-8 under a model that fits; None for a page with too many blocks or elements."""
    page = html_blocks(utf8)
    if page is None:
        return None
    features = block_features(page)
    probability = probabilities(features, model.nodes, model.roots, model.base)
    return Judged(page, probability, expected_error(features[:, BYTES], probability))


@dataclass(frozen=True, slots=True)
class Unsure:
    """A page of which the second opinion is asked, and what the model expected of it."""

    page: Page
    error: int


def prepare(data: bytes, content_type: str | None, model: BlockModel, rules: ExtractRules = _RULES) -> Page | Extracted:
    """The main text of a page or the reason why there is none; a Page where the second opinion is asked."""
    made = prepare_judged(data, content_type, model, rules)
    return made.page if isinstance(made, Unsure) else made


def prepare_judged(
    data: bytes, content_type: str | None, model: BlockModel, rules: ExtractRules = _RULES
) -> Unsure | Extracted:
    """As `prepare`, with the expected error of what the model judged."""
    if len(data) > rules.max_page_bytes:
        return Extracted("", RejectReason.PAGE_TOO_LARGE)
    utf8 = decode_charset.to_utf8(data, content_type, is_html=True)
    judged = judge(utf8, model)
    if judged is None:
        return Extracted("", RejectReason.PAGE_TOO_LARGE)
    error = min(judged.error, MAX_ERROR)
    if judged.error < model.unsure and (text := judged.text(model.cut)):
        return Extracted(text, judged=Judgement(error, BLOCKS))
    made = extract_text.prepare_utf8(utf8, rules)
    return Unsure(made, error) if isinstance(made, Page) else made


def _once(page: Blocks, keep: np.ndarray) -> np.ndarray:
    """`keep` without the copies of long blocks: some pages hold their whole text again, for a reader or a share box."""
    start, end = page.blocks[:, START], page.blocks[:, END]
    long = np.flatnonzero(keep & (end - start >= LONG_BLOCK)).tolist()
    said: set[bytes] = set()
    kept = keep.copy()
    for block in long:
        text = page.text[start[block] : end[block]].tobytes()
        kept[block] = text not in said
        said.add(text)
    return kept


class Place(NamedTuple):
    """Where a block stands: the columns of `html_elements` from IN_TABLE on."""

    table: int
    row: int
    cell: int
    number: int
    list: int
    code: int


def text_of(page: Blocks, keep: np.ndarray) -> str:
    """The text of some blocks. Rows of a table, items of a list with those of the lists in it, and lines of code have
    lines of their own; everything else has an empty line between. Where more than one cell of a row is kept, the row is
    one line, with a tab for each cell before. Code keeps its white space, and all else has none at the ends of blocks.
    Entities are decoded.
    """
    found = [(element, text) for element, text in texts_of(page, page.blocks[keep]) if text]
    columns = page.elements[[element for element, _ in found], IN_TABLE:].tolist()
    blocks = [(Place(*row), text) for row, (_, text) in zip(columns, found, strict=True)]
    short, one_line = _rows(blocks)
    parts: list[str] = []
    before, begun = None, set()
    for place, text in blocks:
        in_line = place.row in one_line
        if before is not None:
            parts.append(_between(before, place, short, in_line))
        if in_line and place.row not in begun:
            begun.add(place.row)
            parts.append(_CELL * place.number)
        parts.append(text.replace("\n", " ") if in_line else text)
        before = place
    return "".join(parts)


def _rows(blocks: Sequence[tuple[Place, str]]) -> tuple[set[int], set[int]]:
    """The rows that are short and hold no lines of code, 0 (no row) among them; and which of them are one line, having
    more than one cell.
    """
    cells: dict[int, set[int]] = {}
    left = {0: LONGEST_ROW}
    before = 0
    for place, text in blocks:
        if row := place.row:
            of_row = cells.setdefault(row, set())
            # Two blocks of code in one cell are lines, as one with a line feed in it is.
            is_code = place.code and ("\n" in text or (place.code == before and place.cell in of_row))
            left[row] = left.get(row, LONGEST_ROW) - (LONGEST_ROW + 1 if is_code else len(text))
            of_row.add(place.cell)
        before = place.code
    short = {row for row, room in left.items() if room >= 0}
    return short, {row for row in short if len(cells.get(row, ())) > 1}


def texts_of(page: Blocks, blocks: np.ndarray) -> Iterator[tuple[int, str]]:
    """(element, text) of each of these blocks, decoded; a text may be empty then."""
    data = page.text.tobytes()
    in_code = page.elements[:, IN_CODE]
    for start, end, element in blocks[:, [START, END, ELEMENT]].tolist():
        text = html.unescape(data[start:end].decode("utf-8", "replace")).replace("\0", "")
        yield element, text.rstrip() if in_code[element] else text.strip()


def _between(one: Place, other: Place, short: set[int], in_line: bool) -> str:
    """What stands between two blocks; `in_line`: the second one's row is one line."""
    if in_line and one.row == other.row:
        return _CELL * (other.number - one.number) or " "
    if (one.code and one.code == other.code) or (one.list and one.list == other.list):
        return _LINE
    if one.table and one.table == other.table and one.row != other.row and {one.row, other.row} <= short:
        return _LINE
    return _PARAGRAPH

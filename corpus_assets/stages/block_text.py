"""HTML to the text of its main content by our own pass: blocks, their features, and a block model that says which stay.

A page of which the model expects to get too much wrong, or of which nothing would stay, is given to the second opinion:
the parser of `extract_text`, under its limits and in its guarded process. The pass itself is bounded in time and memory
whatever the page, and keeps no state between pages.
"""

import html
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from corpus_assets.kernels.block_features import NAMES, block_features
from corpus_assets.kernels.block_texts import BYTES
from corpus_assets.kernels.block_trees import expected_error, probabilities
from corpus_assets.kernels.html_blocks import ELEMENT, END, IN, START, Blocks, html_blocks
from corpus_assets.kernels.html_elements import LIST, ROW
from corpus_assets.kernels.html_names import CONTEXTS
from corpus_assets.stages import decode_charset, extract_text
from corpus_assets.stages.extract_text import Extracted, ExtractRules, Page
from formats.block_model import BlockModel
from formats.errors import ConfigError
from formats.judged_pages import BLOCKS, MAX_ERROR, Judgement
from formats.reject_reasons import RejectReason

CODE_VERSION = "4"
FEATURES_VERSION = "3"
"""Of blocks and features: a model that was trained on others is refused."""
LIBRARIES = ("resiliparse",)
_IN_PRE = 1 << CONTEXTS.index("pre")
_RULES = ExtractRules()
_CELL, _ITEM, _PARAGRAPH = "\t", "\n", "\n\n"


@dataclass(frozen=True, slots=True)
class Judged:
    """A page's blocks with their probabilities (65536ths), and the share of its text that is expected to be wrong, in
    thousandths.
    """

    page: Blocks
    probability: np.ndarray
    error: int

    def text(self, cut: int) -> str:
        """The blocks from `cut` on."""
        return text_of(self.page, self.probability >= cut)


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


def text_of(page: Blocks, keep: np.ndarray) -> str:
    """The text of some blocks: cells of a row with tabs between them, items of a list and rows of a table on lines of
    their own, everything else with an empty line between; code with its white space, and all else without any at the
    ends of blocks. Entities are decoded.
    """
    parts: list[str] = []
    before = None
    for element, text in texts_of(page, page.blocks[keep]):
        if text:
            place = page.elements[element]
            if before is not None:
                parts.append(_between(before, place))
            parts.append(text)
            before = place
    return "".join(parts)


def texts_of(page: Blocks, blocks: np.ndarray) -> Iterator[tuple[int, str]]:
    """(element, text) of each of these blocks, decoded; a text may be empty then."""
    data = page.text.tobytes()
    for block in blocks.tolist():
        text = html.unescape(data[block[START] : block[END]].decode("utf-8", "replace")).replace("\0", "")
        yield block[ELEMENT], text.rstrip() if block[IN] & _IN_PRE else text.strip()


def _between(one: np.ndarray, other: np.ndarray) -> str:
    if one[ROW] and one[ROW] == other[ROW]:
        return _CELL
    return _ITEM if one[LIST] and one[LIST] == other[LIST] else _PARAGRAPH

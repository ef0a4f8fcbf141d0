"""The quality mode of the block extractor: pages of which the model is unsure are given to trafilatura.

The text itself is made by `trafilatura_text`, in a
guarded process; this says what it is made by, without loading it.
"""

import unicodedata
from dataclasses import replace
from importlib import metadata

from corpus_assets.stages import block_text, extract_text
from corpus_assets.stages.extract_text import Extracted
from formats.block_model import BlockModel
from formats.errors import ConfigError

CODE_VERSION = "1"
LIBRARIES = ("trafilatura", "lxml", "justext")
"""What the text rests on; htmldate and courlan, which trafilatura loads too, are for dates and addresses."""
PARSER = "corpus_assets.stages.trafilatura_text:trafilatura_text"
"""What is called with a Page's fields."""
UNICODE = unicodedata.unidata_version
"""Of the interpreter: trafilatura composes characters by its tables."""

UNSURE = 100
"""From a tenth of the text on: trafilatura is right about more pages than Resiliparse, so it is asked about more. What
was measured, and where it is worse, stands in block_model.md.
"""


def asking(model: BlockModel) -> BlockModel:
    """The model, unsure from UNSURE on, or from less where it says so itself."""
    return replace(model, unsure=min(model.unsure, UNSURE))


def hold_installed() -> None:
    """Raises ConfigError where a library is missing."""
    for name in LIBRARIES:
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            raise ConfigError(
                f"extract.second_opinion: {name} is not installed; install it with: pip install "
                "'corpus-assets[trafilatura]', or leave second_opinion out"
            ) from None


def text_here(html: bytes, content_type: str | None, model: BlockModel) -> Extracted:
    """The main text of one page, parsed in this process; for where the libraries are installed."""
    from corpus_assets.stages.trafilatura_text import trafilatura_text

    made = block_text.prepare(html, content_type, asking(model))
    return made if isinstance(made, Extracted) else extract_text.finish(trafilatura_text(*made)[0])

"""The second opinion of the quality mode: a page's text by trafilatura, and by Resiliparse where that gives none.

What the guarded process calls for a page of which the block model is unsure. The same page always gives the same text:
trafilatura gets text (of bytes it would guess the encoding), drops nothing as a duplicate (it would remember what it
saw on earlier pages), and reads no metadata (dates are held against today's). What it caches beside that are values of
pure functions.
"""

import logging
from typing import Any

from trafilatura import extract

from corpus_assets.stages.main_text import main_text
from formats.judged_pages import RESILIPARSE, TRAFILATURA

MAX_BYTES, MAX_TAGS = 1_000_000, 10_000
"""Pages beyond are Resiliparse's alone. Time grows with the square of some pages' tags (some 7 s at most
found within these), and where one of trafilatura's attempts runs out of memory it goes on with another, so memory must
not run short either.
"""

logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # what it says of single pages


def trafilatura_text(page: bytes, main_content: bool) -> tuple[str | None, str]:
    """The text and whose it is, of a page in UTF-8; None where the parser gives up. Raises MemoryError."""
    if main_content and len(page) <= MAX_BYTES and page.count(b"<") <= MAX_TAGS:
        text = _by_trafilatura(page.decode("utf-8"))
        if text and text.strip():
            return text, TRAFILATURA
    return main_text(page, main_content), RESILIPARSE


def _by_trafilatura(html: str) -> Any:
    try:
        return extract(html, include_comments=False, include_tables=True, deduplicate=False)
    except MemoryError:
        raise
    except Exception:  # whatever a page makes of it: the page has another parser
        return None

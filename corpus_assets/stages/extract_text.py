"""HTML to the text of its main content, block for block on lines of their own. One page in, one text out: no state
between pages, so that the same page always gives the same text.

Three steps, since the parser in the middle is native code that may crash, hang or eat memory: `prepare` decodes the
page and holds it to limits, `main_text` (a module of its own) parses it, `finish` looks at what came out. The limits
count what is known to make the parser slow, so that how long a page takes decides nothing about it where they hold.
"""

from dataclasses import dataclass
from typing import NamedTuple

from corpus_assets.kernels import html_depth
from corpus_assets.stages import decode_charset, main_text
from formats.judged_pages import Judgement
from formats.reject_reasons import RejectReason

CODE_VERSION = "2"
LIBRARIES = ("resiliparse",)
PARSER = "corpus_assets.stages.main_text:main_text"
"""What is called with a Page's fields."""
_FEW_ZEROS, _MIN_CHARACTERS_A_ZERO = 8, 4
"""A NUL here and there is a slip of whoever wrote the text; more than these are another format."""


@dataclass(frozen=True)
class ExtractRules:
    """Pages beyond the first four are refused; those beyond the last two give all their text instead of the main
    content, since the rules for it walk up the tree again and again.
    """

    max_page_bytes: int = 10_000_000
    max_tags: int = 200_000
    max_attributes: int = 20_000
    max_options: int = 10_000
    max_depth: int = 2_000
    max_depths: int = 20_000_000


class Page(NamedTuple):
    """A page in UTF-8 that is fit to be parsed."""

    utf8: bytes
    main_content: bool


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text, or the reason why there is none; with what its extractor expects of it, where that says so."""

    text: str
    reason: RejectReason | None = None
    judged: Judgement | None = None


def prepare(html: bytes, content_type: str | None = None, rules: ExtractRules = ExtractRules()) -> Page | Extracted:
    """The page to parse, or the reason why it is refused; `content_type` is its HTTP header."""
    if len(html) > rules.max_page_bytes:
        return Extracted("", RejectReason.PAGE_TOO_LARGE)
    return prepare_utf8(decode_charset.to_utf8(html, content_type, is_html=True), rules)


def prepare_utf8(utf8: bytes, rules: ExtractRules = ExtractRules()) -> Page | Extracted:
    """The same of a page of a fit length that is in UTF-8."""
    shape = html_depth.measure(utf8)
    if shape.tags > rules.max_tags or shape.attributes > rules.max_attributes or shape.options > rules.max_options:
        return Extracted("", RejectReason.PAGE_TOO_LARGE)
    return Page(utf8, main_content=shape.depth <= rules.max_depth and shape.depths <= rules.max_depths)


def finish(text: str | None) -> Extracted:
    """What the parser gave, as a result."""
    if text is None:
        return Extracted("", RejectReason.BROKEN_HTML)
    if not text.strip():
        return Extracted("", RejectReason.NO_MAIN_TEXT)
    return Extracted(text)


def extract(html: bytes, content_type: str | None = None, rules: ExtractRules = ExtractRules()) -> Extracted:
    """The main text of one page, parsed in this process."""
    page = prepare(html, content_type, rules)
    return page if isinstance(page, Extracted) else finish(main_text.main_text(*page))


def extract_plain(data: bytes, content_type: str | None = None) -> Extracted:
    """The text of a plain text or Markdown file, as it is. UTF-16 that nothing declares is refused: every second
    byte is a zero.
    """
    text = decode_charset.decode(data, content_type, is_html=False)
    zeros = text.count("\0")
    if zeros and (zeros > max(_FEW_ZEROS, len(text) // _MIN_CHARACTERS_A_ZERO) or not _is_utf8(data)):
        return Extracted("", RejectReason.BINARY_CONTENT)
    return Extracted(text)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True

"""HTML to the text of its main content, block for block on lines of their own. One page in, one text out: no state
between pages, so that the same page always gives the same text.

Resiliparse's main-content rules with links, alternative texts and list bullets off; the switches cost precision
otherwise. Its time grows with the square of the nesting depth, so depth is counted first, and a page that is too
deep gives all its text instead.
"""

from dataclasses import dataclass

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html.exception import HTMLParserException

from corpus_assets.kernels import html_depth
from corpus_assets.stages import decode_charset
from formats.reject_reasons import RejectReason

CODE_VERSION = "1"
LIBRARIES = ("resiliparse",)


@dataclass(frozen=True)
class ExtractRules:
    """Pages beyond the first two are refused; deeper ones give all their text instead of the main content."""

    max_page_bytes: int = 10_000_000
    max_tags: int = 200_000
    max_depth: int = 2_000


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text, or the reason why there is none."""

    text: str
    reason: RejectReason | None = None


def extract(html: bytes, content_type: str | None = None, rules: ExtractRules = ExtractRules()) -> Extracted:
    """The main text of one page; `content_type` is its HTTP header."""
    if len(html) > rules.max_page_bytes:
        return Extracted("", RejectReason.PAGE_TOO_LARGE)
    page = decode_charset.decode(html, content_type, is_html=True)
    num_tags, depth = html_depth.measure(page.encode("utf-8"))
    if num_tags > rules.max_tags:
        return Extracted("", RejectReason.PAGE_TOO_LARGE)
    try:
        text = extract_plain_text(
            page,
            preserve_formatting=True,
            main_content=depth <= rules.max_depth,
            links=False,
            alt_texts=False,
            list_bullets=False,
        )
    except HTMLParserException:
        return Extracted("", RejectReason.BROKEN_HTML)
    if not text.strip():
        return Extracted("", RejectReason.NO_MAIN_TEXT)
    return Extracted(text)


def extract_plain(data: bytes, content_type: str | None = None) -> Extracted:
    """The text of a plain text or Markdown file, as it is."""
    text = decode_charset.decode(data, content_type, is_html=False)
    return Extracted("", RejectReason.BINARY_CONTENT) if "\0" in text and not _is_utf8(data) else Extracted(text)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True

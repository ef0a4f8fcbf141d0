"""The text of one page, by Resiliparse's rules for main content with links, alternative texts and list bullets off; the
switches cost precision otherwise.

The one place where native code meets bytes from the web; it runs in a process of its own and loads nothing else.
"""

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html.exception import HTMLParserException

_OUT_OF_MEMORY = "(Error 2)"
"""lexbor's status for an allocation that failed, as the parser's exception words it."""


def main_text(page: bytes, main_content: bool) -> str | None:
    """The main content of a page in UTF-8, or all its text; None where the parser gives up. Raises MemoryError."""
    try:
        return extract_plain_text(
            page.decode("utf-8"),
            preserve_formatting=True,
            main_content=main_content,
            links=False,
            alt_texts=False,
            list_bullets=False,
        )
    except HTMLParserException as error:
        if _OUT_OF_MEMORY in str(error):
            raise MemoryError(str(error)) from error
        return None

"""The markup of a page: what is text is escaped where a cell or paragraph is made; `Html` alone goes in as it is.

No script, no font or picture from elsewhere: the page's policy forbids them, and tests look for them.
"""

from collections.abc import Iterable, Sequence
from html import escape

from corpus_assets.plans import pictures
from corpus_assets.plans.datasheet_style import CSS
from corpus_assets.plans.for_people import share, shown
from corpus_assets.plans.pictures import Picture


class Html(str):
    """Markup, as opposed to text that is to be escaped."""


class Right(str):
    """A number with its unit: stands at the right like a whole number."""


def page(title: str, head: str, sections: Sequence[tuple[str, str, str]]) -> str:
    """A whole page: a head, the list of sections (anchor, title, markup), and these."""
    contents = "".join(f'<li><a href="#{name}">{text(words)}</a></li>' for name, words, _ in sections)
    body = "".join(f'<section id="{name}"><h2>{text(words)}</h2>{inner}</section>' for name, words, inner in sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="referrer" content="no-referrer">'
        f"<title>{text(title)}</title><style>{CSS}{pictures.CSS}</style></head><body>"
        f"{head}<nav><ul>{contents}</ul></nav><main>{body}</main></body></html>\n"
    )


def text(words: str) -> Html:
    return words if isinstance(words, Html) else Html(escape(shown(words)))


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, foot: Sequence[object] | None = None) -> Html:
    """Numbers stand at the right; the columns of numbers are told by their first row."""
    body = [list(row) for row in rows]
    if not body:
        return Html("<p class=none>None.</p>")
    numeric = [isinstance(one, int | Right) for one in body[0]]

    def line(cells: Sequence[object], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=n' if right else ''}>{cell(one)}</{tag}>"
            for one, right in zip(cells, numeric, strict=True)
        )

    head = f"<thead><tr>{line(heads, 'th')}</tr></thead>"
    rest = "".join(f"<tr>{line(row, 'td')}</tr>" for row in body)
    last = f"<tfoot><tr>{line(foot, 'td')}</tr></tfoot>" if foot else ""
    return Html(f"<div class=wide><table>{head}<tbody>{rest}</tbody>{last}</table></div>")


def cell(value: object) -> Html:
    if isinstance(value, Html):
        return value
    return Html(f"{value:,}") if isinstance(value, int) else text(str(value))


def share_of(part: int, whole: int) -> Right:
    return Right(share(part, whole))


def paragraph(*parts: str, kind: str = "") -> Html:
    return Html(f"<p{f' class={kind}' if kind else ''}>{''.join(text(part) for part in parts)}</p>")


def code(words: str, *, whole: bool = False) -> Html:
    return Html(f"<code{' class=whole' if whole else ''}>{text(words)}</code>")


def link(address: str, words: str) -> Html:
    """A link, where the address is one of the web; else the words alone."""
    if not address.startswith(("https://", "http://")):
        return text(words)
    return Html(f'<a href="{text(address)}" rel="noopener noreferrer">{text(words)}</a>')


def figure(picture: Picture) -> Html:
    return Html(f"<figure>{picture.inline()}</figure>")

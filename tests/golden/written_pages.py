"""Web pages that were written for this project, by rules and a seed: what the package's own block model is trained on.

Words are made up, so no page says anything; what matters is how pages are built: menus, side columns, comments and
footers around an article, a manual, a forum, a list or a page from before style sheets. Nothing is taken from any page.
"""

import random
from collections.abc import Callable
from html import escape

from corpus_assets.plans.labelled_pages import LabelledPage

_SYLLABLES = (
    "ba ro ti ne la su mi ke do va er an ol in ta re si mo che lu",
    "sch ei ung ver aus be ge lich ter au hol fen wir gra nd ste ru mal kel en",
    "пра во на ли ки сто ра не ми да го ве ть ска ре но чи лу ба ви",
)
SYLLABLES = tuple(tuple(of_one.split()) for of_one in _SYLLABLES)
IDEOGRAPHS = "山水日月人大小天地風花雪木林森田川海空火土金石"
GOOD_NAMES = (
    "article-body", "entry-content", "post-content", "story", "content", "main-content", "articleBody", "text",
    "post", "blog-post", "article", "body-copy", "richtext", "page", "inner", "col-main", "wrap", "css-1a2b3", "x7",
)  # fmt: skip
MENU_NAMES = ("nav", "menu", "main-nav", "navbar", "header-links", "topbar", "links", "sf-menu", "h-list", "css-9z8")
SIDE_NAMES = ("sidebar", "widget", "rail", "secondary", "aside", "right-col", "module", "box", "css-44t", "col-2")
MORE_NAMES = ("related", "more-stories", "recommended", "most-read", "trending", "teasers", "promo", "list-x", "css-7q")
FOOT_NAMES = ("footer", "site-footer", "bottom", "legal", "copyright", "foot", "css-0f0", "colophon")
COMMENT_NAMES = ("comments", "comment-list", "disqus", "replies", "discussion", "responses", "css-c0m")
SHARE_NAMES = ("share", "social", "share-bar", "follow-us", "addthis", "tools", "css-5h4")
BYLINE_NAMES = ("byline", "author", "meta", "dateline", "post-meta", "info", "css-b1")
FURNITURE = (
    "Home", "About us", "Contact", "Subscribe", "Log in", "Sign up", "Privacy", "Terms of use", "Advertise", "Help",
    "Archive", "Newsletter", "RSS", "Sport", "Culture", "Science", "Shop", "Search", "Share", "Tweet", "Email", "Print",
)  # fmt: skip
MONTHS = ("January", "March", "June", "October", "December")


class Writer:
    """Writes one page: `html` grows part by part, and what of it is wanted is kept beside."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.words = self._vocabulary()
        self.html: list[str] = []
        self.wanted: list[str] = []

    def _vocabulary(self) -> list[str]:
        if self.draw.random() < 0.08:
            return list(IDEOGRAPHS)
        syllables = self.draw.choice(SYLLABLES)
        return ["".join(self.draw.choices(syllables, k=self.draw.choice((1, 1, 2, 2, 3, 4)))) for _ in range(300)]

    def chance(self, probability: float) -> bool:
        return self.draw.random() < probability

    def name(self, names: tuple[str, ...]) -> str:
        """An attribute with one of these names, or none."""
        if self.chance(0.2):
            return ""
        return f' {self.draw.choice(("class", "class", "id"))}="{self.draw.choice(names)}"'

    def phrase(self, least: int, most: int) -> str:
        joint = "" if self.words[0] in IDEOGRAPHS else " "
        count = self.draw.randint(least, most)
        text = joint.join(self.words[int(len(self.words) * self.draw.random() ** 2)] for _ in range(count))
        return text[:1].upper() + text[1:]

    def sentence(self) -> str:
        if self.words[0] in IDEOGRAPHS:
            return "，".join(self.phrase(4, 14) for _ in range(self.draw.randint(1, 3))) + "。"
        parts = ", ".join(self.phrase(3, 11).lower() for _ in range(self.draw.choice((1, 1, 2, 2, 3))))
        return parts[:1].upper() + parts[1:] + self.draw.choices((".", "!", "?", ":"), (20, 1, 2, 1))[0]

    def paragraph(self, least: int = 1, most: int = 6) -> str:
        return " ".join(self.sentence() for _ in range(self.draw.randint(least, most)))

    def link(self, text: str) -> str:
        return f'<a href="/{self.draw.randint(1, 999)}">{escape(text)}</a>'

    def put(self, html: str) -> None:
        self.html.append(html)

    def keep(self, tag: str, text: str, attributes: str = "") -> None:
        """A wanted block; now and then a few of its words are a link or bold."""
        self.wanted.append(text)
        words = text.split(" ")
        if len(words) > 8 and self.chance(0.25):
            at = self.draw.randrange(len(words) - 3)
            inner = " ".join(words[at : at + 3])
            inner = self.link(inner) if self.chance(0.7) else f"<b>{escape(inner)}</b>"
            html = " ".join([escape(" ".join(words[:at])), inner, escape(" ".join(words[at + 3 :]))])
        else:
            html = escape(text)
        self.put(f"<{tag}{attributes}>{html}</{tag}>" if tag else html)

    def drop(self, tag: str, text: str, attributes: str = "") -> None:
        self.put(f"<{tag}{attributes}>{escape(text)}</{tag}>")


def menu(page: Writer) -> None:
    tag = page.draw.choice(("nav", "div", "ul", "header"))
    page.put(f"<{tag}{page.name(MENU_NAMES)}>")
    listed = tag == "ul" or page.chance(0.6)
    page.put("<ul>" if listed and tag != "ul" else "")
    for _ in range(page.draw.randint(3, 25)):
        text = page.draw.choice(FURNITURE) if page.chance(0.5) else page.phrase(1, 3)
        page.put(f"<li>{page.link(text)}</li>" if listed else f"{page.link(text)} ")
    page.put(("</ul>" if listed and tag != "ul" else "") + f"</{tag}>")


def teasers(page: Writer, names: tuple[str, ...] = MORE_NAMES) -> None:
    tag = page.draw.choice(("div", "section", "aside"))
    page.put(f"<{tag}{page.name(names)}>")
    page.drop(page.draw.choice(("h2", "h3", "h4", "div", "strong")), page.draw.choice(("Related", "More", "Most read")))
    with_text = page.chance(0.4)
    for _ in range(page.draw.randint(3, 10)):
        page.put(
            f"<div><h3>{page.link(page.phrase(4, 10))}</h3>" if with_text else f"<li>{page.link(page.phrase(3, 9))}"
        )
        page.put(f"<p>{escape(page.sentence())}</p></div>" if with_text else "</li>")
    page.put(f"</{tag}>")


def side_column(page: Writer) -> None:
    tag = page.draw.choice(("aside", "div"))
    page.put(f"<{tag}{page.name(SIDE_NAMES)}>")
    for part in page.draw.sample((teasers, newsletter, about_box, menu, advert), k=page.draw.randint(1, 4)):
        part(page)
    page.put(f"</{tag}>")


def newsletter(page: Writer) -> None:
    page.put(f"<div{page.name(('newsletter', 'subscribe', 'signup', 'cta', 'css-nl'))}>")
    page.drop("h4", "Subscribe to our newsletter")
    page.drop("p", "Get the best of the week by email. " + page.sentence())
    page.put('<form><input type="email"><button>Sign up</button></form></div>')


def about_box(page: Writer) -> None:
    page.put(f"<div{page.name(('author-bio', 'about', 'bio', 'profile', 'widget'))}>")
    page.drop("h3", "About")
    page.drop("p", page.paragraph(1, 3))
    page.put("</div>")


def advert(page: Writer) -> None:
    page.put(f"<div{page.name(('ad', 'advertisement', 'sponsor', 'promo', 'banner'))}>Advertisement</div>")


def share_bar(page: Writer) -> None:
    page.put(f"<div{page.name(SHARE_NAMES)}>")
    for text in page.draw.sample(("Share", "Tweet", "Email", "Print", "Pin it", "Facebook", "WhatsApp"), k=4):
        page.put(f"{page.link(text)} ")
    page.put("</div>")


def comments(page: Writer) -> None:
    page.put(f"<div{page.name(COMMENT_NAMES)}><h3>{page.draw.randint(2, 90)} comments</h3>")
    for _ in range(page.draw.randint(1, 12)):
        page.put(f"<div{page.name(('comment', 'comment-body', 'reply', 'c'))}>")
        page.put(f"<b>{page.phrase(1, 2)}</b> <span>2 days ago</span>")
        page.drop("p", page.paragraph(1, 4))
        page.put(f"{page.link('Reply')}</div>")
    page.put("</div>")


def footer(page: Writer) -> None:
    tag = page.draw.choice(("footer", "div"))
    page.put(f"<{tag}{page.name(FOOT_NAMES)}>")
    for _ in range(page.draw.randint(2, 12)):
        page.put(
            f"<li>{page.link(page.draw.choice(FURNITURE))}</li>" if page.chance(0.7) else f"{page.link('Help')} | "
        )
    page.drop("p", f"© {page.draw.randint(1999, 2026)} {page.phrase(1, 3)}. All rights reserved. " + page.sentence())
    page.put(f"</{tag}>")


def heading(page: Writer) -> None:
    """Title, names and dates: not of the text."""
    page.drop("h1", page.phrase(4, 12), page.name(("title", "headline", "entry-title", "hed")))
    if page.chance(0.3):
        page.drop(
            page.draw.choice(("p", "h2", "div")), page.sentence(), page.name(("dek", "subtitle", "summary", "lead"))
        )
    if page.chance(0.8):
        date = f"{page.draw.choice(MONTHS)} {page.draw.randint(1, 28)}, {page.draw.randint(2001, 2026)}"
        tag = page.draw.choice(("div", "p", "span"))
        page.put(f"<{tag}{page.name(BYLINE_NAMES)}>By {page.link(page.phrase(2, 2))} {date}</{tag}>")
    if page.chance(0.5):
        share_bar(page)


def interruption(page: Writer) -> None:
    """What stands between the paragraphs of an article and is none of it."""
    kind = page.draw.randrange(6)
    if kind == 0:
        figure = page.draw.choice(("figure", "div"))
        caption = "figcaption" if figure == "figure" else "p"
        page.put(f'<{figure}{page.name(("image", "photo", "wp-caption", "media"))}><img src="a.jpg">')
        page.drop(caption, page.sentence() + " Photo: " + page.phrase(2, 2), page.name(("caption", "credit")))
        page.put(f"</{figure}>")
    elif kind == 1:
        page.put(f"<p>Read more: {page.link(page.phrase(4, 9))}</p>")
    elif kind == 2:
        page.drop("blockquote", page.phrase(6, 14), page.name(("pullquote", "quote", "pull")))
    else:
        (advert, newsletter, teasers)[kind - 3](page)


def running_text(page: Writer, least: int, most: int) -> None:
    """Paragraphs as `p`, as `div`, or between line breaks; headings, lists and quotations among them."""
    how = page.draw.choices(("p", "div", "br"), (8, 1, 1))[0]
    for i in range(page.draw.randint(least, most)):
        if i and page.chance(0.12):
            page.keep(page.draw.choice(("h2", "h2", "h3", "h4")), page.phrase(2, 8))
        if i and page.chance(0.06):
            tag = page.draw.choice(("ul", "ul", "ol"))
            page.put(f"<{tag}>")
            for _ in range(page.draw.randint(2, 8)):
                page.keep("li", page.sentence() if page.chance(0.5) else page.phrase(2, 9))
            page.put(f"</{tag}>")
        if i and page.chance(0.05):
            page.keep("blockquote", page.paragraph(1, 3))
        if i and page.chance(0.10):
            interruption(page)
        page.keep(how if how != "br" else "", page.paragraph(1, 5))
        page.put("<br><br>" if how == "br" else "\n")


def article(page: Writer) -> None:
    heading(page)
    page.put(f"<div{page.name(GOOD_NAMES)}>")
    running_text(page, 3, 25)
    page.put("</div>")
    if page.chance(0.5):
        tags = ", ".join(page.link(page.phrase(1, 2)) for _ in range(page.draw.randint(2, 7)))
        page.put(f"<div{page.name(('tags', 'topics', 'post-tags'))}>Filed under {tags}</div>")
    for part, often in ((share_bar, 0.4), (about_box, 0.3), (teasers, 0.6), (comments, 0.4)):
        if page.chance(often):
            part(page)


def manual(page: Writer) -> None:
    """A page of documentation: headings, code, terms, tables."""
    page.put(f"<div{page.name(('doc', 'document', 'content', 'section', 'markdown-body', 'rst-content'))}>")
    page.drop("h1", page.phrase(2, 5))
    for _ in range(page.draw.randint(2, 8)):
        page.keep("h2", page.phrase(1, 4))
        page.keep("p", page.paragraph(1, 3))
        kind = page.draw.randrange(4)
        if kind == 0:
            code = "\n".join(f"{page.phrase(1, 1).lower()} = {page.phrase(1, 1).lower()}({i})" for i in range(6))
            page.keep("pre", code)
        elif kind == 1:
            page.put("<dl>")
            for _ in range(page.draw.randint(2, 6)):
                page.keep("dt", page.phrase(1, 2))
                page.keep("dd", page.sentence())
            page.put("</dl>")
        elif kind == 2:
            page.put("<table>")
            for _ in range(page.draw.randint(2, 15)):
                page.put("<tr>")
                for _ in range(3):
                    page.keep("td", page.phrase(1, 5))
                page.put("</tr>")
            page.put("</table>")
        else:
            page.put("<ul>")
            for _ in range(page.draw.randint(2, 7)):
                page.keep("li", page.sentence())
            page.put("</ul>")
    page.put("</div>")


def forum(page: Writer) -> None:
    """A question with its answers, all of them wanted; who wrote them is not."""
    page.drop("h1", page.phrase(4, 10))
    for _ in range(page.draw.randint(2, 12)):
        page.put(f"<div{page.name(('post', 'answer', 'message', 'thread-post', 'topic-body', 'p'))}>")
        page.put(f"<div{page.name(('user', 'author', 'postinfo'))}>")
        page.put(f"{page.link(page.phrase(1, 1))} Posts: 12 Joined: 2009</div>")
        page.put(f"<div{page.name(('post-text', 'content', 'body', 'messagetext'))}>")
        for _ in range(page.draw.randint(1, 4)):
            page.keep("p", page.paragraph(1, 3))
        page.put(f"</div><div>{page.link('Reply')} {page.link('Report')}</div></div>")


def listing(page: Writer) -> None:
    """A front page whose items are all there is to it."""
    for _ in range(page.draw.randint(5, 20)):
        page.put(f"<div{page.name(('item', 'entry', 'post', 'card', 'result'))}>")
        title = page.phrase(3, 9)
        page.wanted.append(title)
        page.put(f"<h2>{page.link(title)}</h2>")
        page.keep("p", page.paragraph(1, 3))
        page.put("</div>")


def old_page(page: Writer) -> None:
    """From before style sheets: a table for the columns, line breaks for the paragraphs."""
    page.put("<table width='100%'><tr><td width='150'>")
    for _ in range(page.draw.randint(4, 15)):
        page.put(f"{page.link(page.phrase(1, 3))}<br>")
    page.put("</td><td>")
    page.drop("h1", page.phrase(3, 7))
    running_text(page, 2, 10)
    page.put("</td></tr></table>")


def short_page(page: Writer) -> None:
    page.put(f"<div{page.name(GOOD_NAMES)}>")
    page.keep("p", page.paragraph(1, 2))
    page.put("</div>")


KINDS: tuple[tuple[Callable[[Writer], None], int], ...] = (
    (article, 12), (manual, 3), (forum, 2), (listing, 1), (old_page, 2), (short_page, 1),
)  # fmt: skip


def written_page(number: int, kind: Callable[[Writer], None] | None = None) -> LabelledPage:
    """Page `number`, always the same: of a kind that is drawn, or of this one."""
    page = Writer(random.Random(number))
    kinds, weights = zip(*KINDS, strict=True)
    drawn = page.draw.choices(kinds, weights)[0]
    page.put("<!doctype html><html><head><title>x</title><style>p {}</style></head><body>")
    page.put(f"<div{page.name(('page', 'wrapper', 'site', 'container'))}>")
    for part, often in ((menu, 0.9), (menu, 0.4), (advert, 0.2), (teasers, 0.15)):
        if page.chance(often):
            part(page)
    first = page.chance(0.3)
    if first:
        side_column(page)
    tag = page.draw.choice(("article", "main", "div", "div", "section"))
    page.put(f"<{tag}{page.name(GOOD_NAMES)}>")
    (kind or drawn)(page)
    page.put(f"</{tag}>")
    if not first and page.chance(0.7):
        side_column(page)
    if page.chance(0.3):
        teasers(page)
    footer(page)
    page.put("</div></body></html>")
    return LabelledPage(f"{number:05d}", f"{number:05d}", "".join(page.html).encode(), "\n".join(page.wanted))

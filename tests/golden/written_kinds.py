"""Pages of kinds other than articles, written for this project by rules and a seed: documentation, questions and
answers, listings, forums and very short pages, in ten scripts; each kind by several templates that share no code, so
that one can be held out while others teach.

Words are made up, as in `written_pages`. Wanted is what the page is there for: not its title, nor who wrote when.
"""

import random
from collections.abc import Callable
from html import escape

from corpus_assets.plans.labelled_pages import LabelledPage
from tests.golden.written_pages import FURNITURE, Writer

SCRIPTS: tuple[tuple[str, str, str, str, str], ...] = (
    ("en", "ba ro ti ne la su mi ke do va er an ol in ta re si mo che lu", " ", ", ", "."),
    ("de", "sch ei ung ver aus be ge lich ter au hol fen wir gra nd ste ru mal kel en", " ", ", ", "."),
    ("es", "ción que los ña da mien to ra ble más ría do es un cue ta jó ve lo gu", " ", ", ", "."),
    ("pl", "prz ść owa nie ła czy rze ęd wi ku mo żna sta to dzi śl ko ny", " ", ", ", "."),
    ("ru", "пра во на ли ки сто ра не ми да го ве ть ска ре но чи лу ба ви", " ", ", ", "."),
    ("el", "κα λο πο τη ρα σι με νω θε τα γρα φη δου λε μα ξη", " ", ", ", "."),
    ("ar", "ال كت اب مد ين ة سا فر رج ل قم ر بح ور نه", " ", "، ", "."),
    ("hi", "का ना री ति मे वा सं दे श पु त्र ली हा ग", " ", ", ", "।"),
    ("ko", "가 나 다 라 마 바 사 아 자 하 고 는 을 에 서 도", " ", ", ", "."),
    ("zh", "山 水 日 月 人 大 小 天 地 風 花 雪 木 林 田 川 海 空 火 土", "", "，", "。"),
    ("ja", "の は を に が で と も 山 川 花 人 る た し い カ ト ラ ン", "", "、", "。"),
)
"""Language, syllables, what stands between words, between clauses, and at a sentence's end."""


class Scribe(Writer):
    """A writer of any of `SCRIPTS`."""

    def _vocabulary(self) -> list[str]:
        at = 0 if self.draw.random() < 0.3 else self.draw.randrange(len(SCRIPTS))
        self.language, syllables, self.space, self.comma, self.stop = SCRIPTS[at]
        parts = syllables.split()
        return ["".join(self.draw.choices(parts, k=self.draw.choice((1, 1, 2, 2, 3, 4)))) for _ in range(300)]

    def phrase(self, least: int, most: int) -> str:
        count = self.draw.randint(least, most)
        text = self.space.join(self.words[int(len(self.words) * self.draw.random() ** 2)] for _ in range(count))
        return text[:1].upper() + text[1:]

    def sentence(self) -> str:
        parts = [self.phrase(3, 11).lower() for _ in range(self.draw.choice((1, 1, 2, 2, 3)))]
        text = self.comma.join(parts)
        return text[:1].upper() + text[1:] + self.stop

    def paragraph(self, least: int = 1, most: int = 6) -> str:
        return self.space.join(self.sentence() for _ in range(self.draw.randint(least, most)))

    def links(self, least: int, most: int, before: str = "<li>", after: str = "</li>") -> None:
        for _ in range(self.draw.randint(least, most)):
            text = self.draw.choice(FURNITURE) if self.chance(0.3) else self.phrase(1, 4)
            self.put(f"{before}{self.link(text)}{after}")

    def date(self) -> str:
        return f"{self.draw.randint(1, 28)}.{self.draw.randint(1, 12)}.{self.draw.randint(2001, 2026)}"

    def code(self) -> str:
        names = [self.words[i] for i in range(8)]
        return "\n".join(
            f"{' ' * 4 * self.draw.randint(0, 2)}{self.draw.choice(names)} = {self.draw.choice(names)}({i})"
            for i in range(self.draw.randint(1, 9))
        )

    def cells(self, rows: int, columns: int) -> None:
        self.put("<table>")
        for _ in range(rows):
            self.put("<tr>")
            for _ in range(columns):
                self.keep("td", self.phrase(1, 6))
            self.put("</tr>")
        self.put("</table>")


def manual_with_tree(page: Scribe) -> None:
    """A manual: its whole table of contents at the left, the page's own at the right."""
    page.put('<div class="md-sidebar"><ul>')
    page.links(15, 70, "<li class='md-nav__item'>")
    page.put('</ul></div><div class="md-content"><article class="md-typeset">')
    page.drop("h1", page.phrase(1, 5))
    for _ in range(page.draw.randint(2, 7)):
        page.keep("p", page.paragraph(1, 4))
        kind = page.draw.randrange(5)
        if kind == 0:
            page.put('<div class="highlight">')
            page.keep("pre", page.code())
            page.put("</div>")
        elif kind == 1:
            page.put('<div class="admonition note">')
            page.keep("p", page.paragraph(1, 2))
            page.put("</div>")
        elif kind == 2:
            page.put("<ul>")
            for _ in range(page.draw.randint(2, 6)):
                page.keep("li", page.sentence())
            page.put("</ul>")
        elif kind == 3:
            page.cells(page.draw.randint(2, 8), 3)
        page.keep("h2", page.phrase(1, 5))
    page.keep("p", page.paragraph(1, 4))
    page.put('</article></div><div class="md-sidebar secondary"><ul>')
    page.links(3, 9)
    page.put("</ul></div>")


def api_reference(page: Scribe) -> None:
    """Functions as terms, what they do as their definitions."""
    page.put("<div class='related'><ul>")
    page.links(2, 5)
    page.put("</ul></div><div class='document'><div class='body'>")
    page.drop("h1", page.phrase(1, 3))
    page.keep("p", page.paragraph(1, 3))
    for _ in range(page.draw.randint(3, 14)):
        page.put("<dl class='function'>")
        page.keep("dt", f"{page.words[page.draw.randrange(40)]}({page.words[1]}, {page.words[2]}=0)")
        page.put("<dd>")
        page.keep("p", page.paragraph(1, 3))
        if page.chance(0.3):
            page.keep("pre", page.code())
        page.put("</dd></dl>")
    page.put("</div></div><div class='sphinxsidebar'><h3>Contents</h3><ul>")
    page.links(4, 20)
    page.put("</ul></div>")


def readme(page: Scribe) -> None:
    """What a code host shows below a table of files."""
    page.put("<div class='repo-head'>")
    page.links(6, 14, "<span>", "</span>")
    page.put("</div><table class='files'>")
    for _ in range(page.draw.randint(4, 15)):
        page.put(f"<tr><td>{page.link(page.words[3])}</td><td>{page.link(page.phrase(2, 6))}</td><td>2 days ago</td>")
    page.put("</table><div id='readme' class='Box'>")
    for _ in range(page.draw.randint(2, 6)):
        page.keep("h2", page.phrase(1, 3))
        page.keep("p", page.paragraph(1, 3))
        page.keep("pre", page.code()) if page.chance(0.5) else page.keep("p", page.sentence())
    page.put("</div>")


def question_with_votes(page: Scribe) -> None:
    """A question and its answers with their votes; remarks below each are not wanted."""
    page.put("<div id='question-header'>")
    page.drop("h1", page.phrase(4, 11))
    page.put("</div>")
    for i in range(page.draw.randint(2, 8)):
        page.put(f"<div class='{'answer' if i else 'question'}'><div class='votecell'>{page.draw.randint(0, 90)}</div>")
        page.put("<div class='postcell'>")
        for _ in range(page.draw.randint(1, 4)):
            page.keep("p", page.paragraph(1, 3))
        if page.chance(0.5):
            page.keep("pre", page.code())
        page.put(f"</div><div class='post-menu'>{page.link('share')} {page.link('edit')}</div>")
        page.put(f"<div class='user-info'>{page.link(page.phrase(1, 2))} {page.draw.randint(1, 9)},413</div></div>")
    page.put("<div class='sidebar-linked'>")
    page.links(5, 20, "<div class='spacer'>", "</div>")
    page.put("</div>")


def frequent_questions(page: Scribe) -> None:
    """Questions as headings, an answer below each."""
    page.put("<section class='faq'>")
    fold = page.chance(0.5)
    for _ in range(page.draw.randint(3, 14)):
        page.put("<details>" if fold else "<div>")
        page.keep("summary" if fold else "h3", page.phrase(4, 10) + "?")
        page.keep("p", page.paragraph(1, 3))
        page.put("</details>" if fold else "</div>")
    page.put("</section>")


def best_answer(page: Scribe) -> None:
    """A question in one box and answers in a list of them, the text right in the box."""
    page.put("<div class='q-box'>")
    page.drop("h2", page.phrase(4, 12))
    page.keep("div", page.paragraph(1, 3), " class='q-text'")
    page.put(f"<div>{page.link(page.phrase(1, 2))} {page.date()}</div></div><h3>Answers</h3><ul class='a-list'>")
    for _ in range(page.draw.randint(1, 9)):
        page.put(f"<li><span>{page.phrase(1, 2)}</span> <span>3 years ago</span>")
        page.keep("div", page.paragraph(1, 4))
        page.put(f"<div>{page.link('Reply')} · {page.link('Report')}</div></li>")
    page.put("</ul>")


def blog_index(page: Scribe) -> None:
    """The beginnings of posts, each under its title."""
    page.put("<div class='posts'>")
    for _ in range(page.draw.randint(4, 12)):
        page.put("<article class='post-preview'>")
        title = page.phrase(3, 9)
        page.wanted.append(title)
        page.put(f"<h2>{page.link(title)}</h2><div class='post-date'>{page.date()}</div>")
        page.keep("p", page.paragraph(1, 3))
        page.put(f"{page.link('Read more')}</article>")
    page.put("</div><div class='pager'>")
    page.links(2, 6, "", " ")
    page.put("</div>")


def goods(page: Scribe) -> None:
    """Things with what they are and what they cost, in a table."""
    page.put("<table class='catalogue'>")
    for _ in range(page.draw.randint(8, 40)):
        title, price = page.phrase(2, 5), f"{page.draw.randint(2, 900)}.50"
        page.wanted.append(title)
        page.put(f"<tr><td>{page.link(title)}</td>")
        page.keep("td", page.sentence() if page.chance(0.7) else page.phrase(3, 8))
        page.keep("td", price)
        page.put("</tr>")
    page.put("</table>")


def directory(page: Scribe) -> None:
    """A list of entries: a link, and a few words on each."""
    page.put("<ul class='results'>")
    for _ in range(page.draw.randint(8, 40)):
        title, words = page.phrase(2, 6), page.phrase(4, 12)
        page.wanted.append(f"{title} – {words}")
        page.put(f"<li>{page.link(title)} – {escape(words)}</li>")
    page.put("</ul>")


def thread_in_tables(page: Scribe) -> None:
    """A row a message: who wrote it at the left, the text at the right, a signature below."""
    page.put("<table class='forumline'>")
    for _ in range(page.draw.randint(3, 15)):
        page.put(f"<tr><td class='row1'>{page.phrase(1, 1)}<br>Joined: {page.date()}<br>Posts: 121</td>")
        page.put("<td class='row1'>")
        for _ in range(page.draw.randint(1, 3)):
            page.keep("", page.paragraph(1, 3))
            page.put("<br><br>")
        if page.chance(0.4):
            page.drop("span", "_________________ " + page.phrase(3, 8), " class='gensmall'")
        page.put(f"</td></tr><tr><td>{page.link('Top')}</td><td>{page.link('Quote')}</td></tr>")
    page.put("</table>")


def flat_thread(page: Scribe) -> None:
    """Messages in a list, with quotations of earlier ones."""
    page.drop("h1", page.phrase(3, 9))
    page.put("<ol class='messageList'>")
    for _ in range(page.draw.randint(3, 15)):
        page.put(f"<li class='message'><div class='userText'>{page.link(page.phrase(1, 1))} Member</div>")
        page.put("<div class='messageContent'>")
        for _ in range(page.draw.randint(1, 3)):
            page.keep("p", page.paragraph(1, 3))
        page.put(f"</div><div class='messageMeta'>{page.date()} {page.link('#' + str(page.draw.randint(1, 99)))}</div>")
    page.put("</ol>")


def nested_thread(page: Scribe) -> None:
    """Remarks below remarks, which are all that the page has."""
    page.put(f"<div class='storylink'>{page.link(page.phrase(4, 9))}</div><div class='comment-tree'>")
    depth = 0
    for _ in range(page.draw.randint(5, 25)):
        if depth and page.chance(0.5):
            page.put("</div>")
            depth -= 1
        page.put(f"<div class='comtr'><span class='comhead'>{page.link(page.words[5])} 4 hours ago</span>")
        page.keep("div", page.paragraph(1, 4), " class='commtext'")
        page.put(page.link("reply"))
        depth += 1
    page.put("</div>" * (depth + 1))


def notice(page: Scribe) -> None:
    page.put("<div class='container'>")
    page.drop("h1", page.phrase(1, 4)) if page.chance(0.5) else None
    page.keep("p", page.paragraph(1, 2))
    page.put("</div>")


def event(page: Scribe) -> None:
    """A few facts and a sentence or two."""
    page.put("<div class='event'><dl>")
    for _ in range(page.draw.randint(1, 3)):
        page.keep("dt", page.phrase(1, 1))
        page.keep("dd", page.phrase(2, 6))
    page.put("</dl>")
    page.keep("div", page.paragraph(1, 2))
    page.put("</div>")


def entry_of_a_dictionary(page: Scribe) -> None:
    page.put("<div class='entry'>")
    page.drop("h2", page.phrase(1, 1))
    page.put("<ol>")
    for _ in range(page.draw.randint(1, 3)):
        page.keep("li", page.sentence())
    page.put("</ol></div>")


TEMPLATES: dict[str, tuple[Callable[[Scribe], None], ...]] = {
    "docs": (manual_with_tree, api_reference, readme),
    "questions": (question_with_votes, frequent_questions, best_answer),
    "listings": (blog_index, goods, directory),
    "forums": (thread_in_tables, flat_thread, nested_thread),
    "very short": (notice, event, entry_of_a_dictionary),
}


def _head(page: Scribe) -> None:
    bar = page.draw.choice(("div class='top-links'", "nav", "header", "div id='hd'", "table"))
    page.put(f"<{bar}>" + ("<tr><td>" if bar == "table" else ""))
    page.links(2, 14, *page.draw.choice((("<li>", "</li>"), ("", " | "), ("<span>", "</span>"))))
    page.put(("</td></tr>" if bar == "table" else "") + f"</{bar.split()[0]}>")
    if page.chance(0.3):
        page.put("<div class='crumbs'>")
        page.links(2, 4, "", " &gt; ")
        page.put("</div>")
    if page.chance(0.3):
        page.put("<div class='cookie-bar'>We use cookies. " + page.link("Accept") + "</div>")


def _foot(page: Scribe) -> None:
    if page.chance(0.4):
        page.put("<div class='box'><h4>Latest</h4><ul>")
        page.links(3, 10)
        page.put("</ul></div>")
    tag = page.draw.choice(("footer", "div class='ft'", "div id='bottom'"))
    page.put(f"<{tag}>")
    page.links(1, 10, *page.draw.choice((("<li>", "</li>"), ("", " · "))))
    page.put(f"<p>© {page.draw.randint(1999, 2026)} {page.phrase(1, 3)}</p></{tag.split()[0]}>")


def kind_page(number: int, template: Callable[[Scribe], None]) -> LabelledPage:
    """Page `number` of a template, always the same; its group is the template."""
    page = Scribe(random.Random(f"{template.__name__} {number}"))
    page.put(f"<!doctype html><html lang={page.language}><head><title>{page.phrase(2, 5)}</title></head><body>")
    _head(page)
    wraps = page.draw.randint(0, 3)
    page.put("<div>" * wraps)
    template(page)
    page.put("</div>" * wraps)
    _foot(page)
    page.put("</body></html>")
    name = template.__name__
    return LabelledPage(f"{name}/{number:05d}", name, "".join(page.html).encode(), "\n".join(page.wanted))

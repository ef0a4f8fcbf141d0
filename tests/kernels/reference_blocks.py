"""Slow, obvious twins of the kernels that read pages: regular expressions, objects and strings, nothing shared."""

import re
from dataclasses import dataclass, field

_BLOCK = (
    "div p section article main aside nav header footer ul ol li dl dt dd blockquote pre form fieldset figure "
    "figcaption h1 h2 h3 h4 h5 h6 details summary address center html body noframes legend caption hgroup dialog menu "
    "hr"
)
_TABLE = "table tr td th tbody thead tfoot"
_RAW = "script style noscript iframe textarea title template svg select canvas object audio video"
TABLE, RAW = frozenset(_TABLE.split()), frozenset(_RAW.split())
BLOCK = TABLE | frozenset(_BLOCK.split())
CLOSES = {
    "li": ({"li"}, {"ul", "ol", "td", "table"}),
    "dd": ({"dd", "dt"}, {"dl", "td", "table"}),
    "dt": ({"dd", "dt"}, {"dl", "td", "table"}),
    "td": ({"td", "th"}, {"tr", "table"}),
    "th": ({"td", "th"}, {"tr", "table"}),
    **dict.fromkeys(("tr", "tbody", "thead", "tfoot"), ({"tr"}, {"table"})),
}
SPACE = " \t\n\v\f\r"
TAG = re.compile(
    r"""</?[A-Za-z][^\t-\r />]*(?:[^>"'=]|=[\t-\r ]*(?:"[^"]*(?:"|\Z)|'[^']*(?:'|\Z))|=|["'])*(?:>|\Z)""", re.DOTALL
)


@dataclass(eq=False)
class Element:
    tag: str
    parent: "Element | None"


@dataclass
class Block:
    text: str
    path: list[str]
    """Tags from the page down to the block's element."""
    links: int
    breaks: int


@dataclass
class Twin:
    """Reads a page tag by tag; `blocks` is what it found."""

    page: str
    blocks: list[Block] = field(default_factory=list)
    text: str = ""
    links: int = 0
    breaks: int = 0
    in_row: int = 0

    def __post_init__(self) -> None:
        self.stack: list[str] = []
        self.code: list[bool] = []
        """Of each element on the stack, whether white space counts in it."""
        self.read()
        self.end_block()

    def read(self) -> None:
        i, page = 0, self.page
        while i < len(page):
            if page[i] != "<":
                i += self.add(page, i)
            elif page.startswith("<!--", i):
                end = page.find("-->", i + 2)
                i = end + 3 if end >= 0 else i + 4
            elif page[i + 1 : i + 2] in ("!", "?") and i + 1 < len(page):
                end = page.find(">", i + 2)
                i = end + 1 if end >= 0 else len(page)
            elif found := TAG.match(page, i):
                i = self.tag(found[0], found.end())
            elif page.startswith("</", i):
                end = page.find(">", i + 2)
                i = end + 1 if end >= 0 else len(page)
            else:
                self.text += "<"
                i += 1

    def add(self, page: str, i: int) -> int:
        """Add a character or `&nbsp;`; returns its length."""
        space = 6 if page.startswith("&nbsp;", i) else page[i] in SPACE
        if not space:
            self.text += page[i]
            self.in_row = 0
            return 1
        if any(self.code):
            white = " " if space == 6 else page[i]
            if white != "\r" and (self.text or white != "\n"):
                self.text += white
        elif self.text and self.text[-1] not in SPACE:
            self.text += " "
        return int(space)

    def tag(self, text: str, end: int) -> int:
        """Do what a tag does; returns the place to go on at."""
        name = re.match(r"</?([^\t-\r />]*)", text)[1].lower()
        if text.startswith("</"):
            if name in BLOCK:
                self.end_block()
                self.close(name)
            elif "-" in name and name not in RAW:
                self.end_block()
            return end
        if name in RAW:
            if text.endswith("/>") and name not in ("script", "style"):
                return end
            closing = re.compile(f"</{name}", re.IGNORECASE).search(self.page, end)
            if closing:
                behind = self.page.find(">", closing.start())
                return behind + 1 if behind >= 0 else len(self.page)
            return len(self.page) if name in ("script", "style") else end
        if name == "br":
            self.breaks += 1
            self.in_row += 1
            if any(self.code):
                self.text += "\n" if self.text else ""
            elif self.in_row >= 2:
                self.end_block()
            elif self.text:
                self.text = (self.text[:-1] if self.text[-1] == " " else self.text) + "\n"
        elif name == "a":
            self.links += 1
        elif name in BLOCK or "-" in name:
            self.end_block()
            if name in BLOCK - {"hr", "html", "body"}:
                self.open(name, name == "pre" or "syntaxhighlighter" in text)
        return end

    def end_block(self) -> None:
        if text := self.text.rstrip(SPACE):
            self.blocks.append(Block(text, list(self.stack), self.links, self.breaks))
        self.text, self.links, self.breaks, self.in_row = "", 0, 0, 0

    def open(self, name: str, is_code: bool) -> None:
        place = None
        if name not in ("tr", "td", "th"):
            place = self.find({"p"}, {"td", "th", "table"})
        if name in CLOSES:
            own = self.find(*CLOSES[name])
            place = own if own is not None else place
        if place is not None:
            del self.stack[place:], self.code[place:]
        self.stack.append(name)
        self.code.append(is_code)

    def close(self, name: str) -> None:
        stops = set() if name in TABLE else {"td", "th", "table"}
        place = self.find({name}, stops)
        if place is not None:
            del self.stack[place:], self.code[place:]

    def find(self, wanted: set[str], stops: set[str]) -> int | None:
        """The place of the innermost open element of these tags that lies within the innermost stop."""
        for place in range(len(self.stack) - 1, -1, -1):
            if self.stack[place] in wanted:
                return place
            if self.stack[place] in stops:
                return None
        return None

"""Tags and depth of pages, against the obvious count by a parser of the standard library."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.kernels.html_depth import measure

VOID = "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr"
END_TAG_OPTIONAL = "body caption colgroup dd dt head html li optgroup option p rp rt tbody td tfoot th thead tr"
FLAT = frozenset(f"{VOID} {END_TAG_OPTIONAL}".split())


class Twin(HTMLParser):
    """Counts what the kernel counts, tag by tag."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=False)
        self.tags = self.depth = self.deepest = 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, _attributes):
        self.tags += 1
        if tag not in FLAT:
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag):
        self.tags += 1
        if tag not in FLAT:
            self.depth = max(0, self.depth - 1)


PIECES = [
    *("<div>", "</div>", "<DIV class='a>b'>", '<b title="<i>">', "</b >", "<p>", "</p>", "<br>", "<br/>", "<li>"),
    *("<custom-tag>", "</custom-tag>", "<!-- <div> -->", "<!doctype html>", "<?xml version='1.0'?>", "text", " < "),
    *("1<2", "&lt;div&gt;", "\n", "<script>if (a<b) x = '<div><div>';</script>", "<style>a > b {}</style>"),
    *("<table><tr><td>", "</table>", "<span\n>", "é猫"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_tags_and_depth_equal_the_twin(pieces):
    page = "".join(pieces) + " "
    twin = Twin(page)
    assert measure(page.encode()) == (twin.tags, twin.deepest)


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("", (0, 0)),
        ("<", (0, 0)),
        ("<div", (1, 1)),
        ("</", (0, 0)),
        ("</div>", (1, 0)),
        ("<div></div></div><div>", (4, 1)),
        ("<svg><path/><path/><g/></svg>", (5, 1)),
        ("<path/><path/>", (2, 2)),
        ("<svg><svg></svg><path/></svg><path/>", (6, 2)),
        ("<script><div><div>", (1, 1)),
        ("<script></scripts><div></script><div>", (3, 1)),
        ("<!-- <div>", (0, 0)),
        ("<!--><div>", (1, 1)),
        ('<a href="<div><div>', (1, 1)),
        ("<a title=it's><b>", (2, 2)),
        ("<li>" * 9_000, (9_000, 0)),
        ("<div>" * 9_000, (9_000, 9_000)),
    ],
)
def test_odd_pages_are_measured_as_browsers_read_them(page, expected):
    assert measure(page.encode()) == expected


@given(st.binary(max_size=300))
def test_any_bytes_can_be_measured(data):
    tags, deepest = measure(data)
    assert 0 <= deepest <= tags <= data.count(b"<")

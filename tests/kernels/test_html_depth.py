"""What is counted of pages, against the obvious count by a parser of the standard library."""

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
        self.tags = self.depth = self.deepest = self.depths = 0
        self.attributes = self.of_roots = self.options = self.most_options = 0
        self.in_select = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags += 1
        self.depths += self.depth
        self.of_roots += len(attributes) if tag in ("html", "body") else 0
        self.attributes = max(self.attributes, self.of_roots, len(attributes))
        if tag == "select":
            self.in_select, self.options = True, 0
        self.options += tag == "option" and self.in_select
        self.most_options = max(self.most_options, self.options)
        if tag not in FLAT:
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag):
        self.tags += 1
        self.depths += self.depth
        self.in_select = self.in_select and tag != "select"
        if tag not in FLAT:
            self.depth = max(0, self.depth - 1)


PIECES = [
    *("<div>", "</div>", "<DIV class='a>b'>", '<b title="<i>">', "</b >", "<p>", "</p>", "<br>", "<br/>", "<li>"),
    *("<custom-tag>", "</custom-tag>", "<!-- <div> -->", "<!doctype html>", "<?xml version='1.0'?>", "text", " < "),
    *("1<2", "&lt;div&gt;", "\n", "<script>if (a<b) x = '<div><div>';</script>", "<style>a > b {}</style>"),
    *("<table><tr><td>", "</table>", "<span\n>", "é猫"),
    *("<body a b='c d' e=\"f\">", "<html lang=en>", '<a href=/x/y/z class="b">', "<p/a/b c\n/>", "<i a='1'b=\"2\"c>"),
    *("<select>", "<select multiple>", "</select>", "<option>", "<option value='1' selected>", "</option>"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_the_shape_equals_the_twins(pieces):
    page = "".join(pieces) + " "
    twin = Twin(page)
    assert measure(page.encode()) == (twin.tags, twin.deepest, twin.depths, twin.attributes, twin.most_options)


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
    assert measure(page.encode())[:2] == expected


@pytest.mark.parametrize(
    ("page", "attributes"),
    [
        ("<p>", 0),
        ("<p a>", 1),
        ("<p a=1 b='2 3' c=\"4\"d e/f/g>", 7),
        ("<a href=/x/y/z>", 1),
        ("<p a><p b c><p d>", 2),
        ("<html a><body b c><div d><body e>", 4),
        ("<p " + "a " * 9_000 + ">", 9_000),
        ("<p " + "a/" * 9_000 + ">", 9_000),
        ("<p a='" + "b " * 9_000, 1),
        ("</p a b c>", 0),
    ],
)
def test_attributes_are_those_of_the_richest_tag_or_of_all_roots(page, attributes):
    assert measure(page.encode()).attributes == attributes


@pytest.mark.parametrize(
    ("page", "options"),
    [
        ("<option><option>", 0),
        ("<datalist><option></datalist>", 0),
        ("<select><option>a<option>b</select><option>", 2),
        ("<select><option></select><select><option><option>", 2),
        ("<select><option><select><option>", 1),
        ("<select><optgroup><option></optgroup><option>", 2),
    ],
)
def test_options_are_those_of_the_longest_list(page, options):
    assert measure(page.encode()).options == options


def test_depths_are_what_walks_to_the_root_take():
    assert measure(b"<div>" * 100 + b"<p>x</p>" * 50).depths == 99 * 100 // 2 + 2 * 50 * 100


@given(st.binary(max_size=300))
def test_any_bytes_can_be_measured(data):
    tags, deepest, depths, _, options = measure(data)
    assert 0 <= deepest <= tags <= data.count(b"<")
    assert options <= tags
    assert depths <= tags * deepest

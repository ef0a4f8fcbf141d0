"""Pages as blocks, against a twin of regular expressions and lists; and that no page takes more than its length."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.kernels.html_blocks import BREAKS, ELEMENT, END, LINK_BYTES, LINKS, MAX_DEPTH, START, html_blocks
from corpus_assets.kernels.html_elements import END_BLOCK, FIRST_BLOCK, FLAGS, PARENT, TAG
from corpus_assets.kernels.html_names import GROUP_OF, GROUPS, HIDDEN, HIDDEN_GROUP, TAGS
from tests.kernels.reference_blocks import Twin

NAMES = {number: name for name, number in TAGS.items()}
_PAIRED = "div p li ul ol menu dd dt dl td th tr table tbody pre blockquote h1 section b a"
PAIRED = tuple(_PAIRED.split())
PIECES = [
    *(f"<{name}>" for name in (*PAIRED, "span")),
    *(f"</{name}>" for name in PAIRED),
    *("<br>", "<br/>", "<hr>", "<img src=a>", "<html>", "<body class=x>", "</body>", "<x-card>", "</x-card>", "<font>"),
    *(
        "<!-- a <p> b -->",
        "<!doctype html>",
        "<?xml a?>",
        "<script>if (a < b) '<p>'</script>",
        "<svg/>",
        "</ p>",
        "</>",
    ),
    *(
        '<div title="a > b">',
        '<div class="syntaxhighlighter js">',
        "<p id='x>y'>",
        "<div a=b/c>",
        "<DIV>",
        "</Div >",
        "<svg><p>in</p></svg>",
        "<title>t</title>",
    ),
    *("text", " ", "\n", "two words", " &amp; ", "&nbsp;", "1 < 2", "<", "é 猫", "\t", "a\r\nb", "  x", "&nbsp"),
]


def found(page: str):
    blocks = html_blocks(page.encode())
    text = blocks.text.tobytes()
    return [
        (text[row[START] : row[END]].decode(), path(blocks.elements, row[ELEMENT]), row[LINKS], row[BREAKS])
        for row in blocks.blocks.tolist()
    ]


def path(elements, at):
    tags = []
    while at:
        tags.append(NAMES[elements[at, TAG]])
        at = elements[at, PARENT]
    return tags[::-1]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_blocks_equal_the_twins(page):
    assert found(page) == [(one.text, one.path, one.links, one.breaks) for one in Twin(page).blocks]


@given(
    st.one_of(
        st.binary(max_size=300), st.lists(st.sampled_from([*PIECES, "<!--", "<p a='", "<scr", "\0"])).map("".join)
    )
)
def test_any_bytes_give_blocks_within_their_page(page):
    data = page if isinstance(page, bytes) else page.encode()
    blocks = html_blocks(data)
    last = 0
    for start, end in blocks.blocks[:, [START, END]].tolist():
        assert last <= start < end <= len(blocks.text) <= len(data)
        last = end
    first, end = blocks.elements[:, FIRST_BLOCK], blocks.elements[:, END_BLOCK]
    assert ((first >= 0) & (first <= end) & (end <= len(blocks.blocks))).all()
    assert end[0] == len(blocks.blocks)


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        ("<p>one<p>two", ["one", "two"]),
        ("a<br>b<br><br>c", ["a\nb", "c"]),
        ("<pre>\n  x\n    y  \n</pre>", ["  x\n    y"]),
        ("<pre>a<br>&nbsp;&nbsp;b<br><br>c  d</pre>", ["a\n  b\n\nc  d"]),
        ("<div class='syntaxhighlighter'><div>if a:</div><div>&nbsp; b</div></div>", ["if a:", "  b"]),
        ("<p>a <!-- b", ["a b"]),
        ("<p>a<style>b", ["a"]),
        ("<p>a<svg>b", ["ab"]),
        ("a <b>bold</b> and <i>thin</i> word", ["a bold and thin word"]),
    ],
)
def test_what_stands_between_two_tags_that_end_one_is_a_block(page, texts):
    assert [one[0] for one in found(page)] == texts


def test_bytes_in_links_are_counted():
    blocks = html_blocks(b"<p>ab <a href=x>cd ef</a> gh")
    assert blocks.blocks[0, LINK_BYTES] == len("cdef")


@pytest.mark.parametrize(
    ("attributes", "flags"),
    [
        ("class=comment", GROUP_OF["comment"]),
        ('class="post-comments-list"', GROUP_OF["post"] | GROUP_OF["comment"] | GROUP_OF["list"]),
        ("id=articleBody", GROUP_OF["article"] | GROUP_OF["body"]),
        ("id=articlebody", GROUP_OF["article"] | GROUP_OF["articlebody"]),
        ("class=adapter", 0),
        ("class=ad", GROUP_OF["ad"]),
        ("class=" + 400 * "a" + "-comment", 0),
        ("style='color: red; display : none'", HIDDEN),
        ("style='display:block'", 0),
        ("hidden", HIDDEN),
        ("aria-hidden=true", HIDDEN_GROUP),
        ("aria-hidden=false", 0),
        ("data-x=comment", 0),
    ],
)
def test_an_elements_attributes_say_what_it_may_be(attributes, flags):
    elements = html_blocks(f"<div {attributes}>a</div>".encode()).elements
    assert elements[1, FLAGS] == flags


def test_every_word_is_in_its_group():
    assert all(GROUP_OF[word] >> group & 1 for group, words in enumerate(GROUPS) for word in words.split())


HOSTILE = {
    "rows of a table": lambda n: b"<table>" + n * b"<tr><td>a<td>b",
    "nested divs": lambda n: n * b"<div>" + b"a",
    "nested lists": lambda n: n * b"<ul><li>a",
    "unclosed links": lambda n: n * b"<a href=x>",
    "unclosed svg": lambda n: n * b"<svg>",
    "unclosed comments": lambda n: n * b"<!-- ",
    "end tags of nothing": lambda n: b"<div>" + n * b"</p></li></td>",
    "items below deep divs": lambda n: b"<ul><li><ul>" + 600 * b"<div>" + n * b"<li>a",
    "definitions in deep cells": lambda n: b"<dl><dd><table><td>" + 600 * b"<div>" + n * b"<dd></dt>",
    "one long attribute": lambda n: b"<p class='" + n * b"comment " + b"'>a",
    "quotes without end": lambda n: n * b"<p a='",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_twice_the_page_takes_twice_the_steps(kind):
    """Beside one look at each byte the pass only walks its stack, and counts that."""
    one, two = (html_blocks(HOSTILE[kind](n), 1_000_000) for n in (20_000, 40_000))
    assert two.steps <= 2 * one.steps + 4 * MAX_DEPTH
    assert one.steps <= 20_000 * 2 * MAX_DEPTH


def test_a_page_with_too_many_blocks_is_none():
    assert html_blocks(50 * b"<p>a", max_blocks=49) is None
    assert len(html_blocks(50 * b"<p>a", max_blocks=51).blocks) == 50


def test_elements_deeper_than_the_stack_keep_their_text():
    page = b"".join([2_000 * b"<div>", b"deep", 2_000 * b"</div>", b"<p>after"])
    blocks = html_blocks(page)
    assert [blocks.text.tobytes()[row[START] : row[END]] for row in blocks.blocks] == [b"deep", b"after"]
    assert blocks.elements[blocks.blocks[1, ELEMENT], PARENT] == 0

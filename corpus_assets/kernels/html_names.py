"""The names that `html_blocks` knows: tags with what they do, attributes, groups of words in classes and ids. All are
found by one hash of their lower-cased bytes. Spec: html_blocks.md.
"""

import numpy as np
from numba import njit

BLOCK, VOID, RAW, CELL = 1, 2, 4, 8
"""What a tag does: it ends a block; it has no end; its content is no text; it is part of a table."""
_TAGS = {
    BLOCK: "div p section article main aside nav header footer ul ol li dl dt dd blockquote pre form fieldset figure "
    "figcaption h1 h2 h3 h4 h5 h6 details summary address center html body noframes legend caption hgroup dialog menu",
    BLOCK | CELL: "table tr td th tbody thead tfoot",
    BLOCK | VOID: "hr",
    VOID: "br img input meta link area base col embed source track wbr param",
    RAW: "script style noscript iframe textarea title template svg select canvas object audio video",
    0: "a b strong",
}
TAGS = {name: i for i, name in enumerate((n for names in _TAGS.values() for n in names.split()), start=1)}
"""Tag -> its number; 0 is any other."""
NUM_TAGS = len(TAGS) + 1
DOES = np.zeros(NUM_TAGS, np.uint8)
for _does, _names in _TAGS.items():
    DOES[[TAGS[name] for name in _names.split()]] = _does

LEAVES = "p li h1 h2 h3 h4 h5 h6 td pre dd dt figcaption blockquote"
"""Tags that hold one block as a rule: what a block's container is begins above them."""
IS_LEAF = np.zeros(NUM_TAGS, np.bool_)
IS_LEAF[[TAGS[name] for name in LEAVES.split()]] = True

CONTEXTS = (
    "p", "li", "td", "h1", "h2", "h3", "h4", "pre", "figcaption", "dd", "dt", "blockquote", "article", "main", "aside",
    "nav", "header", "footer", "form", "table", "ul", "ol", "figure", "section", "address", "center",
)  # fmt: skip
"""Tags that a block knows itself to be in, a bit each; of the first eleven it is in the innermost alone."""
INNERMOST = (1 << 11) - 1
_ALIASES = {"h5": "h4", "h6": "h4", "summary": "h4", "th": "td", "legend": "form"}
CONTEXT = np.zeros(NUM_TAGS, np.int32)
for _name in (*CONTEXTS, *_ALIASES):
    CONTEXT[TAGS[_name]] = 1 << CONTEXTS.index(_ALIASES.get(_name, _name))
CONTEXT[TAGS["figcaption"]] |= 1 << CONTEXTS.index("figure")
HEADINGS = sum(1 << CONTEXTS.index(name) for name in ("h1", "h2", "h3", "h4"))

WORDS, STYLE, HIDES, ARIA_HIDDEN = 1, 2, 3, 4
"""What an attribute says: words of a class or an id; a style; that the element is hidden; whether it is."""
_ATTRIBUTES = {
    **dict.fromkeys(("class", "id", "role", "itemprop", "rel", "property", "data-component", "data-testid"), WORDS),
    "style": STYLE,
    "hidden": HIDES,
    "aria-hidden": ARIA_HIDDEN,
}
GROUPS = (
    "article story hentry post blog",
    "content body text main richtext prose copy paragraph",
    "articlebody storybody postbody bodytext entrycontent articletext postcontent articlecontent storytext",
    "comment disqus reply replies respond discussion",
    "share sharing social facebook twitter follow addthis whatsapp pinterest linkedin tweet instagram",
    "sidebar aside rail right secondary widget module complementary",
    "footer foot bottom copyright legal colophon contentinfo disclaimer",
    "nav menu breadcrumb toolbar skip pagination pager tabs header masthead banner topbar search",
    "related recommend more trending popular latest teaser promo card list feed next prev carousel slider tile",
    "ad ads advert advertisement sponsor adslot promoted affiliate commercial",
    "newsletter subscribe subscription signup login register paywall cta donate form modal popup overlay cookie",
    "caption credit image photo figure gallery media video player thumb picture slideshow embed",
    "byline author bio meta date time posted published info dateline writer avatar category tag tags topic label",
    "title headline head subtitle heading dek summary standfirst lead intro excerpt description abstract",
    "hidden hide visually sr noprint print offscreen invisible tooltip",
    "pullquote pull quote infobox factbox box sidenote inline",
    "reference footnote toc editsection hatnote navbox reflist metadata",
)
"""Words that people give to parts of a page; of five letters or more they count as beginnings of words, too."""
NUM_GROUPS = len(GROUPS)
BODY_GROUPS, BODY = 0b111, 1 << 2
COMMENTS = 1 << 3
BAD_GROUPS = COMMENTS | 1 << 6
HIDDEN_GROUP, HIDDEN = 1 << 14, 1 << 20
CODE_WORDS, CODE = "syntaxhighlighter crayon", 1 << 21
"""Of an element's flags: its groups; that it is not shown; and that its white space counts as in `pre`, since what
colours code names it so and sets a line in each `div`.
"""

FNV_OFFSET, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


def hash_of(name: str) -> int:
    """FNV-1a, 64 bits, of the lower-cased bytes."""
    value = int(FNV_OFFSET)
    for byte in name.lower().encode():
        value = (value ^ byte) * int(FNV_PRIME) % 2**64
    return value


def hash_table(values: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Hashes and values, at most half full, each at the first free place from its hash's low bits on."""
    size = 1 << (2 * len(values)).bit_length()
    keys, found = np.zeros(size, np.uint64), np.zeros(size, np.int32)
    for name, value in values.items():
        hashed = hash_of(name)
        place = hashed & (size - 1)
        while keys[place]:
            place = (place + 1) & (size - 1)
        keys[place], found[place] = hashed, value
    return keys, found


def _words_of_groups() -> dict[str, int]:
    found: dict[str, int] = {}
    for group, words in enumerate(GROUPS):
        for word in words.split():
            found[word] = found.get(word, 0) | 1 << group
    return found | dict.fromkeys(CODE_WORDS.split(), CODE)


GROUP_OF = _words_of_groups()
ATTRIBUTES = _ATTRIBUTES
TAG_TABLE, ATTRIBUTE_TABLE, GROUP_TABLE = hash_table(TAGS), hash_table(_ATTRIBUTES), hash_table(GROUP_OF)


@njit(nogil=True, inline="always")
def look_up(keys, values, hashed):
    """The value of a hash; 0 where there is none."""
    mask = np.uint64(keys.size - 1)
    place = hashed & mask
    while keys[place] != 0:
        if keys[place] == hashed:
            return values[place]
        place = (place + np.uint64(1)) & mask
    return values[0] * 0

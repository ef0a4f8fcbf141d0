"""A page's text as blocks: one pass over its bytes, no tree of objects. Spec: html_blocks.md.

A block is what stands between two tags that end one (`p`, `div`, `td`, two `br`, …). Elements are numbered in the order
of their start tags, and know their parent and their blocks. Linear in the page: the stack is bounded, and what has no
end is looked for once a tag. Cost: some 400 MB a CPU second; 2 bytes a byte of the page, and 88 a tag.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from corpus_assets.kernels.html_elements import (
    IMAGES,
    IN_CODE,
    NUM_ELEMENT_COLUMNS,
    add_element,
    close,
    implied_end,
    open_of,
)
from corpus_assets.kernels.html_names import (
    ATTRIBUTE_TABLE,
    BLOCK,
    CONTEXT,
    DOES,
    GROUP_TABLE,
    INNERMOST,
    RAW,
    TAG_TABLE,
    TAGS,
    VOID,
    look_up,
)
from corpus_assets.kernels.html_tags import (
    BANG,
    DASH,
    LT,
    QUESTION,
    SLASH,
    after_comment,
    after_gt,
    find_end_tag,
    is_letter,
    is_space,
    read_attributes,
    read_name,
)

START, END, ELEMENT, LINK_BYTES, BOLD_BYTES, LINKS, BREAKS, IN = range(8)
"""Columns of a block: its text's place, the element it is in, bytes within links and bold type, how many links and line
breaks, and the contexts (a bit each).
"""
NUM_BLOCK_COLUMNS = 8
MAX_DEPTH = 512
"""Elements below are as if they had no tags but those that end a block."""
_A, _B, _STRONG = (TAGS[name] for name in ("a", "b", "strong"))
_BR, _IMG, _HTML, _BODY, _SCRIPT, _STYLE = (TAGS[name] for name in ("br", "img", "html", "body", "script", "style"))
_NEWLINE, _RETURN, _AMPERSAND = 10, 13, 38
_NBSP_BYTES = 6


@njit(nogil=True, cache=True)
def _is_nbsp(data, i):
    """Whether `&nbsp;` begins at i."""
    if i + 5 >= data.size or data[i + 1] != 110 or data[i + 2] != 98 or data[i + 3] != 115:
        return False
    return data[i + 4] == 112 and data[i + 5] == 59


@njit(nogil=True, cache=True)
def _split(data, out, blocks, elements, tags, attributes, groups, does_of, context_of, counted):
    """Fills out, blocks and elements; `counted`: bytes of text, blocks, elements, steps on the stack. Returns whether
    all had room.
    """
    (tag_keys, tag_values), (attribute_keys, attribute_values), (group_keys, group_values) = tags, attributes, groups
    stack, contexts = np.zeros(MAX_DEPTH, np.int32), np.zeros(MAX_DEPTH, np.int32)
    open_of_tag, endless = np.zeros(does_of.size, np.int64), np.zeros(does_of.size, np.bool_)
    elements[0] = 0
    num_elements = height = 1
    num_blocks = o = start = link = bold = links = breaks = breaks_in_row = too_deep = bold_depth = steps = 0
    in_link, in_code, after_space = False, False, True
    i = 0
    while i <= data.size:
        ends_block, adds, is_end, tag, does, flags = i == data.size, False, False, 0, np.uint8(0), 0
        if i == data.size:
            i += 1
        elif data[i] != LT:
            byte = data[i]
            i += 1
            if is_space(byte):
                if in_code:
                    if byte != _RETURN and (o > start or byte != _NEWLINE):
                        out[o] = byte
                        o += 1
                elif not after_space:
                    out[o] = 32
                    o += 1
                after_space = True
            elif byte == _AMPERSAND and _is_nbsp(data, i - 1):
                if in_code or not after_space:
                    out[o] = 32
                    o += 1
                after_space = True
                i += _NBSP_BYTES - 1
            else:
                out[o] = byte
                o += 1
                after_space = False
                breaks_in_row = 0
                link += in_link
                bold += bold_depth > 0
            continue
        else:
            second = data[i + 1] if i + 1 < data.size else np.uint8(0)
            if second in (BANG, QUESTION):
                if i + 3 < data.size and data[i + 2] == DASH and data[i + 3] == DASH:
                    behind = -1 if endless[0] else after_comment(data, i + 2)
                    endless[0] = behind < 0
                    i = behind if behind >= 0 else i + 4
                else:
                    i = min(after_gt(data, i + 2), data.size)
                continue
            is_end = second == SLASH
            name = i + 1 + is_end
            if name >= data.size or not is_letter(data[name]):
                if is_end:
                    i = min(after_gt(data, name), data.size)
                else:
                    out[o] = LT
                    o += 1
                    after_space = False
                    i += 1
                continue
            hashed, dash, name_end = read_name(data, name)
            tag = look_up(tag_keys, tag_values, hashed)
            does = does_of[tag] if tag > 0 or not dash else np.uint8(BLOCK)
            flags, closes_itself, i = read_attributes(
                data, name_end, does, is_end, attribute_keys, attribute_values, group_keys, group_values
            )
            i = min(i, data.size)
            ends_block = (does & BLOCK) != 0
            if is_end:
                if tag == _A:
                    in_link = False
                elif tag in (_B, _STRONG):
                    bold_depth -= bold_depth > 0
            elif does & RAW:
                if (closes_itself and tag != _SCRIPT and tag != _STYLE) or endless[tag]:
                    continue
                behind = find_end_tag(data, i, name, name_end)
                endless[tag] = behind < 0
                if behind >= 0:
                    i = min(after_gt(data, behind), data.size)
                elif tag in (_SCRIPT, _STYLE):
                    i = data.size
                continue
            elif tag == _BR:
                breaks += 1
                breaks_in_row += 1
                ends_block = breaks_in_row >= 2 and not in_code
                if not ends_block and o > start:
                    if after_space and out[o - 1] == 32 and not in_code:
                        o -= 1
                    out[o] = _NEWLINE
                    o += 1
                    after_space = True
            elif tag == _IMG:
                elements[stack[height - 1], IMAGES] += 1
            elif tag == _A:
                in_link = True
                links += 1
            elif tag in (_B, _STRONG):
                bold_depth += 1
            adds = not is_end and ends_block and tag > 0 and not does & VOID and tag != _HTML and tag != _BODY
            adds = adds and tag != _BR
        if ends_block:
            end = o
            while end > start and is_space(out[end - 1]):
                end -= 1
            if end > start:
                if num_blocks == blocks.shape[0]:
                    return False
                row, at = blocks[num_blocks], height - 1
                row[START], row[END], row[ELEMENT], row[IN] = start, end, stack[at], contexts[at]
                row[LINK_BYTES], row[BOLD_BYTES], row[LINKS], row[BREAKS] = link, bold, links, breaks
                num_blocks += 1
            start = o
            link = bold = links = breaks = breaks_in_row = 0
            after_space = True
        if is_end and does & BLOCK and tag > 0 and tag != _HTML and tag != _BODY:
            if too_deep > 0:
                too_deep -= 1
            elif open_of_tag[tag] > 0:
                place, looked = open_of(elements, stack, height, tag, does)
                steps += looked
                if place > 0:
                    height = close(elements, stack, height, place, open_of_tag, num_blocks)
        elif adds:
            place, looked = implied_end(elements, stack, height, tag, open_of_tag)
            steps += looked
            if place > 0:
                height = close(elements, stack, height, place, open_of_tag, num_blocks)
            if height == MAX_DEPTH:
                too_deep += 1
                continue
            if num_elements == elements.shape[0]:
                return False
            add_element(elements, num_elements, stack[height - 1], tag, flags, num_blocks)
            context = contexts[height - 1]
            contexts[height] = (context & ~INNERMOST if context_of[tag] & INNERMOST else context) | context_of[tag]
            stack[height] = num_elements
            open_of_tag[tag] += 1
            height, num_elements = height + 1, num_elements + 1
        in_code = elements[stack[height - 1], IN_CODE] > 0
    close(elements, stack, height, 0, open_of_tag, num_blocks)
    counted[0], counted[1], counted[2], counted[3] = o, num_blocks, num_elements, steps
    return True


class Blocks(NamedTuple):
    """A page's text (entities as they stand), its blocks and its elements; element 0 is the page. `steps` on the stack
    is what the pass did beside looking at each byte.
    """

    text: np.ndarray
    blocks: np.ndarray
    elements: np.ndarray
    steps: int


def html_blocks(page: bytes, max_blocks: int = 200_000) -> Blocks | None:
    """The blocks of a page in UTF-8; None for one that has more blocks or elements than `max_blocks`."""
    data = np.frombuffer(page, np.uint8)
    room = min(max_blocks, page.count(b"<") + 1)
    text = np.empty(data.size + 1, np.uint8)
    blocks = np.empty((room, NUM_BLOCK_COLUMNS), np.int32)
    elements = np.empty((room, NUM_ELEMENT_COLUMNS), np.int32)
    counted = np.zeros(4, np.int64)
    tables = (TAG_TABLE, ATTRIBUTE_TABLE, GROUP_TABLE)
    if not _split(data, text, blocks, elements, *tables, DOES, CONTEXT, counted):
        return None
    return Blocks(text[: counted[0]], blocks[: counted[1]], elements[: counted[2]], int(counted[3]))

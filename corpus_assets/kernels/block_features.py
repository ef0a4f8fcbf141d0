"""What is known of each block of a page when it is judged: whole numbers, so that a verdict never depends on floating
point. Nothing is the same for all blocks of a page, nor nearly so: by such columns trees learn the pages that they were
shown, and not what is to be seen on others. Definitions: block_features.md.

Cost: linear in the page, beside a walk from each block to its fifth ancestor; some 1.3 KB a block.
"""

import numpy as np
from numba import njit

from corpus_assets.kernels import block_texts
from corpus_assets.kernels.block_repeats import RUN, alike, repeats, slot_of, table_size
from corpus_assets.kernels.block_texts import (
    BYTES,
    COMMAS,
    ENDING,
    FURNITURE_TABLE,
    LINK_PERMILLE,
    WORDS,
    measure_texts,
    per_mille,
)
from corpus_assets.kernels.html_blocks import ELEMENT, IN, LINK_BYTES, Blocks
from corpus_assets.kernels.html_elements import (
    ALL_FLAGS,
    DEPTH,
    END_BLOCK,
    FIRST_BLOCK,
    FLAGS,
    IMAGES,
    PARENT,
    TAG,
)
from corpus_assets.kernels.html_names import (
    BAD_GROUPS,
    BODY,
    BODY_GROUPS,
    COMMENTS,
    CONTEXTS,
    HEADINGS,
    HIDDEN,
    IS_LEAF,
    NUM_GROUPS,
    TAGS,
)

NUM_CONTEXTS = len(CONTEXTS)
LEVELS = (3, 5, 8, 11, 12)
"""Groups of which it is counted how often they are named: comments within a list of comments within a part for
comments are comments, and an article in one element that is called so need not be.
"""
_LEVELS = np.array(LEVELS, np.int32)
_MOST_LEVELS = 9
_NEAR = ("before_1", "before_2", "before_3", "after_1", "after_2", "after_3")
NAMES = (
    *block_texts.NAMES,
    *(f"in_{name}" for name in CONTEXTS),
    *(f"group_{i}" for i in range(NUM_GROUPS)),
    "hidden",
    *(f"own_group_{i}" for i in range(NUM_GROUPS)),
    "before_permille", "index_permille", "depth",
    *(f"{place}_{what}" for place in _NEAR for what in ("bytes", "link_permille", "kinship")),
    "good_within_3", "link_permille_within_3", "good_within_8", "link_permille_within_8",
    "blocks_since_good", "blocks_to_good", "copies",
    "container_link_permille", "container_good_permille", "outer_link_permille", "outer_good_permille",
    "in_top", "in_parent_of_top", "place_in_top", "depth_below_top",
    "right_in_top", "article_good_permille", "body_good_permille",
    "blocks_since_h1", "path_blocks", "path_permille", "path_mean_bytes", "images",
    "bytes_since_good", "bytes_to_good", "blocks_since_heading", "good_before_permille", "siblings",
    *(f"levels_{i}" for i in LEVELS),
    "said_again_permille", "said_before_permille",
    "container_number", "container_alike", "outer_number", "outer_alike", "most_number",
)  # fmt: skip
"""The columns, in order."""
NUM_FEATURES = len(NAMES)
FAR = 60
"""As many blocks or more."""
_FAR_BYTES = 5_000
_ARTICLE, _MAIN = TAGS["article"], TAGS["main"]
_IN_H1 = 1 << CONTEXTS.index("h1")
_U64 = np.uint64


@njit(nogil=True, cache=True)
def good_bytes(row):
    """Bytes outside links of a block that reads like running text; else 0."""
    size, link = row[BYTES], row[LINK_PERMILLE]
    if size < 70 or link >= 350 or not (row[ENDING] > 0 or row[COMMAS] > 0 or size > 120):
        return 0
    return size * (1000 - link) // 1000


@njit(nogil=True, cache=True)
def _scores(blocks, elements, out, is_leaf, is_comment):
    """Per element: how much running text it has, as Readability counts it: of each block of 25 bytes or more, half in
    links at most and no comment, 1 and 1 a comma and up to 4 for its length, whole for its container, a half for the
    next one out, a sixth, a ninth, a twelfth. In thousandths.
    """
    scores = np.zeros(elements.shape[0], np.int64)
    for b in range(blocks.shape[0]):
        row = out[b]
        if row[BYTES] < 25 or row[LINK_PERMILLE] >= 500 or is_comment[b]:
            continue
        score = (1000 + 1000 * row[COMMAS] + min(10 * row[BYTES], 4000)) * (1000 - row[LINK_PERMILLE]) // 1000
        at = blocks[b, ELEMENT]
        if is_leaf[elements[at, TAG]]:
            at = elements[at, PARENT]
        level = 0
        while at > 0 and level < 5:
            scores[at] += score // (level + 1 if level < 2 else 3 * level)
            at = elements[at, PARENT]
            level += 1
    return scores


@njit(nogil=True, cache=True)
def _top(elements, scores, bytes_until, link_until):
    """The element whose score, less its share in links, is the highest; the first of equals, 0 where none has any."""
    top, best = 0, -1
    for e in range(1, elements.shape[0]):
        if scores[e] > 0:
            first, end = elements[e, FIRST_BLOCK], elements[e, END_BLOCK]
            share = per_mille(link_until[end] - link_until[first], bytes_until[end] - bytes_until[first])
            score = scores[e] * (1000 - share) // 1000
            if elements[e, ALL_FLAGS] & (BAD_GROUPS | HIDDEN):
                score = score * 3 // 10
            if elements[e, FLAGS] & BODY:
                score = score * 13 // 10
            if score > best:
                top, best = e, score
    return top


@njit(nogil=True, cache=True)
def _describe(element, bytes_until, good_until, link_until, row, f):
    """An element's share in links and its share of the page's good text, into two columns from f on."""
    first, end = element[FIRST_BLOCK], element[END_BLOCK]
    row[f] = per_mille(link_until[end] - link_until[first], bytes_until[end] - bytes_until[first])
    row[f + 1] = per_mille(good_until[end] - good_until[first], good_until[-1])


@njit(nogil=True, cache=True)
def _bits(value, num_bits, row, f):
    for bit in range(num_bits):
        row[f + bit] = (value >> bit) & 1


@njit(nogil=True, cache=True)
def _features(text, blocks, elements, is_leaf, groups, furniture_keys, furniture_values, out):
    n, num_elements = blocks.shape[0], elements.shape[0]
    hashes, word_hashes = np.zeros(n, np.uint64), np.empty(text.size // 2 + n + 1, np.uint64)
    num_words = measure_texts(text, blocks, furniture_keys, furniture_values, out, hashes, word_hashes)
    said_again, said_before = np.zeros(n, np.int32), np.zeros(n, np.int32)
    repeats(word_hashes[:num_words], out[:, WORDS], said_again, said_before)
    bytes_until, good_until, link_until = (
        np.zeros(n + 1, np.int64),
        np.zeros(n + 1, np.int64),
        np.zeros(n + 1, np.int64),
    )
    # Comments of more words than their article would otherwise be taken for it.
    is_comment, has_begun = np.zeros(n, np.bool_), False
    for b in range(n):
        good, named = good_bytes(out[b]), elements[blocks[b, ELEMENT], ALL_FLAGS] & COMMENTS
        is_comment[b] = has_begun and named
        has_begun |= good > 0 and not named
        bytes_until[b + 1] = bytes_until[b] + out[b, BYTES]
        good_until[b + 1] = good_until[b] + (0 if is_comment[b] else good)
        link_until[b + 1] = link_until[b] + blocks[b, LINK_BYTES]
    page_bytes, page_good = bytes_until[n], good_until[n]

    paths, children = np.zeros(num_elements, np.uint64), np.zeros(num_elements, np.int32)
    article, body = np.zeros(num_elements, np.int32), np.zeros(num_elements, np.int32)
    levels = np.zeros((num_elements, groups.size), np.int32)
    paths[0] = 1
    for e in range(1, num_elements):
        element = elements[e]
        parent, tag = element[PARENT], element[TAG]
        children[parent] += 1
        paths[e] = paths[parent] * _U64(1_000_003) + _U64(tag) + _U64(element[FLAGS] & 0xFFFF) * _U64(7_919)
        share = per_mille(good_until[element[END_BLOCK]] - good_until[element[FIRST_BLOCK]], page_good)
        article[e] = share if tag in (_ARTICLE, _MAIN) else article[parent]
        body[e] = share if element[FLAGS] & BODY_GROUPS else body[parent]
        for k in range(groups.size):
            levels[e, k] = min(_MOST_LEVELS, levels[parent, k] + ((element[FLAGS] >> groups[k]) & 1))
    number, in_all = np.zeros(num_elements, np.int32), np.zeros(num_elements, np.int32)
    alike(paths, number, in_all)
    most_number = np.zeros(num_elements, np.int32)
    for e in range(1, num_elements):
        most_number[e] = max(number[e], most_number[elements[e, PARENT]])
    size = table_size(n)
    text_keys, copies, path_keys = np.zeros(size, np.uint64), np.zeros(size, np.int32), np.zeros(size, np.uint64)
    path_blocks, path_bytes = np.zeros(size, np.int64), np.zeros(size, np.int64)
    text_slot, path_slot = np.zeros(n, np.int64), np.zeros(n, np.int64)
    next_good = np.full(n + 1, n, np.int64)
    for b in range(n - 1, -1, -1):
        next_good[b] = b if good_until[b + 1] > good_until[b] else next_good[b + 1]
        text_slot[b] = slot_of(text_keys, max(hashes[b], _U64(1)))
        copies[text_slot[b]] += 1
        slot = slot_of(path_keys, max(paths[blocks[b, ELEMENT]], _U64(1)))
        path_slot[b] = slot
        path_blocks[slot] += 1
        path_bytes[slot] += out[b, BYTES] * (1000 - out[b, LINK_PERMILLE]) // 1000
    top = _top(elements, _scores(blocks, elements, out, is_leaf, is_comment), bytes_until, link_until)
    top_first, top_end = elements[top, FIRST_BLOCK], elements[top, END_BLOCK]
    above_top = elements[max(0, elements[top, PARENT])]

    last_good = last_h1 = last_heading = -1
    for b in range(n):
        row, block = out[b], blocks[b]
        e = block[ELEMENT]
        element = elements[e]
        parent = element[PARENT]
        f = len(block_texts.NAMES)
        _bits(block[IN], NUM_CONTEXTS, row, f)
        f += NUM_CONTEXTS
        _bits(element[ALL_FLAGS], NUM_GROUPS, row, f)
        row[f + NUM_GROUPS] = (element[ALL_FLAGS] & HIDDEN) != 0
        f += NUM_GROUPS + 1
        _bits(element[FLAGS] | elements[parent, FLAGS], NUM_GROUPS, row, f)
        f += NUM_GROUPS
        row[f], row[f + 1], row[f + 2] = per_mille(bytes_until[b], page_bytes), b * 1000 // n, element[DEPTH]
        f += 3
        for near in range(6):
            other = b - 1 - near if near < 3 else b + near - 2
            row[f] = row[f + 1] = row[f + 2] = -1
            if 0 <= other < n:
                o = blocks[other, ELEMENT]
                same_parent = elements[o, PARENT] == parent
                row[f], row[f + 1] = out[other, BYTES], out[other, LINK_PERMILLE]
                row[f + 2] = 2 if o == e or (same_parent and elements[o, TAG] == element[TAG]) else same_parent
            f += 3
        own_good = good_until[b + 1] - good_until[b]
        for reach in (3, 8):
            first, end = max(0, b - reach), min(n, b + reach + 1)
            row[f] = good_until[end] - good_until[first] - own_good
            row[f + 1] = per_mille(link_until[end] - link_until[first], bytes_until[end] - bytes_until[first])
            f += 2
        following = next_good[b + 1]
        row[f] = min(FAR, b - last_good) if last_good >= 0 else FAR
        row[f + 1] = min(FAR, following - b) if following < n else FAR
        row[f + 2] = copies[text_slot[b]]
        f += 3
        container = parent if is_leaf[element[TAG]] else e
        outer = max(0, elements[container, PARENT])
        _describe(elements[container], bytes_until, good_until, link_until, row, f)
        _describe(elements[outer], bytes_until, good_until, link_until, row, f + 2)
        f += 4
        row[f], row[f + 1] = top_first <= b < top_end, above_top[FIRST_BLOCK] <= b < above_top[END_BLOCK]
        if b < top_first:
            row[f + 2] = (b - top_first) * 50
        elif b < top_end:
            row[f + 2] = (b - top_first) * 1000 // (top_end - top_first)
        else:
            row[f + 2] = 1000 + (b - top_end + 1) * 50
        row[f + 3], row[f + 4] = element[DEPTH] - elements[top, DEPTH], container == top
        row[f + 5], row[f + 6] = article[e], body[e]
        f += 7
        if block[IN] & _IN_H1:
            last_h1 = b
        if block[IN] & HEADINGS:
            last_heading = b
        slot = path_slot[b]
        row[f] = min(FAR, b - last_h1) if last_h1 >= 0 else -1
        row[f + 1], row[f + 2] = path_blocks[slot], per_mille(path_bytes[slot], page_bytes)
        row[f + 3] = path_bytes[slot] // path_blocks[slot]
        row[f + 4] = element[IMAGES] + elements[container, IMAGES]
        row[f + 5] = bytes_until[b] - bytes_until[last_good + 1] if last_good >= 0 else _FAR_BYTES
        row[f + 6] = bytes_until[following] - bytes_until[b + 1] if following < n else _FAR_BYTES
        row[f + 7] = min(FAR, b - last_heading) if last_heading >= 0 else FAR
        row[f + 8], row[f + 9] = per_mille(good_until[b], page_good), children[parent] if e > 0 else 0
        row[f + 10 : f + 10 + groups.size] = levels[e]
        f += 10 + groups.size
        runs = row[WORDS] - RUN + 1
        row[f], row[f + 1] = per_mille(said_again[b], runs), per_mille(said_before[b], runs)
        row[f + 2], row[f + 3] = min(FAR, number[container]), min(FAR, in_all[container])
        row[f + 4], row[f + 5] = min(FAR, number[outer]), min(FAR, in_all[outer])
        row[f + 6] = min(FAR, most_number[container])
        if own_good > 0:
            last_good = b


def block_features(page: Blocks) -> np.ndarray:
    """One row of int32 `NAMES` a block."""
    out = np.zeros((len(page.blocks), NUM_FEATURES), np.int32)
    if len(out):
        _features(page.text, page.blocks, page.elements, IS_LEAF, _LEVELS, *FURNITURE_TABLE, out)
    return out

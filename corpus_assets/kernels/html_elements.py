"""The elements of a page while it is read: the stack of the open ones, and which of them a tag closes.

Spec: html_blocks.md.
"""

import numpy as np
from numba import njit

from corpus_assets.kernels.html_names import CELL, CODE, NUM_TAGS, TAGS

PARENT, TAG, FLAGS, ALL_FLAGS, FIRST_BLOCK, END_BLOCK, DEPTH, IMAGES = range(8)
"""Columns of an element: its parent, its tag's number, what its attributes say, and its ancestors' with it; its blocks;
its depth; the images right in it.
"""
IN_TABLE, IN_ROW, IN_CELL, CELL_NUMBER, IN_LIST, IN_CODE = range(8, 14)
"""By which its lines are laid out, 0 for none: the innermost table, row and cell that it is in or is; how many cells of
the row stand before that cell (of a row: how many it has); the outermost list within it; and the outermost element
whose white space counts.
"""
NUM_ELEMENT_COLUMNS = 14
_P, _LI, _UL, _OL, _DD, _DT, _DL = (TAGS[name] for name in ("p", "li", "ul", "ol", "dd", "dt", "dl"))
_TABLE, _TBODY, _THEAD, _TFOOT = (TAGS[name] for name in ("table", "tbody", "thead", "tfoot"))
_TD, _TH, _TR, _PRE = (TAGS[name] for name in ("td", "th", "tr", "pre"))
_OPENS_LIST = np.zeros(NUM_TAGS, np.bool_)
_OPENS_LIST[[_UL, _OL, _DL, TAGS["menu"]]] = True


@njit(nogil=True, cache=True)
def close(elements, stack, height, down_to, open_of_tag, num_blocks):
    """Close elements until the stack has `down_to`; returns that."""
    while height > down_to:
        height -= 1
        elements[stack[height], END_BLOCK] = num_blocks
        open_of_tag[elements[stack[height], TAG]] -= 1
    return height


@njit(nogil=True, cache=True)
def implied_end(elements, stack, height, tag, open_of_tag):
    """(place in the stack of the element that a start tag closes, 0 for none; how many places were looked at): a
    paragraph by any block, items, cells and rows by the next of their list or table.
    """
    found = steps = 0
    if open_of_tag[_P] > 0 and tag != _TR and tag != _TD and tag != _TH:
        k = height - 1
        while k > 0:
            steps += 1
            at = elements[stack[k], TAG]
            if at == _P:
                found = k
            if at in (_P, _TD, _TH, _TABLE):
                break
            k -= 1
    if tag == _LI and open_of_tag[_LI] > 0:
        first, second, stop1, stop2, stop3 = _LI, _LI, _UL, _OL, _TD
    elif (tag in (_DD, _DT)) and open_of_tag[_DD] + open_of_tag[_DT] > 0:
        first, second, stop1, stop2, stop3 = _DD, _DT, _DL, _TD, _TD
    elif (tag in (_TD, _TH)) and open_of_tag[_TD] + open_of_tag[_TH] > 0:
        first, second, stop1, stop2, stop3 = _TD, _TH, _TR, _TR, _TR
    elif (tag in (_TR, _TBODY, _THEAD, _TFOOT)) and open_of_tag[_TR] > 0:
        first, second, stop1, stop2, stop3 = _TR, _TR, _TABLE, _TABLE, _TABLE
    else:
        return found, steps
    k = height - 1
    while k > 0:
        steps += 1
        at = elements[stack[k], TAG]
        if at in (first, second):
            return k, steps
        if at in (stop1, stop2, stop3, _TABLE):
            break
        k -= 1
    return found, steps


@njit(nogil=True, cache=True)
def open_of(elements, stack, height, tag, does):
    """(place in the stack of the element that an end tag closes, 0 for none; how many places were looked at): never
    beyond the cell or table around it, but for parts of the table itself.
    """
    k = height - 1
    while k > 0:
        at = elements[stack[k], TAG]
        if at == tag:
            return k, height - k
        if not does & CELL and (at in (_TD, _TH, _TABLE)):
            break
        k -= 1
    return 0, height - k


@njit(nogil=True, cache=True)
def add_element(elements, n, parent, tag, flags, num_blocks):
    above = elements[parent]
    new = elements[n]
    new[PARENT], new[TAG], new[FLAGS], new[ALL_FLAGS] = parent, tag, flags, above[ALL_FLAGS] | flags
    new[FIRST_BLOCK], new[END_BLOCK], new[DEPTH], new[IMAGES] = num_blocks, num_blocks, above[DEPTH] + 1, 0
    table, row, cell, number = above[IN_TABLE], above[IN_ROW], above[IN_CELL], above[CELL_NUMBER]
    in_list, in_code = above[IN_LIST], above[IN_CODE]
    if tag == _TABLE:
        table, row, cell, number, in_list = n, 0, 0, 0, 0
    elif tag == _TR:
        row, cell, number, in_list = n, 0, 0, 0
    elif tag in (_TD, _TH):
        number = elements[row, CELL_NUMBER]
        elements[row, CELL_NUMBER] += 1
        cell, in_list = n, 0
    if in_list == 0 and _OPENS_LIST[tag]:
        in_list = n
    if in_code == 0 and (tag == _PRE or flags & CODE):
        in_code = n
    new[IN_TABLE], new[IN_ROW], new[IN_CELL], new[CELL_NUMBER] = table, row, cell, number
    new[IN_LIST], new[IN_CODE] = in_list, in_code

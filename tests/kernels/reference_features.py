"""The slow, obvious twin of `block_features`: each column by its definition, over lists and dictionaries."""

import re
from collections import Counter

from corpus_assets.kernels import html_blocks as b
from corpus_assets.kernels import html_elements as e
from corpus_assets.kernels.block_texts import NAMES as TEXT_NAMES
from corpus_assets.kernels.html_names import CONTEXTS, HIDDEN, LEAVES, NUM_GROUPS, TAGS

NAME_OF = {number: name for name, number in TAGS.items()}


def per_mille(part, whole):
    return min(1000, part * 1000 // whole) if whole > 0 else 0


class Page:
    """`texts` are the rows of the text columns, as dictionaries."""

    def __init__(self, page, texts):
        self.blocks, self.elements, self.texts = page.blocks.tolist(), page.elements.tolist(), texts
        reads_well = [self.good_of(text) for text in texts]
        named = [self.elements[block[b.ELEMENT]][e.ALL_FLAGS] >> 3 & 1 for block in self.blocks]
        others = [i for i, good in enumerate(reads_well) if good and not named[i]]
        self.comments = {i for i in range(len(texts)) if named[i] and others and others[0] < i}
        self.good = [0 if i in self.comments else good for i, good in enumerate(reads_well)]

    def good_of(self, text):
        if text["bytes"] < 70 or text["link_permille"] >= 350:
            return 0
        if not (text["ending"] or text["commas"] or text["bytes"] > 120):
            return 0
        return text["bytes"] * (1000 - text["link_permille"]) // 1000

    def sums(self, blocks):
        """(bytes, permille in links, permille of the page's good text) of some blocks."""
        size = sum(self.texts[i]["bytes"] for i in blocks)
        link = sum(self.blocks[i][b.LINK_BYTES] for i in blocks)
        return size, per_mille(link, size), per_mille(sum(self.good[i] for i in blocks), sum(self.good))

    def within(self, element):
        return range(self.elements[element][e.FIRST_BLOCK], self.elements[element][e.END_BLOCK])

    def tag(self, element):
        return NAME_OF.get(self.elements[element][e.TAG], "")

    def ancestors(self, element):
        while element:
            yield element
            element = self.elements[element][e.PARENT]

    def container(self, element):
        return self.elements[element][e.PARENT] if self.tag(element) in LEAVES.split() else element

    def path(self, element):
        return tuple((self.tag(one), self.elements[one][e.FLAGS] & 0xFFFF) for one in self.ancestors(element))

    def top(self):
        scores = Counter()
        for i, (text, block) in enumerate(zip(self.texts, self.blocks, strict=True)):
            if i not in self.comments and text["bytes"] >= 25 and text["link_permille"] < 500:
                score = 1000 + 1000 * text["commas"] + min(10 * text["bytes"], 4000)
                score = score * (1000 - text["link_permille"]) // 1000
                around = list(self.ancestors(self.container(block[b.ELEMENT])))[:5]
                for one, divisor in zip(around, (1, 2, 6, 9, 12), strict=False):
                    scores[one] += score // divisor
        found = [(self.weighed(one, score), -one) for one, score in scores.items() if score > 0]
        return -max(found)[1] if found else 0

    def weighed(self, element, score):
        score = score * (1000 - self.sums(self.within(element))[1]) // 1000
        if self.elements[element][e.ALL_FLAGS] & (1 << 3 | 1 << 6 | HIDDEN):
            score = score * 3 // 10
        return score * 13 // 10 if self.elements[element][e.FLAGS] & 1 << 2 else score

    def share(self, element, wanted):
        """The share of good text of the innermost of the ancestors that is wanted."""
        found = [one for one in self.ancestors(element) if wanted(one)]
        return self.sums(self.within(found[0]))[2] if found else 0

    def last(self, i, wanted, far, far_value):
        """How many blocks ago one was wanted, this one included."""
        found = [j for j in range(i + 1) if wanted(j)]
        return min(far, i - found[-1]) if found else far_value

    def row(self, i, letters):
        """The columns of block i but for those of its text; `letters` are those of all blocks' texts."""
        n, block, top = len(self.blocks), self.blocks[i], self.top()
        element = block[b.ELEMENT]
        own = self.elements[element]
        parent, flags = own[e.PARENT], own[e.ALL_FLAGS]
        out = {f"in_{name}": block[b.IN] >> bit & 1 for bit, name in enumerate(CONTEXTS)}
        near = own[e.FLAGS] | self.elements[parent][e.FLAGS]
        out |= {f"group_{bit}": flags >> bit & 1 for bit in range(NUM_GROUPS)}
        out |= {f"own_group_{bit}": near >> bit & 1 for bit in range(NUM_GROUPS)}
        page_bytes, page_good = sum(text["bytes"] for text in self.texts), sum(self.good)
        out["hidden"] = int(flags & HIDDEN != 0)
        out["before_permille"] = per_mille(self.sums(range(i))[0], page_bytes)
        out["index_permille"], out["depth"] = i * 1000 // n, own[e.DEPTH]
        for place in (-3, -2, -1, 1, 2, 3):
            name = f"before_{-place}" if place < 0 else f"after_{place}"
            values = (-1, -1, -1)
            if 0 <= i + place < n:
                other = self.blocks[i + place][b.ELEMENT]
                sibling = self.elements[other][e.PARENT] == parent
                kin = 2 if other == element or (sibling and self.tag(other) == self.tag(element)) else int(sibling)
                values = (self.texts[i + place]["bytes"], self.texts[i + place]["link_permille"], kin)
            for what, value in zip(("bytes", "link_permille", "kinship"), values, strict=True):
                out[f"{name}_{what}"] = value
        for reach in (3, 8):
            window = range(max(0, i - reach), min(n, i + reach + 1))
            out[f"good_within_{reach}"] = sum(self.good[j] for j in window if j != i)
            out[f"link_permille_within_{reach}"] = self.sums(window)[1]
        before = [j for j in range(i) if self.good[j]]
        after = [j for j in range(i + 1, n) if self.good[j]]
        out["blocks_since_good"] = min(60, i - before[-1]) if before else 60
        out["blocks_to_good"] = min(60, after[0] - i) if after else 60
        out["bytes_since_good"] = self.sums(range(before[-1] + 1, i))[0] if before else 5000
        out["bytes_to_good"] = self.sums(range(i + 1, after[0]))[0] if after else 5000
        out["copies"] = letters.count(letters[i])
        container = self.container(element)
        outer = self.elements[container][e.PARENT]
        for name, one in (("container", container), ("outer", outer)):
            _, out[f"{name}_link_permille"], out[f"{name}_good_permille"] = self.sums(self.within(one))
        within = self.within(top)
        out["in_top"] = int(i in within)
        out["in_parent_of_top"] = int(i in self.within(self.elements[top][e.PARENT]))
        if i in within:
            out["place_in_top"] = (i - within.start) * 1000 // len(within)
        else:
            out["place_in_top"] = (i - within.start) * 50 if i < within.start else 1000 + (i - within.stop + 1) * 50
        out["depth_below_top"], out["right_in_top"] = own[e.DEPTH] - self.elements[top][e.DEPTH], int(container == top)
        out["article_good_permille"] = self.share(element, lambda one: self.tag(one) in ("article", "main"))
        out["body_good_permille"] = self.share(element, lambda one: bool(self.elements[one][e.FLAGS] & 0b111))
        contexts = [{name for bit, name in enumerate(CONTEXTS) if one[b.IN] >> bit & 1} for one in self.blocks]
        out["blocks_since_h1"] = self.last(i, lambda j: "h1" in contexts[j], 60, -1)
        out["blocks_since_heading"] = self.last(i, lambda j: contexts[j] & {"h1", "h2", "h3", "h4"}, 60, 60)
        path = self.path(element)
        alike = [text for text, one in zip(self.texts, self.blocks, strict=True) if self.path(one[b.ELEMENT]) == path]
        size = sum(text["bytes"] * (1000 - text["link_permille"]) // 1000 for text in alike)
        out["path_blocks"], out["path_mean_bytes"] = len(alike), size // len(alike)
        out["path_permille"] = per_mille(size, page_bytes)
        out["images"] = own[e.IMAGES] + self.elements[container][e.IMAGES]
        out["good_before_permille"] = per_mille(sum(self.good[:i]), page_good)
        children = [one for one in range(1, len(self.elements)) if self.elements[one][e.PARENT] == parent]
        out["siblings"] = len(children) if element else 0
        for group in (3, 5, 8, 11, 12):
            named = [one for one in self.ancestors(element) if self.elements[one][e.FLAGS] >> group & 1]
            out[f"levels_{group}"] = min(9, len(named))
        for name, one in (("container", container), ("outer", outer)):
            out[f"{name}_number"], out[f"{name}_alike"] = min(60, self.number(one)), min(60, len(self.alike(one)))
        out["most_number"] = min(60, max((self.number(one) for one in self.ancestors(container)), default=0))
        return out

    def alike(self, element):
        """The elements on this one's path; none of the page's."""
        path = self.path(element)
        return [one for one in range(1, len(self.elements)) if self.path(one) == path] if element else []

    def number(self, element):
        return self.alike(element).index(element) if element else 0


def runs_of(text):
    words = re.findall(rb"[a-z0-9\x80-\xff]+", text.lower())
    return [tuple(words[i : i + 5]) for i in range(len(words) - 4)]


def said(runs, i, others):
    """The permille of block i's runs that stand in one of the others."""
    return per_mille(sum(any(run in runs[j] for j in others) for run in runs[i]), len(runs[i]))


def features(page, rows):
    """All columns by name, of every block, given the text columns of `rows`."""
    texts = [dict(zip(TEXT_NAMES, row, strict=False)) for row in rows]
    data = page.text.tobytes()
    letters = [
        bytes(c for c in data[one[b.START] : one[b.END]].lower() if c >= 128 or chr(c).isalnum())
        for one in page.blocks.tolist()
    ]
    twin, runs = Page(page, texts), [runs_of(data[one[b.START] : one[b.END]]) for one in page.blocks.tolist()]
    found = [texts[i] | twin.row(i, letters) for i in range(len(texts))]
    for i, row in enumerate(found):
        row["said_again_permille"] = said(runs, i, [j for j in range(len(runs)) if j != i])
        row["said_before_permille"] = said(runs, i, range(i))
    return found

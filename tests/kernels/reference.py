"""Slow, obvious twins of the dedup and decontamination kernels: strings, sets and Python's whole numbers.

They share the frozen tables with the kernels, and no line of their code.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence

import unicodedata2

from corpus_assets.kernels.unicode_tables import LETTER, MARK, NUMBER, SINGLE, SPACE, tables

KIND, LOWER = tables()
MASK32, MASK64 = 2**32 - 1, 2**64 - 1


def lowered(text: str) -> str:
    return "".join(chr(LOWER[ord(char)]) for char in text)


def word_places(text: str) -> list[tuple[int, int]]:
    """(first character, character after the last) of each word."""
    places, start = [], None
    for at, char in enumerate(text + " "):
        kind = KIND[ord(char)]
        joins = kind in (LETTER, MARK, NUMBER)
        if joins and start is None:
            start = at
        if not joins and start is not None:
            places.append((start, at))
            start = None
        if kind == SINGLE:
            places.append((at, at + 1))
    return places


def words(text: str) -> list[str]:
    return [lowered(text[i:j]) for i, j in word_places(text)]


def word_hash(word: str) -> int:
    value = 0xCBF29CE484222325
    for char in word:
        value = ((value ^ ord(char)) * 0x100000001B3) & MASK64
    return value


def mix64(x: int) -> int:
    x = ((x ^ (x >> 33)) * 0xFF51AFD7ED558CCD) & MASK64
    x = ((x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53) & MASK64
    return x ^ (x >> 33)


def ngrams(found: Sequence[str], width: int) -> list[tuple[str, ...]]:
    """Runs of `width` words; all words where there are fewer; none where there is none."""
    if not found:
        return []
    return [tuple(found[i : i + width]) for i in range(max(len(found) - width + 1, 1))]


def ngram_hash(ngram: Sequence[str]) -> int:
    value = 0
    for word in ngram:
        value = (value * 0x9E3779B97F4A7C15 + word_hash(word)) & MASK64
    return mix64(value)


def shingle_hashes(text: str, width: int) -> list[int]:
    return [ngram_hash(ngram) for ngram in ngrams(words(text), width)]


def mix32(x: int) -> int:
    x = ((x ^ (x >> 16)) * 0x85EBCA6B) & MASK32
    x = ((x ^ (x >> 13)) * 0xC2B2AE35) & MASK32
    return x ^ (x >> 16)


def signature(text: str, width: int, a: Iterable[int], b: Iterable[int]) -> list[int]:
    mixed = [mix32(value & MASK32) for value in shingle_hashes(text, width)]
    return [min([(x * h + y) & MASK32 for h in mixed], default=MASK32) for x, y in zip(a, b, strict=True)]


def band_keys(values: Sequence[int], bands: int, rows: int) -> list[int]:
    keys = []
    for band in range(bands):
        x = band
        for value in values[band * rows : (band + 1) * rows]:
            x = mix64(((x << 32) & MASK64) ^ (x >> 32) ^ value)
        keys.append(x - 2**64 if x >= 2**63 else x)
    return keys


def candidate_pairs(
    rows: Iterable[tuple[int, int]], max_bucket: int, hot_keepers: int
) -> tuple[list[tuple[int, int]], int, int]:
    """(pairs in the order of the stream, pairs skipped, hot buckets) of (key, rank) rows."""
    pairs: list[tuple[int, int]] = []
    skipped = hot = 0
    for _, bucket in itertools.groupby(sorted(set(rows)), key=lambda row: row[0]):
        ranks = [rank for _, rank in bucket]
        every = [(x, y) for j, y in enumerate(ranks) for x in ranks[:j]]
        if len(ranks) > max_bucket:
            kept = [(x, y) for x, y in every if x in ranks[:hot_keepers]]
            skipped, hot = skipped + len(every) - len(kept), hot + 1
            every = kept
        pairs += every
    return pairs, skipped, hot


def components(edges: Iterable[tuple[int, int]]) -> dict[int, int]:
    """The smallest node each node is connected to."""
    neighbours = defaultdict(set)
    for a, b in edges:
        neighbours[a].add(b)
        neighbours[b].add(a)
    root: dict[int, int] = {}
    for node in sorted(neighbours):
        reached = [node] if node not in root else []
        while reached:
            at = reached.pop()
            if at not in root:
                root[at] = node
                reached += neighbours[at]
    return root


def keeper_walk(edges: Iterable[tuple[int, int, int]]) -> dict[int, tuple[int, int]]:
    """{node: (keeper, Jaccard)}."""
    scores = {}
    for a, b, score in edges:
        scores[a, b] = scores[b, a] = score
    keepers: list[int] = []
    result = {}
    for node in sorted({node for pair in scores for node in pair}):
        onto = next((keeper for keeper in keepers if (keeper, node) in scores), None)
        if onto is None:
            keepers.append(node)
        result[node] = (node, 1_000_000) if onto is None else (onto, scores[onto, node])
    return result


def folded(text: str) -> str:
    """NFC, lower case, each run of white space one space, none at the ends."""
    text = unicodedata2.normalize("NFC", text)
    text = "".join(" " if KIND[ord(char)] == SPACE else lowered(char) for char in text)
    return " ".join(part for part in text.split(" ") if part)


def first_hit(text: str, entries: Sequence[str], ngram: int, min_words: int) -> tuple[int, int, int]:
    """(entry, first character, character after the last) of the first protected sequence in a text, or -1s."""
    places, found = word_places(text), words(text)
    protected = [(e, sequence) for e, entry in enumerate(entries) for sequence in ngrams(words(entry), ngram)]
    for i in range(len(found)):
        for e, sequence in protected:
            if len(sequence) >= min_words and tuple(found[i : i + len(sequence)]) == sequence:
                return e, places[i][0], places[i + len(sequence) - 1][1]
    return -1, -1, -1

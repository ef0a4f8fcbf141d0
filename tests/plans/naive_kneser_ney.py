"""Interpolated modified Kneser-Ney as the paper writes it (Chen and Goodman 1998, section 3), with dicts and strings.

Shares no line with the trainer: a probability is asked for, and computed from counts then and there.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache

FALLBACK = (0.5, 1.0, 1.5)
Gram = tuple[str, ...]


def discounts(counts: Counter[Gram]) -> tuple[float, float, float]:
    of = Counter(counts.values())
    if not all(of[n] for n in (1, 2, 3, 4)):
        return FALLBACK
    y = of[1] / (of[1] + 2 * of[2])
    exact = tuple(n - (n + 1) * y * of[n + 1] / of[n] for n in (1, 2, 3))
    return exact if all(0 < d <= n for n, d in enumerate(exact, 1)) else FALLBACK


class NaiveModel:
    """Of three words; those of three that occur once are left out of it."""

    def __init__(self, sentences: Sequence[str]) -> None:
        padded = [("<s>", *sentence.split(" "), "</s>") for sentence in sentences]
        raw = {n: Counter(s[i : i + n] for s in padded for i in range(len(s) - n + 1)) for n in (2, 3)}
        before: dict[Gram, set[str]] = {}
        for gram in (*raw[2], *raw[3]):
            before.setdefault(gram[1:], set()).add(gram[0])
        self.counts: dict[int, Counter[Gram]] = {
            3: raw[3],
            2: Counter({g: n if g[0] == "<s>" else len(before[g]) for g, n in raw[2].items()}),
            1: Counter({gram: len(left) for gram, left in before.items() if len(gram) == 1}),
        }
        self.words = sorted({"<unk>", *(word for s in padded for word in s[1:])})
        self.taken = {n: discounts(counts) for n, counts in self.counts.items()}
        self.probability = cache(self._probability)

    def _discount(self, count: int, order: int) -> float:
        return self.taken[order][min(count, 3) - 1] if count else 0.0

    def _probability(self, word: str, context: Gram) -> float:
        """P(word | context), of a context of two words at most."""
        order = len(context) + 1
        mine = {gram: n for gram, n in self.counts[order].items() if gram[:-1] == context}
        total = sum(mine.values())
        if not total:
            return self.probability(word, context[1:])
        is_left_out = {gram: order == 3 and n < 2 for gram, n in mine.items()}
        given = sum(n if is_left_out[gram] else self._discount(n, order) for gram, n in mine.items())
        lower = self.probability(word, context[1:]) if context else 1 / len(self.words)
        gram = (*context, word)
        count = 0 if is_left_out.get(gram, True) else mine[gram]
        return (count - self._discount(count, order)) / total + given / total * lower

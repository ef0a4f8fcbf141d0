"""A language model of three words, as an ARPA file: interpolated modified Kneser-Ney (Chen and Goodman 1998), as
KenLM's lmplz does it (Heafield et al. 2013), in numpy.

Orders below the highest count by how many words precede an n-gram, but for n-grams that begin a sentence. Words of one
are interpolated with the uniform distribution, which is what `<unk>` gets. Three words that occur once are left out:
their share goes to the backoff of their context, so that the probabilities after every context sum to one.
Cost: linear in the n-grams; some 3 GB and 20 s for 50 MB of text.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.arrow import string_buffers
from formats.errors import ConfigError

UNKNOWN, BEGIN, END = 0, 1, 2
SPECIAL = ("<unk>", "<s>", "</s>")
MIN_TRIGRAM_COUNT = 2
FALLBACK = (0.5, 1.0, 1.5)
"""Discounts where the counts of counts of an order give none, as in so little text that no word occurs twice."""
_MILLION = 1_000_000
"""Logarithms have six decimals: KenLM keeps them as float32."""
_NEVER = "-99"


@dataclass(frozen=True)
class Ngrams:
    """Of one order: ids of the words (rows, order), log10 of the probability and of the backoff (none at the top)."""

    words: np.ndarray
    log10: np.ndarray
    backoff: np.ndarray | None


@dataclass(frozen=True)
class LanguageModel:
    """`vocabulary` by id, SPECIAL first, then by bytes; orders from one word up, each in the order of its ids."""

    vocabulary: pa.Array
    orders: tuple[Ngrams, ...]


def train(sentences: pa.Array) -> LanguageModel:
    """The model of a large_string column: a sentence a row, words with one space between them.

    Raises ConfigError where there is no sentence.
    """
    if not len(sentences):
        raise ConfigError("there is no sentence to train a language model on; take more sources, or another language")
    vocabulary, stream, is_end = _numbered(sentences)
    num_words = len(vocabulary)
    first = np.flatnonzero(~is_end)
    pairs, pair_of_first, pair_counts = np.unique(
        stream[first] * num_words + stream[first + 1], return_inverse=True, return_counts=True
    )
    pair_at = np.full(len(stream), -1, np.int64)
    pair_at[first] = pair_of_first
    context, word = pairs // num_words, pairs % num_words
    begin = first[~is_end[first + 1]]
    triples, where, triple_counts = np.unique(
        pair_at[begin] * num_words + stream[begin + 2], return_index=True, return_counts=True
    )
    front, back = triples // num_words, pair_at[begin[where] + 1]

    pair_counts = np.where(context == BEGIN, pair_counts, np.bincount(back, minlength=len(pairs)))
    one, unigram_backoff = _unigrams(np.bincount(word, minlength=num_words), context, pair_counts)
    two = _interpolated(pair_counts, context, unigram_backoff, one[word])
    kept = triple_counts >= MIN_TRIGRAM_COUNT
    pair_backoff = _backoffs(triple_counts, front, len(pairs), kept)
    three = _interpolated(triple_counts, front, pair_backoff, two[back])[kept]

    unigrams = Ngrams(np.arange(num_words)[:, None], np.log10(one), np.log10(unigram_backoff))
    bigrams = Ngrams(np.stack([context, word], axis=1), np.log10(two), np.log10(pair_backoff))
    if not kept.any():
        return LanguageModel(vocabulary, (unigrams, Ngrams(bigrams.words, bigrams.log10, None)))
    words = np.stack([context[front], word[front], triples % num_words], axis=1)[kept]
    return LanguageModel(vocabulary, (unigrams, bigrams, Ngrams(words, np.log10(three), None)))


def _numbered(sentences: pa.Array) -> tuple[pa.Array, np.ndarray, np.ndarray]:
    """(vocabulary, ids of all words with BEGIN and END around each sentence, whether an id ends one)."""
    split = pc.split_pattern(sentences, " ")
    encoded = split.flatten().dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order)) + len(SPECIAL)
    vocabulary = pa.concat_arrays([pa.array(SPECIAL, pa.large_string()), encoded.dictionary.take(pa.array(order))])
    lengths = pc.list_value_length(split).to_numpy().astype(np.int64)
    ends = np.cumsum(lengths + 2) - 1
    stream = np.full(int(ends[-1]) + 1, UNKNOWN, np.int64)
    is_end = np.zeros(len(stream), np.bool_)
    is_end[ends], stream[ends], stream[ends - lengths - 1] = True, END, BEGIN
    stream[stream == UNKNOWN] = number[encoded.indices.to_numpy(zero_copy_only=False)]
    return vocabulary, stream, is_end


def discounts(counts: np.ndarray) -> np.ndarray:
    """What is taken from a count of 0, 1, 2, and 3 or more: by how many n-grams have counts of 1 to 4."""
    n1, n2, n3, n4 = (int((counts == c).sum()) for c in (1, 2, 3, 4))
    found = FALLBACK
    if n1 and n2 and n3 and n4:
        y = n1 / (n1 + 2 * n2)
        exact = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
        if all(0 < discount <= count for count, discount in enumerate(exact, 1)):
            found = exact
    return np.array([0.0, *found])


def _taken(counts: np.ndarray) -> np.ndarray:
    return discounts(counts)[np.minimum(counts, 3)]


def _backoffs(counts: np.ndarray, context: np.ndarray, size: int, kept: np.ndarray | None = None) -> np.ndarray:
    """The share that the n-grams of each context give away: discounts, or all where not kept; 1 without n-grams."""
    given = _taken(counts) if kept is None else np.where(kept, _taken(counts), counts)
    total = np.bincount(context, counts, size)
    return np.divide(np.bincount(context, given, size), total, out=np.ones(size), where=total > 0)


def _interpolated(counts: np.ndarray, context: np.ndarray, backoff: np.ndarray, lower: np.ndarray) -> np.ndarray:
    total = np.bincount(context, counts, len(backoff))
    return (counts - _taken(counts)) / total[context] + backoff[context] * lower


def _unigrams(counts: np.ndarray, context: np.ndarray, pair_counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(probability, backoff) of each word. BEGIN follows nothing: its probability of 1 is never asked for."""
    total = counts.sum()
    uniform = _taken(counts).sum() / total / (len(counts) - 1)
    found = (counts - _taken(counts)) / total + uniform
    found[BEGIN] = 1.0
    return found, _backoffs(pair_counts, context, len(counts))


def to_arpa(model: LanguageModel) -> bytes:
    """The one ARPA form of a model."""
    counts = [f"ngram {i}={len(one.log10)}\n" for i, one in enumerate(model.orders, 1)]
    parts = ["\\data\\\n", *counts]
    out = ["".join(parts).encode()]
    for i, one in enumerate(model.orders, 1):
        out += [f"\n\\{i}-grams:\n".encode(), *_lines(model.vocabulary, one)]
    return b"".join([*out, b"\n\\end\\\n"])


def _lines(vocabulary: pa.Array, ngrams: Ngrams, step: int = 1 << 20) -> Iterator[bytes]:
    for start in range(0, len(ngrams.log10), step):
        rows = slice(start, start + step)
        log10 = _decimals(ngrams.log10[rows])
        if ngrams.words.shape[1] == 1:
            begins = pa.array(ngrams.words[rows, 0] == BEGIN)
            log10 = pc.if_else(begins, pa.scalar(_NEVER, pa.large_string()), log10)
        words = [vocabulary.take(pa.array(column)) for column in ngrams.words[rows].T]
        tab, space, end = (pa.scalar(c, pa.large_string()) for c in ("\t", " ", ""))
        columns = [log10, pc.binary_join_element_wise(*words, space)]
        if ngrams.backoff is not None:
            columns.append(_decimals(ngrams.backoff[rows]))
        line_feed = pa.scalar("\n", pa.large_string())
        lines = pc.binary_join_element_wise(pc.binary_join_element_wise(*columns, tab), line_feed, end)
        offsets, data = string_buffers(lines)
        yield data[offsets[0] : offsets[-1]].tobytes()


def _decimals(log10: np.ndarray) -> pa.Array:
    """Numbers of 0 or less with six decimals, as large_string."""
    whole, rest = np.divmod(np.rint(-log10 * _MILLION).astype(np.int64), _MILLION)
    text = [pc.cast(pa.array(part), pa.large_string()) for part in (whole, rest)]
    number = pc.binary_join_element_wise(text[0], pc.utf8_lpad(text[1], 6, "0"), pa.scalar(".", pa.large_string()))
    sign = pa.array(np.where(whole + rest > 0, "-", ""), pa.large_string())
    return pc.binary_join_element_wise(sign, number, pa.scalar("", pa.large_string()))

"""Benchmarks of some items, checked, and what a naive search finds of them."""

import json
from collections import defaultdict

from corpus_assets.plans import benchmark as benchmarks
from corpus_assets.plans.contamination import check
from formats import corpus_shard
from tests.kernels import reference
from tests.plans.indexed_corpus import engine_of
from tests.plans.tiny_corpus import V1

NGRAM, SHORTEST = 13, 8
OTHER = (
    "Seven grey geese walked to the market on a Tuesday and nobody there could say whose geese they might have been."
)


def written(folder, items, name="quiz.jsonl"):
    """A benchmark of these items; a text alone is the field `question`."""
    rows = [item if isinstance(item, dict) else {"question": item} for item in items]
    path = folder / name
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def checked(layout, snapshot_id, folder, items, *, fields=(), **how):
    benchmark = benchmarks.read(written(folder, items), fields)
    return check(layout, snapshot_id, benchmark, lambda: engine_of(layout), **how)


def words_of(text, first, number):
    """`number` words of a text from the `first` on, as they stand there."""
    places = reference.word_places(text)
    return text[places[first][0] : places[first + number - 1][1]]


def naive(texts, items, shortest=SHORTEST):
    """(items hit, item -> documents) by words, one after the other. `texts`: id -> text."""
    runs = {name: reference.words(text) for name, text in texts.items()}
    hit = defaultdict(set)
    for number, item in enumerate(items):
        words = reference.words(item)
        for run in reference.ngrams(words, NGRAM):
            if len(run) >= shortest:
                for name, other in runs.items():
                    if any(tuple(other[i : i + len(run)]) == run for i in range(len(other) - len(run) + 1)):
                        hit[number].add(name)
    return sorted(hit), dict(hit)


def published_texts(layout):
    return {doc.id: doc.text for doc in corpus_shard.read_shards(layout.version(V1))}


def found_of(result):
    return {item.item: {one.id for one in item.documents} for item in result.items}

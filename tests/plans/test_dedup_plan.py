"""The whole dedup plan, from documents to placed rows, against a naive twin that compares every pair."""

import random
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from resources.engines.local import LocalEngine
from tests.plans import dedup_runs, naive_dedup
from tests.plans.naive_dedup import Doc, Rules, Source

WORDS = "ash birch cedar dogwood elm fir gorse hazel iris juniper kale larch maple nettle oak pine quince rowan".split()
SIXTY = [f"{WORDS[i % 18]}{WORDS[i // 18]}" for i in range(60)]
"""Sixty words, no two equal: an edit of one word takes five of 56 shingles, so it leaves a Jaccard of 51/61 = 0.836;
two edits apart it is 46/66 = 0.697, below the default threshold.
"""
LEAK = "thirteen lamps were lit along the harbour wall before the winter fleet came home"


def text(*edits: int, start: int = 0, say: str = "edited") -> str:
    """SIXTY from the word `start` on, with the words at 10 * edit + 5 replaced."""
    words = [f"{say}{i // 10}" if i % 10 == 5 and i // 10 in edits else word for i, word in enumerate(SIXTY)]
    return " ".join(words[start:])


def source(name: str, *docs: Doc | str, rank: int = 10, files: int = 1) -> Source:
    """A source with these documents dealt to its files in runs."""
    made = [doc if isinstance(doc, Doc) else Doc(doc) for doc in docs]
    size = -(-len(made) // files) or 1
    return Source(name, rank, tuple(tuple(made[i * size : (i + 1) * size]) for i in range(files)))


def check(root: Path, sources: list[Source], rules: Rules, **options: object) -> dedup_runs.Outcome:
    """Run the plan and its twin; everything that either says of a document has to be the same."""
    found = dedup_runs.run(root, sources, rules, **options)
    expected, clusters = naive_dedup.decide(sources, rules)
    assert found.documents.keys() == expected.keys()
    for name, fate in expected.items():
        row = found.documents[name]
        said = {key: row[key] for key in ("verdict", "cluster", "keeper_id", "keeper_jaccard", "split", "row")}
        assert said == {
            "verdict": fate.verdict,
            "cluster": fate.cluster,
            "keeper_id": fate.keeper,
            "keeper_jaccard": fate.jaccard,
            "split": fate.split,
            "row": fate.row,
        }, (name, row["url"])
    assert found.numbers == {name: fate.minhash_cluster for name, fate in expected.items() if fate.row is not None}
    assert found.clusters == clusters
    return found


short_texts = st.sampled_from(["cat", "dog", "Cat", "the cat", "", " \n", "!?", "…", "猫", "🐈"])
edits = st.frozensets(st.integers(0, 5), max_size=3)
styles = st.sampled_from([str, str.upper, lambda t: t.replace(" ", "\n"), lambda t: f"  {t}!"])
long_texts = st.builds(lambda e, style, start: style(text(*e, start=start)), edits, styles, st.sampled_from([0, 0, 20]))
leaky_texts = edits.map(lambda e: f"{text(*e)} {LEAK}")
docs = st.builds(
    Doc, short_texts | long_texts | long_texts | long_texts | leaky_texts, st.sampled_from(["2026-01-01", "2026-02-02"])
)


@st.composite
def corpora(draw: st.DrawFn) -> list[Source]:
    """Up to three sources of up to three files; chains and stars come about by edits that overlap."""
    names = ["books", "forum", "web"][: draw(st.integers(1, 3))]
    file = st.lists(docs, max_size=6).map(tuple)
    files = st.lists(file, min_size=1, max_size=3).map(tuple)
    return [Source(name, draw(st.sampled_from([1, 2])), draw(files)) for name in names]


rules = st.builds(
    Rules,
    threshold_millionths=st.sampled_from([800_000, 836_065, 836_066, 1_000_000]),
    shingle=st.sampled_from([1, 5]),
    drop=st.booleans(),
    val_permille=st.sampled_from([0, 300, 1000]),
    leaks=st.sampled_from([(), (LEAK,)]),
)


@settings(max_examples=25, deadline=None, derandomize=True, phases=[Phase.generate])
@given(corpora(), rules, st.sampled_from([1, 400, 4000]))
def test_the_plan_decides_as_the_naive_twin_does(sources, rules, part_bytes):
    with TemporaryDirectory() as folder:
        check(Path(folder) / "root", sources, rules, part_bytes=part_bytes)

"""What dedup has to decide, said with Python's strings, sets and dicts: every pair compared, no hash, no bucket.

It shares the word tables with the pipeline, and no line of its code beyond them.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import unicodedata2

from tests.kernels import reference

MILLION = 1_000_000


@dataclass(frozen=True)
class Doc:
    """One document as it is fetched."""

    text: str
    date: str = "2026-01-01"

    @cached_property
    def normalized(self) -> str:
        return unicodedata2.normalize("NFC", self.text).replace("\r\n", "\n").replace("\r", "\n")


@dataclass(frozen=True)
class Source:
    """One source: its files in the order of their names."""

    name: str
    rank: int
    files: tuple[tuple[Doc, ...], ...]


@dataclass(frozen=True)
class Rules:
    """What of the config decides here. `leaks` are texts of protected items, of 13 words or more."""

    threshold_millionths: int = 800_000
    shingle: int = 5
    drop: bool = True
    val_permille: int = 0
    leaks: tuple[str, ...] = ()


@dataclass
class Fate:
    """What became of one document; None where it does not apply."""

    id: str
    source: Source
    k: int
    doc: Doc
    verdict: str = "kept"
    keeper: str | None = None
    jaccard: int | None = None
    cluster: str | None = None
    split: str | None = None
    row: int | None = None
    minhash_cluster: int | None = None
    shingles: frozenset[tuple[str, ...]] = field(default_factory=frozenset)

    @cached_property
    def order(self) -> tuple[int, str, str, str, int]:
        """The keeper order."""
        digest = hashlib.sha256(self.doc.normalized.encode()).digest() + self.source.name.encode()
        doc_id = hashlib.sha256(digest).hexdigest()[:32]
        return self.source.rank, self.doc.date, doc_id, self.source.name, self.k


@dataclass(frozen=True)
class Cluster:
    """The size counts everything that entered dedup, keepers those that it kept."""

    root: str
    size: int
    keepers: int
    largest_distance: int


def jaccard(left: frozenset[object], right: frozenset[object]) -> tuple[int, int]:
    """(members in common, members together)."""
    return len(left & right), len(left | right)


def decide(sources: Iterable[Source], rules: Rules) -> tuple[dict[str, Fate], set[Cluster]]:
    """The fate of every document by id, and the clusters of two or more."""
    fates = []
    for source in sources:
        docs = [doc for file in source.files for doc in file]
        for k, doc in enumerate(docs):
            fates.append(Fate(f"{source.name}:{k}", source, k, doc))
    for fate in fates:
        fate.shingles = frozenset(reference.ngrams(reference.words(fate.doc.normalized), rules.shingle))
    _same_text(fates, lambda fate: fate.source.name, lambda fate: (fate.doc.date, fate.k))
    entered = sorted(_kept(fates), key=lambda fate: fate.order)
    for fate in entered:
        fate.cluster = fate.id
    _same_text(entered, lambda _: "", lambda fate: fate.order)
    edges = _edges(_kept(entered), rules)
    _join(edges, entered)
    if rules.drop:
        _walk(edges, _kept(entered))
    clusters = _clusters(entered, edges)
    _release(_kept(entered), rules)
    _protect_val(edges, entered)
    _number(_kept(entered))
    return {fate.id: fate for fate in fates}, clusters


def _kept(fates: Iterable[Fate]) -> list[Fate]:
    return [fate for fate in fates if fate.verdict == "kept"]


def _same_text(fates, group, order) -> None:
    """Of equal texts of a group the first in order stays; a text of white space alone equals no other."""
    first: dict[tuple[str, str], Fate] = {}
    for fate in sorted(fates, key=order):
        text = reference.folded(fate.doc.normalized)
        keeper = first.setdefault((group(fate), text), fate)
        if keeper is not fate and text:
            fate.verdict, fate.keeper, fate.cluster = "exact_duplicate", keeper.id, keeper.cluster


def _edges(fates: Sequence[Fate], rules: Rules) -> dict[tuple[str, str], int]:
    """{(earlier, later in keeper order): Jaccard in millionths} of every pair at or above the threshold."""
    found = {}
    for left, right in combinations(fates, 2):
        common, union = jaccard(left.shingles, right.shingles)
        if common and common * MILLION >= rules.threshold_millionths * union:
            found[left.id, right.id] = common * MILLION // union
    return found


def _join(edges: Iterable[tuple[str, str]], entered: Sequence[Fate]) -> None:
    """Give all documents that edges connect the cluster of the first of them, exact duplicates along with them."""
    named = {fate.id: fate for fate in entered}
    changed = True
    while changed:
        changed = False
        for left, right in edges:
            first = min((named[left].cluster, named[right].cluster), key=lambda one: named[str(one)].order)
            for one in (left, right):
                changed |= named[one].cluster != first
                named[one].cluster = first
        for fate in entered:
            if fate.verdict == "exact_duplicate":
                fate.cluster = named[str(fate.keeper)].cluster


def _walk(edges: dict[tuple[str, str], int], in_order: Sequence[Fate]) -> None:
    """Each is dropped onto the first keeper before it that it has an edge with, else it is a keeper."""
    keepers: list[Fate] = []
    for fate in in_order:
        onto = next((keeper for keeper in keepers if (keeper.id, fate.id) in edges), None)
        if onto is None:
            keepers.append(fate)
        else:
            fate.verdict, fate.keeper, fate.jaccard = "near_duplicate", onto.id, edges[onto.id, fate.id]


def _clusters(entered: Sequence[Fate], edges: dict[tuple[str, str], int]) -> set[Cluster]:
    members = Counter(fate.cluster for fate in entered)
    keepers = Counter(fate.cluster for fate in _kept(entered))
    weakest: dict[str | None, int] = defaultdict(lambda: MILLION)
    cluster_of = {fate.id: fate.cluster for fate in entered}
    for (left, _), score in edges.items():
        weakest[cluster_of[left]] = min(weakest[cluster_of[left]], score)
    return {
        Cluster(str(root), size, keepers[root], MILLION - weakest[root]) for root, size in members.items() if size > 1
    }


def _release(fates: Iterable[Fate], rules: Rules) -> None:
    for fate in fates:
        words = " ".join(reference.words(fate.doc.normalized))
        if any(" ".join(reference.words(leak)) in words for leak in rules.leaks):
            fate.verdict = "contaminated"
        else:
            number = int.from_bytes(hashlib.sha256(fate.doc.normalized.encode()).digest()[:8], "big")
            fate.split = "val" if number % 1000 < rules.val_permille else "train"


def _protect_val(edges: dict[tuple[str, str], int], in_order: Sequence[Fate]) -> None:
    """A train row next to a val row goes, named by the first val row in keeper order."""
    published = _kept(in_order)
    for fate in [one for one in published if one.split == "train"]:
        for val in (one for one in published if one.split == "val"):
            score = edges.get((fate.id, val.id), edges.get((val.id, fate.id)))
            if score is not None:
                fate.verdict, fate.keeper, fate.jaccard = "train_near_val", val.id, score
                break


def _number(published: Iterable[Fate]) -> None:
    first: dict[str | None, int] = {}
    for row, fate in enumerate(sorted(published, key=lambda one: one.id)):
        fate.row = row
        fate.minhash_cluster = first.setdefault(fate.cluster, row)

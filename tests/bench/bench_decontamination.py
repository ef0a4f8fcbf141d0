"""Decontamination beside datatrove's n-gram filter: items of eval sets planted in many forms, and clean texts.

Every set is protected whole, each text of its fields alone, by both, with n-grams of 13 words. Beside the hard rule
stands the share of an item's 5-grams that a document has. Paraphrases have no words in common: how far that reaches is
measured on labelled pairs of sentences, beside an embedding whose model comes in the wheel of its package.
"""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.exact_text import normalize
from corpus_assets.kernels.ngram_match import EvalIndex
from corpus_assets.kernels.ngram_share import share_index, shares
from corpus_assets.plans.curves import Axis, Line, drawn, per_cent
from corpus_assets.stages import decontaminate
from corpus_assets.stages.eval_items import EvalText, build_index
from formats.benchmark_rules import DecontaminationRules, EvalSet
from tests.bench import near_pair_peers, report_tables
from tests.bench.documents import Corpus, json_rows, megabytes
from tests.bench.planted_items import ACCENTS, EDITS, FORMS, SETS, Item, clean_texts, hard_negatives, items, planted
from tests.bench.report_tables import Table

BENCH = "bench_decontamination"
NGRAM, MIN_WORDS = 13, 8
NEAR = 0.5
"""Share of an item's 5-grams from which a document counts as near it."""
PLANTED, CLEAN_BYTES, PEER_BYTES = 50, 12_000_000, 1_500_000
WINDOW, ITEMS_A_SET = 25, 500
AS_SAFE = 0.8
"""Cosine from which an embedding takes no more clean windows for an item than the rules on words do."""
PARAPHRASES = "dedup-labels/pan10-sentence-pairs-test.jsonl.zst"
HARD, SHARE, PEER = "ours, 13-grams", f"ours, near: {NEAR:.0%} of 5-grams", "datatrove, 13-grams"


def column(texts: list[str]) -> pa.Array:
    return normalize(pa.array(texts, pa.large_string()))


def index_of(texts: list[str]) -> EvalIndex:
    rules = DecontaminationRules((EvalSet("set", "set", "0" * 64, "jsonl", ("text",)),), NGRAM, MIN_WORDS)
    return build_index([EvalText("set", i, "text", text) for i, text in enumerate(texts)], rules)[0]


def by_rules(index: EvalIndex, texts: list[str]) -> dict[str, list[bool]]:
    """Rule -> whether it takes each text for contaminated."""
    found = column(texts)
    hard = decontaminate.hits(found, index)[0] >= 0
    _, shared, of = shares(found, share_index(index))
    return {HARD: hard.tolist(), SHARE: (shared >= NEAR * np.maximum(of, 1)).tolist()}


def by_all(protected: list[str], index: EvalIndex, texts: list[str]) -> dict[str, list[bool]]:
    """As `by_rules`, with datatrove's filter where it is there: it protects `protected` alone."""
    found = by_rules(index, texts)
    if report_tables.can("datatrove_ngrams"):
        found[PEER], _ = report_tables.ask("datatrove_ngrams", items=protected, texts=texts, ngram=NGRAM)
    return found


def recall(data: Path) -> Iterator[Table]:
    """One table of all sets, by form; one of the forms, by set, for the hard rule."""
    clean = clean_texts(data, 2_000_000)
    found: dict[tuple[str, str], dict[str, list[bool]]] = {}
    for name in SETS:
        every = items(data, name)
        chosen = random.Random(name).sample(every, min(PLANTED, len(every)))
        for change, forms in ((str, [f for f in FORMS if f != "NFD accents"]), (with_accents, ["NFD accents"])):
            index = index_of([change(item.text) for item in every])
            documents = {form: planted(form, chosen, clean) for form in forms}
            texts = [text for of_form in documents.values() for text in of_form]
            answers = by_all([change(item.text) for item in chosen], index, texts)
            for i, form in enumerate(documents):
                mine = slice(i * len(chosen), (i + 1) * len(chosen))
                found[name, form] = {rule: hits[mine] for rule, hits in answers.items()}
    rules = list(next(iter(found.values())))
    rows = [
        [form, *(_share([hit for name in SETS for hit in found[name, form][rule]]) for rule in rules)] for form in FORMS
    ]
    lines = [
        Line(rule, [(0, float(str(rows[0][i]))), *((k, _of(rows, k, i)) for k in EDITS)])
        for i, rule in enumerate(rules, 1)
    ]
    picture = drawn(
        "Recall of planted items by words changed", lines, Axis("words changed", [(k, str(k)) for k in (0, *EDITS)]),
        per_cent(1.0),
    )  # fmt: skip
    behind = [
        f"{PEER} finds more of {row[0]}: {row[rules.index(PEER) + 1]:.3f}"
        for row in rows
        if PEER in rules and float(str(row[rules.index(PEER) + 1])) > float(str(row[1]))
    ]
    about = (
        f"{PLANTED} texts of at least {MIN_WORDS} words of each of {', '.join(SETS)}, each planted between 160 words "
        "of a clean document: the share that is found. A changed word is another one; they lie at even distances, so "
        "that no run of 13 words is left where an item is short: there the share of n-grams is the measure."
    )
    yield Table("Recall of planted items", about, ("form", *rules), rows, behind, (picture,))
    yield Table(
        "Recall of planted items by set, hard rule",
        "The same documents; texts of 8 to 12 words match only as a whole, so one changed word hides them.",
        ("form", *SETS),
        [[form, *(_share(found[name, form][HARD]) for name in SETS)] for form in FORMS],
    )


def with_accents(text: str) -> str:
    return text.translate(ACCENTS)


def _share(hits: list[bool]) -> float:
    return sum(hits) / max(1, len(hits))


def _of(rows: list[list[object]], changes: int, at: int) -> float:
    return float(str(next(row for row in rows if str(row[0]).startswith(f"{changes} word"))[at]))


def false_alarms(data: Path) -> Table:
    protected = [item.text for name in SETS for item in items(data, name)]
    index = index_of(protected)
    clean = clean_texts(data, CLEAN_BYTES)
    few, size = [], 0
    for text in clean:
        if size < PEER_BYTES:
            few.append(text)
            size += len(text.encode())
    rows: list[list[object]] = []
    start = time.process_time()
    for kind, texts in {"clean documents": clean, **hard_negatives()}.items():
        answers = by_rules(index, texts)
        rows.append([kind, len(texts), *(sum(hits) for hits in answers.values()), None])
    seconds = time.process_time() - start
    told = ""
    if report_tables.can("datatrove_ngrams"):
        groups = {"clean documents": few, **hard_negatives()}
        texts = [text for group in groups.values() for text in group]
        hits, cpu = report_tables.ask("datatrove_ngrams", items=protected, texts=texts, ngram=NGRAM)
        for i, group in enumerate(groups.values()):
            rows[i][-1] = f"{sum(hits[: len(group)])} of {len(group):,}"
            hits = hits[len(group) :]
        told = f" {megabytes(texts) / cpu:.2f} MB a CPU s for datatrove, on the first {size / 1e6:.1f} MB."
    return Table(
        "False alarms of decontamination",
        f"{len(protected):,} protected texts of all four sets. Clean documents are {megabytes(clean):.1f} MB of all "
        "sources; those that are hit are tables of constants in code (the collection's own notes name them). Both "
        f"of our rules took {megabytes(clean) / max(seconds, 1e-6):.0f} MB a CPU s together.{told}",
        ("texts", "number", HARD, SHARE, PEER),
        rows,
    )


def alarms_by_set(data: Path) -> Table:
    """The same texts against each set alone."""
    found: dict[str, list[list[bool]]] = {}
    for name in SETS:
        index = index_of([item.text for item in items(data, name)])
        for kind, texts in {"clean documents": clean_texts(data, CLEAN_BYTES), **hard_negatives()}.items():
            found.setdefault(kind, []).append(by_rules(index, texts)[HARD])
    return Table(
        "False alarms of decontamination by set, hard rule",
        "The same texts against each set alone: a text may be hit by several.",
        ("texts", "number", *SETS),
        [[kind, len(hits[0]), *map(sum, hits)] for kind, hits in found.items()],
    )


def val(data: Path) -> Table:
    """Copies of val documents with changed words: how many of them leave train."""
    draw = random.Random(3)
    originals = [text for text in clean_texts(data, 1_500_000) if len(text.split()) >= 100][:200]
    rows = []
    for per_cent_changed in (0, 1, 2, 4, 8):
        copies = []
        for text in originals:
            words = text.split()
            for at in draw.sample(range(len(words)), len(words) * per_cent_changed // 100):
                words[at] = "".join(draw.choices("bcdfghklmnprst", k=6))
            copies.append(" ".join(words))
        pairs = near_pair_peers.ours([*originals, *copies]).pairs
        met = sum((i, i + len(originals)) in pairs for i in range(len(originals)))
        rows.append([f"{per_cent_changed} % of words changed", met / len(originals)])
    return Table(
        "Protected val: near copies in train that are withheld",
        f"Copies of {len(originals)} val documents; a copy is withheld from an exact Jaccard of 0.8 of 5-word shingles "
        "on, which a twentieth of changed words passes below: such copies are other texts by that rule.",
        ("copies with", "share withheld"),
        rows,
    )


def clean_windows(data: Path) -> list[str]:
    """Runs of 25 words of clean documents, two a document."""
    found = []
    for text in clean_texts(data, 2_500_000):
        words = text.split()
        found += [" ".join(words[at : at + WINDOW]) for at in (0, len(words) // 2) if len(words) >= at + WINDOW]
    return found


def paraphrases(data: Path) -> Table:
    """Pairs of sentences labelled as paraphrases or not: one is the protected item, the other the document."""
    labelled = [row for row in json_rows(data / PARAPHRASES) if min(len(row[s].split()) for s in "ab") >= MIN_WORDS]
    truth = np.array([row["label"] == 1 for row in labelled])
    rows: list[list[object]] = []
    for item, document in (("a", "b"), ("b", "a")):
        answers: dict[str, list[bool]] = {HARD: [], SHARE: []}
        for row in labelled:
            for rule, hits in by_rules(index_of([row[item]]), [row[document]]).items():
                answers[rule] += hits
        for rule, hits in answers.items():
            rows.append([f"{rule}, {item} protected", *_rates(np.array(hits), truth)])
    clean = clean_windows(data)
    held = [item.text for name in SETS for item in items(data, name)[:ITEMS_A_SET]]
    for row, hits in zip(rows, [*by_rules(index_of(held), clean).values()] * 2, strict=True):
        row.append(_share(hits))
    behind: list[str] = []
    limit = "An embedding was not measured here: no interpreter with wordllama was named."
    if report_tables.can("wordllama"):
        pairs = [[row["a"], row["b"]] for row in labelled]
        (cosines, nearest), _ = report_tables.ask("wordllama", pairs=pairs, windows=clean, items=held)
        for least in (0.6, 0.7, 0.8, 0.9):
            far = float((np.array(nearest) >= least).mean())
            rates = _rates(np.array(cosines) >= least, truth)
            rows.append([f"wordllama, cosine from {least:g}", *rates, far])
            if least == AS_SAFE:
                best = max(float(str(row[1])) for row in rows[:4])
                behind.append(
                    f"wordllama, an embedding, finds {rates[0]:.3f} of them from a cosine of {least:g} on, our rules "
                    f"on words {best:.3f}; why it is no rule, the table says"
                )
        limit = (
            "The embedding is a static one that its package's wheel carries, and symmetric; the last column is the "
            f"share of {len(clean):,} clean windows of 25 words that are so near to one of {len(held):,} items. It "
            "finds what no n-gram can, and is not a rule of the pipeline: what it misses is more than it finds where "
            "it is safe, and it would take a vector of every window of every document."
        )
    return Table(
        "Paraphrases: the limit of n-grams",
        f"{len(labelled):,} labelled pairs of sentences. No rule on words finds a paraphrase; the n-gram rule is the "
        f"floor, and paraphrases of a set get past it. {limit}",
        ("rule", "paraphrases found", "others taken for some", "precision", "clean windows"),
        rows,
        behind,
    )


def _rates(hits: np.ndarray, truth: np.ndarray) -> tuple[float, float, float | None]:
    found = int((hits & truth).sum())
    return found / truth.sum(), (hits & ~truth).sum() / (~truth).sum(), found / hits.sum() if hits.any() else None


def tables(corpus: Corpus) -> Iterator[Table]:
    if corpus.folder is not None:
        yield from recall(corpus.folder)
        yield false_alarms(corpus.folder)
        yield alarms_by_set(corpus.folder)
        yield val(corpus.folder)
        yield paraphrases(corpus.folder)


__all__ = ["Item", "tables"]

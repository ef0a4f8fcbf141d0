"""What differs between two versions or snapshots as one HTML page: counts side by side, then every difference."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from corpus_assets.plans import page_markup as markup
from corpus_assets.plans.differences import MISSING, SECTIONS, Difference, Differences
from corpus_assets.plans.differences_documents import DocumentDifferences
from corpus_assets.plans.differences_facts import Facts
from corpus_assets.plans.differences_scores import in_words
from corpus_assets.plans.for_people import NONE, plural, shortened
from corpus_assets.plans.page_markup import Html
from corpus_assets.plans.pictures_pairs import changed_most, pairs
from formats.reasons import Reason

MAX_SHOWN, MAX_VALUE, MAX_EXAMPLES = 20, 200, 5
"""Rows of a section above which it is folded; characters of a value; documents named of each change."""


@dataclass(frozen=True)
class Group:
    """Counts of one kind on either side, by name."""

    title: str
    before: Mapping[str, int]
    after: Mapping[str, int]


def groups(left: Facts, right: Facts) -> list[Group]:
    """The counts that are drawn: those that at least one side has."""
    sides = [dict(_counts(facts)) for facts in (left, right)]
    titles = dict.fromkeys([*sides[0], *sides[1]])
    return [Group(title, sides[0].get(title, {}), sides[1].get(title, {})) for title in titles]


def _counts(facts: Facts) -> Iterator[tuple[str, Mapping[str, int]]]:
    documents, tokens = facts.sections.get("documents", {}), facts.sections.get("tokens", {})
    sources = documents.get("sources", {})
    found: dict[str, Mapping[str, int]] = {
        "published documents by source": {n: one["verdicts"].get(Reason.KEPT.value, 0) for n, one in sources.items()},
        "raw documents by source": {name: one["documents"] for name, one in sources.items()},
        "dropped documents by reason": documents.get("dropped", {}),
        "rejected records by reason": documents.get("rejects", {}),
        "published documents by language": facts.languages,
        "published documents by licence": documents.get("licenses", {}),
        "tokens by split and bucket": {name: one["tokens"] for name, one in tokens.get("buckets", {}).items()},
    }
    yield from ((title, counts) for title, counts in found.items() if counts)


def render(result: Differences, left: Facts, right: Facts) -> str:
    """The whole page. A is the left side, B the right one."""
    sections = []
    for group in groups(left, right):
        rows = changed_most(group.before, group.after)
        picture = pairs(group.title, (f"A {left.name}", f"B {right.name}"), rows)
        sections.append((group.title.replace(" ", "-"), group.title.capitalize(), markup.figure(picture)))
    for section in SECTIONS:
        found = [one for one in result.found if one.section == section]
        if found:
            told = f"{section.capitalize()} that differ ({len(found):,})"
            sections.append((f"differ-{section}", told, _table(found)))
    if result.documents is not None:
        sections.append(("by-index", "Documents by index", _documents(result.documents)))
    title = f"{result.left} and {result.right}"
    verdict = "Nothing differs." if result.same else f"{plural(len(result.found), 'difference')} of metadata."
    notes = "".join(markup.paragraph(f"Note: {note}", kind="notes") for note in result.notes)
    head = (
        f"<header><p class=kicker>What differs</p><h1>{markup.text(shortened(result.left, 60))} "
        f"<span>→ {markup.text(shortened(result.right, 60))}</span></h1>"
        f"{markup.paragraph(verdict, kind='lead')}{notes}</header>"
    )
    return markup.page(f"What differs between {title}", head, sections)


def _table(found: list[Difference]) -> Html:
    rows = [
        [markup.code(one.name), _value(one.left), _value(one.right), ", ".join(one.sources) or NONE] for one in found
    ]
    return _folded(markup.table(("what", "A", "B", "sources"), rows), len(rows))


def _folded(inner: Html, num_rows: int) -> Html:
    if num_rows <= MAX_SHOWN:
        return inner
    return Html(f"<details><summary>{plural(num_rows, 'row')}</summary>{inner}</details>")


def _value(value: Any) -> Html:
    if value is MISSING:
        return markup.text(NONE)
    text = f"{value:,}" if type(value) is int else value if isinstance(value, str) else json.dumps(value)
    return markup.code(shortened(text, MAX_VALUE))


def _documents(told: DocumentDifferences) -> Html:
    rows = [[source, change, n] for source, changes in told.changes.items() for change, n in changes.items()]
    changed = _folded(markup.table(("source", "change", "documents"), rows), len(rows))
    shown: dict[str, int] = {}
    examples = []
    for one in told.examples:
        shown[one.change] = shown.get(one.change, 0) + 1
        if shown[one.change] <= MAX_EXAMPLES:
            scores = [in_words(said) or NONE for said in (one.left_scores, one.right_scores)]
            examples.append([one.change, markup.code(one.left or NONE), markup.code(one.right or NONE), *scores])
    heads = ("change", "in A", "in B", "scores in A", "scores in B")
    named = _folded(markup.table(heads, examples), len(examples))
    by_lang = markup.table(
        ("language", *told.kept), [[lang, *counts.values()] for lang, counts in told.languages.items()]
    )
    languages = f"<h3>Published, by language</h3>{_folded(by_lang, len(told.languages))}" if told.languages else ""
    notes = "".join(markup.paragraph(f"Note: {note}", kind="notes") for note in told.notes)
    kept = ", ".join(f"{name} {n:,}" for name, n in told.kept.items())
    same = markup.paragraph(f"{plural(told.num_same, 'document')} the same{f'; published by {kept}' if kept else ''}.")
    return Html(f"{same}{notes}{changed}{languages}<h3>Some of them</h3>{named}")

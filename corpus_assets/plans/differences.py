"""What differs between two versions, or two snapshots: settings, models, sources, stages, documents, tokens, shards.

From metadata alone: manifests, stage versions, counts and configs, each held to its hash; no documents are read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from corpus_assets.plans.differences_documents import DocumentDifferences
from corpus_assets.plans.differences_facts import Facts

SECTIONS = ("settings", "models", "sources", "stages", "documents", "tokens", "shards")
MISSING = None
"""In the place of a value that only one side has."""


@dataclass(frozen=True)
class Difference:
    """One value that is another. `name` is dotted; what is the same change in several sources is told once, with
    these.
    """

    section: str
    name: str
    left: Any
    right: Any
    sources: tuple[str, ...] = ()


@dataclass
class Differences:
    """`documents` is there where the indexes were compared, too."""

    left: str
    right: str
    found: list[Difference] = field(default_factory=list)
    documents: DocumentDifferences | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def same(self) -> bool:
        return not self.found and (self.documents is None or self.documents.same)


def compare(left: Facts, right: Facts) -> Differences:
    """Every fact in which they differ, section by section, names sorted."""
    found = []
    for section in SECTIONS:
        values_of: list[Mapping[str, Any]] = [facts.sections.get(section, {}) for facts in (left, right)]
        if section == "sources":
            values_of = _told_as_one(*values_of)
        one, other = map(leaves, values_of)
        for name in sorted(one.keys() | other.keys()):
            values = one.get(name, MISSING), other.get(name, MISSING)
            if values[0] != values[1]:
                found.append(Difference(section, name, *values))
        if section == "stages":
            found += _by_source(left.stages_of_sources, right.stages_of_sources)
    return Differences(left.name, right.name, found, notes=[*left.notes, *right.notes])


def _told_as_one(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A source that only one side has is one difference: the digest of its row, not each field."""
    both = left.keys() & right.keys()
    return [{name: row if name in both else row["digest"] for name, row in side.items()} for side in (left, right)]


def leaves(value: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Dotted name -> value of everything that is no object with something in it."""
    found: dict[str, Any] = {}
    for key, item in value.items():
        name = f"{path}.{key}" if path else str(key)
        if isinstance(item, Mapping) and item:
            found |= leaves(item, name)
        else:
            found[name] = item
    return found


def _by_source(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Difference]:
    """Stages of the sources that both have; equal changes are one. A source that only one has is told as a source."""
    alike: dict[str, list[tuple[str, Any, Any]]] = {}
    for source in sorted(left.keys() & right.keys()):
        one, other = leaves(left[source]), leaves(right[source])
        for name in sorted(one.keys() | other.keys()):
            if one.get(name, MISSING) != other.get(name, MISSING):
                alike.setdefault(name, []).append((source, one.get(name, MISSING), other.get(name, MISSING)))
    for name, changes in sorted(alike.items()):
        while changes:
            _, before, after = changes[0]
            same = [source for source, *values in changes if values == [before, after]]
            changes = [change for change in changes if change[0] not in same]
            yield Difference("stages", name, before, after, tuple(same))

"""The sections `decontaminate` and `ngram_index` of a corpus config: benchmarks of which a version holds nothing, and
what is kept to check it against those of later. Spec: corpus_config.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from formats.json_fields import Choice, Problem, SetOf, Text, Whole
from formats.json_kinds import HEX_SHA256, PATH, name_of
from formats.json_tables import Rules, table

_FIELD = Text(says="the name of a field")


@dataclass(frozen=True)
class EvalSet(Rules):
    """A benchmark that must not be in the corpus. `path` is absolute or relative to the artifacts root; a name that
    ends in .gz or .zst is decompressed. An item is named by its position in the file, from 0.
    """

    name: Annotated[str, name_of("eval set")]
    path: Annotated[str, PATH]
    sha256: Annotated[str, HEX_SHA256]
    format: Annotated[str, Choice(("jsonl", "csv", "parquet"))]
    fields: Annotated[tuple[str, ...], SetOf(_FIELD, min_items=1)]


@dataclass(frozen=True)
class DecontaminationRules(Rules):
    """Documents that share an n-gram with a protected item go. `exempt` lists reviewed items as `<set>:<item>`."""

    eval_sets: Annotated[tuple[EvalSet, ...], SetOf(table(EvalSet), key="name")] = ()
    ngram: Annotated[int, Whole(1, 100)] = 13
    min_item_words: Annotated[int, Whole(1, 100)] = 8
    exempt: Annotated[
        tuple[str, ...], SetOf(Text(r"[a-z0-9][a-z0-9_-]*:(?:0|[1-9][0-9]*)", "<eval set>:<item's position>"))
    ] = ()

    def rules(self) -> Iterator[Problem]:
        if self.min_item_words > self.ngram:
            yield "min_item_words", f"{self.min_item_words} is above ngram, which is {self.ngram}"
        names = {eval_set.name for eval_set in self.eval_sets}
        for item in self.exempt:
            if item.partition(":")[0] not in names:
                yield "exempt", f"{item} names no eval set of this config ({', '.join(sorted(names)) or 'it has none'})"


@dataclass(frozen=True)
class NgramIndexRules(Rules):
    """What is kept of the published n-grams, so that a later benchmark can be checked without the texts: one in `rate`
    of them, by hash, with its places (`postings`), or only that it occurs (`filter`).
    """

    form: Annotated[str, Choice(("none", "postings", "filter"))] = "none"
    rate: Annotated[int, Whole(1, 2**32)] = 16

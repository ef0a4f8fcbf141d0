"""The sections `quality`, `safety` and `ppl` of a corpus config: which models score documents, whom scores drop.

Spec: corpus_config.md. Where a section is missing, nothing is scored.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from formats.json_fields import Choice, Number, OrNull, Problem, SetOf, Text
from formats.json_kinds import HEX_SHA256, PATH
from formats.json_tables import LATER, Rules, table
from formats.languages import LANGUAGE
from formats.reasons import MODEL_RULES, PROFILES

EVERY_LANGUAGE = "*"
_MAX_PERPLEXITY = 2_000_000
"""A signal is a 32-bit number of thousandths."""
_PERPLEXITY = OrNull(Number(0, _MAX_PERPLEXITY))
_OF_PROFILES = SetOf(Choice(PROFILES), min_items=1)
PROSE_PROFILES = ("prose", "short")
"""Models of language say nothing of code, unless a config says that they do."""
_SCALE = {rule.reason: rule.scale for rule in MODEL_RULES}

Limits = dict[str, dict[str, int]]
"""By reason and language (EVERY_LANGUAGE: all), in the unit of the rule's signal."""


@dataclass(frozen=True)
class QualityModelFile(Rules):
    """A quality model, or a fastText classifier, whose `label` is what a good document is called. `path` is absolute or
    relative to the artifacts root.
    """

    path: Annotated[str, PATH]
    sha256: Annotated[str, HEX_SHA256]
    label: Annotated[str | None, OrNull(Text(says="the name of a label"))] = None


@dataclass(frozen=True)
class QualityRules(Rules):
    """Scores of a classifier, from 0 to 1. Documents below `min` go; without it the score orders keepers alone. With
    `langs` documents in other languages are not scored, and so not judged.
    """

    model: QualityModelFile
    min: Annotated[float | None, OrNull(Number(0, 1))] = None
    profiles: Annotated[tuple[str, ...], _OF_PROFILES] = PROSE_PROFILES
    langs: Annotated[tuple[str, ...] | None, OrNull(SetOf(LANGUAGE, min_items=1)), LATER] = None
    reason: ClassVar[str] = "quality_too_low"

    def limits(self) -> Limits:
        if self.min is None:
            return {}
        limit = round(self.min * _SCALE[self.reason])
        return {self.reason: dict.fromkeys(self.langs or (EVERY_LANGUAGE,), limit)}


@dataclass(frozen=True)
class SafetyRules(QualityRules):
    """Scores of a second classifier, 1 for what is safe to train on. Documents below `min` go; it orders no keepers."""

    reason: ClassVar[str] = "safety_too_low"


@dataclass(frozen=True)
class PerplexityModelFile(Rules):
    """A language model for documents of one language, and the perplexities between which they stay. `path` is absolute
    or relative to the artifacts root.
    """

    lang: Annotated[str, LANGUAGE]
    path: Annotated[str, PATH]
    sha256: Annotated[str, HEX_SHA256]
    min: Annotated[float | None, _PERPLEXITY] = None
    max: Annotated[float | None, _PERPLEXITY] = None

    def rules(self) -> Iterator[Problem]:
        if self.min is not None and self.max is not None and self.min > self.max:
            yield "min", f"{self.min:g} is above max, which is {self.max:g}"


@dataclass(frozen=True)
class PerplexityRules(Rules):
    """Perplexity of a word under the model of a document's language; documents of other languages have none."""

    models: Annotated[tuple[PerplexityModelFile, ...], SetOf(table(PerplexityModelFile), min_items=1, key="lang")]
    profiles: Annotated[tuple[str, ...], _OF_PROFILES] = PROSE_PROFILES

    def limits(self) -> Limits:
        found: Limits = {}
        for model in self.models:
            for reason, value in (("perplexity_too_low", model.min), ("perplexity_too_high", model.max)):
                if value is not None:
                    found.setdefault(reason, {})[model.lang] = round(value * _SCALE[reason])
        return found

"""Model config: of which documents a model of quality, safety or perplexity is trained, and how. Spec: model_config.md.

One file a model, `models/<name>.yaml`: what it says decides every byte of the model.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from formats import config_document
from formats.config_document import Config
from formats.errors import ConfigError
from formats.json_fields import Choice, OrNull, Problem, SetOf, Text, Whole, first_problems
from formats.json_kinds import name_of
from formats.json_tables import table
from formats.languages import LANGUAGE
from formats.naming import VersionKey

QUALITY, SAFETY, PERPLEXITY = "quality", "safety", "perplexity"
CLASSIFIERS = (QUALITY, SAFETY)
KINDS = (*CLASSIFIERS, PERPLEXITY)
RAW, PUBLISHED = "raw", "published"
DEFAULT_CHARS = {QUALITY: 50_000_000, SAFETY: 50_000_000, PERPLEXITY: 20_000_000}
"""Code points that are trained on at most, of either side; 50 million need some 3 GB of memory for perplexity."""
SUFFIX = {QUALITY: ".bin", SAFETY: ".bin", PERPLEXITY: ".arpa"}
_NAME = r"[a-z0-9][a-z0-9_-]*"


@dataclass(frozen=True)
class ModelConfig(Config):
    """Everything that decides what a model is. `documents`: what raw_fetch holds of sources of `version`, or what the
    version published as train. `negative` are what a classifier tells `positive` from; a language model has none.
    """

    model: Annotated[str, name_of("model")]
    kind: Annotated[str, Choice(KINDS)]
    version: Annotated[str, Text(rf"{_NAME}\.{_NAME}", "<dataset>.<version>")]
    positive: Annotated[tuple[str, ...], SetOf(name_of("source"), min_items=1)]
    negative: Annotated[tuple[str, ...], SetOf(name_of("source"))] = ()
    documents: Annotated[str, Choice((RAW, PUBLISHED))] = RAW
    lang: Annotated[str | None, OrNull(LANGUAGE)] = None
    max_chars: Annotated[int | None, OrNull(Whole(1))] = None
    seed: Annotated[int, Whole(0, 2**32 - 1)] = 1

    def rules(self) -> Iterator[Problem]:
        try:
            VersionKey.parse(self.version)
        except ConfigError as error:
            yield "version", str(error)
        if self.kind in CLASSIFIERS and not self.negative:
            yield "negative", "a classifier needs sources to tell the positive ones from; name some"
        if self.kind == PERPLEXITY and self.negative:
            yield "negative", "a language model is trained on positive sources alone; leave it out"
        if self.kind == PERPLEXITY and self.lang is None:
            yield "lang", "a language model is of one language; name it"
        if both := sorted(set(self.positive) & set(self.negative)):
            yield "negative", f"{', '.join(both)} cannot be both positive and negative; leave it out of one of them"

    @property
    def key(self) -> VersionKey:
        return VersionKey.parse(self.version)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(sorted({*self.positive, *self.negative}))

    @property
    def chars(self) -> int:
        return DEFAULT_CHARS[self.kind] if self.max_chars is None else self.max_chars


def problems(document: Any) -> list[Problem]:
    """Every setting that is wrong in a parsed document, or the first MAX_PROBLEMS."""
    return first_problems(table(ModelConfig), document)


def from_document(document: Any) -> ModelConfig:
    return config_document.from_document(table(ModelConfig), document)

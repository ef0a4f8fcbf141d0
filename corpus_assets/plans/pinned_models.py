"""The models that a version pins: where they lie, held to their digests before any document is scored."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus_assets.stages import score_perplexity, score_quality
from formats import durable
from formats.corpus_config import CorpusConfig
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.model_rules import PerplexityModelFile, QualityModelFile


@dataclass(frozen=True)
class PinnedModels:
    """The models by which documents of one profile are scored; `ppl` has one a language."""

    quality: QualityModelFile | None
    ppl: tuple[PerplexityModelFile, ...]

    @property
    def settings(self) -> dict[str, Any]:
        return {"label": self.quality.label if self.quality else None}

    @property
    def digests(self) -> dict[str, str]:
        """What a stage's identity holds: other bytes of a model are other scores."""
        of_quality = {"quality model": self.quality.sha256} if self.quality else {}
        return of_quality | {f"perplexity model {model.lang}": model.sha256 for model in self.ppl}

    @property
    def libraries(self) -> tuple[str, ...]:
        return score_perplexity.LIBRARIES if self.ppl else ()

    def as_arguments(self, layout: Layout) -> dict[str, Any]:
        """What `measure_by_models` takes."""
        quality = self.quality
        return {
            "quality": quality
            and {"path": str(layout.root / quality.path), "sha256": quality.sha256, "label": quality.label},
            "ppl": {model.lang: {"path": str(layout.root / model.path), "sha256": model.sha256} for model in self.ppl},
        }


def of_profile(config: CorpusConfig, profile: str) -> PinnedModels:
    """The version's models for sources of a profile."""
    quality, ppl = config.quality, config.ppl
    return PinnedModels(
        quality.model if quality and profile in quality.profiles else None,
        ppl.models if ppl and profile in ppl.profiles else (),
    )


def hold_to_digests(layout: Layout, config: CorpusConfig) -> None:
    """Raises ConfigError for a model that is missing, has another label than said, or needs what is not installed;
    CorruptDataError for one of other bytes than the config pins.
    """
    written = layout.config(config.key)
    for what, path, sha256 in _named(layout, config):
        if not path.is_file():
            raise ConfigError(f"{path}: {what} is missing; put it there or correct its path in {written}")
        if (found := durable.sha256_of(path)) != sha256:
            todo = f"restore the file; for another one make a new version, or correct the sha256 in {written}"
            raise CorruptDataError(path, f"sha256 of {what}", sha256, found, todo)
    if config.quality:
        model = config.quality.model
        score_quality.stored_scorer(str(layout.root / model.path), model.sha256, model.label)
    if config.ppl:
        score_perplexity.library()


def _named(layout: Layout, config: CorpusConfig) -> Iterator[tuple[str, Path, str]]:
    if config.quality:
        yield "the quality model", layout.root / config.quality.model.path, config.quality.model.sha256
    for model in config.ppl.models if config.ppl else ():
        yield f"the perplexity model of {model.lang}", layout.root / model.path, model.sha256

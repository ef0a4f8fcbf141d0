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
from formats.model_rules import PerplexityModelFile, QualityRules


@dataclass(frozen=True)
class PinnedModels:
    """The models by which documents of one profile are scored; `ppl` has one a language. `has_safety`: the version has
    a model of safety, also where it is not asked about this profile.
    """

    quality: QualityRules | None
    ppl: tuple[PerplexityModelFile, ...]
    has_safety: bool
    safety: QualityRules | None

    @property
    def settings(self) -> dict[str, Any]:
        found: dict[str, Any] = {"label": self.quality.model.label if self.quality else None}
        if self.safety:
            found["safety_label"] = self.safety.model.label
        for name, section in (("langs", self.quality), ("safety_langs", self.safety)):
            if section and section.langs:
                found[name] = list(section.langs)
        return found

    @property
    def digests(self) -> dict[str, str]:
        """What a stage's identity holds: other bytes of a model are other scores."""
        of_quality = {"quality model": self.quality.model.sha256} if self.quality else {}
        of_quality |= {"safety model": self.safety.model.sha256} if self.safety else {}
        return of_quality | {f"perplexity model {model.lang}": model.sha256 for model in self.ppl}

    @property
    def libraries(self) -> tuple[str, ...]:
        return score_perplexity.LIBRARIES if self.ppl else ()

    def as_arguments(self, layout: Layout) -> dict[str, Any]:
        """What `measure_by_models` takes; with a model of safety, `measure_with_safety`."""
        found = {
            "quality": _classifier(layout, self.quality),
            "ppl": {model.lang: {"path": str(layout.root / model.path), "sha256": model.sha256} for model in self.ppl},
        }
        return found | ({"safety": _classifier(layout, self.safety)} if self.has_safety else {})


def _classifier(layout: Layout, section: QualityRules | None) -> dict[str, Any] | None:
    if section is None:
        return None
    model = section.model
    file = {"path": str(layout.root / model.path), "sha256": model.sha256, "label": model.label}
    return file | ({"langs": list(section.langs)} if section.langs else {})


def of_profile(config: CorpusConfig, profile: str) -> PinnedModels:
    """The version's models for sources of a profile."""
    quality, ppl, safety = config.quality, config.ppl, config.safety
    return PinnedModels(
        quality if quality and profile in quality.profiles else None,
        ppl.models if ppl and profile in ppl.profiles else (),
        safety is not None,
        safety if safety and profile in safety.profiles else None,
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
    for section in config.classifiers:
        model = section.model
        score_quality.stored_scorer(str(layout.root / model.path), model.sha256, model.label)
    if config.ppl:
        score_perplexity.library()


def _named(layout: Layout, config: CorpusConfig) -> Iterator[tuple[str, Path, str]]:
    for what, section in (("quality", config.quality), ("safety", config.safety)):
        if section:
            yield f"the {what} model", layout.root / section.model.path, section.model.sha256
    for model in config.ppl.models if config.ppl else ():
        yield f"the perplexity model of {model.lang}", layout.root / model.path, model.sha256

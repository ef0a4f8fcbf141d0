"""Model configs: read from YAML, held to their settings, found in `models/`. Messages name file, line and setting."""

from pathlib import Path

from corpus_assets.validation import plain_yaml
from formats import model_config
from formats.errors import ConfigError
from formats.layout import Layout
from formats.model_config import ModelConfig
from formats.naming import check_name


def load(path: Path, expected: str) -> ModelConfig:
    """The config in the file, which must be that of model `expected`. Raises ConfigError naming what is wrong."""
    if not path.exists():
        raise ConfigError(f"{path}: is missing; write the model there, as formats/model_config.md shows")
    document = plain_yaml.read(path)
    if document.value is None:
        raise ConfigError(f"{path}: is empty; formats/model_config.md shows what stands in it")
    found = model_config.problems(document.value)
    if not found:
        config = model_config.from_document(document.value)
        if config.model != expected:
            found = [("model", f"is {config.model}, but the file is {path.name}; write {expected} or rename it")]
    if found:
        raise ConfigError(document.in_words(path, found))
    return config


def discover(layout: Layout) -> tuple[dict[str, Path], list[str]]:
    """Every model that has a config, by name; and what is wrong with files there that name none."""
    found, broken = {}, []
    for path in sorted(layout.models.glob("*.y*ml")):
        try:
            if path.suffix != ".yaml":
                raise ConfigError(f"models are read from .yaml files; rename it to {path.stem}.yaml")
            found[check_name("model", path.stem)] = path
        except ConfigError as error:
            broken.append(f"{path}: {error}")
    return found, broken

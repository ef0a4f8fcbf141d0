"""How far models are: what was trained last by each config, from the files on disk; and which files nothing needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpus_assets.plans.pinned import Build, load_version
from corpus_assets.plans.published_version import open_published, published_versions
from corpus_assets.plans.standing import State
from corpus_assets.plans.trained_models import collection_of, file_of, identity_of
from corpus_assets.plans.work import nothing_is_made
from corpus_assets.validation import corpus_config
from corpus_assets.validation import model_config as config_files
from formats import model_record
from formats.corpus_config import CorpusConfig
from formats.errors import ConfigError, CorpusError
from formats.layout import Layout
from formats.model_config import SUFFIX, ModelConfig


@dataclass(frozen=True)
class ModelStanding:
    """`sha256` is what was trained last, None where nothing was; `version` is whose documents it is trained on."""

    name: str
    state: State
    sha256: str | None = None
    version: str | None = None
    why: str = ""


def of_model(build: Build, name: str) -> ModelStanding:
    """Whether the model is there, and made of the config and the documents as they are now; documents that are not
    there any more say nothing against it.
    """
    layout = build.layout
    try:
        config = config_files.load(layout.model_config(name), name)
    except ConfigError as error:
        return ModelStanding(name, State.REFUSED, why=str(error))
    if not layout.model_record(name).is_file():
        return ModelStanding(name, State.MISSING, version=config.version)
    try:
        record = model_record.read(layout.model_record(name))
    except CorpusError as error:
        return ModelStanding(name, State.DAMAGED, version=config.version, why=str(error))
    path = file_of(layout, record)
    found = path.stat().st_size if path.is_file() else "missing"
    if found != record.num_bytes:
        why = f"{path}: length is {found}, expected {record.num_bytes}; `corpus model train {name}` makes it again"
        return ModelStanding(name, State.DAMAGED, record.sha256, config.version, why)
    if record.config_sha256 != config.config_sha256:
        why = "trained by another config than that of now"
        return ModelStanding(name, State.STALE, record.sha256, config.version, why)
    inputs = _inputs_now(build, config)
    if inputs is not None and inputs != record.made_of.get("inputs"):
        return ModelStanding(name, State.STALE, record.sha256, config.version, "trained on other documents")
    return ModelStanding(name, State.DONE, record.sha256, config.version)


def _inputs_now(build: Build, config: ModelConfig) -> dict[str, str] | None:
    with nothing_is_made():
        try:
            return dict(identity_of(config, collection_of(build, config)).inputs)
        except (CorpusError, ModuleNotFoundError):
            return None


def unneeded_files(layout: Layout) -> Iterator[tuple[Path, str]]:
    """(file, model) of what was trained by a config that stands here, is not its last, and is pinned by no version."""
    names, _ = config_files.discover(layout)
    pinned = {path for config in _configs(layout) for path in _paths(layout, config)}
    for name in names:
        record = layout.model_record(name)
        last = file_of(layout, model_record.read(record)) if record.is_file() else None
        for suffix in SUFFIX.values():
            for path in sorted(layout.models.glob(f"{name}-{'[0-9a-f]' * 16}{suffix}")):
                if path != last and path.resolve() not in pinned:
                    yield path, name


def _configs(layout: Layout) -> Iterator[CorpusConfig]:
    """Of every version that has a config or is published: one that cannot be read stops the whole."""
    for key in corpus_config.discover(layout)[0]:
        yield load_version(layout, key).config
    for key in published_versions(layout):
        yield open_published(layout, key).config()


def _paths(layout: Layout, config: CorpusConfig) -> Iterator[Path]:
    models = [one.model.path for one in config.classifiers]
    models += [model.path for model in config.ppl.models] if config.ppl else []
    yield from ((layout.root / path).resolve() for path in models)

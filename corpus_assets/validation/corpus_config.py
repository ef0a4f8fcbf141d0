"""Corpus configs: read from YAML, held to their settings, found by dataset and version.

Every message names file, line and setting. A stem that holds a dot (`v1.gpt2.yaml`) describes tokens of a version.
"""

import difflib
from collections.abc import Iterator
from pathlib import Path

import phonenumbers

from corpus_assets.validation import plain_yaml, spdx
from formats import corpus_config
from formats.corpus_config import CorpusConfig
from formats.errors import ConfigError
from formats.json_fields import Problem
from formats.layout import Layout
from formats.naming import VersionKey, check_name


def load(path: Path, expected: VersionKey) -> CorpusConfig:
    """The config in the file, which must be that of version `expected`. Raises ConfigError naming all that is wrong."""
    return parse(read_bytes(path, expected), path, expected)


def read_bytes(path: Path, expected: VersionKey) -> bytes:
    """What `parse` takes. Raises ConfigError where the file is missing or cannot be read."""
    if not path.exists():
        raise ConfigError(f"{path}: is missing; write it with `corpus config new {expected}`")
    return plain_yaml.read_bytes(path)


def parse(data: bytes, path: Path, expected: VersionKey) -> CorpusConfig:
    """The config in what was read of the file. Raises as `load` does."""
    document = plain_yaml.parse(data, path)
    if document.value is None:
        raise ConfigError(f"{path}: is empty; `corpus config new` writes one to begin with")
    found = corpus_config.problems(document.value)
    if not found:
        config = corpus_config.from_document(document.value)
        found = [*_misplaced(config, expected), *_unknown_words(config)]
    if found:
        raise ConfigError(document.in_words(path, found))
    return config


def discover(layout: Layout) -> tuple[dict[VersionKey, Path], list[str]]:
    """Every version that has a config file, in the order of the keys; and what is wrong with each file whose place
    names no version, so that it is not left out in silence.
    """
    found: dict[VersionKey, Path] = {}
    wrong: list[str] = []
    for path in sorted(layout.configs.glob("*/*")):
        if path.name.startswith(".") or path.parent.name.startswith(".") or path.suffix not in (".yaml", ".yml"):
            continue
        if path.suffix == ".yml":
            wrong.append(f"{path}: ends in .yml, expected .yaml; rename it")
            continue
        try:
            names = [check_name("version", part) for part in path.stem.split(".", 1)]
            key = VersionKey(check_name("dataset", path.parent.name), names[0])
        except ConfigError as error:
            wrong.append(f"{path}: {error}")
            continue
        if len(names) == 1:
            found[key] = path
    return dict(sorted(found.items())), wrong


def _misplaced(config: CorpusConfig, expected: VersionKey) -> Iterator[Problem]:
    for name in ("dataset", "version"):
        says, place = getattr(config, name), getattr(expected, name)
        if says != place:
            at = f"configs/{expected.dataset}/{expected.version}.yaml"
            yield name, f"is {says}, but the file lies at {at}; write {place} or move the file"


def _unknown_words(config: CorpusConfig) -> Iterator[Problem]:
    for item in config.licenses.allow:
        try:
            spdx.check_allowed_item(item)
        except ConfigError as error:
            yield "licenses.allow", str(error)
    for region in config.pii.phone_regions:
        if region not in phonenumbers.SUPPORTED_REGIONS:
            close = difflib.get_close_matches(region, sorted(phonenumbers.SUPPORTED_REGIONS), n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            yield "pii.phone_regions", f"{region} is no country whose phone numbers are known{hint}"

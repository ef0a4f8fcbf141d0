"""Which configs pin a file by its SHA-256, so that nobody changes it under a version that was built with it."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from corpus_assets.plans.published_version import CONFIG_COPY, published_versions
from corpus_assets.validation import plain_yaml
from formats.errors import ConfigError
from formats.layout import Layout


def pinning_configs(layout: Layout, path: Path) -> list[Path]:
    """The configs below the root, published copies included, that name the file with a SHA-256; each once, in order. A
    config that is no YAML pins nothing: it stops its own version.
    """
    copies = [layout.evidence(key) / CONFIG_COPY for key in published_versions(layout)]
    wanted = path.resolve()
    found = []
    for config in [*sorted(layout.configs.glob("*/*.yaml")), *copies]:
        with suppress(ConfigError, OSError):
            if any((layout.root / pinned).resolve() == wanted for pinned in _pinned(plain_yaml.read(config).value)):
                found.append(config)
    return found


def _pinned(value: Any) -> Iterator[str]:
    """Every path that stands beside a sha256, however deep."""
    if isinstance(value, dict):
        if isinstance(value.get("path"), str) and "sha256" in value:
            yield value["path"]
        for one in value.values():
            yield from _pinned(one)
    elif isinstance(value, list):
        for one in value:
            yield from _pinned(one)

"""Where a command may write what a person asked for by `--out`: never over what the corpus is made of."""

import argparse
from pathlib import Path

from formats.errors import ConfigError
from formats.layout import Layout


def check_place(layout: Layout, path: Path, *, option: str = "--out", is_model: bool = False) -> Path:
    """The absolute path, before any work. A page may replace an ordinary file; a model is a new one, since a version
    may pin it. Raises ConfigError.
    """
    place = path.absolute()
    if not place.parent.is_dir():
        raise ConfigError(f"{option}: {place.parent} is no folder; make it or name another one")
    own = [layout.corpus.resolve(), layout.snapshots.resolve()]
    if any((place.parent.resolve() / place.name).is_relative_to(folder) for folder in own):
        raise ConfigError(f"{option}: {path} lies in the corpus, which holds nothing but its own files; name another")
    if is_model and (place.exists() or place.is_symlink()):
        raise ConfigError(f"{option}: {path} is there already, and a version may pin it; choose another name")
    if place.is_symlink() or (place.exists() and not place.is_file()):
        raise ConfigError(f"{option}: {path} is no ordinary file; name another")
    return place


def local_path(text: str) -> Path:
    """An argument that is a place on this machine. Raises ArgumentTypeError, which repeats nothing, for a url."""
    if "://" in text:
        raise argparse.ArgumentTypeError("is a url, expected a path on this machine")
    return Path(text)


def as_configs_name_it(layout: Layout, path: Path) -> str:
    """Relative to the artifacts root where it lies below it, so that the root can move."""
    resolved = path.parent.resolve() / path.name
    return str(resolved.relative_to(layout.root) if resolved.is_relative_to(layout.root) else resolved)

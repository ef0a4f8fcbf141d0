"""Where partitions and shards lie: one artifacts root, and a cache that may be elsewhere and shared."""

import os
from pathlib import Path

import dagster as dg

from formats.layout import Layout

ROOT_VARIABLE, CACHE_VARIABLE = "CORPUS_ROOT", "CORPUS_CACHE"


def layout_of_environment() -> Layout:
    """The layout that CORPUS_ROOT and CORPUS_CACHE name; without them the working directory and its own cache."""
    cache = os.environ.get(CACHE_VARIABLE)
    root = Path(os.environ.get(ROOT_VARIABLE) or Path.cwd())
    return Layout(root.resolve(), Path(cache).resolve() if cache else None)


class Store(dg.ConfigurableResource):
    """The artifacts root and the cache, as paths."""

    root: str
    cache: str = ""

    @property
    def layout(self) -> Layout:
        return Layout(Path(self.root), Path(self.cache) if self.cache else None)

    @classmethod
    def of_environment(cls) -> "Store":
        layout = layout_of_environment()
        return cls(root=str(layout.root), cache=str(layout.cache_folder or ""))

"""Where partitions and shards lie: one artifacts root, and a cache that may be elsewhere and shared."""

import os
from pathlib import Path

import dagster as dg

from formats.layout import Layout
from resources import run_process

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

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """A run that the UI launched names its process, as `corpus build` does for its own."""
        run, instance = context.run, context.instance
        if run and instance and run_process.TAG not in run.tags and run_process.is_worker():
            instance.add_run_tags(run.run_id, run_process.until_it_ends(self.layout))

    @property
    def layout(self) -> Layout:
        return Layout(Path(self.root), Path(self.cache) if self.cache else None)

    @classmethod
    def of_environment(cls) -> "Store":
        layout = layout_of_environment()
        return cls(root=str(layout.root), cache=str(layout.cache_folder or ""))

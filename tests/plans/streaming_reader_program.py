"""What mosaicml-streaming's own readers find in exported folders, as a program: JSON in, an answer in .npy files.

In: `folders`, the .npy file of each. Exit 77: the library is not installed; MOSAICML_STREAMING may name a folder that
has it. It comes without torchvision and transformers, which it imports for data sets and tokenizers of its own that
nothing here asks for; classes of their names stand in.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
from types import ModuleType

import numpy as np

NOT_INSTALLED = 77
ABSENT = ("torchvision", "transformers")


class StandIn(ModuleType):
    """A module that has an empty class of every name."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, _path=None, _target=None):
        if name.split(".")[0] in ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        """There is nothing in it."""


def main():
    sys.path.append(os.environ.get("MOSAICML_STREAMING", ""))
    sys.meta_path.insert(0, StandIns())
    if importlib.util.find_spec("streaming") is None:
        sys.exit(NOT_INSTALLED)
    import streaming

    for folder, answer in json.load(sys.stdin).items():
        found = [
            np.stack([theirs[i]["tokens"] for i in range(len(theirs))])
            for theirs in (
                streaming.LocalDataset(folder),
                streaming.StreamingDataset(local=folder, shuffle=False, batch_size=1, validate_hash="sha256"),
            )
        ]
        np.save(answer, np.stack(found))


if __name__ == "__main__":
    main()

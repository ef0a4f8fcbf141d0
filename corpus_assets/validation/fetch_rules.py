"""Fetch rules of this machine: found, read from YAML, held to their settings. Messages name file, line and setting."""

import os
from pathlib import Path

from corpus_assets.validation import plain_yaml
from formats import fetch_rules
from formats.errors import ConfigError
from formats.fetch_rules import FetchRules
from formats.layout import Layout

VARIABLE = "CORPUS_FETCH_RULES"


def of_machine(layout: Layout) -> FetchRules:
    """The rules in the file that CORPUS_FETCH_RULES names, else in `corpus/fetch.yaml`; none where neither is there.

    Raises ConfigError for a named file that is missing, and for what is wrong in either.
    """
    if named := os.environ.get(VARIABLE):
        path = Path(named)
        if not path.exists():
            raise ConfigError(f"{path}: {VARIABLE} names it and it is missing; write it, or unset {VARIABLE}")
        return load(path)
    return load(layout.fetch_rules) if layout.fetch_rules.exists() else FetchRules()


def load(path: Path) -> FetchRules:
    """The rules in the file. Raises ConfigError naming what is wrong."""
    document = plain_yaml.read(path)
    if document.value is None:
        return FetchRules()
    if found := fetch_rules.problems(document.value):
        raise ConfigError(document.in_words(path, found))
    return fetch_rules.from_document(document.value)

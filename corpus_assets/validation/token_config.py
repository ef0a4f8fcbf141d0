"""Token configs: read from YAML, held to their settings, found beside the configs of the versions they belong to.

`configs/<dataset>/<version>.<tokens>.yaml`; every message names file, line and setting. Whether the tokenizer is the
pinned one and has the tokens named here, `corpus_assets.plans.token_build` looks up.
"""

from collections.abc import Iterator
from pathlib import Path

from corpus_assets.validation import plain_yaml
from formats import token_config
from formats.errors import ConfigError
from formats.json_fields import Problem
from formats.layout import Layout
from formats.naming import TokensKey, VersionKey, check_name
from formats.token_config import TokenConfig


def load(path: Path, expected: TokensKey) -> TokenConfig:
    """The config in the file, which must be that of token set `expected`. Raises ConfigError naming what is wrong."""
    if not path.exists():
        raise ConfigError(f"{path}: is missing; write the token set there, as formats/token_config.md shows")
    document = plain_yaml.read(path)
    if document.value is None:
        raise ConfigError(f"{path}: is empty; formats/token_config.md shows what stands in it")
    found = token_config.problems(document.value)
    if not found:
        config = token_config.from_document(document.value)
        found = list(_misplaced(config, expected))
    if found:
        raise ConfigError(document.in_words(path, found))
    return config


def discover(layout: Layout) -> dict[TokensKey, Path]:
    """Every token set that has a config file, in the order of the keys. A file whose place names none is told of by
    `corpus_config.discover`, which looks at the same folders.
    """
    found = {}
    for path in layout.configs.glob("*/*.yaml"):
        version, dot, tokens = path.stem.partition(".")
        try:
            of = VersionKey(check_name("dataset", path.parent.name), check_name("version", version))
            key = TokensKey(of, check_name("tokens", tokens)) if dot else None
        except ConfigError:
            continue
        if key:
            found[key] = path
    return dict(sorted(found.items()))


def place_of(path: Path, field: str) -> str:
    """`<path>: line <n>: <field>`, for what is wrong with a setting beyond its form."""
    return f"{path}: line {plain_yaml.read(path).line_of(field)}: {field}"


def _misplaced(config: TokenConfig, expected: TokensKey) -> Iterator[Problem]:
    if config.tokens != expected.tokens:
        at = f"configs/{expected.version.dataset}/{expected.version.version}.{expected.tokens}.yaml"
        yield "tokens", f"is {config.tokens}, but the file lies at {at}; write {expected.tokens} or move the file"

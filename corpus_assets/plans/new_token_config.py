"""A token set that somebody asks for from outside, as a config file: held to the same rules as one written by hand."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from corpus_assets.validation import plain_yaml
from corpus_assets.validation import token_config as config_files
from formats import durable, token_config
from formats.errors import ConfigError, PublishedError
from formats.layout import Layout
from formats.naming import TokensKey, VersionKey
from formats.token_config import TokenConfig

_NAME = "[A-Za-z0-9_][A-Za-z0-9._-]*"
TOKENIZER_PATH = f"{_NAME}(?:/{_NAME})*"
"""No name of it leads upwards, or to a hidden file."""


def write_token_config(layout: Layout, version: VersionKey, document: Any) -> TokenConfig:
    """Write the config of a token set of `version`; one that says the same is left as it is.

    Raises ConfigError, a line a problem, for a document that the reader of configs would refuse, and for a tokenizer
    that does not lie below the root; PublishedError where another config has the name.
    """
    config = token_config.from_document(document)
    if not re.fullmatch(TOKENIZER_PATH, config.tokenizer.path):
        raise ConfigError(
            "tokenizer.path: expected a path below the artifacts root, of plain names; put the file there"
        )
    key = config.key(version)
    text = plain_yaml.write(document).encode("utf-8")
    _hold(text, key, config)
    place = layout.token_config(key)
    with durable.one_at_a_time(layout.work("locks", "token_config")):
        if not place.exists():
            durable.write_file(place, text)
        elif config_files.load(place, key).config_sha256 != config.config_sha256:
            raise PublishedError(f"token set {key} is there already and says something else; choose another name")
    return config


def _hold(text: bytes, key: TokensKey, expected: TokenConfig) -> None:
    """Read the file's text back before it has its name. Raises ConfigError where it would not be the same."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_bytes(text)
        try:
            found = config_files.load(path, key)
        except ConfigError as error:
            raise ConfigError(str(error).replace(f"{path}: ", "")) from None
    if found != expected:
        raise ConfigError(f"the config of {key} cannot be written as YAML and read back; leave odd characters out")

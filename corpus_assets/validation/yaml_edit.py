"""Changes within the text of a config that leave everything else as a person wrote it: comments, order, layout."""

from typing import Any

import yaml

from corpus_assets.validation import plain_yaml
from formats.errors import ConfigError


def replace(text: str, path: str, value: str) -> str:
    """The text with another word at `path` (`a.b`). Raises ConfigError where there is none."""
    node = _node(text, path)
    if not isinstance(node, yaml.ScalarNode) or node.style in ("|", ">"):
        raise ConfigError(f"{path}: expected a word; write it on one line")
    return text[: node.start_mark.index] + _word(value) + text[node.end_mark.index :]


def add(text: str, path: str, value: str) -> str:
    """The text with one more word at the end of the list at `path`, unless it is there. Raises ConfigError where there
    is no list.
    """
    node = _node(text, path)
    if not isinstance(node, yaml.SequenceNode):
        raise ConfigError(f"{path}: expected a list")
    if any(item.value == value for item in node.value):
        return text
    if node.flow_style:
        at = node.value[-1].end_mark.index if node.value else node.start_mark.index + 1
        return text[:at] + (", " if node.value else "") + _word(value) + text[at:]
    last = node.value[-1].end_mark.index
    at = text.find("\n", last)  # behind a comment on the last one
    at = len(text) if at < 0 else at
    return f"{text[:at]}\n{' ' * node.start_mark.column}- {_word(value)}{text[at:]}"


def _node(text: str, path: str) -> yaml.Node:
    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    for name in path.split("."):
        inner = node.value if isinstance(node, yaml.MappingNode) else []
        node = next((value for key, value in inner if key.value == name), None)
    if node is None:
        raise ConfigError(f"{path}: missing")
    return node


def _word(value: str) -> str:
    """The value as it stands in a YAML text, with quotes where it needs them."""
    return plain_yaml.write([value]).removeprefix("- ").rstrip("\n")

"""Documents of settings that people write: all that is wrong in one, or its settings and the digest of what it says.

Each kind of config is a dataclass of settings; YAML is read in `corpus_assets.validation`.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from formats import canonical
from formats.errors import ConfigError
from formats.json_fields import first_problems
from formats.json_tables import Rules, Table


@dataclass(frozen=True)
class Config(Rules):
    config_sha256: str = field(default="0" * 64, kw_only=True)
    """SHA-256 of the document as it was written; not a setting."""


def from_document(config: Table, document: Any) -> Any:
    """The config of a parsed document. Raises ConfigError that names every setting that is wrong."""
    if found := first_problems(config, document):
        raise ConfigError("\n".join(f"{path}: {wrong}" if path else wrong for path, wrong in found))
    return replace(config.build(document), config_sha256=canonical.digest(config.canonical(document)))

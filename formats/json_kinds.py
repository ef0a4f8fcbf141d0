"""Fields that several documents have: a SHA-256, a path, the name of a source, dataset, …."""

from formats import naming
from formats.errors import ConfigError
from formats.json_fields import Text

HEX_SHA256 = Text(r"[0-9a-f]{64}", "64 lower-case hex digits")
PATH = Text(says="a path")
"""Of a file that a config is bound to: absolute, or relative to the artifacts root."""


def name_of(kind: str) -> Text:
    """A field that holds the name of a source, dataset, …."""

    def wrong(name: str) -> str | None:
        try:
            naming.check_name(kind, name)
        except ConfigError as error:
            return str(error)
        return None

    says = f"a name {naming.NAME.pattern}"
    return Text(naming.NAME.pattern, says, wrong, max_length=naming.MAX_LENGTH)

"""The exception tree. Classes follow what the caller may do; every message says where, expected, found, what to do."""


class CorpusError(Exception):
    """Anything this project raises on purpose."""


class ConfigError(CorpusError, ValueError):
    """A ledger row, config, name or argument that a person has to mend. Raised before any work."""


class NotMadeError(ConfigError):
    """Something that a build makes was asked for before it was made; with everything a person gives all is well."""


class OrderError(ConfigError):
    """A request or a state that does not fit an order of training data. Nothing is guessed."""


class CorruptDataError(CorpusError, ValueError):
    """A stored file is not what its manifest says, or cannot be decoded. Stops; never retried."""

    def __init__(self, path: object, field: str, expected: object, found: object, todo: str) -> None:
        super().__init__(f"{path}: {field} is {found}, expected {expected}; {todo}")
        self.path, self.field, self.expected, self.found, self.todo = str(path), field, expected, found, todo

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Cross a process border as itself: the default rebuilds from the one-line message and fails."""
        return type(self), (self.path, self.field, self.expected, self.found, self.todo)


class SchemaMismatchError(CorruptDataError):
    """A stored file or table has other columns, types or keys than its format."""


class TransientError(CorpusError):
    """A failure of the outside world that may pass: the only class that is retried."""


class PublishedError(CorpusError):
    """A published version would get other bytes; published versions are immutable."""


class NotConvergedError(CorpusError):
    """An algorithm that promises a fixed point did not reach it, or an order that was promised does not hold."""

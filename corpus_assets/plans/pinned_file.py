"""Files of a person's that a config pins by their SHA-256: eval sets, lists of sites and words."""

import hashlib
from pathlib import Path

from formats.errors import ConfigError, CorruptDataError


def pinned_bytes(path: Path, sha256: str, what: str, config: Path) -> bytes:
    """The file's bytes, which have the hash of the config; what was hashed is what is given, since a file may change
    meanwhile. `what` names it for people. Raises ConfigError where it is missing, CorruptDataError where it differs.
    """
    if not path.is_file():
        raise ConfigError(f"{path}: {what} is missing; put it there or correct its path in {config}")
    data = path.read_bytes()
    if (found := hashlib.sha256(data).hexdigest()) != sha256:
        todo = f"restore the file; for another one make a new version, or correct the sha256 in {config}"
        raise CorruptDataError(path, "sha256", sha256, found, todo)
    return data

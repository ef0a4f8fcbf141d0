"""What the code location finds when it loads: the artifacts root, the cache, and Dagster's home. Held to what it needs
before any work, since Dagster and its database tell it in a hundred lines.
"""

import os
import sys
from pathlib import Path
from typing import Any

import yaml

from formats.errors import ConfigError
from formats.layout import Layout

PROJECT = Path(__file__).resolve().parents[2]
SETTINGS = "dagster.yaml"
HISTORY = ".dagster"
"""Where `dagster.yaml` keeps Dagster's state, below the working directory."""


def prepare(layout: Layout) -> None:
    """Set the environment and go to the root: Dagster's state lies with the artifacts, as its paths are relative to the
    working directory, so that each root has its own history. Raises ConfigError, and OSError for a root that cannot be.
    """
    os.environ["CORPUS_ROOT"] = str(layout.root)
    if layout.cache_folder:
        os.environ["CORPUS_CACHE"] = str(layout.cache_folder)
    os.environ["DAGSTER_HOME"] = str(_home())
    layout.root.mkdir(parents=True, exist_ok=True)
    for folder in (layout.root, layout.corpus, layout.cache, layout.root / HISTORY):
        if folder.exists() and not os.access(folder, os.W_OK | os.X_OK):
            raise ConfigError(f"{folder}: this user may not write there; make it writable, or name another --root")
    os.chdir(layout.root)


def _home() -> Path:
    """The folder in DAGSTER_HOME, else the project's. An empty value counts as unset."""
    ours = _settings(PROJECT)
    if not (value := os.environ.get("DAGSTER_HOME")):
        if ours is None:
            raise ConfigError(
                f"{PROJECT}: there is no {SETTINGS}; install the project from its checkout (pip install -e .), or "
                "set DAGSTER_HOME to a folder with one"
            )
        return PROJECT
    home, todo = Path(value), "make it one, or unset DAGSTER_HOME"
    if not home.is_absolute():
        raise ConfigError(f"DAGSTER_HOME is {value!r}, expected an absolute path; {todo}")
    if not home.is_dir():
        raise ConfigError(f"DAGSTER_HOME is {value!r}, expected a folder that is there; {todo}")
    theirs = _settings(home) or {}
    if "storage" not in theirs and not os.access(home, os.W_OK | os.X_OK):
        raise ConfigError(
            f"DAGSTER_HOME is {value!r}, and this user may not write there; make it writable, or unset it"
        )
    if missing := [name for name in ours or {} if name not in theirs]:
        print(
            f"note: {home / SETTINGS} has no {', '.join(missing)}: this project's pools, limits and logs are not in "
            f"force; unset DAGSTER_HOME, or take them over from {PROJECT / SETTINGS}",
            file=sys.stderr,
        )
    return home


def _settings(home: Path) -> dict[str, Any] | None:
    """The settings in a home, None where it has no file of them."""
    path = home / SETTINGS
    if not path.is_file():
        return None
    try:
        found = yaml.safe_load(path.read_bytes())
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: is not YAML ({str(error).splitlines()[0]}); mend it") from None
    if not isinstance(found, dict | None):
        raise ConfigError(f"{path}: expected settings by name; mend it")
    return found or {}

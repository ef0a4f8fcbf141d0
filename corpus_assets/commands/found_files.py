"""Which files the arguments of `corpus ledger add` mean: urls, paths, folders and patterns, each file once, sorted.

Folders are walked without following links to folders, so a loop of links ends; what a folder holds beside files is told
and left out.
"""

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from formats import ledger, ledger_urls, userinfo
from formats.errors import ConfigError, TransientError
from formats.ledger_urls import STORE_SCHEMES
from resources.download.http_answer import FailedTry
from resources.download.sources import Sources
from resources.download.stores import require_driver
from resources.download.wanted import HTTP_SCHEMES, masked

Note = Callable[[Path, str], None]
_MAGIC = frozenset("*?[")
_ANY_DEPTH = sys.maxsize


def is_remote(text: str) -> bool:
    """Whether it is a url that is fetched; else it is a path."""
    scheme, found, _ = text.partition("://")
    return bool(found) and scheme.lower() in (*HTTP_SCHEMES, *STORE_SCHEMES)


def named(argument: str) -> str:
    """A url or a path as messages show it: a url without secrets, a path letter for letter, escaped where need be."""
    shown = userinfo.mask(masked(argument)) if "://" in argument else userinfo.mask(argument)
    return shown if shown.isprintable() and " " not in shown else ascii(shown)


def expand(arguments: Sequence[str], sources: Sources, note: Note) -> list[str]:
    """The files; `note` is told what was left out. Raises ConfigError where an argument names no file, something that
    is no file, or a url that nothing here can fetch.
    """
    found: set[str] = set()
    for argument in arguments:
        names = _remote(argument, sources) if "://" in argument else list(_local(argument, note))
        if not names:
            raise ConfigError(f"{named(argument)}: no such file, and no folder or pattern with files in it")
        found.update(names)
    return sorted(found)


def _remote(url: str, sources: Sources) -> list[str]:
    scheme = url.partition("://")[0]
    if userinfo.is_in(url):
        raise ConfigError(f"{masked(url)}: {ledger_urls.USER_IN_URL}")
    if scheme in HTTP_SCHEMES:
        return [url]
    if scheme not in STORE_SCHEMES:
        known = ", ".join((*HTTP_SCHEMES, *STORE_SCHEMES))
        raise ConfigError(f"{masked(url)}: cannot be fetched; give a url of {known}, or a path")
    if wrong := ledger.problems_of_file({"url": url, "sha256": "0" * 64, "bytes": 0}):
        raise ConfigError(f"{masked(url)}: {wrong[0][1]}")  # before a driver is asked, which might repeat it
    require_driver(url)
    try:
        return sources.files_below(url)
    except FailedTry as error:
        raise TransientError(f"{masked(url)}: {error}; run the command again") from None


def _local(argument: str, note: Note) -> Iterator[str]:
    path = Path(argument)
    if path.is_dir():
        with_dot: list[Path] = []
        files = list(_below(path, note, with_dot))
        if with_dot:
            note(with_dot[0], f"left out, as are all names with a dot before them; there are {len(with_dot)} here")
        _tell_of_links(path, files, note)
        yield from map(str, files)
    elif path.is_file():
        yield argument
    elif path.exists():
        raise ConfigError(f"{argument}: is a {_what(path.stat().st_mode)}, not a file; copy its content into one")
    elif _MAGIC & set(argument):
        yield from (str(file) for file in _matching(argument, note))
    elif path.is_symlink():
        raise ConfigError(f"{argument}: is a link to what is not there")


def _tell_of_links(folder: Path, files: list[Path], note: Note) -> None:
    """Links out of the folder are taken, as caches of data sets are made of them; but a person says under which licence
    the files are, and may not know of these.
    """
    inside = folder.resolve()
    led_out = [(file, to) for file in files if file.is_symlink() and inside not in (to := file.resolve()).parents]
    if led_out:
        file, to = led_out[0]
        note(file, f"taken, a link to {to}, which is not below {folder}; there are {len(led_out)} such links")


def _below(
    folder: Path, note: Note, with_dot: list[Path], *, hidden: bool = False, depth: int = _ANY_DEPTH
) -> Iterator[Path]:
    """The files at most `depth` folders down, in the order of their names; hidden ones and folders only on demand, else
    they are listed in `with_dot`.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be read ({error.strerror}); make it readable, or name its files") from None
    for entry in entries:
        path = folder / entry.name
        if entry.name.startswith(".") and not hidden:
            with_dot.append(path)
            continue
        if not entry.is_dir(follow_symlinks=False):
            if _is_file(path, note):
                yield path
        elif depth > 1:
            yield from _below(path, note, with_dot, hidden=hidden, depth=depth - 1)


def _matching(pattern: str, note: Note) -> Iterator[Path]:
    """The files that match; `**` is any depth of folders. A name with a dot before it matches only a written dot."""
    parts = Path(pattern).parts
    fixed = next(i for i, part in enumerate(parts) if _MAGIC & set(part))
    base, rest = Path(*parts[:fixed]), parts[fixed:]
    if rest[-1] == "**":
        rest = (*rest, "*")
    if not base.is_dir():
        return
    hidden, depth = any(part.startswith(".") for part in rest), _ANY_DEPTH if "**" in rest else len(rest)

    def note_matching(path: Path, words: str) -> None:
        if "**" in rest or _fits(path.relative_to(base).parts, rest):
            note(path, words)

    # Not glob.glob, whose ** follows links to folders, and so goes round in a loop of them.
    below = _below(base, note_matching, [], hidden=hidden, depth=depth)
    files = [path for path in below if _fits(path.relative_to(base).parts, rest)]
    _tell_of_links(base, files, note)
    yield from files


def _fits(names: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern or not names:
        return not pattern and not names
    if pattern[0] == "**":
        return _fits(names, pattern[1:]) or (not names[0].startswith(".") and _fits(names[1:], pattern))
    shown = not names[0].startswith(".") or pattern[0].startswith(".")
    return shown and fnmatchcase(names[0], pattern[0]) and _fits(names[1:], pattern[1:])


def _is_file(path: Path, note: Note) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        note(path, f"left out, a link to what is not there ({error.strerror})")
        return False
    if not stat.S_ISREG(mode):
        note(path, f"left out, {'a link to a folder' if stat.S_ISDIR(mode) else f'a {_what(mode)}'}")
    return stat.S_ISREG(mode)


def _what(mode: int) -> str:
    kinds = {stat.S_IFIFO: "named pipe", stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}
    return kinds.get(stat.S_IFMT(mode), "special file")

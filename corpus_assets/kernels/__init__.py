"""Compiled loops over Arrow buffers. Machine code is kept on disk, in a folder named by these files' content.

numba looks only at the file of a function itself, so without that name an edit of `words.py` would leave its callers
with old code. The folder is CORPUS_KERNEL_CACHE, else the user's cache folder; where that cannot be written, it is a
temporary one, so that a read-only home costs a compile and nothing else.

numba reads its cache with pickle, so whoever may write the folder runs code as its reader. Only a folder that nobody
else may write or replace is used: made with mode 0700, and looked at from the root down before anything is read of it.
"""

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any

import numba
from numba.core import entrypoints
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys


def _sources_digest() -> str:
    whole = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        whole.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()[:16]


def _cache_folder() -> Path:
    """The first of the places that can be written and is this user's alone."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "corpus-assets"
    places = [
        Path(os.environ.get("CORPUS_KERNEL_CACHE") or home),
        Path(tempfile.gettempdir()) / f"corpus-assets-{os.getuid()}",
    ]
    for place in places:
        folder = place / _sources_digest()
        try:
            for made in (place, folder):  # the mode of parents would be the umask's
                made.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_own(folder):
                with tempfile.TemporaryFile(dir=folder):
                    return folder.resolve()
        except OSError:
            continue
    # Somebody took the name in the shared folder: one that nobody can guess, for this process alone.
    folder = Path(tempfile.mkdtemp(prefix="corpus-assets-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _is_own(folder: Path) -> bool:
    """Whether nobody but this user and root can write into the folder or put another one in its place."""
    place = folder.resolve()
    if place.lstat().st_uid != os.getuid() or stat.S_IMODE(place.lstat().st_mode) & 0o022:
        return False
    for parent in place.parents:
        about = parent.lstat()
        if about.st_uid not in (0, os.getuid()):
            return False
        # In a sticky folder, such as /tmp, only the owner of an entry replaces it.
        if about.st_mode & 0o022 and not about.st_mode & stat.S_ISVTX:
            return False
    return True


_PRIVATE_NAMES = ("_load_overload", "_guard_against_spurious_io_errors")
"""Of numba's; another release that lacks one loads kernels in its own, slower way."""


def _load_overload(cache: FunctionCache, signature: Any, target: Any) -> Any:
    """A stored kernel, or None. numba would first install every implementation it has of anything, though machine code
    needs no more than the runtime that holds arrays; it does so again where it compiles.
    """
    rtsys.initialize(target)
    with cache._guard_against_spurious_io_errors():
        return cache._load_overload(signature, target)


numba.config.CACHE_DIR = str(_cache_folder())
if all(hasattr(FunctionCache, name) for name in _PRIVATE_NAMES):
    FunctionCache.load_overload = _load_overload
# Extensions that other packages bring are not looked for: no kernel uses one, and it takes as long as to load some.
entrypoints._already_initialized = True

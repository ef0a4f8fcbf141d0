"""Compiled loops over Arrow buffers. Machine code is kept on disk, in a folder named by these files' content.

numba looks only at the file of a function itself, so without that name an edit of `words.py` would leave its callers
with old code. The folder is CORPUS_KERNEL_CACHE, else the user's cache folder; where neither can be written, it is a
temporary one, so that a read-only home costs a compile and nothing else.
"""

import hashlib
import os
import tempfile
from pathlib import Path

import numba


def _sources_digest() -> str:
    whole = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        whole.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()[:16]


def _cache_folder() -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "corpus-assets"
    wanted = Path(os.environ.get("CORPUS_KERNEL_CACHE") or home) / _sources_digest()
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError:
        return Path(tempfile.gettempdir()) / f"corpus-assets-{os.getuid()}" / wanted.name


numba.config.CACHE_DIR = str(_cache_folder())

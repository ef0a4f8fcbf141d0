"""Compiled loops over Arrow buffers. Machine code is kept on disk, in a folder named by these files' content.

numba looks only at the file of a function itself, so without that name an edit of `words.py` would leave its callers
with old code. The folder is CORPUS_KERNEL_CACHE, else the user's cache folder; where neither can be written, it is a
temporary one, so that a read-only home costs a compile and nothing else.
"""

import hashlib
import importlib
import os
import sys
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


def _load_numba() -> None:
    """Load what numba needs for its first kernel. It looks for scipy's BLAS there, which takes each process 0.2 s more
    than the kernels do; none of them does linear algebra, and numba looks again where a function needs it.
    """
    hidden = "scipy.linalg" not in sys.modules
    if hidden:
        sys.modules["scipy.linalg"] = None  # type: ignore[assignment]  # an import of it fails
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        if hidden:
            del sys.modules["scipy.linalg"]


numba.config.CACHE_DIR = str(_cache_folder())
_load_numba()

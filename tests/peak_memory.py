"""The most memory that this process held while something ran."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SELF = Path("/proc/self")
_RESET_PEAK = "5"
"""proc(5), clear_refs: the peak becomes what is held now. An earlier test's peak would hide all later ones."""


def peak_growth(work: Callable[[], Any]) -> int:
    """Bytes by which the resident memory was higher, at its highest, than before `work()`."""
    (_SELF / "clear_refs").write_text(_RESET_PEAK)
    before = _peak()
    work()
    return _peak() - before


def _peak() -> int:
    found = re.search(r"^VmHWM:\s+(\d+) kB$", (_SELF / "status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024

"""Who has a root, for a `corpus up` that is refused there: the other one, or what it left when it was killed."""

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

from formats import durable
from formats.errors import CorruptDataError


def record(url: str) -> dict[str, Any]:
    """What the lock's file says of this process."""
    return {"process": os.getpid(), "machine": socket.gethostname(), "url": url}


def words(root: Path, lock: Path) -> str:
    """Who has the root, whether that process lives, and how to end what is in the way."""
    try:
        found = durable.json_of(lock)
        number, url, machine = int(found["process"]), found["url"], found.get("machine", "")
    except (CorruptDataError, OSError, KeyError, TypeError, ValueError, AttributeError):  # it may be being written
        return _alive(root, "another `corpus up`", f"`fuser {lock}` names what holds it")
    if machine not in ("", socket.gethostname()):  # roots may lie on a network file system
        return _alive(
            root, f"`corpus up`, process {number} of the machine {machine}, at {url},", f"there: kill {number}"
        )
    holders = holding(lock)
    if number in holders or (not holders and _is_alive(number)):
        return _alive(root, f"`corpus up`, process {number}, at {url},", f"kill {number}")
    gone = f"{root}: `corpus up`, process {number}, is gone (it was killed), and what it ran still has this root"
    if not holders:
        return f"{gone}; this user cannot see what that is: `fuser {lock}` names it"
    named = ", ".join(f"{process} ({name})" for process, name in holders.items())
    ends = " ".join(map(str, holders))
    return f"{gone}: {named}. It is ended within 20 seconds; if it is there after that, end it: kill {ends}"


def _alive(root: Path, who: str, end: str) -> str:
    return (
        f"{root}: {who} has this root; two would have two daemons on one history, and each would end what the other "
        f"runs. Use that one, or end it first ({end})"
    )


def holding(lock: Path) -> dict[int, str]:
    """Number -> name of the processes that hold the lock on this file, as far as /proc is there and this user may look:
    who made the lock, and whoever has the open file from there.
    """
    there, found = lock.stat(), {}
    for process in sorted(int(folder.name) for folder in Path("/proc").glob("[0-9]*")):
        folder = Path("/proc", str(process))
        with suppress(OSError):  # it ended, or is another user's
            if any(_locks(file, there) for file in (folder / "fd").iterdir()):
                found[process] = (folder / "comm").read_text("utf-8").strip()
    return found


def _locks(file: Path, there: os.stat_result) -> bool:
    with suppress(OSError):
        if os.path.samestat(file.stat(), there):
            return "FLOCK" in (file.parent.parent / "fdinfo" / file.name).read_text("utf-8")
    return False


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        return True
    return True

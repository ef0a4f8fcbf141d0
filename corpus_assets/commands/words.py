"""How the commands say what the operating system told them, and counts of things."""

import errno
import re

_TODO = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room, or have the quota raised",
    errno.EFBIG: "raise the largest size of a file (ulimit -f), or have the quota raised",
    errno.EROFS: "mount it for writing, or work on a copy elsewhere",
    errno.EACCES: "let this user read and write there",
    errno.EPERM: "let this user read and write there",
    errno.EISDIR: "a folder lies where a file belongs: move it away",
    errno.ENOTDIR: "a file lies where a folder belongs: move it away",
    errno.EMFILE: "raise the number of open files (ulimit -n)",
}
_NUMBER = re.compile(r"\[Errno ([0-9]+)\]", re.IGNORECASE)
_CLASS = re.compile(r"(?:formats\.errors\.\w+|OSError|PermissionError): ")


def of_os_error(error: OSError) -> str:
    """Which path, what is the matter, and what to do."""
    where = f"{error.filename}: " if error.filename else ""
    todo = _TODO.get(error.errno or 0, "see to it")
    return f"{where}{error.strerror or error}; {todo}, then run again: it goes on from what is finished"


def of_step_error(text: str) -> str:
    """A step's error without the name of its class where the words alone are for people, and with what to do where the
    operating system refused something.
    """
    number = _NUMBER.search(text)
    todo = _TODO.get(int(number[1])) if number else None
    return text.removeprefix(named[0] if (named := _CLASS.match(text)) else "") + (
        f"; {todo}, then run again" if todo else ""
    )


def counted(number: int, thing: str) -> str:
    """`1 file`, `2,000 files`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"

"""Lines of list files (sites, words): numbered, decoded, and everything that is wrong told at once."""

from collections.abc import Iterator

from formats.errors import ConfigError
from formats.json_fields import MAX_PROBLEMS

MAX_LENGTH = 2_000
"""Characters of an entry."""
_TODO = "for another file enter its sha256, and make a new version if one is published"


class Problems:
    """What is wrong with a list, line by line, told at once."""

    def __init__(self, where: object) -> None:
        self._where, self._found, self._more = where, list[str](), False

    def add(self, line: int, wrong: str) -> None:
        """Keeps the first MAX_PROBLEMS."""
        if len(self._found) < MAX_PROBLEMS:
            self._found.append(f"{self._where}: line {line}: {wrong}")
        else:
            self._more = True

    def hold(self) -> None:
        """Raises ConfigError when anything was wrong."""
        if self._found:
            more = ["more is wrong; mend this first"] if self._more else []
            raise ConfigError("\n".join([*self._found, *more, f"{self._where}: mend the lines; {_TODO}"]))


def lines_of(data: bytes, problems: Problems) -> Iterator[tuple[int, str]]:
    """(number, text without white space at its ends); a line that is no UTF-8 is a problem."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        del lines[-1]
    for number, line in enumerate(lines, 1):
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").strip(" \t\r")
        except UnicodeDecodeError as error:
            problems.add(number, f"is no UTF-8 (byte {error.start:,})")


def plain_lines(data: bytes, where: object) -> list[tuple[int, str]]:
    """The lines of a text that say something: neither blank nor a comment (#). Raises ConfigError for what is no text,
    and for longer lines than MAX_LENGTH.
    """
    problems = Problems(where)
    found = []
    for number, text in lines_of(data, problems):
        if text and not text.startswith("#"):
            if len(text) > MAX_LENGTH:
                problems.add(number, f"has {len(text):,} characters, expected at most {MAX_LENGTH:,}")
            found.append((number, text))
    problems.hold()
    return found

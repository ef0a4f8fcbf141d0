"""Do what an error's words say, as a person would who knows nothing else. Words that say nothing to do are unclear."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


class UnclearError(Exception):
    """No line names a file and what to do about it."""


@dataclass(frozen=True)
class Person:
    """Who reads the words: has copies of what no build makes (`restore` puts one back) and of what was published;
    `lift` ends what is the matter with the machine, by the words that must ask for it.
    """

    root: Path
    restore: Callable[[Path], bool]
    lift: Callable[[str], bool]


_PATH = r"(?P<path>/[^\n]*?)"
_DELETE_FOLDER = re.compile(
    rf"{_PATH}: .*(?:delete its folder and materialize|delete the raw set's folder|"
    r"delete the folder and|delete the evidence folder)"
)
_DELETE_FILE = re.compile(rf"{_PATH}: .*delete (?:it|the file) and (?:build|run|materialize)")
_DELETE_NAMED = re.compile(r"delete (?P<path>/\S+) and (?:run|build it) again")
_DELETE_EVIDENCE = re.compile(rf"{_PATH}\.evidence\b.*delete it and build the version again")
_PUT_BACK = re.compile(r"put back (?P<copy>/\S+) here")
_RESTORE = re.compile(
    rf"{_PATH}(?::|,| has| is) .*(?:restore|mend|put it there|enter it again|`corpus config new`|make it readable)"
)
_CORRECT = re.compile(r"correct .* in (?P<path>/\S+)")
_INPUT = re.compile(r"(?P<path>\S*(?:LEDGER\.jsonl|/v1\.yaml))\b.*(?:: .|; .)")
"""What a person edits is a person's to mend: the file, the line or field, and what is wrong there are enough."""
_PUBLISHER = re.compile(r"https?://\S+: .*(?:mend the (?:url|ledger)|check the publisher's file)")
_AGAIN = re.compile(r"run again|build (?:it|the version) again|materialize .* again")
_MOVE_AWAY = re.compile(rf"{_PATH}: .*move (?:it|the folder) away")
_LIFT = re.compile(
    r"[Mm]ake room|raise the largest size of a file|mount it for writing|let this user|folder writable|"
    r"make it writable|choose another|the file readable|make it readable"
)


def follow(words: str, person: Person) -> list[str]:
    """Do what the lines say; what was done. Raises UnclearError."""
    done: list[str] = []
    for line in words.splitlines():
        if action := _follow_line(line, person):
            done.append(action)
    if not done:
        raise UnclearError(f"no line says which file and what to do: {words[-2000:]}")
    return done


def _follow_line(line: str, person: Person) -> str | None:
    if not _is_error(line):
        return None
    line = line.removeprefix("corpus: ")
    if not line.startswith("/") and " /" in line:  # behind `ERROR asset/check: `, or the name as the ledger has it
        return _do(line[line.index(" /") + 1 :], person) or _do(line, person)
    return _do(line, person)


def _do(line: str, person: Person) -> str | None:
    if (found := _LIFT.search(line)) and person.lift(found[0].lower()):
        return f"did as told: {found[0]}"
    if found := _DELETE_EVIDENCE.match(line):
        return _delete(Path(found["path"] + ".evidence"), person)
    if found := _PUT_BACK.search(line):
        path = re.search(r"and (/\S+\.yaml) is now", line)
        if path:
            shutil.copy(found["copy"], path[1])
            return "put the config back"
    if found := _DELETE_NAMED.search(line):
        return _delete(Path(found["path"]), person)
    if found := _DELETE_FILE.match(line):
        return _delete(Path(found["path"]), person)
    if found := _DELETE_FOLDER.match(line):
        return _delete(Path(found["path"]).parent, person)
    if found := _MOVE_AWAY.match(line):
        return _delete(Path(found["path"]), person)
    either = (_RESTORE.match(line), _CORRECT.search(line))  # of two files that disagree; a copy of both does no harm
    restored = [person.restore(Path(found["path"])) for found in either if found]
    if any(restored):
        return "restored the file"
    if (found := _INPUT.search(line)) and person.restore(_absolute(found["path"], person)):
        return "mended the line that was named"
    if _PUBLISHER.match(line):
        return "the publisher's file is right again"
    if _AGAIN.search(line):
        return "ran again"
    return None


def _absolute(path: str, person: Person) -> Path:
    return person.root / "corpus" / path


def _is_error(line: str) -> bool:
    return line.startswith("corpus: ") or "failed: " in line or "LEDGER.jsonl" in line or "/" in line


def _delete(path: Path, person: Person) -> str:
    """A person deletes only below the root, and never what no build makes again."""
    kept = ("corpus", "corpus/configs", "corpus/work", "corpus/raw", "inputs", "evals", ".")
    if person.root not in path.parents or path.relative_to(person.root).as_posix() in kept:
        raise UnclearError(f"told to delete {path}")
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    return f"deleted {'/'.join(path.relative_to(person.root).parts[1:3])}/…"

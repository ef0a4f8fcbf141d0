"""How a stored file is damaged, and which one."""

import os
import random
import re
from pathlib import Path

WAYS = (
    "a byte flipped", "a bit flipped", "last byte missing", "cut", "empty", "tail zeroed", "a byte more", "twice",
    "missing", "another file's bytes", "a folder in its place",
)  # fmt: skip
FLIPPED, CUT_BY_A_BYTE = WAYS[0], WAYS[2]
_UNFINISHED = re.compile(r"\.?(?P<name>.+?)(?:\.[0-9a-f]{8})?\.tmp")


def hurt(path: Path, way: str, draw: random.Random) -> None:
    """In place, as a disk or a copy that broke off does it: all names of the file see it."""
    path.chmod(path.stat().st_mode | 0o200)
    data = path.read_bytes()
    if way in ("missing", "a folder in its place"):
        path.unlink()
        if way != "missing":
            path.mkdir()
        return
    at = draw.randrange(len(data)) if data else 0
    if way == "another file's bytes":
        other = draw.choice(sorted(one for one in path.parent.iterdir() if one.is_file()))
        path.write_bytes(other.read_bytes())
        return
    path.write_bytes(
        {
            "a byte flipped": data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :] if data else b"\xff",
            "a bit flipped": data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]
            if data
            else b"\1",
            "last byte missing": data[:-1],
            "cut": data[:at],
            "empty": b"",
            "tail zeroed": data[:at] + bytes(len(data) - at),
            "a byte more": data + b"\0",
            "twice": data + data,
        }[way]
    )


def cut_unfinished(root: Path, draw: random.Random) -> None:
    """What a kill in the middle of a write leaves: some bytes of each file that was being written.

    A file with a second name is none of them: evidence links to finished, synced stage outputs, and no kill cuts those.
    """
    for path in sorted(root.rglob("*")):
        unfinished = path.is_file() and any(".tmp" in part for part in path.relative_to(root).parts)
        if unfinished and path.stat().st_nlink == 1:
            os.truncate(path, draw.randrange(path.stat().st_size + 1))


def finished_name(name: str) -> str:
    """Where an unfinished file or folder goes when it is finished: `v1.tmp/a` -> `v1/a`, `.a.0123abcd.tmp` -> `a`."""
    parts = Path(name).parts
    return Path(*(found["name"] if (found := _UNFINISHED.fullmatch(part)) else part for part in parts)).as_posix()


def kind_of(name: str) -> str:
    """Which kind of stored file a relative path is; each is hurt about as often as another."""
    parts = Path(name).parts
    last = parts[-1]
    if parts[0] == ".dagster":
        return "Dagster's storage"
    if parts[0] in ("inputs", "evals"):
        return "eval set" if parts[0] == "evals" else "input file"
    if name == "corpus/LEDGER.jsonl":
        return "ledger"
    if parts[1] == "configs":
        return "config"
    if parts[1] == "cache":
        return "checkpoint" if last.endswith(".json") else "partial file" if "partial" in last else "cached file"
    if parts[1] == "raw":
        known = {"manifest.json": "raw set's manifest", "manifest.json.lock": "raw set's lock"}
        return known.get(
            last, "raw part" if last.startswith("part-") else "raw rejects" if "rejects" in last else "lock file"
        )
    if parts[1] == "work":
        if parts[2] == "ledger_entry":
            return "pinned row"
        if parts[2] == "eval_index":
            return "eval index"
        if parts[2] in ("locks", "scratch") or last.endswith(".lock"):
            return "lock file"
        return "stage manifest" if last == "_DATASET.json" else "stage output"
    if last.endswith(".lock"):
        return "version's lock"
    if ".evidence" in parts[2]:
        return "evidence's seal" if last == "_EVIDENCE.json" else "evidence"
    return "version's manifest" if last == "_MANIFEST.json" else "shard"


def _of_others(name: str) -> bool:
    """Whether a build of the version does not read the file: the ballast of a full disk, another version's, tokens'."""
    other_config = name.startswith("corpus/configs/") and not name.endswith("/v1.yaml")
    return name == "ballast" or other_config or name.startswith("tokenizers/")


def choose(root: Path, draw: random.Random, only: tuple[str, ...] = ()) -> str | None:
    """A stored file below the root, by kind first; None where there is none."""
    kinds: dict[str, list[str]] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not _of_others(name):
            kinds.setdefault(kind_of(name), []).append(name)
    wanted = sorted(kinds.keys() & set(only)) if only else sorted(kinds)
    return draw.choice(kinds[draw.choice(wanted)]) if wanted else None

"""The checkpoint of a download."""

from pathlib import Path
from tempfile import TemporaryDirectory

from formats import partial
from formats.partial import Checkpoint, Pair

IS_JSON = True


def seeds() -> list[bytes]:
    made = Checkpoint(
        "partial", 1, "https://example.org/a", '"v1"', None, True, 100, 64, "22" * 32, Pair(32, "11" * 32)
    )
    with TemporaryDirectory() as name:
        path = Path(name) / "a.partial.json"
        partial.write(path, made)
        return [path.read_bytes()]


def run(data: bytes, folder: Path) -> None:
    path = folder / "a.partial.json"
    path.write_bytes(data)
    found = partial.read(path)
    partial.write(path, found)
    assert partial.read(path) == found

"""The documents that every bench sees: one slice of a folder, or made from a seed; the same list for ours and peers."""

import io
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import zstandard

SHORTEST, LONGEST = 200, 12_000
"""Characters of a document."""


@dataclass(frozen=True)
class Sizes:
    """Bytes of text: of the slice, of its beginning that a slow peer or plain Python takes, and the most that a build
    of many parts takes (0: no such build).
    """

    slice: int = 12_000_000
    peer: int = 3_000_000
    plain: int = 1_000_000
    large: int = 60_000_000


QUICK = Sizes(3_000_000, 1_000_000, 300_000, 0)


@dataclass(frozen=True)
class Corpus:
    """The slice, stored below `scratch` so that every process reads the same. `folder` is where it comes from, which
    also has what is not a plain document (web archives, labelled texts); None: all is made from a seed.
    """

    scratch: Path
    folder: Path | None = None
    sizes: Sizes = Sizes()

    def store(self) -> "Corpus":
        """Choose the documents and store them."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        table = pa.table({"text": self._chosen(self.sizes.slice)})
        with pa.OSFile(str(self._stored), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        return self

    def large(self) -> pa.LargeStringArray:
        """As many documents as there are, at most `sizes.large`."""
        return self._chosen(self.sizes.large)

    def _chosen(self, num_bytes: int) -> pa.LargeStringArray:
        documents = made() if self.folder is None else in_turn(self.folder)
        return pa.array(first_bytes(documents, num_bytes), pa.large_string())

    @property
    def _stored(self) -> Path:
        return self.scratch / "slice.arrow"

    def text(self, num_bytes: int | None = None) -> pa.LargeStringArray:
        """The documents of the slice, the first `num_bytes` of them where given."""
        with pa.memory_map(str(self._stored)) as file:
            whole = pa.ipc.open_file(file).read_all().column("text").combine_chunks()
        if num_bytes is None or num_bytes >= self.sizes.slice:
            return whole
        return pa.array(first_bytes(whole.to_pylist(), num_bytes), pa.large_string())

    def texts(self, num_bytes: int | None = None) -> list[str]:
        return self.text(num_bytes).to_pylist()


def megabytes(text: pa.LargeStringArray | list[str]) -> float:
    """Bytes of UTF-8 text, in millions."""
    return pc.sum(pc.binary_length(pa.array(text, pa.large_string()))).as_py() / 1e6


def first_bytes(documents: Iterable[str], limit: int) -> list[str]:
    taken, size = [], 0
    for text in documents:
        if size >= limit:
            break
        taken.append(text)
        size += len(text.encode())
    return taken


def json_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a .jsonl.zst file."""
    with path.open("rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        yield from map(json.loads, io.TextIOWrapper(stream, "utf-8"))


def in_turn(folder: Path) -> Iterator[str]:
    """Texts of fitting length from all *.jsonl.zst, one of each top-level folder in turn: code, documentation, prose
    and short pages come mixed, and so do the versions of a page.
    """
    paths = sorted(folder.rglob("*.jsonl.zst"))
    by_folder: dict[str, list[Path]] = {}
    for path in paths:
        by_folder.setdefault(path.relative_to(folder).parts[0], []).append(path)
    streams = [_fitting(paths) for paths in by_folder.values()]
    while streams:
        for stream in tuple(streams):
            text = next(stream, None)
            if text is None:
                streams.remove(stream)
            else:
                yield text


def _fitting(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        for row in json_rows(path):
            text = row.get("text")
            if text and SHORTEST <= len(text) <= LONGEST:
                yield text


def made() -> Iterator[str]:
    """Documents from a seed: Zipf-like words, every fifth one a copy of an earlier one with some words changed."""
    draw = random.Random(1)
    vocabulary = ["".join(draw.choices("etaoinshrdlucmfwypvbgkjqxz", k=draw.randint(2, 9))) for _ in range(20_000)]
    documents: list[str] = []
    while True:
        if documents and draw.random() < 0.2:
            words = documents[draw.randrange(len(documents))].split(" ")
            for _ in range(draw.randint(0, 1 + len(words) // 40)):
                words[draw.randrange(len(words))] = draw.choice(vocabulary)
        else:
            words = [vocabulary[int(20_000 * draw.random() ** 4)] for _ in range(draw.randint(40, 1_000))]
        documents.append(" ".join(words))
        yield documents[-1]

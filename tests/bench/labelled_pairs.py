"""Pairs of documents with known likeness: pages of two releases, transcriptions of a book, paraphrased sentences."""

import html
import io
import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import zstandard

from corpus_assets.kernels.shingles import jaccard, shingle_sets
from tests.bench.documents import json_rows

LABELS = "dedup-labels"
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class Labelled:
    """`pairs` are indexes into `texts`; which of two comes first is that of keeper order."""

    texts: list[str]
    pairs: np.ndarray

    @cached_property
    def text(self) -> pa.Array:
        return pa.array(self.texts, pa.large_string())

    @cached_property
    def jaccard(self) -> np.ndarray:
        """The exact Jaccard of each pair by our word rule; the labels give only the pairs."""
        return self.jaccard_of(self.pairs)

    def jaccard_of(self, pairs: np.ndarray) -> np.ndarray:
        left, right = (self._sets.take(pa.array(side)) for side in pairs.T)
        common, union = jaccard(left, right)
        return common / np.maximum(union, 1)

    @cached_property
    def _sets(self) -> pa.Array:
        return shingle_sets(self.text)


def versions_and_editions(folder: Path, *, books: bool = True) -> Labelled:
    """Pages of two releases and, where `books`, transcriptions of one book."""
    texts = dict(_texts(folder))
    rows = list(json_rows(folder / LABELS / "version-pairs-fastapi.jsonl.zst"))
    if books:
        rows += _json_lines(folder / LABELS / "edition-pairs.jsonl")
    return _labelled({name: texts[_key(name)] for row in rows for name in (row["a"], row["b"])}, rows)


def paraphrases(folder: Path) -> Labelled:
    """Sentence pairs that say the same in other words."""
    rows = [row for row in json_rows(folder / LABELS / "pan10-sentence-pairs-test.jsonl.zst") if row["label"] == 1]
    names = [{"a": f"{n}:a", "b": f"{n}:b"} for n in range(len(rows))]
    texts = {name[side]: row[side] for name, row in zip(names, rows, strict=True) for side in "ab"}
    return _labelled(texts, names)


def _labelled(texts: dict[str, str], rows: list[dict[str, str]]) -> Labelled:
    at = {name: number for number, name in enumerate(sorted(texts))}
    pairs = np.array([sorted((at[row["a"]], at[row["b"]])) for row in rows], np.int64)
    return Labelled([texts[name] for name in sorted(texts)], pairs)


def _key(name: str) -> str:
    """`owner/repository@version:path` -> `version:path`; without a version, the path."""
    repository, _, path = name.partition(":")
    _, _, version = repository.partition("@")
    return f"{version}:{path}" if version else path.removeprefix("old/")


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((folder / "docs-fastapi").glob("*.jsonl.zst")):
        yield from ((f"{row['version']}:{row['path']}", row["text"]) for row in json_rows(path))
    for path in sorted((folder / "books").glob("*.tar.zst")):
        data = zstandard.ZstdDecompressor().stream_reader(path.read_bytes(), read_across_frames=True).read()
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                if (file := archive.extractfile(member)) is not None:
                    yield member.name, _plain(member.name, file.read().decode("utf-8", "replace"))
    for path in sorted((folder / "books").glob("pg972*/**/*.txt")):
        yield path.name, path.read_text("latin-1")


def _plain(name: str, text: str) -> str:
    return html.unescape(_TAG.sub(" ", text)) if name.endswith(".xhtml") else text


def _json_lines(path: Path) -> Iterator[dict[str, str]]:
    yield from map(json.loads, path.read_text("utf-8").splitlines())

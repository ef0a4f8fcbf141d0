"""What a corpus keeps beside texts: marks, lists of sites, labels, models, manifests, seals. The first line says which;
locks, digests and forms of JSON fit, as a hostile maker would have them.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from formats import (
    block_model,
    canonical,
    corpus_manifest,
    dataset,
    dedup_labels,
    durable,
    evidence,
    ngram_index,
    quality_model,
    site_lists,
    yank,
)
from tests.formats.test_block_model import GOLDEN
from tests.formats.test_corpus_manifest import example
from tests.formats.test_dedup_labels import FILE
from tests.formats.test_ngram_index import document

IS_JSON = True
WORDS = (b"\n", b'{"what": "a.example"}', b"example.org", b"*.co.uk", b"https://example.org/a/", b"xn--", b"CPSQUAL\0")
SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False)])
_SHARD = {"id": 0, "name": "part-00000.parquet", "rows": 3, "bytes": 9, "sha256": "ab" * 32}


def _indented(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _rewritten(data: bytes, form: Callable[[Any], bytes]) -> bytes:
    """The JSON in the one form that its reader takes; what is none, or has no such form, as it is."""
    try:
        return form(json.loads(data))
    except (ValueError, TypeError, RecursionError):
        return data


def _with_digest(value: Any) -> bytes:
    return _indented({**value, "sha256": canonical.digest(value)})


def _yank(data: bytes, folder: Path) -> None:
    str(yank.parse(data, folder)).encode()


def _labels(data: bytes, folder: Path) -> None:
    (folder / "labels.json").write_bytes(data)
    assert dedup_labels.read(folder / "labels.json").labels


def _block_model(data: bytes, folder: Path) -> None:
    found = block_model.from_bytes(_rewritten(data, lambda value: canonical.to_bytes(value) + b"\n"), folder)
    assert len(found.nodes) >= len(found.roots) > 0


def _index(data: bytes, folder: Path) -> None:
    (folder / ngram_index.NAME_ON_DISK).write_bytes(data)
    ngram_index.read(folder, durable.sha256_of(folder / ngram_index.NAME_ON_DISK))


def _dataset(data: bytes, folder: Path) -> None:
    (folder / dataset.MANIFEST).write_bytes(_rewritten(data, _with_digest))
    found = dataset.open_folder(folder, SCHEMA)
    assert found.rows >= 0
    assert len(found.digest) == 64
    assert all(Path(shard.path).parent == folder for shard in found.shards)


def _manifest(data: bytes, folder: Path) -> None:
    corpus_manifest.parse(_rewritten(data, _indented), folder)


def _seal(data: bytes, folder: Path) -> None:
    (folder / evidence.SEAL).write_bytes(data)
    for name in evidence.read_seal(folder):
        assert (folder / name).resolve().is_relative_to(folder.resolve())


READERS: dict[bytes, Callable[[bytes, Path], object]] = {
    b"yank": _yank,
    b"opt-outs": site_lists.opt_outs,
    b"block-list": site_lists.block_list,
    b"labels": _labels,
    b"block-model": _block_model,
    b"quality-model": quality_model.from_bytes,
    b"index": _index,
    b"dataset": _dataset,
    b"manifest": _manifest,
    b"seal": _seal,
}


def seeds() -> list[bytes]:
    mark = {"format": yank.FORMAT, "version": yank.VERSION, "of": "starter.v1", "manifest_sha256": "ab" * 32}
    data = {"format": "dataset", "version": dataset.VERSION, "identity": {"stage": "a"}, "notes": {"n": 1}}
    files = {"clusters.parquet": {"sha256": "ab" * 32, "bytes": 9}, "funnel.json": {"sha256": "cd" * 32, "bytes": 1}}
    texts: dict[bytes, Any] = {
        b"yank": {**mark, "reason": "another licence", "yanked_on": "2026-01-02"},
        b"labels": FILE,
        b"block-model": json.loads(GOLDEN),
        b"index": document(),
        b"dataset": {**data, "schema": dataset.schema_as_json(SCHEMA), "shards": [_SHARD]},
        b"manifest": example(),
        b"seal": {"format": "evidence", "version": evidence.VERSION, "files": files},
    }
    smallest = quality_model.QualityModel(np.zeros(1 << quality_model.MIN_BITS, np.int32), 3)
    lists = [
        b'opt-outs\n{"what": "a.example", "since": "2026-01-02", "why": "mail"}\n',
        b"block-list\nb.example\nhttps://c.example/d/\n*.e.example\n",
    ]
    return [
        *lists,
        b"quality-model\n" + quality_model.to_bytes(smallest),
        *(b"%s\n%s" % (n, json.dumps(v).encode()) for n, v in texts.items()),
    ]


def run(data: bytes, folder: Path) -> None:
    name, _, content = data.partition(b"\n")
    if reader := READERS.get(name):
        reader(content, folder)

"""Golden corpus shards: python -m tests.golden.make_corpus_shard

`logical` is the SHA-256 of the rows themselves and must outlive any library. The other digests are those of the files
under the pinned pyarrow and change with it: a new pyarrow is a new stage identity, and this script is run again.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from formats import canonical, corpus_manifest, dataset, durable
from formats.corpus_shard import SCHEMA, Doc, read_shard, write_shards

GOLDEN = Path(__file__).with_name("corpus_shard.json")
WEB = {"license_spdx": "CC-BY-4.0", "lang": "en", "minhash_cluster": "web:10"}
DOCS = [
    Doc("web:2", "Tom has a red ball.", "web", {**WEB, "url": "https://example.org/a"}),
    Doc("web:10", "Tom has a red ball!", "web", {**WEB, "url": "https://example.org/b", "pii": {"email": 1}}),
    Doc("books:0", "Mia naps.", "books", {"url": "mia.txt#0", "license_spdx": "CC0-1.0"}),
]
SETTINGS: dict[str, Any] = {
    "dataset": "toy",
    "version": "v1",
    "shard_rows": 2,
    "val_permille": 300,
    "filters": {"lang": 1, "gopher": 0},
    "dedup": {"near_dropped": 2},
}


def logical_digest(folder: Path) -> str:
    """SHA-256 of columns and rows as canonical JSON: what is stored, however it is stored."""
    rows = []
    for entry in corpus_manifest.read(folder)["shards"]:
        for batch in read_shard(folder, entry):
            rows += [[v.hex() if isinstance(v, bytes) else v for v in row.values()] for row in batch.to_pylist()]
    return canonical.digest({"schema": dataset.schema_as_json(SCHEMA), "rows": rows})


def digests(folder: Path) -> dict[str, Any]:
    manifest = write_shards(DOCS, folder, **SETTINGS)
    return {
        "pyarrow": pa.__version__,
        "logical": logical_digest(folder),
        "shards": {shard["name"]: shard["sha256"] for shard in manifest["shards"]},
        "manifest": durable.sha256_of(folder / corpus_manifest.NAME_ON_DISK),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        GOLDEN.write_text(json.dumps(digests(Path(folder) / "toy"), indent=2) + "\n")

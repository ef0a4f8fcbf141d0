"""The manifest: exactly those keys, in that order, and a schema file that says the same as the code."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from formats import corpus_manifest
from formats.errors import ConfigError, CorruptDataError, SchemaMismatchError
from formats.parquet_file import Shard
from tests import faults

SCHEMA_FILE = Path(corpus_manifest.__file__).with_name("corpus_manifest.schema.json")
SPEC = Path(corpus_manifest.__file__).with_name("corpus_manifest.md")


def shards(*rows: int) -> list[Shard]:
    return [Shard(i, f"any/{corpus_manifest.shard_name(i, len(rows))}", n, 99, f"{i:064x}") for i, n in enumerate(rows)]


def example() -> dict[str, Any]:
    return corpus_manifest.build(
        shards(2, 1),
        dataset="toy",
        version="v1",
        filters={"lang": 3, "gopher": 0, "length": 1},
        dedup={"exact_dropped": 2},
        pii={"card": 4},
    )


def test_bytes_are_those_of_the_spec_page():
    worked = SPEC.read_text().split("```json\n")[1].split("```")[0]
    assert corpus_manifest.to_bytes(example()).decode() == worked


def test_keys_stand_in_the_order_of_the_contract():
    manifest = example()
    order = "dataset version n_docs n_shards shards filters dedup pii ledger_ref config_sha256"
    assert list(manifest) == order.split()
    assert list(manifest["shards"][0]) == ["name", "sha256", "rows"]
    assert list(manifest["filters"]) == ["lang", "gopher", "length"], "the caller's order"
    order = "exact_dropped near_dropped decontaminated jaccard_threshold num_perm bands ngram"
    assert list(manifest["dedup"]) == order.split()
    assert list(manifest["pii"]) == ["emails", "phones", "cards", "ips", "keys"]


def test_no_filters_are_an_empty_object():
    assert corpus_manifest.build(shards(0), dataset="toy", version="v1")["filters"] == {}


def test_what_is_written_is_read(tmp_path):
    corpus_manifest.write(tmp_path, example())
    assert corpus_manifest.read(tmp_path) == example()
    assert (tmp_path / "_MANIFEST.json").read_bytes() == corpus_manifest.to_bytes(example())


def test_schema_file_is_what_the_code_exports():
    assert json.loads(SCHEMA_FILE.read_text()) == corpus_manifest.json_schema()


def without(key: str) -> dict[str, Any]:
    return {k: v for k, v in example().items() if k != key}


def with_shard(i: int, **fields: Any) -> dict[str, Any]:
    listed = [{**shard, **fields} if n == i else shard for n, shard in enumerate(example()["shards"])]
    return {**example(), "shards": listed}


WRONG_SHAPE = {
    "a list": [],
    "null": None,
    "a key missing": without("pii"),
    "a key more": {**example(), "created_at": "2026-01-01"},
    "a count of dedup missing": {**example(), "dedup": {"exact_dropped": 0}},
    "a kind of pii more": {**example(), "pii": {**example()["pii"], "names": 1}},
    "no shards": {**example(), "shards": []},
    "shard without rows": {**example(), "shards": [{"name": "shard-00000-of-00001.parquet", "sha256": "0" * 64}]},
    "hash in capitals": with_shard(0, sha256="A" * 64),
    "hash too short": with_shard(0, sha256="0" * 63),
    "hash and a newline": with_shard(0, sha256="0" * 64 + "\n"),
    "negative rows": with_shard(0, rows=-2),
    "rows are true": with_shard(1, rows=True),
    "a path as name": with_shard(0, name="../shard-00000-of-00002.parquet"),
    "a filter's count is a ratio": {**example(), "filters": {"lang": 0.5}},
    "a filter's count is text": {**example(), "filters": {"lang": "3"}},
    "threshold above 1": {**example(), "dedup": {**example()["dedup"], "jaccard_threshold": 1.5}},
    "version with a dot": {**example(), "version": "1.0"},
    "config hash of a file name": {**example(), "config_sha256": "v1.yaml"},
}
CONTRADICTION = {
    "n_docs": {**example(), "n_docs": 4},
    "n_shards": {**example(), "n_shards": 3},
    "name": with_shard(1, name="shard-00000-of-00002.parquet"),
    "rows": {**with_shard(1, rows=0), "n_docs": 2},
    "shards": {**with_shard(1, rows=3), "n_docs": 5},
    "order of keys": dict(reversed(example().items())),
    "number": {**example(), "n_docs": 3.0},
}


@pytest.mark.parametrize("name", WRONG_SHAPE)
def test_wrong_shape_is_refused_by_code_and_schema_alike(tmp_path, name):
    with pytest.raises(SchemaMismatchError):
        corpus_manifest.write(tmp_path, WRONG_SHAPE[name])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(WRONG_SHAPE[name], corpus_manifest.json_schema())


def test_a_right_manifest_passes_the_schema():
    jsonschema.validate(example(), corpus_manifest.json_schema())


@pytest.mark.parametrize("name", CONTRADICTION)
def test_keys_that_contradict_each_other_are_refused_by_name(name):
    with pytest.raises(SchemaMismatchError, match=name):
        corpus_manifest.validate(CONTRADICTION[name])


def test_a_shard_in_the_middle_may_not_be_short():
    manifest = corpus_manifest.build(shards(2, 2, 1), dataset="toy", version="v1")
    manifest["shards"][1]["rows"], manifest["n_docs"] = 1, 4
    with pytest.raises(SchemaMismatchError, match=r"shards\[1\].rows"):
        corpus_manifest.validate(manifest)


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"pii": {"name": 1}}, "pii.name"),
        ({"pii": 3}, "pii"),
        ({"dataset": "a.b"}, "dataset"),
        ({"filters": 3}, "filters"),
    ],
)
def test_build_names_the_argument_that_is_wrong(bad, field):
    with pytest.raises(ConfigError, match=field):
        corpus_manifest.build(shards(1), **{"dataset": "toy", "version": "v1", **bad})


@pytest.mark.parametrize(("i", "n"), [(-1, 1), (1, 1), (0, 0)])
def test_a_shard_that_does_not_exist_has_no_name(i, n):
    with pytest.raises(ConfigError, match="does not exist"):
        corpus_manifest.shard_name(i, n)


BYTES = corpus_manifest.to_bytes(example())
REWRITTEN = {
    "one line": json.dumps(example()).encode(),
    "no newline at the end": BYTES[:-1],
    "CR LF": BYTES.replace(b"\n", b"\r\n"),
    "byte order mark": b"\xef\xbb\xbf" + BYTES,
    "a key twice": BYTES.replace(b'"version": "v1",', b'"version": "v2",\n  "version": "v1",'),
    "escaped letters": BYTES.replace(b"toy", b"t\\u006fy"),
    "UTF-16": BYTES.decode().encode("utf-16"),
    "not UTF-8": BYTES.replace(b"toy", b"t\xffy"),
    "nesting without end": b"[" * 100_000,
}


@pytest.mark.parametrize("name", [*REWRITTEN, *faults.every_change(BYTES)])
def test_other_bytes_are_refused(tmp_path, name):
    (tmp_path / "_MANIFEST.json").write_bytes({**REWRITTEN, **faults.every_change(BYTES)}[name])
    with pytest.raises(CorruptDataError, match=r"_MANIFEST\.json"):
        corpus_manifest.read(tmp_path)


def test_a_missing_manifest_is_named(tmp_path):
    with pytest.raises(CorruptDataError, match="missing"):
        corpus_manifest.read(tmp_path / "nowhere")

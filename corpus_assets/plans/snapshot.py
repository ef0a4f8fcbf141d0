"""A snapshot from packed sequences: plain files and a manifest, published by one rename under their content's name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from corpus_assets.kernels.arrow import string_buffers
from corpus_assets.plans import ngram_index
from corpus_assets.plans.audit_snapshot import damaged_files
from corpus_assets.plans.named_snapshot import last_id, lock_of
from corpus_assets.plans.token_build import TokenBuild
from corpus_assets.plans.token_shards import packed, tokenized
from corpus_assets.plans.work import being_made, library_version
from corpus_assets.stages import tokenize_documents
from formats import dataset, durable
from formats.dataset import Dataset
from formats.layout import Layout
from formats.naming import TokensKey
from formats.snapshot import manifest, manifest_rules, token_shard
from formats.snapshot.manifest import Snapshot, TokenShard

CODE_VERSION = "1"
"""Of the files that a snapshot consists of; what they hold comes from the stages."""


def make_snapshot(build: TokenBuild) -> Snapshot:
    """The snapshot of a token set, from the published version on: tokenize, pack and write."""
    tokenized(build).make()
    packed(build).make()
    return write_snapshot(build)


def write_snapshot(build: TokenBuild) -> Snapshot:
    """Write the snapshot of the packed sequences, and let the token set's lock name it. One that is there already and
    whole is left as it is; a damaged one is put right.

    Raises ConfigError where the sequences were not made yet, CorruptDataError where they are not what they were.
    """
    layout = build.layout
    sequences = packed(build).open()
    with being_made(layout.snapshots / str(build.key), layout.work("locks", "snapshot")) as temporary:
        shards = list(_write_shards(temporary, build, sequences))
        snapshot_id = manifest.write(temporary, _document(build, shards, sequences))
        final = manifest.folder_of(layout.root, snapshot_id)
        with durable.one_at_a_time(lock_of(layout, final)):
            durable.restore_folder(final)
            if not final.exists() or damaged_files(layout.root, snapshot_id):
                durable.swap_folder(temporary, final)
    durable.write_digest(layout.snapshot_lock(build.key), final.name)
    return manifest.read(layout.root, snapshot_id)


def last_snapshot(layout: Layout, key: TokensKey) -> Snapshot:
    """The snapshot that was made last of a token set. Raises ConfigError where none was made, CorruptDataError where it
    is not there.
    """
    return manifest.read(layout.root, last_id(layout, key))


def _write_shards(folder: Path, build: TokenBuild, sequences: Dataset) -> Iterator[TokenShard]:
    """A part of a bucket's hash range in which no document lies has no shard; the others are numbered on."""
    for (split, bucket), numbers in build.ranges.items():
        mine = [shard for shard in sequences.shards if shard.id in numbers]
        for number, shard in enumerate(mine):
            rows = pa.Table.from_batches(dataset.read_shard(shard, columns=sequences.schema.names), sequences.schema)
            offsets, data = (np.asarray(part) for part in string_buffers(rows["sequence"].combine_chunks()))
            ids = data[offsets[0] : offsets[-1]].view(build.loaded().dtype).reshape(-1, build.config.seq_len)
            yield token_shard.write(folder, split, bucket, number, ids, _index(rows))


def _index(rows: pa.Table) -> pa.Table:
    pieces = rows["pieces"].combine_chunks().flatten()
    columns = [pieces.field(name).cast(token_shard.INDEX.field(name).type) for name in token_shard.INDEX.names]
    return pa.Table.from_arrays(columns, schema=token_shard.INDEX)


def _document(build: TokenBuild, shards: list[TokenShard], sequences: Dataset) -> dict[str, Any]:
    loaded, config, key = build.loaded(), build.config, build.version.key
    return {
        "format": manifest_rules.FORMAT,
        "version": manifest_rules.VERSION,
        "dataset": key.dataset,
        "corpus_version": key.version,
        "tokens": config.tokens,
        "corpus_manifest_sha256": build.version.digest,
        "token_config_sha256": config.config_sha256,
        "tokenizer": {
            "sha256": config.tokenizer.sha256,
            "libraries": {name: library_version(name) for name in tokenize_documents.libraries(config.tokenizer.fast)},
        },
        "vocab_size": loaded.vocab_size,
        "eos_id": loaded.end,
        "pad_id": loaded.pad,
        "seq_len": config.seq_len,
        "dtype": loaded.dtype.str,
        "packing": config.packing,
        "stage_versions": {
            "corpus": dict(build.version.stage_versions),
            "tokenized": tokenized(build).identity.digest,
            "packed": packed(build).identity.digest,
            **ngram_index.pinned(build.version),
        },
        "counts": {**counts_of(sequences), "tokens_by_bucket": _tokens_by_bucket(shards)},
        "splits": manifest.columns_of(shards),
    }


def counts_of(sequences: Dataset) -> dict[str, Any]:
    """Documents, tokens, padding and cut documents of packed sequences; tokens by language and licence."""
    notes = sequences.notes
    whole = {name: notes.get(name, 0) for name in ("documents", "tokens", "padding", "cut_documents")}
    groups = {
        f"tokens_by_{name}": {
            key.removeprefix(f"{name}:"): count for key, count in notes.items() if key.startswith(f"{name}:")
        }
        for name in ("lang", "license")
    }
    return {**whole, **groups}


def _tokens_by_bucket(shards: list[TokenShard]) -> dict[str, int]:
    by_bucket: dict[str, int] = {}
    for shard in shards:
        by_bucket[shard.bucket] = by_bucket.get(shard.bucket, 0) + shard.tokens
    return by_bucket

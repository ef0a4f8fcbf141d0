"""What a snapshot is made of: a published version, a token set, and the tokenizer that it pins."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.published_version import PublishedVersion, open_published
from corpus_assets.plans.work import library_version
from corpus_assets.stages import fast_tokenizer, tokenize_documents
from corpus_assets.stages.loaded_tokenizer import LoadedTokenizer, load_tokenizer
from corpus_assets.stages.tokenizer_file import load_fast, load_file, require_library
from corpus_assets.validation import token_config as config_files
from formats import canonical, durable, evidence
from formats.errors import ConfigError, CorpusError
from formats.layout import Layout
from formats.naming import TokensKey
from formats.reasons import Reason
from formats.snapshot.manifest import SPLITS
from formats.token_config import TokenConfig
from resources.engines.contract import Engine

CHARS_PER_TOKEN = 4
"""Only decides into how many shards a bucket is cut."""

Ranges = dict[tuple[str, str], range]
"""(split, bucket) -> the numbers of its token shards."""


@dataclass(frozen=True)
class TokenBuild:
    """What a token set is made of, and the engine that makes it."""

    layout: Layout
    engine: Engine
    version: PublishedVersion
    config: TokenConfig

    @property
    def key(self) -> TokensKey:
        return self.config.key(self.version.key)

    @property
    def tokenizer(self) -> dict[str, Any]:
        """The arguments of `load_tokenizer`."""
        file = self.config.tokenizer
        return {
            "path": str(self.layout.root / file.path),
            "sha256": file.sha256,
            "end_of_document": self.config.end_of_document,
            "pad": self.config.pad,
            "fast": file.fast,
        }

    def loaded(self) -> LoadedTokenizer:
        return load_tokenizer(**self.tokenizer)

    def bucket_of(self, source: str) -> str:
        return self.config.bucket_of(source, self.version.rows[source].bucket)

    @cached_property
    def ranges(self) -> Ranges:
        """The shards of each bucket of each split, by the characters of its documents: known before tokenizing."""
        chars: Counter[tuple[str, str]] = Counter()
        for (split, source), length in _chars_kept(self.version).items():
            chars[split, self.bucket_of(source)] += length
        found, first = {}, 0
        for key in sorted({(split, self.bucket_of(source)) for split in SPLITS for source in self.version.rows}):
            size = max(1, -(-chars[key] // (CHARS_PER_TOKEN * self.config.shard_tokens)))
            found[key] = range(first, first + size)
            first += size
        return found

    def __str__(self) -> str:
        return str(self.key)


def open_build(layout: Layout, engine: Engine, key: TokensKey) -> TokenBuild:
    """The token set, once its settings fit its tokenizer and its version. Raises ConfigError, with the line of the
    setting, before any work; also for a version that is not published, and where the tokenizers library is missing.
    """
    config = load_checked(layout, key)
    version = open_published(layout, key.version)
    for bucket, sources in config.buckets.items():
        if strangers := sorted(set(sources) - set(version.rows)):
            place = config_files.place_of(layout.token_config(key), f"buckets.{bucket}")
            raise ConfigError(f"{place}: {', '.join(strangers)}: no source of {key.version}; leave it out")
    return TokenBuild(layout, engine, version, config)


def load_checked(layout: Layout, key: TokensKey) -> TokenConfig:
    """The config of a token set whose tokenizer is the pinned one and has the tokens named. Raises ConfigError."""
    require_library()
    path = layout.token_config(key)
    config = config_files.load(path, key)
    file = layout.root / config.tokenizer.path
    if not file.is_file():
        where = config_files.place_of(path, "tokenizer")
        raise ConfigError(f"{where}: {file} is {durable.instead_of_a_file(file)}; put it there, or correct its path")
    try:
        library, _ = load_file(str(file), config.tokenizer.sha256)
    except CorpusError as error:
        raise ConfigError(f"{config_files.place_of(path, 'tokenizer')}: {error}") from None
    for field in ("end_of_document", "pad"):
        name = getattr(config, field)
        if name is not None and library.token_to_id(name) is None:
            raise ConfigError(
                f"{config_files.place_of(path, field)}: {Path(config.tokenizer.path).name} has no token {name!r}; "
                "name one that it has"
            )
    if config.tokenizer.fast:
        try:
            _prove_fast(layout, config)
        except ConfigError as error:
            raise ConfigError(f"{config_files.place_of(path, 'tokenizer.fast')}: {error}") from None
    return config


def _prove_fast(layout: Layout, config: TokenConfig) -> None:
    """Hold fastokens to the library's ids, once for a tokenizer file and the versions of both. Raises ConfigError that
    names the first text in which they differ.
    """
    file = str(layout.root / config.tokenizer.path), config.tokenizer.sha256
    fast, (library, _) = load_fast(*file), load_file(*file)
    versions = {name: library_version(name) for name in tokenize_documents.libraries(fast=True)}
    proven = {"tokenizer": config.tokenizer.sha256, "libraries": versions, "proof": fast_tokenizer.PROOF_VERSION}
    proof = layout.work("fast_tokenizer", canonical.digest(proven)) / "proof.json"
    if proof.exists():
        return
    added = [token.content for token in library.get_added_tokens_decoder().values()]
    if differs := fast_tokenizer.difference(library, fast, added):
        raise ConfigError(f"fastokens gives other ids than the tokenizers library: {differs}; take `fast` out")
    durable.write_file(proof, canonical.to_bytes(proven) + b"\n")


def _chars_kept(version: PublishedVersion) -> Counter[tuple[str, str]]:
    """(split, source) -> characters of its published documents."""
    chars: Counter[tuple[str, str]] = Counter()
    for batch in evidence.read(version.evidence, "documents", columns=["source_id", "verdict", "split", "n_chars"]):
        kept = pa.Table.from_batches([batch.filter(pc.equal(batch["verdict"], Reason.KEPT.value))])
        sums = kept.group_by(["split", "source_id"]).aggregate([("n_chars", "sum")])
        for row in sums.to_pylist():
            chars[row["split"], row["source_id"]] += row["n_chars_sum"]
    return chars

"""From published shards to a snapshot: read, tokenize, order, pack, write; beside the tokenizer libraries alone.

The tokenizer is a byte-level BPE of 16,000 tokens with Llama 3's pattern, trained on the documents themselves. Peers
encode the same texts in batches, keep the ids as uint32, and read or write nothing. Shares are taken round by round,
one after the other in one process and each first in turn, so that another program on the machine slows both.
"""

import hashlib
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from corpus_assets.plans.published_version import PublishedVersion
from corpus_assets.plans.snapshot import make_snapshot
from corpus_assets.plans.token_build import Ranges, TokenBuild
from corpus_assets.stages import exact_cuts, fast_tokenizer
from corpus_assets.stages.loaded_tokenizer import load_tokenizer
from formats import corpus_config, corpus_shard, ledger, token_config
from formats.corpus_config import CorpusConfig
from formats.layout import Layout
from formats.naming import VersionKey
from resources.engines.local import LocalEngine
from tests.bench.documents import Corpus, megabytes
from tests.bench.measure import Case, Prepared, Row, cpu_of, run_cases

BENCH = "bench_tokens"
SHARE, FAST = 0.95, 30.0
END, VOCAB_SIZE, SEQ_LEN, BATCH = "<|end|>", 16_000, 2048, 256
KEY = VersionKey("bench", "v1")
ROUNDS = 7


class Build(TokenBuild):
    """Over shards that were written as they stand, without the evidence of a pipeline: one bucket, one shard."""

    @cached_property
    def ranges(self) -> Ranges:
        return {("train", "bench"): range(1), ("val", "bench"): range(1, 2)}


class Version(PublishedVersion):
    """The version that those shards are."""

    def config(self) -> CorpusConfig:
        settings = {"sources": ["bench"], "licenses": {"allow": ["CC0-1.0"]}}
        return corpus_config.from_document({"dataset": KEY.dataset, "version": KEY.version, **settings})


def tokenizer_file(corpus: Corpus) -> Path:
    """Trained once for all cases."""
    path = corpus.scratch / "tokenizer.json"
    if path.exists():
        return path
    tokenizer = Tokenizer(models.BPE())
    pattern = next(one for one in exact_cuts.KNOWN_PATTERNS if r"\p{N}{1,3}" in one)
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus.texts(corpus.sizes.peer), trainer)
    path.write_text(tokenizer.to_str(), "utf-8")
    return path


def config_of(path: Path, fast: bool) -> token_config.TokenConfig:
    file = {
        "path": str(path),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        **({"fast": True} if fast else {}),
    }
    document = {"tokens": "t", "tokenizer": file, "end_of_document": END, "seq_len": SEQ_LEN}
    return token_config.from_document(document)


def published(corpus: Corpus) -> Path:
    """A root whose version bench.v1 holds the documents, written once."""
    root = corpus.scratch / "published"
    out = Layout(root).version(KEY)
    if not out.exists():
        meta = {"url": "https://bench.example/", "license_spdx": "CC0-1.0", "lang": "en"}
        docs = [corpus_shard.Doc(f"bench:{i}", text, "bench", meta) for i, text in enumerate(corpus.texts())]
        out.parent.mkdir(parents=True, exist_ok=True)
        corpus_shard.write_shards(docs, out, dataset=KEY.dataset, version=KEY.version, shard_rows=1000)
    return root


def build_of(corpus: Corpus, fast: bool) -> TokenBuild:
    root = published(corpus)
    row = {
        "source_id": "bench", "title": "bench", "kind": "jsonl", "license_spdx": "CC0-1.0", "license_evidence": "none",
        "files": [{"url": "none", "sha256": "0" * 64, "bytes": 1}], "attribution": "none", "retrieved": "2026-01-01",
        "bucket": "bench", "profile": "prose",
    }  # fmt: skip
    layout = Layout(root)
    manifest = corpus_shard.corpus_manifest.read(layout.version(KEY))
    version = Version(layout, KEY, "0" * 64, manifest, {}, {}, {}, {"bench": ledger.from_json(row)})
    made = Layout(Path(tempfile.mkdtemp(prefix="tokens-", dir=corpus.scratch)))
    engine = LocalEngine(scratch=made.root / "scratch", workers=1)
    return Build(made, engine, version, config_of(tokenizer_file(corpus), fast))


def whole(corpus: Corpus, *, fast: bool) -> Prepared:
    """Shards to a snapshot, into a new root each round."""
    load_tokenizer(**build_of(corpus, fast).tokenizer)
    return Prepared(lambda: make_snapshot(build_of(corpus, fast)), megabytes(corpus.text()))


def library_alone(corpus: Corpus) -> Prepared:
    """encode_batch_fast over batches, its ids as uint32; the library as it loads the file, with its own cache."""
    library, texts = Tokenizer.from_file(str(tokenizer_file(corpus))), corpus.texts()
    library.encode_special_tokens = True
    os.environ["TOKENIZERS_PARALLELISM"] = "false"

    def work() -> int:
        num_ids = 0
        for at in range(0, len(texts), BATCH):
            encoded = library.encode_batch_fast(texts[at : at + BATCH], add_special_tokens=False)
            num_ids += sum(np.array(one.ids, np.uint32).size for one in encoded)
        return num_ids

    return Prepared(work, megabytes(corpus.text()))


def fastokens_alone(corpus: Corpus) -> Prepared:
    """encode_batch_flat over batches."""
    fast, texts = load_tokenizer(**build_of(corpus, True).tokenizer).fast, corpus.texts()

    def work() -> int:
        batches = (texts[at : at + BATCH] for at in range(0, len(texts), BATCH))
        return sum(fast_tokenizer.encode(fast, batch)[0].size for batch in batches)

    return Prepared(work, megabytes(corpus.text()))


CASES = {
    "tokens: shards to a snapshot, tokenizers": Case(partial(whole, fast=False)),
    "tokenizers": Case(library_alone, peer_of="tokens: shards to a snapshot, tokenizers"),
    "tokens: shards to a snapshot, fastokens": Case(partial(whole, fast=True), FAST),
    "fastokens": Case(fastokens_alone, peer_of="tokens: shards to a snapshot, fastokens"),
}


def rows(corpus: Corpus) -> Iterator[Row]:
    yield from run_cases(BENCH, CASES, corpus)
    yield share("tokens: share of the bare library's speed", whole(corpus, fast=False), library_alone(corpus))


def share(name: str, ours: Prepared, peer: Prepared) -> Row:
    """Ours against the peer's, round by round."""
    works: tuple[Callable[[], object], ...] = (peer.work, ours.work)
    rounds = []
    for number in range(ROUNDS):
        first = number % 2
        took = {first: cpu_of(works[first]), 1 - first: cpu_of(works[1 - first])}
        rounds.append(took[0] / took[1])
    return Row(
        BENCH, name, "of it", tuple(rounds), SHARE, note=f"median of {len(rounds)}: {statistics.median(rounds):.3f}"
    )

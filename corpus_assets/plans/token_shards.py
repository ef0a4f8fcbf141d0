"""From the shards of a published version to packed sequences: tokenize, order by hash, pack. Keyed by token set."""

from pathlib import Path

from corpus_assets.plans.published_version import PublishedVersion
from corpus_assets.plans.token_build import TokenBuild
from corpus_assets.plans.work import Output, identity
from corpus_assets.stages import pack_tokens, tokenize_documents
from corpus_assets.stages.pack_tokens import PACKED
from corpus_assets.stages.tokenize_documents import CORPUS_ROWS, TOKENIZED
from formats import durable
from formats.dataset import Dataset
from formats.errors import CorruptDataError
from formats.parquet_file import Shard
from formats.snapshot.manifest import SPLITS
from resources.engines.contract import Dest, Task

_STAGES = "corpus_assets.stages"
_WRITER = "formats.dataset:write_plain_shard"


def tokenized(build: TokenBuild) -> Output:
    """TOKENIZED: the ids of every document. A corpus shard is tokenized once for all lengths and packings."""
    source = corpus_rows(build.version)
    shards = {
        f"{split}/{source}": [mine.start, len(mine)]
        for split in SPLITS
        for source in sorted(build.version.rows)
        for mine in [build.ranges[split, build.bucket_of(source)]]
    }
    settings = {"shards": shards, "seed": build.config.seed}
    fast = build.config.tokenizer.fast
    named = {name: value for name, value in build.tokenizer.items() if name not in ("path", "fast")}
    named |= {"fast": True} if fast else {}
    ident = identity(
        "tokenized",
        tokenize_documents.CODE_VERSION,
        settings={**settings, "tokenizer": named},
        inputs={"corpus": source.digest},
        libraries=tokenize_documents.libraries(fast),
    )

    def make(folder: Path) -> Dataset:
        task = Task(f"{_STAGES}.tokenize_documents:tokenize_documents", {**settings, "tokenizer": build.tokenizer})
        return build.engine.map_batches(source, task, Dest(folder, TOKENIZED, writer=_WRITER))

    return Output(build.layout, ident, TOKENIZED, make, str(build))


def packed(build: TokenBuild) -> Output:
    """PACKED: the sequences of every token shard; the shard's number is its place in `build.ranges`."""
    source = tokenized(build).open()
    loaded = build.loaded()
    settings = {
        "seq_len": build.config.seq_len,
        "packing": build.config.packing,
        "dtype": loaded.dtype.str,
        "pad": loaded.pad,
    }
    ident = identity(
        "packed",
        pack_tokens.CODE_VERSION,
        settings=settings,
        inputs={"tokenized": source.digest},
        libraries=pack_tokens.LIBRARIES,
    )

    def make(folder: Path) -> Dataset:
        task = Task(f"{_STAGES}.pack_tokens:pack_shard", settings)
        dest = Dest(folder, PACKED, writer=_WRITER)
        return build.engine.sort_reduce(source, task, dest, bucket="token_shard", keys=("order", "id"))

    return Output(build.layout, ident, PACKED, make, str(build))


def corpus_rows(version: PublishedVersion) -> Dataset:
    """The published shards as a dataset. Raises CorruptDataError for one that is missing."""
    shards = []
    for number, entry in enumerate(version.manifest["shards"]):
        path = version.folder / entry["name"]
        if not path.is_file():
            expected, todo = f"sha256 {entry['sha256']}", f"`corpus build {version.key}` makes it again"
            raise CorruptDataError(path, "file", expected, durable.instead_of_a_file(path), todo)
        shards.append(Shard(number, str(path), entry["rows"], path.stat().st_size, entry["sha256"]))
    return Dataset(CORPUS_ROWS, tuple(shards))

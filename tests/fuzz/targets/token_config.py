"""A token set's config: YAML and its settings."""

from pathlib import Path

from corpus_assets.validation import token_config
from formats.naming import TokensKey, VersionKey
from tests.fuzz.targets import corpus_config

KEY = TokensKey(VersionKey("starter", "v1"), "t8")
WORDS = corpus_config.WORDS
_LEAST = b"""tokens: t8
tokenizer: {path: tokenizers/t.json, sha256: %s}
end_of_document: <|end|>
seq_len: 4_096
""" % (b"ab" * 32)
_MORE = b"""pad: "<|pad|>"
packing: best_fit
seed: 7
shard_tokens: 1_000_000
buckets:
  all: [web, books]
  code: [snippets]
"""


def seeds() -> list[bytes]:
    return [_LEAST, _LEAST + _MORE, _LEAST.replace(b"}", b", fast: true}")]


def run(data: bytes, folder: Path) -> None:
    path = folder / "v1.t8.yaml"
    path.write_bytes(data)
    config = token_config.load(path, KEY)
    assert len(config.config_sha256) == 64
    assert config.bucket_of("web", "own")

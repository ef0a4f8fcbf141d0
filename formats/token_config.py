"""Token config: how a corpus version becomes a snapshot: tokenizer, sequence length, packing. Spec: token_config.md.

One file a token set, `configs/<dataset>/<version>.<tokens>.yaml`: another one never touches the corpus.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from formats import config_document
from formats.config_document import Config
from formats.json_fields import Choice, Flag, Kind, OrNull, Problem, SetOf, Text, Whole, first_problems
from formats.json_kinds import HEX_SHA256, PATH, name_of
from formats.json_tables import Rules, table
from formats.json_words import described
from formats.naming import TokensKey, VersionKey

PACKINGS = ("concat", "best_fit")
_TOKEN = Text(r"[^\x00-\x1f\x7f]+", "a token of the tokenizer", max_length=200)


class Buckets(Kind):
    """An object: bucket -> the sources in it."""

    _name, _sources = name_of("bucket"), SetOf(name_of("source"), min_items=1)

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield path, f"expected an object of lists of sources, found {described(value)}"
            return
        bucket_of: dict[str, str] = {}
        for bucket, sources in value.items():
            yield from self._name.problems(bucket, path)
            yield from (found := list(self._sources.problems(sources, f"{path}.{bucket}")))
            for source in () if found else sources:
                if source in bucket_of:
                    yield f"{path}.{bucket}", f"{source} is in {bucket_of[source]} already; leave it out of one"
                bucket_of.setdefault(source, bucket)

    def build(self, value: Any) -> dict[str, tuple[str, ...]]:
        return {bucket: self._sources.build(sources) for bucket, sources in sorted(value.items())}

    def dump(self, value: Any) -> dict[str, list[str]]:
        return {bucket: list(sources) for bucket, sources in value.items()}

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "propertyNames": self._name.schema(), "additionalProperties": self._sources.schema()}


@dataclass(frozen=True)
class TokenizerFile(Rules):
    """A `tokenizer.json` of the tokenizers library; `path` is absolute or relative to the artifacts root. With `fast`
    fastokens encodes, once it is proven to give the same ids.
    """

    path: Annotated[str, PATH]
    sha256: Annotated[str, HEX_SHA256]
    fast: Annotated[bool, Flag()] = False


@dataclass(frozen=True)
class TokenConfig(Config):
    """Everything that decides what a snapshot of a corpus version holds.

    Sources that `buckets` does not name are in the bucket of their ledger row. `pad` is the token of padding, null for
    that of `end_of_document`. A shard holds about `shard_tokens` tokens.
    """

    tokens: Annotated[str, name_of("tokens")]
    tokenizer: TokenizerFile
    end_of_document: Annotated[str, _TOKEN]
    seq_len: Annotated[int, Whole(1, 2**24)]
    packing: Annotated[str, Choice(PACKINGS)] = "concat"
    pad: Annotated[str | None, OrNull(_TOKEN)] = None
    seed: Annotated[int, Whole(0, 2**53 - 1)] = 0
    shard_tokens: Annotated[int, Whole(1, 2**32)] = 2**26
    buckets: Annotated[dict[str, tuple[str, ...]], Buckets()] = field(default_factory=dict)

    def bucket_of(self, source: str, ledger_bucket: str) -> str:
        """The mixture bucket of a source."""
        return next((bucket for bucket, sources in self.buckets.items() if source in sources), ledger_bucket)

    def key(self, version: VersionKey) -> TokensKey:
        return TokensKey(version, self.tokens)


def problems(document: Any) -> list[Problem]:
    """Every setting that is wrong in a parsed document, or the first MAX_PROBLEMS."""
    return first_problems(table(TokenConfig), document)


def from_document(document: Any) -> TokenConfig:
    return config_document.from_document(table(TokenConfig), document)

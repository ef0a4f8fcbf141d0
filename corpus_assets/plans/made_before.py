"""Which stage outputs lie in `corpus/work` for a source under any identity: what was made of other inputs, settings or
code than those of now. An identity names its inputs by their digests, so outputs are followed from the source on.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from formats import canonical, dataset
from formats.layout import Layout

_FROM = {"doc_signals": "documents", "filtered_docs": "doc_signals", "minhash_signatures": "documents"}
_FROM |= {"scrubbed_docs": "documents"}
"""Stage -> the stage whose output it is looked up by."""


@dataclass
class MadeBefore:
    """Reads each stage's manifests once, when it is first asked for."""

    layout: Layout

    def __post_init__(self) -> None:
        self._read: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        self._known: dict[tuple[str, str], frozenset[str]] = {}

    def of_source(self, stage: str, source: str) -> bool:
        """Whether any output of the stage was made of this source."""
        return bool(self._digests(stage, source))

    def of_sources(self, sources: Sequence[str]) -> bool:
        """Whether any clusters were made of exactly these sources."""
        return frozenset(sources) in self._clustered

    @cached_property
    def _clustered(self) -> set[frozenset[str]]:
        ranked = {digest: self._sources_of(identity) for digest, identity in self._outputs("keeper_ranks")}
        clusters = (identity["inputs"].get("keeper_ranks", "") for _, identity in self._outputs("dedup_clusters"))
        return {ranked[digest] for digest in clusters if digest in ranked}

    @staticmethod
    def _sources_of(identity: dict[str, Any]) -> frozenset[str]:
        return frozenset(name.partition(" ")[2] for name in identity["inputs"])

    def _digests(self, stage: str, source: str) -> frozenset[str]:
        if (key := (stage, source)) not in self._known:
            if stage == "documents":
                found = (one for one, made in self._outputs(stage) if made["settings"].get("source_id") == source)
            else:
                before = self._digests(_FROM[stage], source)
                found = (one for one, made in self._outputs(stage) if made["inputs"].get(_FROM[stage]) in before)
            self._known[key] = frozenset(found)
        return self._known[key]

    def _outputs(self, stage: str) -> list[tuple[str, dict[str, Any]]]:
        """(digest of the output, its identity) of all that lies there; what cannot be read is left out."""
        if stage not in self._read:
            self._read[stage] = list(self._manifests(stage))
        return self._read[stage]

    def _manifests(self, stage: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for path in self.layout.work(stage, "").glob(f"*/{dataset.MANIFEST}"):
            with suppress(OSError, ValueError, KeyError, TypeError):
                manifest = json.loads(path.read_bytes())
                shards = [[shard["id"], shard["rows"], shard["sha256"]] for shard in manifest["shards"]]
                yield canonical.digest({"schema": manifest["schema"], "shards": shards}), manifest["identity"]

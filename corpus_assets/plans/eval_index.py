"""The index of protected items that a version is decontaminated against, made once for the same eval sets."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corpus_assets.kernels.ngram_match import EvalIndex
from corpus_assets.plans.pinned import Build, Version, once_a_build
from corpus_assets.plans.work import identity
from corpus_assets.stages import decontaminate, eval_items
from corpus_assets.stages.eval_items import EvalCounts, EvalText
from formats import canonical, durable
from formats.corpus_config import DecontaminationRules, EvalSet
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout


@dataclass(frozen=True)
class StoredIndex:
    """Where the index lies; `digest` names what it protects."""

    path: Path
    digest: str


def eval_set_path(layout: Layout, eval_set: EvalSet) -> Path:
    """Where the eval set lies: its path as written, or relative to the artifacts root."""
    return layout.root / eval_set.path


def check_eval_set(layout: Layout, eval_set: EvalSet) -> Path:
    """The file of an eval set, once it has the SHA-256 of the config. Raises ConfigError or CorruptDataError."""
    path = eval_set_path(layout, eval_set)
    if not path.is_file():
        raise ConfigError(f"{path}: eval set {eval_set.name} is missing; put it there or mend its path in the config")
    if (found := durable.sha256_of(path)) != eval_set.sha256:
        todo = "restore the file, or make a new version with the new digest"
        raise CorruptDataError(path, "sha256", eval_set.sha256, found, todo)
    return path


@once_a_build
def eval_index(build: Build, version: Version) -> StoredIndex:
    """The stored index of the version's eval sets; made when it is not there yet."""
    rules = version.config.decontaminate
    ident = identity(
        "eval_index",
        f"{eval_items.CODE_VERSION}.{decontaminate.CODE_VERSION}",
        settings={
            "ngram": rules.ngram,
            "min_item_words": rules.min_item_words,
            "exempt": list(rules.exempt),
            "fields": {one.name: [one.format, *one.fields] for one in rules.eval_sets},
        },
        inputs={one.name: one.sha256 for one in rules.eval_sets},
        libraries=eval_items.LIBRARIES,
    )
    path = build.layout.work("eval_index", f"{ident.digest}.index")
    if not path.exists():
        index, counts = build_index(build.layout, rules)
        durable.write_file(_counts_path(path), canonical.to_bytes([asdict(one) for one in counts]))
        durable.write_file(path, index.to_bytes())
    return StoredIndex(path, EvalIndex.from_bytes(path.read_bytes(), path).digest)


def build_index(layout: Layout, rules: DecontaminationRules) -> tuple[EvalIndex, tuple[EvalCounts, ...]]:
    """The index of the eval sets as they lie on disk, each with the digest of the config; counts by set."""
    texts: list[EvalText] = []
    for eval_set in rules.eval_sets:
        path = check_eval_set(layout, eval_set)
        with open(path, "rb") as stream:
            texts.extend(eval_items.read_texts(eval_set, stream, str(path)))
    return eval_items.build_index(texts, rules)


def eval_counts(index: StoredIndex) -> list[dict[str, Any]]:
    """What became of each eval set's texts: exempt, too short to protect, matched whole, cut into n-grams."""
    return json.loads(_counts_path(index.path).read_bytes())


def _counts_path(path: Path) -> Path:
    return path.with_suffix(".counts.json")

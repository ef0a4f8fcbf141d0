"""The token snapshots of a published version, for its datasheet: what their manifests count, nothing estimated."""

from collections.abc import Mapping
from dataclasses import dataclass

from corpus_assets.plans.named_snapshot import last_id
from corpus_assets.plans.published_version import PublishedVersion
from formats.naming import TokensKey
from formats.snapshot import manifest

NO_SNAPSHOT = (
    "Tokens are not told: no token snapshot of this version was here when this page was made, and how many tokens a "
    "text has depends on a tokenizer. Once `corpus tokenize` has made one, materialize `datasheet` again."
)


@dataclass(frozen=True)
class TokenFigures:
    """What was made last of one token set; end-of-document tokens count, padding does not."""

    name: str
    snapshot_id: str
    seq_len: int
    documents: int
    tokens: int
    by_license: Mapping[str, int]
    by_bucket: Mapping[str, int]


def of_version(version: PublishedVersion) -> list[TokenFigures]:
    """By the token sets' names. A snapshot of another build of the version, or one that is not here, is left out.

    Raises CorruptDataError for a lock or manifest that is not what it was.
    """
    layout, found = version.layout, []
    for lock in sorted(layout.snapshots.glob(f"{version.key}.*.lock")):
        snapshot_id = last_id(layout, TokensKey.parse(lock.name.removesuffix(".lock")))
        if not manifest.folder_of(layout.root, snapshot_id).is_dir():
            continue
        made = manifest.read(layout.root, snapshot_id)
        if made.document["corpus_manifest_sha256"] != version.digest:
            continue
        counts = made.document["counts"]
        found.append(
            TokenFigures(
                made.document["tokens"],
                snapshot_id,
                made.seq_len,
                counts["documents"],
                counts["tokens"],
                counts["tokens_by_license"],
                counts["tokens_by_bucket"],
            )
        )
    return found

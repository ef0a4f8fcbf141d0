"""How far token sets are: the snapshot that was made last of each, from the files on disk."""

from dataclasses import dataclass

from corpus_assets.plans.audit_snapshot import all_shards
from corpus_assets.plans.named_snapshot import last_id
from corpus_assets.plans.standing import State
from corpus_assets.validation import token_config as config_files
from formats import durable
from formats.errors import ConfigError, CorpusError
from formats.layout import Layout
from formats.naming import TokensKey
from formats.snapshot import manifest


@dataclass(frozen=True)
class TokenStanding:
    """`snapshot_id` is that of the token set's lock, None where none was made."""

    key: TokensKey
    state: State
    snapshot_id: str | None = None
    why: str = ""


def of_tokens(layout: Layout, key: TokensKey) -> TokenStanding:
    """Whether the token set has a snapshot of the version that is published and of the config as it is now."""
    try:
        config = config_files.load(layout.token_config(key), key)
    except ConfigError as error:
        return TokenStanding(key, State.REFUSED, None, str(error))
    if not layout.snapshot_lock(key).exists():
        return TokenStanding(key, State.MISSING)
    snapshot_id = None
    try:
        snapshot_id = last_id(layout, key)
        if not manifest.folder_of(layout.root, snapshot_id).is_dir():
            return TokenStanding(key, State.MISSING, snapshot_id, "its folder is not here")
        made = manifest.read(layout.root, snapshot_id)
        corpus = durable.read_lock(layout.lock(key.version)) if layout.lock(key.version).exists() else None
    except CorpusError as error:
        return TokenStanding(key, State.DAMAGED, snapshot_id, str(error))
    lost = [
        name for one in all_shards(made) for name in (one.name, one.index_name) if not (made.folder / name).is_file()
    ]
    if lost:
        return TokenStanding(key, State.DAMAGED, snapshot_id, f"{made.folder / lost[0]} is missing")
    if made.document["token_config_sha256"] != config.config_sha256:
        return TokenStanding(key, State.STALE, snapshot_id, "made of another config than that of now")
    if corpus is not None and made.document["corpus_manifest_sha256"] != corpus:
        return TokenStanding(key, State.STALE, snapshot_id, "made of another build of its version")
    return TokenStanding(key, State.DONE, snapshot_id)

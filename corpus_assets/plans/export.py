"""A snapshot in the form of another trainer: a folder, written whole or not at all, from shards that were verified."""

import json
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corpus_assets.plans import export_mds, export_megatron
from formats import durable
from formats.errors import ConfigError
from formats.snapshot.manifest import Snapshot, TokenShard
from formats.yank import Yank

ABOUT = "export.json"
Writer = Callable[[Snapshot, Sequence[TokenShard], Path], "export_megatron.Written"]
WRITERS: Mapping[str, Writer] = {"megatron": export_megatron.write, "mds": export_mds.write}


@dataclass(frozen=True)
class Exported:
    """One bucket of one split: where it lies below the folder, and what it holds."""

    split: str
    bucket: str
    path: str
    samples: int
    tokens: int


def export(
    snapshot: Snapshot, form: str, out: Path, splits: Sequence[str], yanked: Yank | None = None
) -> list[Exported]:
    """Write the buckets of these splits, each a data set of its own, so that the trainer mixes them by its own weights.
    Where the snapshot is `yanked`, the export says so for whoever gets it.

    Raises ConfigError where `out` is there already or in the store of snapshots, or the form cannot hold the tokens;
    CorruptDataError for shards that are not the manifest's.
    """
    with new_folder(out, snapshot.folder.parent, "the store of snapshots") as temporary:
        done = list(_written(snapshot, form, temporary, splits))
        about: dict[str, Any] = {
            "snapshot_id": snapshot.snapshot_id,
            "form": form,
            "buckets": [asdict(one) for one in done],
        }
        about |= {"yanked": asdict(yanked)} if yanked else {}
        durable.write_file(temporary / ABOUT, json.dumps(about, indent=2).encode() + b"\n")
    return done


@contextmanager
def new_folder(out: Path, store: Path, what: str) -> Iterator[Path]:
    """A folder to fill, which becomes `out` once all is in it, and is removed where that fails. Raises ConfigError
    where `out` is there already, or below `store`, which `what` calls by name.
    """
    if out.resolve().is_relative_to(store.resolve()):
        raise ConfigError(f"{out} is in {what}, {store.resolve()}, which holds nothing else; name another folder")
    if out.exists():
        raise ConfigError(f"{out} is there already, expected a new folder; name another, or remove it")
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.name}.{secrets.token_hex(4)}.tmp")
    temporary.mkdir()
    try:
        yield temporary
        temporary.rename(out)
        durable.fsync_folder(out.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _written(snapshot: Snapshot, form: str, folder: Path, splits: Sequence[str]) -> list[Exported]:
    done = []
    for split in splits:
        shards = snapshot.shards(split)
        for bucket in dict.fromkeys(shard.bucket for shard in shards):
            path = folder / split / bucket
            path.parent.mkdir(parents=True, exist_ok=True)
            written = WRITERS[form](snapshot, [shard for shard in shards if shard.bucket == bucket], path)
            done.append(Exported(split, bucket, f"{split}/{bucket}", written.samples, written.tokens))
    return done

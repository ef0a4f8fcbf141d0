"""Where everything lies under one artifacts root (design section 2). Paths only: nothing is read or written here."""

from dataclasses import dataclass
from pathlib import Path

from formats.naming import PairKey, TokensKey, VersionKey


@dataclass(frozen=True)
class Layout:
    """Paths below `root`; `cache` may be elsewhere and shared."""

    root: Path
    cache_folder: Path | None = None

    @property
    def corpus(self) -> Path:
        return self.root / "corpus"

    @property
    def ledger(self) -> Path:
        return self.corpus / "LEDGER.jsonl"

    @property
    def fetch_rules(self) -> Path:
        """How this machine fetches, where CORPUS_FETCH_RULES names no other file."""
        return self.corpus / "fetch.yaml"

    @property
    def configs(self) -> Path:
        return self.corpus / "configs"

    def config(self, key: VersionKey) -> Path:
        return self.configs / key.dataset / f"{key.version}.yaml"

    def token_config(self, key: TokensKey) -> Path:
        return self.configs / key.version.dataset / f"{key.version.version}.{key.tokens}.yaml"

    @property
    def cache(self) -> Path:
        return self.cache_folder or self.corpus / "cache"

    def raw_sets(self, source: str) -> Path:
        """The folder that holds a source's raw sets, `<yyyymmdd>` or `<yyyymmdd>-<8 hex>` each."""
        return self.corpus / "raw" / source

    def work(self, stage: str, identity: str) -> Path:
        """One stage output, named by its identity; deleting it costs time, never data."""
        return self.corpus / "work" / stage / identity

    def pinned_row(self, pair: PairKey) -> Path:
        """The ledger row as its version pins it, before the version is published."""
        return self.corpus / "work" / "ledger_entry" / f"{pair}.json"

    def version(self, key: VersionKey) -> Path:
        """Shards and `_MANIFEST.json`, and nothing else."""
        return self.corpus / key.dataset / key.version

    def evidence(self, key: VersionKey) -> Path:
        return self.corpus / key.dataset / f"{key.version}.evidence"

    def lock(self, key: VersionKey) -> Path:
        return self.corpus / key.dataset / f"{key.version}.lock"

    @property
    def snapshots(self) -> Path:
        """The folder of all snapshots, each named by its content."""
        return self.root / "snapshots"

    @property
    def models(self) -> Path:
        """Configs of models, `<name>.yaml`, and what was trained by them: a file named by its content, and a record."""
        return self.root / "models"

    def model_config(self, model: str) -> Path:
        return self.models / f"{model}.yaml"

    def model_record(self, model: str) -> Path:
        """What was trained last by the config of a model."""
        return self.models / f"{model}.json"

    def snapshot_lock(self, key: TokensKey) -> Path:
        """Which snapshot was made last of a token set: the hex digits of its id."""
        return self.snapshots / f"{key}.lock"

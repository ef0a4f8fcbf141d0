"""What lists say of a document: the entry for which its site was left out, and its listed words; from the evidence."""

from dataclasses import dataclass
from typing import Any

from corpus_assets.plans.evidence_lookup import rows_about
from corpus_assets.plans.published_version import PublishedVersion
from formats import evidence_schemas
from formats.errors import CorruptDataError
from formats.reasons import SITE_FILTERS

_TODO = "restore the evidence folder from a copy, or delete it and build the version again"


@dataclass(frozen=True)
class ListedSite:
    """The line of a list (from 1) that a document's URL falls under; opt-outs say since when and why."""

    list: str
    line: int
    what: str
    since: str | None
    why: str | None

    @property
    def words(self) -> str:
        asked = f", since {self.since}: {self.why}" if self.why else ""
        return f"{self.what} (list {self.list}, line {self.line:,}{asked})"


def listed_site(version: PublishedVersion, row: dict[str, Any]) -> ListedSite | None:
    """The entry for which a row of the documents table was dropped; None for another verdict. Raises CorruptDataError
    where the evidence has none.
    """
    if row["verdict"] not in SITE_FILTERS:
        return None
    for found in rows_about(version, "listed_sites", row["id"]):
        return ListedSite(**{name: found[name] for name in ("list", "line", "what", "since", "why")})
    raise CorruptDataError(version.evidence, f"listed site of {row['id']}", "a row", "none", _TODO)


@dataclass(frozen=True)
class ListedWords:
    """How many words of a document stand on a list of its language, and what the list allows."""

    list: str
    listed_words: int
    n_words: int
    listed_word_ratio: float
    max_ratio: float
    min_words: int
    too_many: bool

    @property
    def words(self) -> str:
        share = f"{self.listed_words:,} of {self.n_words:,} words ({self.listed_word_ratio:g}) are on list {self.list}"
        least = f" or fewer than {self.min_words:,} words" if self.min_words > 1 else ""
        return f"{share}, expected at most {self.max_ratio:g}{least}"


def words_on_lists(version: PublishedVersion, row: dict[str, Any]) -> list[ListedWords]:
    """What a row of the documents table shares with the version's word lists; those with too many first."""
    if not evidence_schemas.table_names("listed_words", version.sealed):
        return []
    limits = {one.name: one for one in version.config().words.lists}
    found = []
    for one in rows_about(version, "listed_words", row["id"]):
        limit = limits[one["list"]]
        del one["id"]
        one["listed_word_ratio"] /= 1_000_000
        found.append(ListedWords(**one, max_ratio=limit.max_ratio, min_words=limit.min_words))
    return sorted(found, key=lambda one: not one.too_many)


def cap_words(version: PublishedVersion, row: dict[str, Any]) -> str:
    """The domain to whose cap a row of the documents table fell. Raises CorruptDataError without one."""
    for found in rows_about(version, "capped_documents", row["id"]):
        return f"{found['domain']} (place {found['place']:,} of its draw)"
    raise CorruptDataError(version.evidence, f"capped document {row['id']}", "a row", "none", _TODO)

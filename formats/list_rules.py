"""The sections `sites` and `words` of a corpus config: lists of sites and of words whose documents are left out.

Spec: corpus_config.md; the files are site_lists.md and word_lists.md.
"""

from dataclasses import dataclass
from typing import Annotated

from formats.json_fields import Number, SetOf, Whole
from formats.json_kinds import HEX_SHA256, PATH, name_of
from formats.json_tables import Rules, table
from formats.languages import LANGUAGE_OR_ALL
from formats.reasons import SITE_FILTERS


@dataclass(frozen=True)
class SiteList(Rules):
    """A file that the version is bound to. `path` is absolute or relative to the artifacts root."""

    name: Annotated[str, name_of("list")]
    path: Annotated[str, PATH]
    sha256: Annotated[str, HEX_SHA256]


@dataclass(frozen=True)
class SiteRules(Rules):
    """Domains and URL prefixes whose documents are left out, by what is asked first. Formats: site_lists.md."""

    opt_out: Annotated[tuple[SiteList, ...], SetOf(table(SiteList), key="name")] = ()
    block: Annotated[tuple[SiteList, ...], SetOf(table(SiteList), key="name")] = ()

    @property
    def configured(self) -> tuple[str, ...]:
        """The filters that have a list, in the order in which they decide."""
        return tuple(
            name for name, lists in zip(SITE_FILTERS.values(), (self.opt_out, self.block), strict=True) if lists
        )


@dataclass(frozen=True)
class WordList(Rules):
    """A file of words and phrases for documents of one language, `*` for all. Too many is a share above `max_ratio` of
    a document's words, and at least `min_words` of them.
    """

    name: Annotated[str, name_of("list")]
    path: Annotated[str, PATH]
    sha256: Annotated[str, HEX_SHA256]
    lang: Annotated[str, LANGUAGE_OR_ALL]
    max_ratio: Annotated[float, Number(0, 1)]
    min_words: Annotated[int, Whole(1)] = 1

    @property
    def max_millionths(self) -> int:
        """The share as it decides: listed * 1_000_000 > max_millionths * words is too many."""
        return round(self.max_ratio * 1_000_000)


@dataclass(frozen=True)
class WordRules(Rules):
    """Word lists, each with its own limits. Format: word_lists.md."""

    lists: Annotated[tuple[WordList, ...], SetOf(table(WordList), key="name")] = ()

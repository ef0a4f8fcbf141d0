"""SPDX expressions as other catalogues name licences: the Hugging Face Hub by its own ids, Croissant by addresses."""

from collections.abc import Iterable

from corpus_assets.plans.datasheet_words import license_parts

OTHER = "other"
_HUB_IDS = """
afl-3.0 agpl-3.0 apache-2.0 artistic-2.0 bsd-2-clause bsd-3-clause bsd-3-clause-clear bsl-1.0 c-uda cc0-1.0
cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0
cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cdla-permissive-1.0
cdla-permissive-2.0 cdla-sharing-1.0 ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 gpl-2.0 gpl-3.0 isc
lgpl-2.1 lgpl-3.0 lppl-1.3c mit mpl-2.0 ms-pl ncsa odbl odc-by ofl-1.1 osl-3.0 pddl postgresql unlicense wtfpl zlib
"""
HUB_IDS = frozenset(_HUB_IDS.split())
"""Ids of the Hub's list of licences that mean one SPDX licence; its family names (`cc`, `gpl`) are not used."""
_RENAMED = {"odbl-1.0": "odbl", "odc-by-1.0": "odc-by", "pddl-1.0": "pddl"}
_OWN = ("LicenseRef-", "DocumentRef-")


def words_of(expression: str) -> list[str]:
    """The licences (and exceptions) that an SPDX expression names, each once, in their order."""
    found = [words for words, address in license_parts(expression) if address or words.strip(" ():").startswith(_OWN)]
    return list(dict.fromkeys(word.strip(" ():") for word in found))


def hub_ids(expressions: Iterable[str]) -> list[str]:
    """The Hub's ids of every licence that the expressions name, sorted; `other` where it has none."""
    return sorted({_hub_id(word) for expression in expressions for word in words_of(expression)})


def _hub_id(word: str) -> str:
    name = word.lower().removesuffix("+").removesuffix("-only").removesuffix("-or-later")
    name = _RENAMED.get(name, name)
    return name if name in HUB_IDS else OTHER


def addresses(expression: str) -> list[str]:
    """Per licence of an expression the address of its text on spdx.org; its name where it is not listed there."""
    known = {words: address for words, address in license_parts(expression) if address}
    return [known.get(word, word) for word in words_of(expression)]

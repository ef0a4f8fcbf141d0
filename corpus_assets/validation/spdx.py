"""SPDX licence expressions: is one well formed, and does a list of allowed licences cover it?

Ids are those of the `license-expression` library, which also maps deprecated ones (GPL-2.0 is GPL-2.0-only) and case.
A `LicenseRef-…` name is anyone's own, so it means nothing until a config names it, letter for letter.
"""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from license_expression import ExpressionError, build_spdx_licensing, get_license_index

from formats.errors import ConfigError
from formats.json_words import described

_OWN_NAME = re.compile(r"(?:DocumentRef-[A-Za-z0-9.-]+:)?LicenseRef-[A-Za-z0-9.-]+")
_NO_STATEMENT = {"NONE": "says that there is no licence", "NOASSERTION": "says that nothing is known"}
MAX_LENGTH = 10_000


@dataclass(frozen=True)
class Refusal:
    """Why an expression is not allowed: the licences that are missing, and a sentence."""

    missing: tuple[str, ...]
    reason: str


def check_expression(text: str) -> None:
    """Raises ConfigError where `text` is not an SPDX licence expression of known ids and LicenseRef- names."""
    _parse(text)


def check_allowed_item(text: str) -> None:
    """Raises ConfigError unless `text` is one licence: an id, `<id> WITH <exception>`, or a LicenseRef- name."""
    if len(_leaves(_parse(text))) != 1:
        raise ConfigError(f"{text!r} is more than one licence; list each by itself")


def normalized(text: str) -> str:
    """The expression with ids spelled as SPDX spells them."""
    return str(_parse(text).render())


def allowed(expression: str, allow: Iterable[str]) -> Refusal | None:
    """None when `allow` covers the expression: AND needs all of its parts, OR one, and `X WITH Y` exactly that form.
    Raises ConfigError where the expression, or an item of `allow`, is none.
    """
    return _allowed(expression, tuple(allow))


@lru_cache(maxsize=4096)
def _allowed(expression: str, allow: tuple[str, ...]) -> Refusal | None:
    known = frozenset(normalized(item) for item in allow)
    return _refusal(_parse(expression), known)


def _refusal(node: Any, allow: frozenset[str]) -> Refusal | None:
    text = node.render()
    if not node.args:
        return None if text in allow else Refusal((text,), f"{text} is not allowed")
    found = [_refusal(part, allow) for part in node.args]
    refused = [refusal for refusal in found if refusal]
    if not refused or (node.operator.strip() == "OR" and len(refused) < len(found)):
        return None
    missing = tuple(dict.fromkeys(licence for refusal in refused for licence in refusal.missing))
    if node.operator.strip() == "OR":
        return Refusal(missing, f"no alternative of {text} is allowed")
    return Refusal(missing, f"{text} needs every part, and {' and '.join(missing)} {_are(missing)} not allowed")


def _are(words: tuple[str, ...]) -> str:
    return "is" if len(words) == 1 else "are"


@cache
def _licensing() -> Any:
    # The library's index also knows LicenseRef- names, some as other names of SPDX ids (LicenseRef-MIT-Discord of MIT):
    # a row could be allowed under a licence that its config does not name.
    index = [
        {**entry, "other_spdx_license_keys": [key for key in entry["other_spdx_license_keys"] if not _own(key)]}
        for entry in get_license_index()
        if entry["spdx_license_key"] and not _own(entry["spdx_license_key"])
    ]
    return build_spdx_licensing(index)


def _own(key: str) -> bool:
    return key.startswith("LicenseRef-")


@lru_cache(maxsize=4096)
def _parse(text: str) -> Any:
    if len(text) > MAX_LENGTH:
        raise ConfigError(f"a licence expression of {len(text)} characters; at most {MAX_LENGTH}")
    licensing = _licensing()
    try:
        tree = licensing.parse(text, strict=True)
    except ExpressionError as error:
        raise ConfigError(f"{described(text)} is not an SPDX licence expression: {described(str(error))}") from None
    except (AssertionError, IndexError, RecursionError):  # what the library raises on some broken brackets
        raise ConfigError(f"{described(text)} is not an SPDX licence expression: it cannot be parsed") from None
    if tree is None:
        raise ConfigError("an SPDX licence expression is missing; write one such as CC-BY-4.0")
    for key in licensing.unknown_license_keys(tree):
        if not _OWN_NAME.fullmatch(key):
            raise ConfigError(f"{described(key)} in the licence {described(text)} is not an SPDX id{_hint(key)}")
    return tree


def _hint(key: str) -> str:
    if key.upper() in _NO_STATEMENT:
        return f"; {key.upper()} {_NO_STATEMENT[key.upper()]}, so nothing may be used under it"
    ids = {known.lower(): known for known in _licensing().known_symbols}
    if key.lower().startswith("licenseref-"):
        return "; a name of your own is LicenseRef- and then letters, digits, - and ."
    close = difflib.get_close_matches(key.lower()[:100], list(ids), n=1)
    own = "or, for a licence that SPDX does not list, name it LicenseRef-… in row and config"
    return f"; did you mean {ids[close[0]]}? {own}" if close else f"; see spdx.org/licenses, {own}"


def _leaves(node: Any) -> list[Any]:
    """The single licences of an expression; `X WITH Y` is one."""
    return [leaf for part in node.args for leaf in _leaves(part)] if node.args else [node]

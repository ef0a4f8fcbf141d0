"""Keys and values of a document in messages: cut to a readable length, without what is secret in them."""

import difflib
import re
from collections.abc import Mapping
from typing import Any

from formats import userinfo


def shown_key(key: object) -> str:
    """A key as it is named in messages: letter for letter where it can be printed and is no longer than a name."""
    text = str(key)
    return text if text.isprintable() and len(text) <= 100 else described(text)


def described(value: Any) -> str:
    """A value in a message: what it is, and its text cut to a readable length."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and abs(value) > 10**40:
        return "a number of more than 40 digits"
    text = ascii(_without_secrets(value[:1_000])[:101]) if isinstance(value, str) else repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"


def _without_secrets(text: str) -> str:
    """Without user, password and query of a URL that is in it: messages go to logs."""
    return re.sub(r"(://[^?\s]*\?)\S*", r"\1…", userinfo.mask_url(text))


def did_you_mean(word: object, words: Mapping[str, Any] | tuple[str, ...]) -> str:
    close = difflib.get_close_matches(str(word)[:100], list(words), n=1)
    return f"; did you mean {close[0]}?" if close else f" (there are: {', '.join(words)})"


def quote_hint(value: Any) -> str:
    return "; put it in quotes" if isinstance(value, int | float) else ""

"""User names and passwords in urls: found, masked in whatever is shown, and left out of what is published."""

import re
from urllib.parse import unquote

MASK = "***"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*:"
_NO_PORT = r"(?!\d{0,5}(?:[/?#\s'\")>,;]|$))"
_OF_URL = re.compile(rf"(\s*<?(?:{_SCHEME})?//)[^/?#]*@")
_BEGINS = re.compile(rf"{_SCHEME}//([^/?#]*)")
_WITH_SLASH = re.compile(rf"//[^/?#\s@:\[\]]+:{_NO_PORT}\S*@")
"""Secret keys of object stores hold slashes, so what a parser takes for the host and a port that is no number."""
_IN_TEXT = re.compile(r"//[^/?#\s]*@")
_BARE = re.compile(
    rf"(?<![^\s'\"(=<])(?!mailto:)(?:{_SCHEME}/)?[^\s:/?#@'\"()\[\]<>=]+:(?!//){_NO_PORT}[^\s@'\"]+@(?=[^\s'\"])"
)
"""`key:secret@bucket`, as drivers and paths repeat it."""


def is_in(url: str) -> bool:
    """Whether a url, right or not, names a user or holds a password."""
    found = _BEGINS.match(url)
    return found is not None and ("@" in unquote(found[1]) or _WITH_SLASH.search(url) is not None)


def without(url: str) -> str:
    """The url without user and password; every other byte of it as it is."""
    found = _OF_URL.match(url)
    return url if found is None else found[1] + url[found.end() :]


def mask(text: str) -> str:
    """A message with every user and password in it masked; rather too much than too little."""
    if "@" not in text:
        return text
    for form, instead in ((_WITH_SLASH, f"//{MASK}@"), (_IN_TEXT, f"//{MASK}@"), (_BARE, f"{MASK}@")):
        text = form.sub(instead, text)
    return text


def mask_url(url: str) -> str:
    """A text that is one url: also with white space in its password, or its @ written as %40."""
    if (found := _BEGINS.match(url)) and "@" not in found[1] and "@" in (host := unquote(found[1])):
        url = f"{url[: found.start(1)]}{MASK}@{host.rpartition('@')[2]}{url[found.end() :]}"
    if found := _OF_URL.match(url):
        url = f"{found[1]}{MASK}@{url[found.end() :]}"
    return mask(url)

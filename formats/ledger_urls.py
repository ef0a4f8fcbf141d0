"""The urls of the ledger: which are taken, what none may hold, and which of them are places on this machine."""

import os
import posixpath
import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from formats import secret_fields, userinfo

STORE_SCHEMES = ("s3", "gs", "gcs", "az", "abfs", "oss", "hf", "ftp", "sftp", "hdfs", "webhdfs", "memory")
"""Object stores and file servers, read by the fsspec driver of that name; `memory` is of one process."""
SCHEMES = ("http", "https", "file", *STORE_SCHEMES)
"""Schemes of a file's url; a url without one is a path."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
USER_IN_URL = "holds a user name or password, which would end up in the corpus; leave it out"


def wrong_url(url: str) -> str | None:
    """What is wrong with the url of a file; None where it is right."""
    if userinfo.is_in(url):
        return USER_IN_URL
    if "#" in url:
        return "has a #, which document urls need for the place in the file; write %23, or rename a local file"
    found = _SCHEME.match(url)
    if not found:
        if "://" in url:
            return "is neither a path nor a URL that begins with its scheme; write one of them"
        tidy = posixpath.normpath(url)
        if "\\" in url:
            return "has a backslash; write the path with /"
        return None if tidy == url else f"is not the shortest way to write this path; write {tidy}"
    if found[1] not in SCHEMES:
        return f"scheme {found[1]} is not one of {', '.join(SCHEMES)}"
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError where it is no number
    except ValueError:
        return "is not a URL: its host or port cannot be read"
    if found[1] == "file":
        absolute = parts.netloc == "" and parts.path.startswith("/")
        return None if absolute and "\0" not in unquote(parts.path) else "expected file:///<absolute path>"
    if not parts.hostname:
        return "has no host or bucket"
    for name, _ in parse_qsl(parts.query):
        if secret_fields.is_credential(name):
            return f"holds a credential (field {name} of its query), which would end up in the corpus; leave it out"
    return None


def wrong_words(text: str) -> str | None:
    """What is wrong with words about a source, which are published as they are; None where they are right."""
    return USER_IN_URL if any(userinfo.is_in(word.lstrip("(<[\"'")) for word in text.split()) else None


def resolve_local(ledger: Path, url: str) -> Path | None:
    """Where a file of the ledger at `ledger` lies on this machine; None when it is to be fetched. `..` is the folder
    above in the path as written, whatever links it has.
    """
    found = _SCHEME.match(url)
    if not found:
        return Path(os.path.normpath(ledger.parent / url))
    return Path(unquote(urlsplit(url).path)) if found[1] == "file" else None

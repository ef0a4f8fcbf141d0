"""Canonical JSON: the one byte form of a JSON value, so that its SHA-256 names it.

Keys sorted by code point, no white space, UTF-8, no NaN or infinity, no lone surrogate.
"""

import hashlib
import json
from typing import Any


def to_bytes(value: Any) -> bytes:
    """The canonical bytes. Raises ValueError for what JSON cannot hold (NaN, infinity, lone surrogates)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def digest(value: Any) -> str:
    """SHA-256 of the canonical bytes, as 64 hex digits."""
    return hashlib.sha256(to_bytes(value)).hexdigest()

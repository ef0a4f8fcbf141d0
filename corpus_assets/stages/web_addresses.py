"""Which documents have a web address. Others are named by their place in a file, where no site can be found."""

import pyarrow as pa
import pyarrow.compute as pc

_ADDRESS = (
    r"^[\x00-\x20]*(?:(?i:https?|ftp|wss?):|[/\\]{2}|(?i:www\.)"
    r"|(?:[^\x00-\x20/\\?#:@.]+\.)+(?:[A-Za-z]{2,}|(?i:xn--)[0-9A-Za-z-]+)(?::[0-9]*)?/)"
)
"""A name without a scheme counts where a slash follows: `example.org/owl` does, `owl.txt` and `owls.jsonl#3` do not."""


def has_address(urls: pa.Array) -> pa.Array:
    """True where the URL of a document is that of a page, false where it is a file name or null."""
    return pc.fill_null(pc.match_substring_regex(urls, _ADDRESS), False)

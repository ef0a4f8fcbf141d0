"""The datasheet of a published version, from what its build measured; nothing in it is typed by hand."""

from dataclasses import dataclass
from pathlib import Path

from formats.layout import Layout
from formats.naming import VersionKey


@dataclass(frozen=True)
class Sheet:
    """Where the page lies, and its short form."""

    html: Path
    markdown: str


def write_datasheet(layout: Layout, key: VersionKey) -> Sheet:
    """Placeholder until the page is laid out."""
    html = layout.evidence(key) / "datasheet.html"
    html.write_text("<html></html>")
    return Sheet(html, "")

"""The datasheet of a published version, from what its build measured; nothing in it is typed by hand, no clock is read.

It lies in the evidence and is sealed with it: the same evidence gives the same bytes.
"""

from dataclasses import dataclass
from pathlib import Path

from corpus_assets.plans import datasheet_markdown, datasheet_page, training_content
from corpus_assets.plans.datasheet_figures import measure
from corpus_assets.plans.published_version import open_published
from formats import durable, evidence
from formats.layout import Layout
from formats.naming import VersionKey


@dataclass(frozen=True)
class Sheet:
    """Where the page lies, and its short form."""

    html: Path
    markdown: str


def write_datasheet(layout: Layout, key: VersionKey) -> Sheet:
    """Write the page, its short form and the draft of a training summary into the version's evidence, and seal them.
    What is there already with the same bytes is left alone.

    Raises ConfigError for a version that is not published, CorruptDataError for evidence that changed since.
    """
    with durable.one_at_a_time(layout.work("locks", str(key))):
        version = open_published(layout, key)
        figures = measure(version)
        markdown = datasheet_markdown.render(figures)
        files = {
            evidence.DATASHEET_HTML: datasheet_page.render(figures),
            evidence.DATASHEET_MD: markdown,
            evidence.TRAINING_CONTENT: training_content.render(figures),
        }
        durable.remove_unfinished(*(version.evidence / name for name in (*files, evidence.SEAL)))
        sealed = dict(version.sealed)
        for name, text in files.items():
            path, data = version.evidence / name, text.encode("utf-8")
            sealed[name] = evidence.entry_of(data)
            if not path.is_file() or path.read_bytes() != data:
                durable.write_file(path, data)
        evidence.seal(version.evidence, sealed)
    return Sheet(version.evidence / evidence.DATASHEET_HTML, markdown)

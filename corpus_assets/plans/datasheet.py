"""The datasheet of a published version, from what its build measured; nothing in it is typed by hand, no clock is read.
Beside it, the page of what differs from the version before, where one is published.

They lie in the evidence and are sealed with it. The same evidence gives the same bytes, with the same token snapshots
and the same version before.
"""

from dataclasses import dataclass
from pathlib import Path

from corpus_assets.plans import datasheet_markdown, datasheet_page, differences_page, training_content
from corpus_assets.plans.datasheet_figures import measure
from corpus_assets.plans.differences import compare
from corpus_assets.plans.differences_facts import facts_of_version
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.published_version import PublishedVersion, open_published, version_before
from formats import durable, evidence
from formats.errors import CorruptDataError
from formats.layout import Layout
from formats.naming import VersionKey


@dataclass(frozen=True)
class Sheet:
    """Where the page lies, and its short form. `differences` is the page of what differs from the version before, None
    where none is; `since` says in words how much does, or why it cannot be said.
    """

    html: Path
    markdown: str
    differences: Path | None = None
    since: str = ""


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
        page, since = _differences(version)
        files |= {evidence.DIFFERENCES_HTML: page} if page else {}
        durable.remove_unfinished(*(version.evidence / name for name in (*files, evidence.SEAL)))
        sealed = dict(version.sealed)
        for name, text in files.items():
            path, data = version.evidence / name, text.encode("utf-8")
            sealed[name] = evidence.entry_of(data)
            if not path.is_file() or path.read_bytes() != data:
                durable.write_file(path, data)
        evidence.seal(version.evidence, sealed)
    differences = version.evidence / evidence.DIFFERENCES_HTML if evidence.DIFFERENCES_HTML in sealed else None
    return Sheet(version.evidence / evidence.DATASHEET_HTML, markdown, differences, since)


def _differences(version: PublishedVersion) -> tuple[str | None, str]:
    """The page of what differs from the version before, and how much does in words. Damage of that version is told, and
    does not stop the datasheet of this one: a page that was made before it stays.
    """
    before = version_before(version.layout, version.key)
    if before is None:
        return None, "no version before it"
    try:
        sides = facts_of_version(open_published(version.layout, before)), facts_of_version(version)
    except (CorruptDataError, OSError) as error:  # it may be built again at this moment
        return None, f"{before} cannot be read: {error}"
    found = compare(*sides)
    return differences_page.render(found, *sides), f"{before}: {plural(len(found.found), 'difference')}"

"""The short form of a datasheet, for Dagster's UI and for reading in a terminal. It lies in the event log: < 100 KB."""

import re
from collections.abc import Iterable, Sequence

from corpus_assets.plans import datasheet_words
from corpus_assets.plans.datasheet_figures import Figures
from corpus_assets.plans.datasheet_page import funnel_picture
from corpus_assets.plans.for_people import num_bytes, share, shortened, shown
from formats.evidence import DATASHEET_HTML
from formats.reasons import Reason

MAX_ROWS = 20
MAX_CELL = 120
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&])")


def render(figures: Figures) -> str:
    """Key figures, the funnel as a picture, sources, licences, languages, reasons and limits."""
    key = figures.version.key
    verdicts = figures.total("verdicts")
    del verdicts[Reason.KEPT.value]
    languages = figures.total("languages")
    sources = sorted(figures.sources, key=lambda one: (-one.counts["chars"], one.name))
    blocks = [
        f"# Datasheet of {_md(str(key))}",
        _md(datasheet_words.headline(figures)),
        _table(("figure", "value"), datasheet_words.key_figures(figures)),
        _table(("what", "is"), datasheet_words.identity(figures)),
        f"![from records to published documents]({funnel_picture(figures).as_data_uri()})",
        "## Sources",
        _table(
            ("source", "licence", "fetched", "documents", "kept", "of characters"),
            [
                (
                    one.name,
                    one.row.license_spdx,
                    num_bytes(one.num_bytes),
                    f"{one.counts['documents']:,}",
                    f"{one.counts['kept']:,}",
                    share(one.counts["chars"], figures.num_chars),
                )
                for one in sources
            ],
        ),
        "## Licences",
        _table(
            ("licence", "documents", "characters", "of characters"),
            [(name, f"{n:,}", f"{chars:,}", share(chars, figures.num_chars)) for name, n, chars in figures.licenses()],
        ),
        "## Languages",
        _table(
            ("language", "documents"),
            [(name, f"{n:,}") for name, n in sorted(languages.items(), key=lambda item: (-item[1], item[0]))],
        ),
        "## Dropped",
        _table(
            ("reason", "documents", "example"),
            [
                (reason, f"{n:,}", figures.examples[reason])
                for reason, n in sorted(verdicts.items(), key=lambda item: (-item[1], item[0]))
            ],
        ),
        "## Known limits",
        "\n".join(f"- {_md(words)}" for words in datasheet_words.known_limits(figures)),
        f"All of it, with pictures: {DATASHEET_HTML}, beside this file.",
    ]
    return "\n\n".join(blocks) + "\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = list(rows)
    if not body:
        return "None."
    told = [_line(heads), "|" + " --- |" * len(heads), *(_line(row) for row in body[:MAX_ROWS])]
    if len(body) > MAX_ROWS:
        told.append(_line([f"and {len(body) - MAX_ROWS:,} more", *("" for _ in heads[1:])]))
    return "\n".join(told)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_md(shortened(cell, MAX_CELL)) for cell in cells) + " |"


def _md(text: str) -> str:
    """Text whose special characters are seen, not obeyed; on one line."""
    return _SPECIAL.sub(r"\\\1", shown(" ".join(text.split())))

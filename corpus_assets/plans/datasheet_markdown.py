"""The short form of a datasheet, for Dagster's UI and for reading in a terminal. It lies in the event log: < 100 KB."""

from corpus_assets.plans import datasheet_pictures, datasheet_words
from corpus_assets.plans.datasheet_figures import Figures
from corpus_assets.plans.datasheet_tokens import NO_SNAPSHOT
from corpus_assets.plans.for_people import NONE, num_bytes, share
from corpus_assets.plans.page_markdown import escaped, table
from formats.evidence import DATASHEET_HTML
from formats.reasons import Reason

MAX_ROWS = 20


def render(figures: Figures) -> str:
    """Key figures, the funnel as a picture, sources, licences, languages, reasons and limits."""
    key = figures.version.key
    verdicts = figures.total("verdicts")
    del verdicts[Reason.KEPT.value]
    languages = figures.total("languages")
    sources = sorted(figures.sources, key=lambda one: (-one.counts["chars"], one.name))
    blocks = [
        f"# Datasheet of {escaped(str(key))}",
        escaped(datasheet_words.headline(figures)),
        table(("figure", "value"), datasheet_words.key_figures(figures)),
        table(("what", "is"), datasheet_words.identity(figures)),
        f"![from records to published documents]({datasheet_pictures.funnel(figures).as_data_uri()})",
        "## Sources",
        table(
            ("source", "licence", "fetched", "documents", "kept", "bytes of text", "of characters"),
            [
                (
                    one.name,
                    one.row.license_spdx,
                    num_bytes(one.num_bytes),
                    f"{one.counts['documents']:,}",
                    f"{one.counts['kept']:,}",
                    NONE if one.text_bytes is None else num_bytes(one.text_bytes),
                    share(one.counts["chars"], figures.num_chars),
                )
                for one in sources
            ],
            max_rows=MAX_ROWS,
        ),
        "## Licences",
        table(
            ("licence", "documents", "bytes of text", "characters", "of characters"),
            [
                (
                    one.name,
                    f"{one.documents:,}",
                    NONE if one.text_bytes is None else num_bytes(one.text_bytes),
                    f"{one.chars:,}",
                    share(one.chars, figures.num_chars),
                )
                for one in figures.licenses()
            ],
            max_rows=MAX_ROWS,
        ),
        "## Tokens",
        _tokens(figures),
        "## Languages",
        table(
            ("language", "documents"),
            [(name, f"{n:,}") for name, n in sorted(languages.items(), key=lambda item: (-item[1], item[0]))],
            max_rows=MAX_ROWS,
        ),
        "## Dropped",
        table(
            ("reason", "documents", "example"),
            [
                (reason, f"{n:,}", figures.examples[reason])
                for reason, n in sorted(verdicts.items(), key=lambda item: (-item[1], item[0]))
            ],
            max_rows=MAX_ROWS,
        ),
        "## Known limits",
        "\n".join(f"- {escaped(words)}" for words in datasheet_words.known_limits(figures)),
        f"All of it, with pictures: {DATASHEET_HTML}, beside this file.",
    ]
    return "\n\n".join(blocks) + "\n"


def _tokens(figures: Figures) -> str:
    """A row a licence and token set, or that no token set has a snapshot."""
    if not figures.token_sets:
        return escaped(NO_SNAPSHOT)
    rows = [
        (
            token_set.name,
            one.name,
            f"{one.tokens[token_set.name]:,}",
            share(one.tokens[token_set.name], token_set.tokens),
        )
        for token_set in figures.token_sets
        for one in figures.licenses()
    ]
    return table(("token set", "licence", "tokens", "of tokens"), rows, max_rows=MAX_ROWS)

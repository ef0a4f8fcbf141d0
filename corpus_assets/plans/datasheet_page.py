"""The datasheet as one HTML page: no script, no font or picture from elsewhere; light, dark and on paper."""

from corpus_assets.plans import datasheet_contents as contents
from corpus_assets.plans import datasheet_drops as drops
from corpus_assets.plans import datasheet_making as making
from corpus_assets.plans import datasheet_words
from corpus_assets.plans import page_markup as markup
from corpus_assets.plans.datasheet_figures import Figures
from corpus_assets.plans.page_markup import Html


def render(figures: Figures) -> str:
    """The whole page."""
    sections = [
        ("sources", "Sources", contents.sources(figures)),
        ("licences", "Licences", contents.licenses(figures)),
        ("languages", "Languages", contents.languages(figures)),
        ("funnel", "What stayed and what went", drops.funnel(figures)),
        ("reasons", "Why documents were dropped", drops.reasons(figures)),
        ("lengths", "Lengths", contents.lengths(figures)),
        *([("extraction", "Extraction", contents.extraction(figures))] if figures.extraction else []),
        ("signals", "What decided most", drops.signals(figures)),
        ("clusters", "Duplicates", drops.clusters(figures)),
        ("pii", "Personal data", drops.pii(figures)),
        ("hosts", "Hosts", contents.hosts(figures)),
        ("dates", "Dates", contents.dates(figures)),
        ("splits", "Splits", contents.splits(figures)),
        ("tokens", "Tokens", contents.tokens(figures)),
        ("settings", "Settings that differ from the defaults", making.settings(figures)),
        ("stages", "Made by", making.stages(figures)),
        ("drop", "How to read a drop", making.how_to_read(figures)),
        ("limits", "Known limits", making.limits(figures)),
        ("questions", "Questions of a datasheet", making.answers(figures)),
    ]
    return markup.page(f"Datasheet of {figures.version.key}", _head(figures), sections)


def _head(figures: Figures) -> Html:
    key = figures.version.key
    tiles = "".join(
        f"<div><b>{markup.text(value)}</b><span>{markup.text(name)}</span></div>"
        for name, value in datasheet_words.key_figures(figures)
    )
    rows = "".join(
        f"<tr><th>{markup.text(name)}</th><td>{markup.code(value)}</td></tr>"
        for name, value in datasheet_words.identity(figures)
    )
    notes = markup.paragraph(figures.config.notes, kind="notes") if figures.config.notes else ""
    return Html(
        "<header><p class=kicker>Datasheet</p>"
        f"<h1>{markup.text(key.dataset)} <span>{markup.text(key.version)}</span></h1>"
        f"{markup.paragraph(datasheet_words.headline(figures), kind='lead')}{notes}<div class=tiles>{tiles}</div>"
        f"<table class=identity>{rows}</table></header>"
    )

"""The pictures of a datasheet, from its figures."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date

from corpus_assets.plans import datasheet_bins, pictures
from corpus_assets.plans.datasheet_figures import CLUSTER_SIZES, Figures, pii_counts
from corpus_assets.plans.datasheet_signals import SignalFigures
from corpus_assets.plans.for_people import plural, shortened
from corpus_assets.plans.pictures import Limit, Picture
from corpus_assets.plans.reason_words import asked, number

NUM_BARS, NUM_SERIES, MAX_DATES, MAX_HOST = 15, 7, 60, 60
_CALENDAR: tuple[tuple[str, Callable[[date], int], Callable[[int], str]], ...] = (
    ("day", date.toordinal, lambda at: date.fromordinal(at).isoformat()),
    ("month", lambda day: 12 * day.year + day.month - 1, lambda at: f"{at // 12:04d}-{at % 12 + 1:02d}"),
    ("year", lambda day: day.year, lambda at: f"{at:04d}"),
)
"""Unit, its number of a day, and that number in words."""


def source_shares(figures: Figures) -> Picture:
    """Published characters by source, the largest first."""
    counts = {one.name: one.counts["chars"] for one in figures.sources}
    return _largest("published characters by source", counts)


def source_bytes(figures: Figures) -> Picture | None:
    """Published bytes by source, the largest first; None where they were not counted."""
    counts = {one.name: one.text_bytes for one in figures.sources}
    return _largest("published bytes by source", _known(counts)) if figures.text_bytes is not None else None


def licenses(figures: Figures) -> Picture:
    """Published documents by licence."""
    return _largest("published documents by licence", {one.name: one.documents for one in figures.licenses()})


def licenses_by_bytes(figures: Figures) -> Picture | None:
    """Published bytes by licence; None where they were not counted."""
    counts = {one.name: one.text_bytes for one in figures.licenses()}
    return _largest("published bytes by licence", _known(counts)) if figures.text_bytes is not None else None


def licenses_by_chars(figures: Figures) -> Picture:
    """Published characters by licence."""
    return _largest("published characters by licence", {one.name: one.chars for one in figures.licenses()})


def licenses_by_tokens(figures: Figures, token_set: str) -> Picture:
    """Tokens of one token set by licence."""
    return _largest(
        f"tokens of {token_set} by licence", {one.name: one.tokens[token_set] for one in figures.licenses()}
    )


def _known(counts: Mapping[str, int | None]) -> dict[str, int]:
    return {name: n for name, n in counts.items() if n is not None}


def languages(figures: Figures) -> Picture:
    """Published documents by language label."""
    return _largest("published documents by language", figures.total("languages"))


def hosts(figures: Figures) -> Picture:
    """Published documents of the hosts with most."""
    rows = [(shortened(host, MAX_HOST), n) for host, n in figures.hosts.top(NUM_BARS)]
    return pictures.bars_in_order("published documents by host", rows)


def hosts_by_chars(figures: Figures) -> Picture:
    """Published characters of the hosts with most."""
    rows = [(shortened(host, MAX_HOST), n) for host, n in figures.hosts.top_by_chars(NUM_BARS)]
    return pictures.bars_in_order("published characters by host", rows)


def lengths(figures: Figures) -> Picture:
    """Published documents by length, ten bins a decade."""
    edges, counts = figures.lengths.trimmed()
    title = "published documents by number of characters"
    return pictures.histogram(title, counts, datasheet_bins.edge_words(edges), unit="documents")


def clusters(figures: Figures) -> Picture:
    """Clusters by the number of documents in them; columns of unlike width in documents."""
    counts = [clusters for clusters, _, _ in figures.clusters]
    last = max([i for i, n in enumerate(counts) if n], default=0)
    edges = [f"{least:,}" for least in CLUSTER_SIZES[: last + 2]]
    edges += ["more"] * (last + 2 - len(edges))
    title, unit = "clusters by number of documents", "clusters, on a logarithmic scale"
    return pictures.histogram(title, counts[: last + 1], edges, unit=unit, logarithmic=True)


def pii(figures: Figures) -> Picture:
    """Replacements in published documents by kind."""
    return pictures.bars_in_order("replacements in published documents", pii_counts(figures))


def dates(figures: Figures) -> Picture:
    """Published documents by the day, month or year in which their source was retrieved: the finest that fits."""
    days = [(date.fromisoformat(one.row.retrieved), one.counts["kept"]) for one in figures.sources]
    first_day, last_day = min(day for day, _ in days), max(day for day, _ in days)
    fits = [place(last_day) - place(first_day) < MAX_DATES for _, place, _ in _CALENDAR]
    unit, place, words = _CALENDAR[fits.index(True) if any(fits) else -1]
    counts = Counter[int]()
    for day, n in days:
        counts[place(day)] += n
    first, last = place(first_day), place(last_day)
    edges = [words(at) for at in range(first, last + 2)]
    columns = [counts[at] for at in range(first, last + 1)]
    return pictures.histogram(f"published documents by {unit} of retrieval", columns, edges, unit="documents")


def _largest(title: str, counts: Mapping[str, int]) -> Picture:
    """The largest, and all others as one bar, so that hundreds of names stay readable."""
    found = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rows = found if len(found) <= NUM_BARS + 1 else found[:NUM_BARS]
    if others := found[len(rows) :]:
        rows = [*rows, (f"{len(others)} others", sum(n for _, n in others))]
    return pictures.bars_in_order(title, rows)


def funnel(figures: Figures) -> Picture:
    """From records to published rows; the largest sources each in their colour, the others together."""
    steps = figures.funnel()
    order = sorted(range(len(figures.sources)), key=lambda i: (-steps[0].left[i], figures.sources[i].name))
    named, others = (order, []) if len(order) <= NUM_SERIES + 1 else (order[:NUM_SERIES], order[NUM_SERIES:])
    series = [figures.sources[i].name for i in named] + ([f"{len(others)} other sources"] if others else [])

    def by_series(numbers: Sequence[int]) -> list[int]:
        return [numbers[i] for i in named] + ([sum(numbers[i] for i in others)] if others else [])

    drawn = [
        pictures.Step(step.name, by_series(step.left), None if step.taken is None else sum(step.taken))
        for step in steps
    ]
    return pictures.funnel("from records to published documents", drawn, series)


def extraction(expected: datasheet_bins.Histogram) -> Picture:
    """How much of each page the block extractor expects to get wrong."""
    counts = [expected.counts[i] for i in range(len(expected.edges) - 1)]
    edges = [f"{edge / 10:g} %" for edge in expected.edges]
    unit = "pages, on a logarithmic scale"
    return pictures.histogram("expected error of extraction", counts, edges, unit=unit, logarithmic=True)


def signal(one: SignalFigures) -> Picture:
    """One rule's signal over the documents that it applies to, with its limit."""
    edges, counts = one.histogram.trimmed(list(one.histogram.edges).index(one.limit))
    limit = Limit(
        edges.index(one.limit), f"{asked(one.rule)} {number(one.limit, one.rule.scale)}", one.rule.bound == "min"
    )
    return pictures.histogram(
        f"{one.rule.reason.replace('_', ' ')} ({one.among}): {plural(one.dropped, 'document')} dropped by it",
        counts,
        datasheet_bins.edge_words(edges, one.rule),
        unit="documents, on a logarithmic scale",
        limit=limit,
        logarithmic=True,
    )

"""The datasheet as one HTML page: no script, no font or picture from elsewhere; light, dark and on paper.

Text from outside is escaped where a cell or paragraph is made: only what is `Html` goes in as it is.
"""

from collections.abc import Iterable, Sequence
from html import escape

from corpus_assets.plans import datasheet_bins, datasheet_words, pictures
from corpus_assets.plans.datasheet_figures import CLUSTER_SIZES, Figures, SignalFigures, pii_counts
from corpus_assets.plans.datasheet_style import CSS
from corpus_assets.plans.for_people import num_bytes, plural, share, shortened, shown
from corpus_assets.plans.pictures import Limit, Picture
from corpus_assets.plans.reason_words import NO_RULE, asked, limit_words, number
from formats.reasons import RULE_BY_REASON, RULES, Reason

NUM_BARS, NUM_SERIES, NUM_NAMED = 15, 7, 4


class Html(str):
    """Markup of this page, as opposed to text that is to be escaped."""


class Right(str):
    """A number with its unit: stands at the right like a whole number."""


def render(figures: Figures) -> str:
    """The whole page."""
    key = figures.version.key
    sections = [
        ("sources", "Sources", _sources(figures)),
        ("licences", "Licences", _licenses(figures)),
        ("languages", "Languages", _picture(languages_picture(figures))),
        ("funnel", "What stayed and what went", _funnel(figures)),
        ("reasons", "Why documents were dropped", _reasons(figures)),
        ("lengths", "Lengths", _lengths(figures)),
        ("signals", "What decided most", _signals(figures)),
        ("clusters", "Duplicates", _clusters(figures)),
        ("pii", "Personal data", _pii(figures)),
        ("hosts", "Hosts", _hosts(figures)),
        ("splits", "Splits", _splits(figures)),
        ("settings", "Settings that differ from the defaults", _settings(figures)),
        ("stages", "Made by", _stages(figures)),
        ("drop", "How to read a drop", _how_to_read(figures)),
        ("limits", "Known limits", _limits(figures)),
    ]
    contents = "".join(f'<li><a href="#{name}">{_e(title)}</a></li>' for name, title, _ in sections)
    body = "".join(f'<section id="{name}"><h2>{_e(title)}</h2>{inner}</section>' for name, title, inner in sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="referrer" content="no-referrer">'
        f"<title>Datasheet of {_e(str(key))}</title><style>{CSS}{pictures.CSS}</style></head><body>"
        f"{_head(figures)}<nav><ul>{contents}</ul></nav><main>{body}</main></body></html>\n"
    )


def _e(text: str) -> Html:
    return text if isinstance(text, Html) else Html(escape(shown(text)))


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, foot: Sequence[object] | None = None) -> Html:
    """Numbers stand at the right; the columns of numbers are told by their first row."""
    body = [list(row) for row in rows]
    if not body:
        return Html("<p class=none>None.</p>")
    numeric = [isinstance(cell, int | Right) for cell in body[0]]

    def line(cells: Sequence[object], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=n' if right else ''}>{_cell(cell)}</{tag}>"
            for cell, right in zip(cells, numeric, strict=True)
        )

    head = f"<thead><tr>{line(heads, 'th')}</tr></thead>"
    rest = "".join(f"<tr>{line(row, 'td')}</tr>" for row in body)
    last = f"<tfoot><tr>{line(foot, 'td')}</tr></tfoot>" if foot else ""
    return Html(f"<div class=wide><table>{head}<tbody>{rest}</tbody>{last}</table></div>")


def _cell(value: object) -> Html:
    if isinstance(value, Html):
        return value
    return Html(f"{value:,}") if isinstance(value, int) else _e(str(value))


def _share(part: int, whole: int) -> Right:
    return Right(share(part, whole))


def _p(*parts: str, kind: str = "") -> Html:
    return Html(f"<p{f' class={kind}' if kind else ''}>{''.join(_e(part) for part in parts)}</p>")


def _code(text: str, *, whole: bool = False) -> Html:
    return Html(f"<code{' class=whole' if whole else ''}>{_e(text)}</code>")


def _link(address: str, words: str) -> Html:
    """A link, where the address is one of the web; else the words alone."""
    if not address.startswith(("https://", "http://")):
        return _e(words)
    return Html(f'<a href="{_e(address)}" rel="noopener noreferrer">{_e(words)}</a>')


def _picture(picture: Picture) -> Html:
    return Html(f"<figure>{picture.inline()}</figure>")


def _license(expression: str) -> Html:
    parts = datasheet_words.license_parts(expression)
    return Html("".join(_link(address, words) if address else _e(words) for words, address in parts))


def _head(figures: Figures) -> Html:
    key = figures.version.key
    tiles = "".join(
        f"<div><b>{_e(value)}</b><span>{_e(name)}</span></div>" for name, value in datasheet_words.key_figures(figures)
    )
    rows = "".join(
        f"<tr><th>{_e(name)}</th><td>{_code(value)}</td></tr>" for name, value in datasheet_words.identity(figures)
    )
    notes = _p(figures.config.notes, kind="notes") if figures.config.notes else ""
    return Html(
        f"<header><p class=kicker>Datasheet</p><h1>{_e(key.dataset)} <span>{_e(key.version)}</span></h1>"
        f"{_p(datasheet_words.headline(figures), kind='lead')}{notes}<div class=tiles>{tiles}</div>"
        f"<table class=identity>{rows}</table></header>"
    )


def _sources(figures: Figures) -> Html:
    rows: list[list[object]] = []
    for one in figures.sources:
        row = one.row
        title = row.title if row.title != row.source_id else ""
        rows.append(
            [
                Html(f"<b>{_e(row.source_id)}</b>{'<br>' if title else ''}{_e(title)}"),
                Html(f"{_e(row.kind)}<br><span class=soft>{_e(row.profile)}</span>"),
                one.num_files,
                Right(num_bytes(one.num_bytes)),
                one.counts["records"],
                one.counts["documents"],
                one.counts["kept"],
                _share(one.counts["kept"], one.counts["documents"]),
                _share(one.counts["chars"], figures.num_chars),
            ]
        )
    heads = ("source", "kind", "files", "bytes", "records", "documents", "kept", "kept of documents", "of characters")
    papers = [
        [
            Html(f"<b>{_e(one.name)}</b>"),
            _license(one.row.license_spdx),
            _link(one.row.license_evidence, one.row.license_evidence),
            one.row.attribution,
            Html(f"<span class=whole>{_e(one.row.retrieved)}</span>"),
            Html(f'<code class=whole title="{_e(one.row.digest)}">{_e(one.row.digest[:12])}…</code>'),
        ]
        for one in figures.sources
    ]
    paper_heads = ("source", "licence", "evidence of the licence", "attribution", "retrieved", "ledger row")
    return Html(f"{_table(heads, rows)}<h3>Under which terms</h3>{_table(paper_heads, papers)}")


def _licenses(figures: Figures) -> Html:
    rows = [
        [
            _license(name),
            documents,
            _share(documents, figures.num_docs),
            chars,
            _share(chars, figures.num_chars),
            _names([one.name for one in figures.sources if one.row.license_spdx == name]),
        ]
        for name, documents, chars in figures.licenses()
    ]
    return _table(("licence", "documents", "of documents", "characters", "of characters", "sources"), rows)


def languages_picture(figures: Figures) -> Picture:
    """Published documents by language label, the most frequent first."""
    found = sorted(figures.total("languages").items(), key=lambda item: (-item[1], item[0]))
    rows = found[:NUM_BARS]
    if others := found[NUM_BARS:]:
        rows.append((f"{len(others)} others", sum(n for _, n in others)))
    return pictures.bars_in_order("published documents by language", rows)


def funnel_picture(figures: Figures) -> Picture:
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


def _funnel(figures: Figures) -> Html:
    steps = figures.funnel()
    losses = [step for step in steps if step.taken is not None]
    rows = [
        [
            Html(f"<b>{_e(one.name)}</b>"),
            one.counts["records"],
            *(step.taken[i] for step in losses if step.taken is not None),
            one.counts["kept"],
        ]
        for i, one in enumerate(figures.sources)
    ]
    heads = ("source", "records", *(step.name for step in losses), "published")
    foot = ["all", sum(steps[0].left), *(sum(step.taken or ()) for step in losses), figures.num_docs]
    rejects = sorted(figures.total("rejects").items(), key=lambda item: (-item[1], item[0]))
    told = _table(
        ("records that became no document", "records", "sources"),
        [[reason.replace("_", " "), n, _who(figures, "rejects", reason)] for reason, n in rejects],
    )
    return Html(
        f"{_picture(funnel_picture(figures))}<h3>By source</h3>{_table(heads, rows, foot=foot)}"
        f"<h3>Rejected records</h3>{told}"
    )


def _who(figures: Figures, counter: str, reason: str) -> str:
    """Which sources a reason met, the most first."""
    counted = [(one.counts[counter].get(reason, 0), one.name) for one in figures.sources]
    found = sorted((pair for pair in counted if pair[0]), key=lambda pair: (-pair[0], pair[1]))
    words = [f"{name} {n:,}" for n, name in found[:NUM_NAMED]]
    return ", ".join(words) + (f" and {len(found) - NUM_NAMED} more" if len(found) > NUM_NAMED else "")


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:NUM_NAMED]) + (f" and {len(names) - NUM_NAMED} more" if len(names) > NUM_NAMED else "")


def _reasons(figures: Figures) -> Html:
    verdicts = figures.total("verdicts")
    documents = sum(verdicts.values())
    order = [*(rule.reason for rule in RULES), *(reason.value for reason in Reason if reason != Reason.KEPT)]
    rows: list[list[object]] = [
        [
            _code(reason, whole=True),
            _rule(figures, reason),
            verdicts[reason],
            _share(verdicts[reason], documents),
            _who(figures, "verdicts", reason),
            _code(figures.examples[reason], whole=True),
        ]
        for reason in order
        if verdicts[reason]
    ]
    words = "Each dropped document has one reason: the first rule that it did not pass. An example can be traced."
    heads = ("reason", "rule", "documents", "of all", "sources", "example")
    return Html(_p(words) + _table(heads, rows))


def _rule(figures: Figures, reason: str) -> str:
    """The rule in words; where profiles differ, each with its limit."""
    rule = RULE_BY_REASON.get(reason)
    if rule is None:
        return NO_RULE[reason]
    profiles: dict[str, set[str]] = {}
    for one in figures.sources:
        rules = figures.version.counts["rules"][one.name]
        if (limit := limit_words(rule, rules)) is not None:
            profiles.setdefault(limit, set()).add(rules["profile"])
    if len(profiles) == 1:
        return f"{asked(rule)} {next(iter(profiles))}"
    limits = sorted((", ".join(sorted(names)), limit) for limit, names in profiles.items())
    return f"{asked(rule)} " + ", ".join(f"{limit} ({names})" for names, limit in limits)


def _lengths(figures: Figures) -> Html:
    edges, counts = figures.lengths.trimmed()
    title = "published documents by number of characters"
    picture = pictures.histogram(title, counts, datasheet_bins.edge_words(edges), unit="documents")
    mean = figures.num_chars // figures.num_docs if figures.num_docs else 0
    return Html(
        _picture(picture) + _p(f"On average {mean:,} characters. Columns grow wider from left to right: ten a decade.")
    )


def signal_picture(one: SignalFigures) -> Picture:
    """One rule's signal over the documents that it applies to, with its limit."""
    edges, counts = one.histogram.trimmed(list(one.histogram.edges).index(one.limit))
    limit = Limit(
        edges.index(one.limit), f"{asked(one.rule)} {number(one.limit, one.rule.scale)}", one.rule.bound == "min"
    )
    return pictures.histogram(
        f"{one.rule.reason.replace('_', ' ')} (profile {one.profile}): {plural(one.dropped, 'document')} dropped by it",
        counts,
        datasheet_bins.edge_words(edges, one.rule),
        unit="documents, on a logarithmic scale",
        limit=limit,
        logarithmic=True,
    )


def _signals(figures: Figures) -> Html:
    words = (
        "The rules that dropped most, with their limit, over all documents that they apply to. A document in red may "
        "have left for a reason that came first."
    )
    return Html(_p(words) + "".join(_picture(signal_picture(one)) for one in figures.signals))


def _clusters(figures: Figures) -> Html:
    rows: list[list[object]] = []
    for i, (clusters, documents, stayed) in enumerate(figures.clusters):
        if clusters:
            after = CLUSTER_SIZES[i + 1] - 1 if i + 1 < len(CLUSTER_SIZES) else None
            least = CLUSTER_SIZES[i]
            size = f"{least:,}" if after == least else f"{least:,} to {after:,}" if after else f"{least:,} and more"
            rows.append([size, clusters, documents, stayed])
    words = (
        f"Documents that are near or exact duplicates of each other, over all sources: "
        f"{plural(figures.pairs['candidate_pairs'], 'candidate pair')} compared."
    )
    return Html(_p(words) + _table(("cluster size", "clusters", "documents in them", "of those kept"), rows))


def _pii(figures: Figures) -> Html:
    rows = [[kind, _code(f"<{kind.upper()}>"), n] for kind, n in pii_counts(figures)]
    return _table(("kind", "replaced by", "replacements in published documents"), rows)


def _hosts(figures: Figures) -> Html:
    found = figures.hosts
    web = figures.num_docs - found.elsewhere
    words = f"{plural(web, 'published document')} of {figures.num_docs:,} have a web address"
    if not found.counts:
        return _p(f"{words}.")
    on = f"on {'more than ' if found.floor else ''}{plural(len(found.counts), 'host')}"
    floor = f"; a count may be too small by {found.floor:,}" if found.floor else ""
    rows = [(shortened(host, 60), n) for host, n in found.top(NUM_BARS)]
    return Html(_p(f"{words}, {on}{floor}.") + _picture(pictures.bars_in_order("published documents by host", rows)))


def _splits(figures: Figures) -> Html:
    rows = [[name, n, _share(n, figures.num_docs)] for name, n in sorted(figures.total("splits").items())]
    return _table(("split", "documents", "of documents"), rows)


def _settings(figures: Figures) -> Html:
    rows = [
        [_code(name), _code(value), _code(usual)] for name, value, usual in datasheet_words.settings(figures.config)
    ]
    return _table(("setting", "here", "default"), rows)


def _stages(figures: Figures) -> Html:
    return _table(("stage", "code", "libraries that can change its bytes"), datasheet_words.stages(figures))


def _how_to_read(figures: Figures) -> Html:
    key = figures.version.key
    dropped = sorted((reason, one) for reason, one in figures.examples.items() if reason != Reason.KEPT)
    example = next((one for _, one in dropped), figures.examples.get(Reason.KEPT.value, "source:0"))
    commands = (
        (f"corpus trace {example} --version {key}", "what was measured, which limit decided, which copy stayed"),
        (f"corpus trace URL --version {key}", "the same by URL; finds rejected records, too"),
        (f"corpus trace --source {figures.sources[0].name}", "which shards hold a source"),
        (f"corpus verify {key}", "hold every byte to this version's manifest and seal"),
    )
    rows = [[_code(command, whole=True), words] for command, words in commands]
    words = "Every document has a row in the evidence beside the shards, kept or not: documents/part-*.parquet."
    return Html(_p(words) + _table(("command", "says"), rows))


def _limits(figures: Figures) -> Html:
    return Html("<ul>" + "".join(f"<li>{_e(words)}</li>" for words in datasheet_words.known_limits(figures)) + "</ul>")

"""The sections of a datasheet that say what went, and why: the funnel, reasons, signals, duplicates, personal data."""

from corpus_assets.plans import datasheet_pictures as drawn
from corpus_assets.plans import page_markup as markup
from corpus_assets.plans.datasheet_figures import Figures, cluster_sizes, pii_counts
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.page_markup import Html
from corpus_assets.plans.reason_words import NO_RULE, asked, limit_words
from formats.reasons import RULE_BY_REASON, Reason

NUM_NAMED, NUM_SHOWN = 4, 3


def funnel(figures: Figures) -> Html:
    steps = figures.funnel()
    losses = [step for step in steps if step.taken is not None]
    rows = [
        [
            Html(f"<b>{markup.text(one.name)}</b>"),
            one.counts["records"],
            *(step.taken[i] for step in losses if step.taken is not None),
            one.counts["kept"],
        ]
        for i, one in enumerate(figures.sources)
    ]
    heads = ("source", "records", *(step.name for step in losses), "published")
    foot = ["all", sum(steps[0].left), *(sum(step.taken or ()) for step in losses), figures.num_docs]
    rejects = sorted(figures.total("rejects").items(), key=lambda item: (-item[1], item[0]))
    told = markup.table(
        ("records that became no document", "records", "sources"),
        [[reason.replace("_", " "), n, _who(figures, "rejects", reason)] for reason, n in rejects],
    )
    return Html(
        f"{markup.figure(drawn.funnel(figures))}<h3>By source</h3>{markup.table(heads, rows, foot=foot)}"
        f"<h3>Rejected records</h3>{told}"
    )


def _who(figures: Figures, counter: str, reason: str) -> str:
    """Which sources a reason met, the most first."""
    counted = [(one.counts[counter].get(reason, 0), one.name) for one in figures.sources]
    found = sorted((pair for pair in counted if pair[0]), key=lambda pair: (-pair[0], pair[1]))
    words = [f"{name} {n:,}" for n, name in found[:NUM_NAMED]]
    return ", ".join(words) + (f" and {len(found) - NUM_NAMED} more" if len(found) > NUM_NAMED else "")


def reasons(figures: Figures) -> Html:
    verdicts = figures.total("verdicts")
    documents = sum(verdicts.values())
    order = [*RULE_BY_REASON, *(reason.value for reason in Reason if reason != Reason.KEPT)]
    rows: list[list[object]] = [
        [
            markup.code(reason, whole=True),
            _rule(figures, reason),
            verdicts[reason],
            markup.share_of(verdicts[reason], documents),
            _who(figures, "verdicts", reason),
            markup.code(figures.examples[reason], whole=True),
        ]
        for reason in order
        if verdicts[reason]
    ]
    words = "Each dropped document has one reason: the first rule that it did not pass. An example can be traced."
    heads = ("reason", "rule", "documents", "of all", "sources", "example")
    return Html(markup.paragraph(words) + markup.table(heads, rows))


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


def signals(figures: Figures) -> Html:
    words = (
        "The rules that dropped most, with their limit, over all documents that they apply to. A document in the "
        "colour of the limit may have left for a reason that came first."
    )
    pictures = [markup.figure(drawn.signal(one)) for one in figures.signals]
    first, rest = pictures[:NUM_SHOWN], pictures[NUM_SHOWN:]
    more = f"<details><summary>{plural(len(rest), 'other rule')}</summary>{''.join(rest)}</details>" if rest else ""
    return Html(markup.paragraph(words) + "".join(first) + more)


def clusters(figures: Figures) -> Html:
    rows: list[list[object]] = [
        [size, *counts] for size, counts in zip(cluster_sizes(), figures.clusters, strict=True) if counts[0]
    ]
    words = (
        f"Documents that are near or exact duplicates of each other, over all sources: "
        f"{plural(figures.pairs['candidate_pairs'], 'candidate pair')} compared."
    )
    told = markup.table(("cluster size", "clusters", "documents in them", "of those kept"), rows)
    return Html(markup.paragraph(words) + markup.figure(drawn.clusters(figures)) + told)


def pii(figures: Figures) -> Html:
    rows = [[kind, markup.code(f"<{kind.upper()}>"), n] for kind, n in pii_counts(figures)]
    told = markup.table(("kind", "replaced by", "replacements in published documents"), rows)
    return Html(markup.figure(drawn.pii(figures)) + told)

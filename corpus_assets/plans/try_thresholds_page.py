"""The page of a trial of thresholds: what each source would keep, by which rule, and how each signal is spread."""

from collections.abc import Mapping, Sequence
from html import escape

from corpus_assets.plans import curves, pictures
from corpus_assets.plans.curves import Axis, Line
from corpus_assets.plans.datasheet_style import CSS
from corpus_assets.plans.for_people import share, shown
from corpus_assets.plans.pictures import Picture
from corpus_assets.plans.reason_words import signal_words
from corpus_assets.plans.try_thresholds import POINTS, SourceChange
from formats.naming import VersionKey
from formats.reasons import RULE_BY_REASON

_HEADS = ("source", "profile", "documents", "kept", "would be kept", "come in", "go out", "characters")


def render(key: VersionKey, settings: Sequence[str], found: Sequence[SourceChange]) -> str:
    """The whole page: self-contained, and nothing on it runs."""
    drawn = [_kept(found), *(_spread(rule, found) for rule in _rules(found))]
    figures = "".join(f"<figure>{picture.inline()}</figure>" for picture in drawn)
    heads = "".join(f"<th{'' if i < 2 else ' class=n'}>{head}</th>" for i, head in enumerate(_HEADS))
    rows = "".join(f"<tr>{_row(one)}</tr>" for one in found)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="referrer" content="no-referrer">'
        f"<title>Thresholds of {_e(str(key))}</title><style>{CSS}{pictures.CSS}</style></head><body>"
        f"<header><p class=kicker>A trial of thresholds</p><h1>{_e(key.dataset)} <span>{_e(key.version)}</span></h1>"
        f"<p class=lead>{_e(', '.join(settings))}</p><p>From stored signals; nothing was run. Near duplicates, "
        "decontamination, models and lists come after these rules and are not in these counts.</p></header><main>"
        f"<div class=wide><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>{figures}"
        "</main></body></html>\n"
    )


def _row(one: SourceChange) -> str:
    numbers = (
        f"{one.documents:,}",
        f"{one.kept_before:,} ({share(one.kept_before, one.documents)})",
        f"{one.kept_after:,} ({share(one.kept_after, one.documents)})",
        f"{one.come_in:,}",
        f"{one.go_out:,}",
        f"{one.chars_before:,} → {one.chars_after:,}",
    )
    cells = "".join(f"<td class=n>{_e(number)}</td>" for number in numbers)
    return f"<td>{_e(one.source)}</td><td>{_e(one.profile)}</td>{cells}"


def _kept(found: Sequence[SourceChange]) -> Picture:
    rows = []
    for one in found:
        rows += [(f"{one.source}: kept", one.kept_before), (f"{one.source}: would be kept", one.kept_after)]
    return pictures.bars_in_order("documents kept, before and after", rows)


def _rules(found: Sequence[SourceChange]) -> list[str]:
    return list(dict.fromkeys(rule for one in found for rule, values in one.percentiles.items() if values))


def _spread(reason: str, found: Sequence[SourceChange]) -> Picture:
    """A line a source: which share of its documents has at most so much of the signal that the rule looks at."""
    lines = []
    by_source: Mapping[str, Sequence[float]] = {one.source: one.percentiles.get(reason, ()) for one in found}
    for source, values in by_source.items():
        at_most = {value: i / POINTS for i, value in enumerate(values)}  # of equal values the last
        if at_most:
            lines.append(Line(source, sorted(at_most.items()), dots=False))
    most = max((x for line in lines for x, _ in line.points), default=0) or 1
    signal = signal_words(RULE_BY_REASON[reason])
    across = Axis(signal, [(most * i / 5, f"{most * i / 5:,.4g}") for i in range(6)])
    return curves.drawn(f"{reason}: {signal}", lines, across, Axis("share of documents with at most so much", _SHARES))


_SHARES = [(i / 5, f"{20 * i} %") for i in range(6)]


def _e(text: str) -> str:
    return escape(shown(text))

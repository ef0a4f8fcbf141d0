"""The page of a sweep: what each setting drops, how settled that is, and a reasoned default."""

from html import escape

from corpus_assets.plans import curves, pictures
from corpus_assets.plans.curves import Axis, Line
from corpus_assets.plans.datasheet_style import CSS
from corpus_assets.plans.dedup_sweep import NUM_BINS, Sweep
from corpus_assets.plans.dedup_sweep_settings import Measured
from corpus_assets.plans.for_people import plural, share, shown
from corpus_assets.plans.pictures import Picture
from formats.naming import VersionKey

_HEADS = (
    "shingle", "threshold", "dropped", "of the sample", "clusters", "largest", "keepers unlike in length",
    "other verdicts than now", "unsettled", "words for an edit", "pairs found by the banding",
)  # fmt: skip


def render(key: VersionKey, sweep: Sweep) -> str:
    """The whole page."""
    settings = plural(len(sweep.settings), "setting")
    of = "" if sweep.num_docs == sweep.of_docs else f" of {sweep.of_docs:,}, pairs preferred,"
    words = (
        f"Near dedup of {key} at {settings}, over {plural(sweep.num_docs, 'document')}{of} that came to it. The "
        f"present setting is {sweep.present}. Unsettled is the share of drops that one step to a neighbouring setting "
        "changes; words for an edit: shorter texts do not stay near after one word is replaced."
    )
    drawn = (dropped_picture(sweep), unsettled_picture(sweep), similar_picture(sweep), curves.s_curve(sweep.near))
    figures = "".join(f"<figure>{picture.inline()}</figure>" for picture in drawn)
    rows = "".join(
        f"<tr>{''.join(f'<td class=n>{cell}</td>' for cell in _cells(one, sweep))}</tr>" for one in sweep.settings
    )
    heads = "".join(f"<th class=n>{head}</th>" for head in _HEADS)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="referrer" content="no-referrer">'
        f"<title>Dedup settings of {_e(str(key))}</title><style>{CSS}{pictures.CSS}</style></head><body>"
        f"<header><p class=kicker>Dedup settings</p><h1>{_e(key.dataset)} <span>{_e(key.version)}</span></h1>"
        f"<p class=lead>{_e(sweep.reason)}</p><p>{_e(words)}</p></header><main>"
        f"<div class=wide><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>{figures}"
        "</main></body></html>\n"
    )


def _cells(one: Measured, sweep: Sweep) -> list[str]:
    mark = " *" if one.setting == sweep.suggested.setting else ""
    return [
        f"{plural(one.setting.shingle, sweep.unit)}{mark}",
        f"{one.setting.threshold:g}",
        f"{one.dropped:,}",
        share(one.dropped, sweep.num_docs),
        f"{one.clusters:,}",
        f"{one.largest:,}",
        f"{one.keepers_unlike:,}",
        f"{one.changed:,}",
        f"{one.unsettled:.1%}",
        f"{one.words_for_an_edit:,}" if one.words_for_an_edit else "–",
        f"{one.expected_recall:.1%}",
    ]


def _by_threshold(sweep: Sweep, value: str) -> list[Line]:
    """A line a width: the share over thresholds."""
    widths = dict.fromkeys(one.setting.shingle for one in sweep.settings)
    return [
        Line(
            f"shingles of {plural(width, sweep.unit)}",
            [
                (one.setting.threshold, getattr(one, value) / (max(1, sweep.num_docs) if value == "dropped" else 1))
                for one in sweep.settings
                if one.setting.shingle == width
            ],
        )
        for width in widths
    ]


def _thresholds(sweep: Sweep) -> Axis:
    found = sorted({one.setting.threshold for one in sweep.settings})
    return Axis("threshold", [(one, f"{one:g}") for one in found])


def dropped_picture(sweep: Sweep) -> Picture:
    """Share of the sample that is dropped."""
    lines = _by_threshold(sweep, "dropped")
    top = curves.per_cent(max(y for line in lines for _, y in line.points))
    return curves.drawn("dropped", lines, _thresholds(sweep), Axis("share of the sample", top.ticks))


def unsettled_picture(sweep: Sweep) -> Picture:
    """Share of drops that a neighbouring setting changes."""
    lines = _by_threshold(sweep, "unsettled")
    top = curves.per_cent(max(y for line in lines for _, y in line.points))
    return curves.drawn("unsettled", lines, _thresholds(sweep), Axis("share of drops that one step changes", top.ticks))


def similar_picture(sweep: Sweep) -> Picture:
    """Pairs by Jaccard: a threshold in a valley decides few doubtful cases."""
    most = max((n for bins in sweep.similar.values() for n in bins), default=0)
    lines = [
        Line(
            f"shingles of {plural(width, sweep.unit)}",
            [((i + 0.5) / NUM_BINS, n) for i, n in enumerate(bins)],
            dots=False,
        )
        for width, bins in sweep.similar.items()
    ]
    tenths = Axis("Jaccard of the pair", [(i / 10, f"{i / 10:g}") for i in range(11)])
    pairs = curves.counts(most, "pairs that look alike")
    return curves.drawn("pairs by Jaccard", lines, tenths, pairs, mark=(sweep.present.threshold, "present threshold"))


def _e(text: str) -> str:
    return escape(shown(text))

"""Pictures of counts as SVG: bars, histograms with a limit, and the funnel. No script, no font, no outside reference.

A picture is drawn with class names alone. Inline in a page it takes the page's colours, light or dark; standing alone
(in Dagster's metadata) it brings its own, on a white ground.
"""

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from corpus_assets.plans.for_people import rounded, shortened, shown

SERIES = ("#0072b2", "#f0a800", "#009e73", "#9000f0", "#904830", "#d8a8d8", "#a8c060", "#6b7785")
"""Colours of sources, in order; the last one is for all others. Each is told from the others, and from what was
dropped, also by people who do not see red, green or blue (test_pictures holds them to it).
"""
BAR, KEPT, DROP, DROP_INK = "#0072b2", "#009e73", "#d55e00", "#a34700"
WAS = "#b9a06a"
"""Of what was before, beside BAR."""
CSS = (
    ".picture text{fill:var(--ink,#1f2937)}.picture .soft{fill:var(--soft,#5b6675)}"
    f".picture .bar{{fill:var(--bar,{BAR})}}.picture .kept{{fill:var(--kept,{KEPT})}}"
    f".picture .was{{fill:{WAS}}}.picture .drop{{fill:var(--drop,{DROP})}}.picture .line{{stroke:var(--line,#c9d0d9)}}"
    f".picture .limit{{stroke:var(--drop,{DROP});stroke-width:1.5;stroke-dasharray:4 3}}"
    f".picture text.gone{{fill:var(--drop-ink,{DROP_INK})}}.picture text.title{{font-weight:600}}"
    + "".join(f".picture .s{i}{{fill:{color}}}" for i, color in enumerate(SERIES))
)
_ROW, _LABEL_CHARS, _WIDTH, _NUMBER = 22, 40, 420, 110
_TOP = 30


@dataclass(frozen=True)
class Picture:
    """`body` are SVG elements within width x height pixels."""

    title: str
    width: int
    height: int
    body: str

    def inline(self) -> str:
        """For an HTML page that holds CSS."""
        return self._svg("", f' width="{self.width}"', self.body)

    def standalone(self) -> str:
        """A file of its own."""
        ground = f'<rect width="{self.width}" height="{self.height}" rx="6" fill="#ffffff"/>'
        size = f' width="{self.width}" height="{self.height}"'
        return self._svg(' xmlns="http://www.w3.org/2000/svg"', size, f"<style>{CSS}</style>{ground}{self.body}")

    def as_data_uri(self) -> str:
        return f"data:image/svg+xml;base64,{base64.b64encode(self.standalone().encode()).decode()}"

    def _svg(self, names: str, size: str, body: str) -> str:
        return (
            f'<svg{names} class="picture"{size} viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{_text(self.title)}" font-family="system-ui,sans-serif" font-size="13">{body}</svg>'
        )


def bars(title: str, counts: Mapping[str, int], *, highlight: str = "kept") -> Picture:
    """A horizontal bar a count, the largest first, the highlighted one on top."""
    rows = sorted(counts.items(), key=lambda item: (item[0] != highlight, -item[1], item[0]))
    return bars_in_order(title, rows, highlight=highlight)


def bars_in_order(title: str, rows: Sequence[tuple[str, int]], *, highlight: str = "") -> Picture:
    """A horizontal bar a count, in the order given; numbers at the end of each bar."""
    largest = max([n for _, n in rows], default=0) or 1
    longest = max([min(len(name), _LABEL_CHARS) for name, _ in rows], default=0)
    label = max(60, 16 + 7 * longest)
    parts = [text_at(4, 18, title, "title")]
    for i, (name, n) in enumerate(rows):
        y = _TOP + i * _ROW
        width = _length(n, largest, _WIDTH)
        kind = "kept" if name == highlight else "bar"
        parts.append(text_at(label - 8, y + 14, shortened(name, _LABEL_CHARS), anchor="end", whole=name))
        parts.append(bar_at(label, y + 2, width, _ROW - 6, kind))
        parts.append(text_at(label + width + 6, y + 14, f"{n:,}"))
    return Picture(title, label + _WIDTH + _NUMBER, _TOP + 4 + _ROW * len(rows), "".join(parts))


@dataclass(frozen=True)
class Limit:
    """A threshold at an edge between two bins; bins beyond it, on the side that `below` says, fail."""

    edge: int
    words: str
    below: bool

    def fails(self, bin_number: int) -> bool:
        return bin_number < self.edge if self.below else bin_number >= self.edge


def histogram(
    title: str,
    counts: Sequence[int],
    edges: Sequence[str],
    *,
    unit: str,
    limit: Limit | None = None,
    logarithmic: bool = False,
) -> Picture:
    """Columns of equal width; `edges` are the words at the len(counts) + 1 borders. On a logarithmic scale a column of
    one document is seen beside one of a million.
    """
    left, top, width, height = 64, 68, 640, 170
    step = width / max(1, len(counts))
    most = max(counts, default=0) or 1

    def tall(n: int) -> float:
        return round(height * (math.log10(n + 1) / math.log10(most + 1) if logarithmic else n / most), 1)

    parts = [text_at(4, 18, title, "title"), text_at(4, 38, unit, "soft", size=12)]
    for tick in _ticks(most, logarithmic):
        y = round(top + height - tall(tick), 1)
        parts.append(f'<line class="line" x1="{left}" y1="{y}" x2="{left + width}" y2="{y}"/>')
        parts.append(text_at(left - 6, y + 4, rounded(tick), "soft", anchor="end", size=11))
    for i, n in enumerate(counts):
        if n:
            tip = f"{edges[i]} to {edges[i + 1]}: {n:,}"
            kind = "drop" if limit and limit.fails(i) else "bar"
            high = max(1.5, tall(n))
            x = round(left + i * step + 0.5, 1)
            parts.append(bar_at(x, round(top + height - high, 1), round(step - 1, 1), high, kind, tip))
    every = next((n for n in (1, 2, 4, 5, 8, 10) if len(counts) <= 10 * n), 20)
    for i in range(0, len(edges), every):
        parts.append(text_at(round(left + i * step, 1), top + height + 16, edges[i], "soft", anchor="middle", size=11))
    if limit:
        x = round(left + limit.edge * step, 1)
        anchor = "start" if x < left + width / 2 else "end"
        away = 6 if anchor == "start" else -6
        parts.append(f'<line class="limit" x1="{x}" y1="{top - 12}" x2="{x}" y2="{top + height}"/>')
        parts.append(text_at(x + away, top - 4, limit.words, "gone", anchor=anchor, size=12))
    return Picture(title, left + width + 26, top + height + 28, "".join(parts))


@dataclass(frozen=True)
class Step:
    """One step of a funnel: what is left after it, by series, and how many it took away. `took` None: a milestone."""

    name: str
    left: Sequence[int]
    took: int | None = None


def funnel(title: str, steps: Sequence[Step], series: Sequence[str]) -> Picture:
    """Each step's bar shows what is left, by series, and in red what the step took away."""
    row, label, width = 28, 210, 430
    most = max([sum(step.left) + (step.took or 0) for step in steps], default=0) or 1
    legend, legend_height = _legend(series, label + width + 150)
    top = _TOP + legend_height
    parts = [text_at(4, 18, title, "title"), legend]
    for i, step in enumerate(steps):
        y = top + i * row
        milestone = step.took is None
        parts.append(
            text_at(label - 10, y + 16, step.name, "title" if milestone else "", anchor="end", whole=step.name)
        )
        x = float(label)
        for number, n in enumerate(step.left):
            wide = _length(n, most, width)
            if n:
                tip = f"{step.name}: {n:,} of {series[number]} left"
                parts.append(bar_at(round(x, 1), y + 3, wide, row - 8, f"s{min(number, len(SERIES) - 1)}", tip))
            x += wide
        if step.took:
            gone = max(2.0, _length(step.took, most, width))
            parts.append(bar_at(round(x, 1), y + 3, gone, row - 8, "drop", f"{step.name}: {step.took:,} taken away"))
            x += gone
        left = f"{sum(step.left):,}"
        parts.append(text_at(round(x + 8, 1), y + 17, left, "title" if milestone else ""))
        if not milestone:
            after = round(x + 14 + 7.6 * len(left), 1)
            parts.append(text_at(after, y + 17, f"−{step.took:,}", "gone" if step.took else "soft"))
    numbers = max(170, 40 + 8 * (2 * len(f"{most:,}") + 1))  # what is left and what was taken stand behind a full bar
    return Picture(title, label + width + numbers, top + 6 + row * len(steps), "".join(parts))


def _legend(series: Sequence[str], width: int) -> tuple[str, int]:
    """Names of the series with their colours, in as many lines as they need; and the height of that."""
    parts, x, y = [], 12.0, _TOP
    for number, name in enumerate(series):
        words = shortened(name, 30)
        wide = 30 + 7.4 * len(words)
        if x + wide > width and x > 12:
            x, y = 12.0, y + 20
        parts.append(bar_at(round(x, 1), y, 12, 12, f"s{min(number, len(SERIES) - 1)}"))
        parts.append(text_at(round(x + 17, 1), y + 11, words, "soft", whole=name))
        x += wide
    return "".join(parts), (y - _TOP + 28) if series else 0


def _ticks(most: int, logarithmic: bool) -> list[int]:
    if logarithmic:
        return [10**power for power in range(len(str(most)))]
    step = 10 ** (len(str(most)) - 1)
    while most // step < 2 and step > 1:
        step //= 2
    return list(range(0, most + 1, max(1, step)))


def _length(n: int, most: int, width: int) -> float:
    return round(width * n / most, 1)


def _text(text: str) -> str:
    return escape(shown(text))


def bar_at(x: float, y: float, width: float, height: float, kind: str, tip: str = "") -> str:
    """A filled rectangle; `tip` is shown where a pointer rests on it."""
    inside = f"><title>{_text(tip)}</title></rect>" if tip else "/>"
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="1.5"{inside}'


def text_at(x: float, y: float, words: str, kind: str = "", *, anchor: str = "", size: int = 0, whole: str = "") -> str:
    """Words at a place; `whole` is what they stand for, where they are shortened."""
    attributes = f' class="{kind}"' if kind else ""
    attributes += f' text-anchor="{anchor}"' if anchor else ""
    attributes += f' font-size="{size}"' if size else ""
    tip = f"<title>{_text(whole)}</title>" if whole and whole != words else ""
    return f'<text x="{round(x, 1)}" y="{round(y, 1)}"{attributes}>{_text(words)}{tip}</text>'

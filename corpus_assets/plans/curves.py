"""Lines over two axes as pictures: the S-curve of a banding, and what a sweep over settings measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from corpus_assets.kernels.bands import collision_probability
from corpus_assets.plans.for_people import shortened
from corpus_assets.plans.pictures import SERIES, Picture, text_at
from formats.dedup_rules import NearRules

_LEFT, _TOP, _WIDTH, _HEIGHT = 64, 46, 560, 210
_LEGEND_ROW = 20
_DASHES = ("", ' stroke-dasharray="8 4"', ' stroke-dasharray="3 3"')


@dataclass(frozen=True)
class Line:
    """Points in ascending x; each is marked where `dots`."""

    name: str
    points: Sequence[tuple[float, float]]
    dots: bool = True


@dataclass(frozen=True)
class Axis:
    """From `low` to `high`, with a tick at each of `ticks`, and what is measured along it."""

    words: str
    ticks: Sequence[tuple[float, str]]

    @property
    def low(self) -> float:
        return self.ticks[0][0]

    @property
    def high(self) -> float:
        return self.ticks[-1][0]

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high one."""
        return min(1.0, max(0.0, (value - self.low) / ((self.high - self.low) or 1)))


def per_cent(most: float) -> Axis:
    """An axis of shares from 0 to a round number at or above `most`."""
    top = next((step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if most <= step), 1.0)
    return Axis("", [(top * i / 5, f"{100 * top * i / 5:g} %") for i in range(6)])


def counts(most: int, words: str) -> Axis:
    """An axis of whole numbers from 0 to a round one at or above `most`, with three to six round ticks."""
    ten = 1
    while 10 * ten < most:
        ten *= 10
    top, step = next((n * ten, s) for n, s in ((1, 1), (2, 1), (5, 1), (10, 2)) if most <= n * ten)
    return Axis(words, [(n * ten, f"{n * ten:,}") for n in range(0, top // ten + 1, step)])


def drawn(title: str, lines: Sequence[Line], x: Axis, y: Axis, *, mark: tuple[float, str] | None = None) -> Picture:
    """Each line in its colour, dashed where a colour comes again, named below; `mark` is a limit at an x, in words."""
    parts = [text_at(4, 18, title, "title"), text_at(4, 36, y.words, "soft", size=12)]
    for value, words in y.ticks:
        at = _y(y.place(value))
        parts.append(f'<line class="line" x1="{_LEFT}" y1="{at}" x2="{_LEFT + _WIDTH}" y2="{at}"/>')
        parts.append(text_at(_LEFT - 6, at + 4, words, "soft", anchor="end", size=11))
    for value, words in x.ticks:
        parts.append(text_at(_x(x.place(value)), _TOP + _HEIGHT + 16, words, "soft", anchor="middle", size=11))
    parts.append(text_at(_LEFT + _WIDTH, _TOP + _HEIGHT + 32, x.words, "soft", anchor="end", size=12))
    if mark:
        at = _x(x.place(mark[0]))
        parts.append(f'<line class="limit" x1="{at}" y1="{_TOP}" x2="{at}" y2="{_TOP + _HEIGHT}"/>')
        parts.append(text_at(at - 6, _TOP + 12, mark[1], "gone", anchor="end", size=12))
    for number, line in enumerate(lines):
        color, dash = SERIES[number % len(SERIES)], _DASHES[number // len(SERIES) % len(_DASHES)]
        parts.append(_line(line, color, dash, x, y))
        top = _TOP + _HEIGHT + 40 + number * _LEGEND_ROW
        ends = f'x1="{_LEFT - 10}" y1="{top + 7}" x2="{_LEFT + 12}" y2="{top + 7}"'
        parts.append(f'<line {ends} stroke="{color}" stroke-width="4"{dash}/>')
        parts.append(text_at(_LEFT + 18, top + 11, shortened(line.name, 80), "soft", whole=line.name))
    return Picture(title, _LEFT + _WIDTH + 26, _TOP + _HEIGHT + 46 + _LEGEND_ROW * len(lines), "".join(parts))


def s_curve(near: NearRules) -> Picture:
    """With which chance two documents of a Jaccard share a band, so that they are compared at all."""
    points = [(i / 50, collision_probability(i / 50, near.bands, near.rows)) for i in range(51)]
    at = collision_probability(near.jaccard_threshold, near.bands, near.rows)
    tenths = [(i / 5, f"{i / 5:g}") for i in range(6)]
    shares = [(i / 5, f"{20 * i} %") for i in range(6)]
    return drawn(
        f"S-curve: {near.bands} bands of {near.rows} rows",
        [Line("pairs compared", points, dots=False)],
        Axis("exact Jaccard of the pair", tenths),
        Axis("share of pairs that are compared", shares),
        mark=(near.jaccard_threshold, f"threshold {near.jaccard_threshold:g}: {at:.1%} compared"),
    )


def _line(line: Line, color: str, dash: str, x: Axis, y: Axis) -> str:
    at = [(_x(x.place(a)), _y(y.place(b))) for a, b in line.points]
    path = " ".join(f"{a},{b}" for a, b in at)
    dots = "".join(f'<circle cx="{a}" cy="{b}" r="3" fill="{color}"/>' for a, b in at) if line.dots else ""
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"{dash}/>{dots}'


def _x(place: float) -> float:
    return round(_LEFT + place * _WIDTH, 1)


def _y(place: float) -> float:
    return round(_TOP + _HEIGHT * (1 - place), 1)

"""Pictures of two counts side by side, before and after: the rows that changed most, all others as one."""

from collections.abc import Mapping
from dataclasses import dataclass

from corpus_assets.plans.for_people import NONE, share, shortened
from corpus_assets.plans.pictures import Picture, bar_at, text_at

NUM_ROWS = 20
_ROW, _BAR, _TOP, _WIDTH, _LABEL_CHARS, _NUMBERS = 30, 11, 56, 380, 40, 300


@dataclass(frozen=True)
class Row:
    """A name with its count on either side."""

    name: str
    before: int
    after: int

    @property
    def change(self) -> str:
        """`+12 (4.0 %)`: of what was before; no share where there was nothing."""
        if self.before == self.after:
            return "same"
        sign, by = ("+", self.after - self.before) if self.after > self.before else ("−", self.before - self.after)
        return f"{sign}{by:,}" + (f" ({share(by, self.before)})" if self.before and by <= self.before else "")


def changed_most(before: Mapping[str, int], after: Mapping[str, int]) -> list[Row]:
    """A row a name of either side, the largest change first, then the largest count; above NUM_ROWS the rest as one."""
    rows = [Row(name, before.get(name, 0), after.get(name, 0)) for name in before.keys() | after.keys()]
    rows.sort(key=lambda row: (-abs(row.after - row.before), -max(row.before, row.after), row.name))
    if len(rows) <= NUM_ROWS + 1:
        return rows
    rest = rows[NUM_ROWS:]
    others = Row(f"{len(rest)} others", sum(row.before for row in rest), sum(row.after for row in rest))
    return [*rows[:NUM_ROWS], others]


def pairs(title: str, names: tuple[str, str], rows: list[Row]) -> Picture:
    """Two bars a row, before above after, each with its number; `names` are what the two sides are called."""
    most = max([max(row.before, row.after) for row in rows], default=0) or 1
    label = max(60, 16 + 7 * max([min(len(row.name), _LABEL_CHARS) for row in rows], default=0))
    parts = [text_at(4, 18, title, "title")]
    x = 12.0
    for name, kind in zip(names, ("was", "bar"), strict=True):
        parts += [bar_at(x, 32, 12, 12, kind), text_at(x + 17, 43, shortened(name, 40), "soft", whole=name)]
        x += 40 + 7.4 * len(shortened(name, 40))
    for i, row in enumerate(rows):
        y = _TOP + i * _ROW
        parts.append(text_at(label - 8, y + 16, shortened(row.name, _LABEL_CHARS), anchor="end", whole=row.name))
        for n, kind, top in ((row.before, "was", y), (row.after, "bar", y + _BAR + 1)):
            parts.append(bar_at(label, top, round(_WIDTH * n / most, 1), _BAR, kind))
        end = label + _WIDTH * max(row.before, row.after) / most + 8
        told = f"{row.before:,} → {row.after:,}" if row.before or row.after else NONE
        parts.append(text_at(end, y + 16, f"{told}, {row.change}" if told != NONE else told))
    return Picture(title, label + _WIDTH + _NUMBERS, _TOP + 6 + _ROW * len(rows), "".join(parts))

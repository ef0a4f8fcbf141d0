"""Small pictures as SVG: bars for counts. They go inline into metadata and datasheet, so they stay small."""

import base64
from collections.abc import Mapping
from html import escape

import dagster as dg

_ROW, _LABEL, _WIDTH, _NUMBER = 22, 260, 420, 90
_INK, _BAR, _KEPT = "#1f2937", "#4f6bed", "#2e9e6b"


def bars(title: str, counts: Mapping[str, int], *, highlight: str = "kept") -> str:
    """A horizontal bar a count, the largest first, the highlighted one on top; numbers at the end of each bar."""
    rows = sorted(counts.items(), key=lambda item: (item[0] != highlight, -item[1], item[0]))
    largest = max([n for _, n in rows] or [1]) or 1
    height = 34 + _ROW * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LABEL + _WIDTH + _NUMBER}" height="{height}" '
        f'font-family="sans-serif" font-size="13" fill="{_INK}">',
        f'<text x="4" y="18" font-weight="bold">{escape(title)}</text>',
    ]
    for i, (name, n) in enumerate(rows):
        y = 30 + i * _ROW
        width = round(_WIDTH * n / largest, 1)
        color = _KEPT if name == highlight else _BAR
        parts.append(f'<text x="{_LABEL - 8}" y="{y + 14}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect x="{_LABEL}" y="{y + 2}" width="{width}" height="{_ROW - 6}" rx="2" fill="{color}"/>')
        parts.append(f'<text x="{_LABEL + width + 6}" y="{y + 14}">{n:,}</text>')
    return "".join([*parts, "</svg>"])


def as_metadata(svg: str) -> dg.MarkdownMetadataValue:
    """The picture as Markdown that the UI renders."""
    return dg.MetadataValue.md(f"![](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})")

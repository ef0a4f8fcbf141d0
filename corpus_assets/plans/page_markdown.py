"""Text from outside as Markdown: its special characters are seen, not obeyed."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from corpus_assets.plans.for_people import shortened, shown

MAX_CELL = 120
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&])")


def escaped(text: str) -> str:
    """The text on one line; nothing in it is Markdown or HTML."""
    return _SPECIAL.sub(r"\\\1", shown(" ".join(text.split())))


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    max_rows: int | None = None,
    max_cell: int | None = MAX_CELL,
) -> str:
    """Cells are escaped, and shortened to `max_cell` characters; rows above `max_rows` are counted in a last one."""
    body = list(rows)
    if not body:
        return "None."
    told = [_line(heads, None), "|" + " --- |" * len(heads), *(_line(row, max_cell) for row in body[:max_rows])]
    if max_rows is not None and len(body) > max_rows:
        told.append(_line([f"and {len(body) - max_rows:,} more", *("" for _ in heads[1:])], None))
    return "\n".join(told)


def front_matter(fields: Mapping[str, Any]) -> str:
    """The YAML that stands before a page: keys as they are, texts in double quotes, which YAML reads as JSON does."""
    return "\n".join(["---", *_yaml(fields), "---"])


def _yaml(value: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    for key, item in value.items():
        if isinstance(item, list) and item:
            yield f"{indent}{key}:"
            for one in item:
                if isinstance(one, Mapping):
                    first, *rest = _yaml(one, f"{indent}  ")
                    yield f"{indent}- {first.lstrip()}"
                    yield from rest
                else:
                    yield f"{indent}- {_scalar(one)}"
        elif isinstance(item, Mapping) and item:
            yield f"{indent}{key}:"
            yield from _yaml(item, f"{indent}  ")
        else:
            yield f"{indent}{key}: {_scalar(item)}"


def _scalar(value: Any) -> str:
    return json.dumps(shown(value) if isinstance(value, str) else value, ensure_ascii=False)


def _line(cells: Sequence[str], max_cell: int | None) -> str:
    shown_cells = cells if max_cell is None else [shortened(cell, max_cell) for cell in cells]
    return "| " + " | ".join(escaped(cell) for cell in shown_cells) + " |"

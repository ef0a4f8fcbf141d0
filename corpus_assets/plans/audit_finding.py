"""What an audit found: whether a promise of what is stored holds, in words and figures."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Finding:
    """Whether a promise holds, in words a person understands, with the figures behind them."""

    passed: bool
    words: str
    figures: Mapping[str, int | float | str] = field(default_factory=dict)

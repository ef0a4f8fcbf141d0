"""Numbers as a caller has them, of Python or of numpy, as those that a saved state holds: int, bool, float and text.

Nothing is rounded: what has no exact form there is refused in words, here or by `rules.py`.
"""

import operator
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from formats.errors import OrderError
from formats.json_words import described


def whole(value: Any, name: str) -> int:
    """An int. Raises OrderError for what is none: a float, text, a bool."""
    if not is_whole(value):
        raise OrderError(f"{name} is {described(value)}, expected a whole number; mend the request")
    return operator.index(value)


def flag(value: Any, name: str) -> bool:
    """A bool. Raises OrderError for what is none."""
    if not isinstance(value, bool | np.bool_):
        raise OrderError(f"{name} is {described(value)}, expected True or False; mend the request")
    return bool(value)


def is_whole(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool | np.bool_)


def shares(values: Any) -> Any:
    """Numbers by bucket as JSON values, fractions in words; what is none stays, for the rules to name it."""
    if not isinstance(values, Mapping):
        return values
    return {str(name) if isinstance(name, str) else name: _share(value) for name, value in values.items()}


def _share(value: Any) -> Any:
    if is_whole(value):
        return operator.index(value)
    if isinstance(value, Fraction | Decimal | str):
        return str(value)
    if isinstance(value, float | np.floating) and (as_float := float(value)) == value:
        return as_float
    return value

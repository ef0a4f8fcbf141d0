"""What a saved state may say of an order, and so what an order may be asked for: one set of rules for both.

Spec: order.md, section State.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from formats.json_fields import Choice, Kind, OrNull, Problem, Whole
from formats.json_tables import Keyed
from formats.json_words import described
from formats.order.leg import FOREVER

MAX_BATCH = 1 << 24
MAX_SEED_BITS = 128
_SHARE = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,20}|/[0-9]{1,20})?(?:[eE][-+]?[0-9]{1,2})?")
"""As a fraction is written, with exponents that are bounded: 1e999999999 would take all memory."""


class _Shares(Kind):
    """An object: bucket -> a number from 0, or a fraction in words."""

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield path, f"expected an object of numbers by bucket, found {described(value)}"
            return
        for bucket, share in value.items():
            if not isinstance(bucket, str):
                yield path, f"expected names of buckets, found {described(bucket)}"
                continue
            is_number = isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share < FOREVER
            if not is_number and not (isinstance(share, str) and _SHARE.fullmatch(share)):
                what = f"a finite number, none below 0, or a fraction of at most 20 digits, found {described(share)}"
                yield f"{path}.{bucket:.100}", f"expected {what}"


MIXTURE = Keyed(
    {
        "position": Whole(),
        "weights": _Shares(),
        "lanes": Whole(1, 1 << 24),
        "run": Whole(1, 1 << 32),
        "max_epochs": OrNull(_Shares()),
        "when_used_up": Choice(("renormalize", "stop")),
    },
    ("position", "weights", "lanes", "run", "max_epochs", "when_used_up"),
)


def state_problems(state: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the fields of a state; the caller raises at the first."""
    for name in ("seed", "chunk", "step", "position"):
        if type(state.get(name)) is not int:
            yield name, f"expected a whole number, found {described(state.get(name))}"
        elif name == "seed":
            yield from seed_problems(state["seed"])
        else:
            yield from (chunk_problems(state[name]) if name == "chunk" else Whole().problems(state[name], name))
    for name in ("mixtures", "batches"):
        if not isinstance(state.get(name), list) or not state[name]:
            yield name, f"expected a list with an entry, found {described(state.get(name))}"
    for i, mixture in enumerate(state["mixtures"]):
        yield from MIXTURE.problems(mixture, f"mixtures[{i}]")
    yield from batch_problems(state["batches"])


def seed_problems(seed: int) -> Iterator[Problem]:
    if seed.bit_length() > MAX_SEED_BITS:
        yield "seed", f"expected a whole number of at most {MAX_SEED_BITS} bits, found {described(seed)}"


def chunk_problems(chunk: int) -> Iterator[Problem]:
    yield from Whole(1).problems(chunk, "chunk")


def batch_problems(batches: list[Any]) -> Iterator[Problem]:
    """Of a schedule, as lists of two."""
    for i, entry in enumerate(batches):
        is_entry = isinstance(entry, list) and len(entry) == 2 and all(type(n) is int for n in entry)
        if not is_entry or not 0 <= entry[0] < FOREVER or not 1 <= entry[1] <= MAX_BATCH:
            found = ", ".join(described(n) for n in entry[:3]) if isinstance(entry, list) else described(entry)
            yield f"batches[{i}]", f"expected the first step and a global batch of 1 to {MAX_BATCH}, found {found}"

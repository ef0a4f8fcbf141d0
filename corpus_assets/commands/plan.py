"""`corpus plan`: bytes, CPU hours and wall hours of N documents like those of a version; GB/s that a loader needs."""

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from corpus_assets.plans.for_people import NONE, num_bytes, rounded
from corpus_assets.plans.loader_rate import LoaderRate
from formats.errors import ConfigError
from formats.naming import VersionKey

if TYPE_CHECKING:
    from corpus_assets.plans.capacity import Plan

_MOST, _SHORTEST_STEP = 1e18, 1e-6
"""Beyond what anybody has, and short of what no longer is a number."""


def add_parser(subparsers: Any) -> None:
    """Add `plan` to the command line."""
    parser = subparsers.add_parser(
        "plan", help="what so many documents would take, from rates measured here and now, and what a loader needs"
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "version", nargs="?", metavar="VERSION", help="<dataset>.<version> whose documents are measured"
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--documents", type=float, metavar="N", help="how many documents, such as 1.5e10")
    size.add_argument("--tokens", type=float, metavar="N", help="as many documents as hold so many tokens")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, metavar="N", help="default: those here")
    loader = parser.add_argument_group("what the loader of a training run reads (no VERSION needed)")
    loader.add_argument("--ranks", type=int, metavar="N", help="data-parallel ranks")
    loader.add_argument("--step-seconds", type=float, metavar="S", help="how long a step takes")
    loader.add_argument("--seq-len", type=int, default=4096, metavar="N", help="tokens of a sequence (4096)")
    loader.add_argument("--sequences", type=int, default=1, metavar="N", help="that a rank takes each step (1)")
    loader.add_argument("--token-bytes", type=int, choices=(2, 4), default=2, help="4 beyond 65,536 ids (2)")
    parser.add_argument("--json", action="store_true", help="print the plan and the rates as JSON")


def run(args: argparse.Namespace) -> int:
    """0: the plan is printed. Raises ConfigError for a version whose documents are not made yet."""
    size = args.tokens if args.documents is None else args.documents
    if (args.version is None) != (size is None) or (size is None and args.ranks is None):
        raise ConfigError("expected VERSION with --documents or --tokens, or --ranks with --step-seconds, or both")
    rate = None if args.ranks is None else _loader_rate(args)
    plan = None if size is None else _corpus_plan(args, size)
    if args.json:
        parts = {"loader": rate.as_json()} if rate else {}
        print(json.dumps((plan.as_json() if plan else {}) | parts, indent=2))
        return 0
    if plan:
        _print(args.version, plan)
    if rate:
        print(rate)
    return 0


def _loader_rate(args: argparse.Namespace) -> LoaderRate:
    if args.step_seconds is None:
        raise ConfigError("--ranks: how long does a step take? Say it with --step-seconds")
    numbers = (args.ranks, args.sequences, args.seq_len)
    if not (min(numbers) >= 1 and max(numbers) <= _MOST) or not _SHORTEST_STEP <= args.step_seconds < math.inf:
        raise ConfigError(
            f"expected --ranks, --sequences and --seq-len from 1 to {_MOST:g}, and --step-seconds from "
            f"{_SHORTEST_STEP:g} on"
        )
    return LoaderRate(args.ranks, args.sequences, args.seq_len, args.token_bytes, args.step_seconds)


def _corpus_plan(args: argparse.Namespace, size: float) -> "Plan":
    from corpus_assets.plans import capacity  # compiles kernels
    from corpus_assets.plans.pinned import Build, load_pairs
    from resources.engines.local import LocalEngine

    if args.cores < 1 or not 1 <= size <= _MOST:
        raise ConfigError(f"expected --documents or --tokens from 1 to {_MOST:g}, and --cores of 1 or more")
    pairs = load_pairs(args.layout, VersionKey.parse(args.version))
    engine = LocalEngine(scratch=args.layout.corpus / "work" / "scratch", processes=False)
    rates = capacity.measure(Build(args.layout, engine), pairs, capacity.SIZES, say=_say)
    chars = max(rates.chars_per_doc, 1.0)
    num_docs = int(args.documents or args.tokens * capacity.CHARS_PER_TOKEN / chars)
    return capacity.plan(rates, max(1, num_docs), args.cores, pairs[0].config)


def _print(version: str, plan: "Plan") -> None:
    from corpus_assets.plans.capacity import CHARS_PER_TOKEN

    rates = plan.rates
    print(
        f"{rounded(plan.num_docs)} documents like those of {version}: {num_bytes(int(plan.text_bytes))} of text, "
        f"some {rounded(int(plan.num_tokens))} tokens at {CHARS_PER_TOKEN:g} characters each\n"
    )
    for row in _aligned([("step", "CPU hours", "written", "measured here"), *_rows(plan)]):
        print(row)
    sizes = ", ".join(f"{n:,} in {seconds:.1f} s" for n, seconds in rates.measured)
    print(
        f"\n{plan.cpu_hours:,.1f} CPU hours; {plan.wall_hours:,.1f} hours at least on {plan.cores} cores. Fetching,\n"
        f"extraction, decontamination and tokens are not in it. Sorts are extrapolated by\n"
        f"n log n from what was measured here, in CPU seconds: {sizes}."
    )


def _rows(plan: "Plan") -> Iterator[tuple[str, str, str, str]]:
    for step in plan.steps:
        speed = plan.rates.megabytes_per_second.get(step.step)
        beside = f"{speed:,.0f} MB a CPU second" if speed else "sorts, see below"
        written = num_bytes(int(step.written_bytes)) if step.written_bytes else NONE
        yield step.step, f"{step.cpu_hours:,.2f}", written, beside


def _aligned(rows: Sequence[tuple[str, str, str, str]]) -> Iterator[str]:
    """Columns as wide as what they hold; numbers to the right."""
    first, *numbers, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    for name, *middle, last in rows:
        told = (f"{cell:>{wide}}" for cell, wide in zip(middle, numbers, strict=True))
        yield "   ".join((f"{name:<{first}}", *told, last))


def _say(words: str) -> None:
    if sys.stderr.isatty():
        print(words, file=sys.stderr)

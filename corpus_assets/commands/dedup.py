"""`corpus dedup sample|labels|sweep`: look at near duplicates, measure how often a drop is wrong, weigh settings."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpus_assets.commands.new_files import check_place
from corpus_assets.commands.yank import tell
from corpus_assets.plans import yanking
from corpus_assets.plans.dedup_sweep_settings import Grid
from corpus_assets.plans.for_people import plural, share
from corpus_assets.plans.published_version import open_published
from formats import dedup_labels, durable
from formats.dedup_labels import LENGTH, RANDOM, Rate
from formats.naming import VersionKey


def add_parser(subparsers: Any) -> None:
    """Add `dedup` to the command line."""
    parser = subparsers.add_parser("dedup", help="look at near duplicates, and weigh the settings that find them")
    parser.set_defaults(run=run)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    sample = verbs.add_parser("sample", help="write a page of dropped texts beside what stayed, to be labelled")
    sample.add_argument("version", metavar="VERSION", help="a published <dataset>.<version>")
    sample.add_argument("-n", type=_count, default=100, metavar="PAIRS", help="how many pairs (default: 100)")
    sample.add_argument("--seed", type=_seed, default=1, help="another seed draws other pairs (default: 1)")
    _add_out(sample, "<VERSION>.pairs.html")
    labels = verbs.add_parser("labels", help="the rate of wrong drops, by labels that were saved from the page")
    labels.add_argument("file", type=Path, metavar="FILE", help="what the page saved")
    labels.add_argument("--json", action="store_true", help="print the rates as JSON")
    sweep = verbs.add_parser("sweep", help="how verdicts change with shingle and threshold, on a sample")
    sweep.add_argument("version", metavar="VERSION", help="<dataset>.<version> whose documents are signed")
    sweep.add_argument("--shingle", type=_numbers(int), default=(3, 5, 9), metavar="N,N", help="default: 3,5,9")
    sweep.add_argument(
        "--threshold", type=_numbers(float), default=(0.7, 0.8, 0.9), metavar="J,J", help="default: 0.7,0.8,0.9"
    )
    sweep.add_argument("--unit", choices=("word", "char"), help="of a shingle (default: the version's own)")
    sweep.add_argument(
        "--documents", type=_count, default=20_000, metavar="N", help="size of the sample (default: 20000)"
    )
    sweep.add_argument("--seed", type=_seed, default=1, help="another seed samples other documents (default: 1)")
    _add_out(sweep, "<VERSION>.sweep.html")


def _add_out(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"where the page goes (default: {default} here)")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON, too")


def _count(words: str) -> int:
    if not words.isdecimal() or int(words) < 1:
        raise argparse.ArgumentTypeError(f"{words!r} is no whole number of 1 or more")
    return int(words)


def _seed(words: str) -> int:
    if not words.isdecimal():
        raise argparse.ArgumentTypeError(f"{words!r} is no whole number")
    return int(words)


def _numbers(kind: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Numbers with commas between them, sorted, each once."""

    def parse(words: str) -> tuple[Any, ...]:
        try:
            return tuple(sorted({kind(word) for word in words.split(",")}))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{words!r}: expected numbers with commas between them") from None

    return parse


def run(args: argparse.Namespace) -> int:
    """0: done. Raises what the verb raises."""
    verbs = {"sample": run_sample, "labels": run_labels, "sweep": run_sweep}
    return verbs[args.verb](args)


def run_sample(args: argparse.Namespace) -> int:
    """0: the page is written. Raises ConfigError, CorruptDataError."""
    from corpus_assets.plans import dedup_sample, dedup_sample_page  # kernels, which `labels` does without

    key = VersionKey.parse(args.version)
    place = check_place(args.layout, args.out or Path(f"{key}.pairs.html"))
    version = open_published(args.layout, key)
    tell(yanking.of_version(args.layout, key))
    _say(f"drawing {plural(args.n, 'pair')} of {key}")
    drawn = dedup_sample.draw(version, args.n, args.seed)
    page = dedup_sample_page.render(key, version.digest, drawn, version.config().dedup.near, args.seed)
    out = _write(place, page)
    found = {
        "page": str(out),
        "pairs": len(drawn.pairs),
        "near_duplicates": drawn.num_near,
        "length_alarms": drawn.num_alarmed,
    }
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        print(f"{out}: {plural(len(drawn.pairs), 'pair')} of {plural(drawn.num_near, 'near duplicate')}")
    return 0


def run_labels(args: argparse.Namespace) -> int:
    """0: the rates are printed. Raises ConfigError for a file that holds no labels."""
    labels = dedup_labels.read(args.file)
    rates = {name: dedup_labels.false_positives(labels.labels, name) for name in (RANDOM, LENGTH)}
    key = VersionKey.parse(labels.corpus)
    lock = args.layout.lock(key)
    stale = lock.exists() and durable.read_lock(lock) != labels.manifest_sha256
    if args.json:
        told = {name: rate.as_json() for name, rate in rates.items()}
        print(json.dumps({"corpus": labels.corpus, "stale": stale, **told}, indent=2))
        return 0
    print(f"{labels.corpus}, wrong drops among near duplicates:")
    for name, rate in rates.items():
        print(f"  {_NAMES[name]:<34}{_rate(rate)}")
    if stale:
        print(f"note: {labels.corpus} was published again since; the pairs were drawn from {labels.manifest_sha256}")
    return 0


_NAMES = {RANDOM: "drawn from all alike", LENGTH: "drawn for their keeper's length"}


def _rate(rate: Rate) -> str:
    if rate.value is None:
        return "nobody decided on one" + (f" ({rate.unsure} unsure)" if rate.unsure else "")
    low, high = rate.interval
    unsure = f"; {rate.unsure} unsure" if rate.unsure else ""
    told = f"{rate.wrong} of {rate.decided} ({share(rate.wrong, rate.decided)})"
    return f"{told}, {low:.1%} to {high:.1%} at 95 % (Wilson){unsure}"


def run_sweep(args: argparse.Namespace) -> int:
    """0: the page is written. Raises ConfigError where a setting is none or the version's signatures are not made."""
    from corpus_assets.plans import dedup_sweep, dedup_sweep_page
    from corpus_assets.plans.pinned import Build, load_pairs
    from resources.engines.local import LocalEngine

    key = VersionKey.parse(args.version)
    place = check_place(args.layout, args.out or Path(f"{key}.sweep.html"))
    build = Build(args.layout, LocalEngine(scratch=args.layout.corpus / "work" / "scratch"))
    pairs = load_pairs(args.layout, key)
    grid = Grid(args.shingle, args.threshold, args.unit or pairs[0].config.dedup.near.shingle_unit)
    sweep = dedup_sweep.measure(build, pairs, grid, num_docs=args.documents, seed=args.seed, say=_say)
    out = _write(place, dedup_sweep_page.render(key, sweep))
    if args.json:
        print(json.dumps({"page": str(out), **sweep.as_json()}, indent=2))
    else:
        print(f"{out}: {plural(len(sweep.settings), 'setting')} over {plural(sweep.num_docs, 'document')}")
        print(sweep.reason)
    return 0


def _write(path: Path, page: str) -> Path:
    durable.write_file(path, page.encode("utf-8"))
    return path


def _say(words: str) -> None:
    if sys.stderr.isatty():
        print(words, file=sys.stderr)

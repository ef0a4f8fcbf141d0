"""`corpus contamination BENCHMARK --snapshot ID`: which items of a benchmark stand in a snapshot's documents, where,
and with a run record at which steps they were trained on.
"""

import argparse
import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corpus_assets.commands.build import open_engine
from corpus_assets.commands.new_files import local_path
from corpus_assets.commands.trace_words import plain
from corpus_assets.plans import benchmark as benchmarks
from corpus_assets.plans import named_snapshot
from corpus_assets.plans.contaminated_items import HitItem
from corpus_assets.plans.contamination import LIMIT, Contamination, check
from corpus_assets.plans.for_people import plural, shortened
from corpus_assets.plans.trained_documents import ServedDocument, TrainedDocuments
from formats import durable, run_record
from formats.errors import ConfigError

SHOWN_ITEMS, SHOWN_DOCUMENTS, SHOWN_STEPS = 20, 5, 8
SHOWN_ID = 60
"""Characters of an id; --json has all."""
MISS_EXAMPLES = (10, 30, 100)


def add_parser(subparsers: Any) -> None:
    """Add `contamination` to the command line."""
    parser = subparsers.add_parser(
        "contamination", help="which items of a benchmark a snapshot holds, and when they were trained on"
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "benchmark", type=local_path, metavar="BENCHMARK", help="a .jsonl, .csv or .parquet file, perhaps .gz or .zst"
    )
    parser.add_argument("--snapshot", required=True, metavar=named_snapshot.METAVAR, help=named_snapshot.HELP)
    parser.add_argument("--fields", metavar="NAME,…", help="which fields of an item count (default: every text)")
    parser.add_argument(
        "--run", type=local_path, dest="record", metavar="RECORD", help="the steps, too, from a run record"
    )
    parser.add_argument(
        "--from",
        dest="read_from",
        choices=("index", "corpus"),
        help="what to ask (default: the corpus where it is there and can say more than the index, else the index)",
    )
    parser.add_argument(
        "--index", type=local_path, metavar="FOLDER", help="where the index lies (default: in the evidence)"
    )
    parser.add_argument(
        "--write-clean",
        type=local_path,
        metavar="FILE",
        help="write the benchmark without the items hit, as a new file",
    )
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def run(args: argparse.Namespace) -> int:
    """0: no item is hit; 1: some are. Raises ConfigError, OrderError, CorruptDataError."""
    if args.write_clean is not None:
        _check_target(args.write_clean, args.benchmark)
    benchmark = benchmarks.read(args.benchmark, _fields(args.fields))
    snapshot_id = named_snapshot.id_of(args.layout, args.snapshot)
    record = run_record.read(args.record) if args.record else None
    result = check(
        args.layout,
        snapshot_id,
        benchmark,
        lambda: open_engine(args.layout),
        read_from=args.read_from,
        index_folder=args.index,
        record=record,
    )
    if args.write_clean is not None:
        clean = benchmarks.without(benchmark, result.numbers.__contains__)
        _write(args.write_clean, clean)
    if args.json:
        print(json.dumps(_as_json(result), indent=2, ensure_ascii=False))
    else:
        print("\n".join(_words(result, args.write_clean)))
    return 1 if result.items else 0


def _fields(named: str | None) -> list[str]:
    if named is None:
        return []
    if not (fields := [name for part in named.split(",") if (name := part.strip())]):
        raise ConfigError("--fields names none; name some, as in --fields question,choices, or leave it out")
    return list(dict.fromkeys(fields))


def _write(target: Path, clean: bytes) -> None:
    """A place that does not take the file is wrong usage: 1 says that an item is hit. Raises ConfigError."""
    try:
        durable.write_file(target, clean)
    except OSError as error:
        raise ConfigError(f"--write-clean {target}: cannot be written ({error.strerror}); name another place") from None


def _check_target(target: Path, benchmark: Path) -> None:
    """Before any work. Raises ConfigError."""
    if benchmarks.is_compressed(target):
        raise ConfigError(
            f"--write-clean {target}: lines are written as they are; leave {target.suffix} out of the name"
        )
    if (benchmarks.format_of(benchmark) == "parquet") != (target.suffix.lower() == ".parquet"):
        kept = "rows of Parquet stay Parquet" if target.suffix.lower() != ".parquet" else "its lines stay lines"
        raise ConfigError(f"--write-clean {target}: the benchmark is {benchmark.name}, and {kept}; end its name so")
    if target.exists():
        what = "the benchmark itself" if benchmark.exists() and target.samefile(benchmark) else "there already"
        raise ConfigError(f"--write-clean {target}: is {what}, expected a new file; name another, or remove it")
    if not target.parent.is_dir():
        raise ConfigError(f"--write-clean {target}: its folder is missing; make it first")
    if not os.access(target.parent, os.W_OK):
        raise ConfigError(f"--write-clean {target}: its folder cannot be written; name another place")


def _as_json(result: Contamination) -> dict[str, Any]:
    rate = {"rate": result.counts.rate, "interval_95": result.counts.interval, "interval": "Wilson score"}
    miss = {str(n): result.rule.miss_chance(n) for n in MISS_EXAMPLES}
    value = asdict(result)
    value["counts"] |= rate
    for item in value["items"]:
        del item["item"]  # line and id name it
    return {"contaminated": bool(result.items), **value, "miss_chance_by_ngrams": miss, "limit": LIMIT}


def _words(result: Contamination, clean: Path | None) -> Iterator[str]:
    yield f"{plain(result.benchmark)} against {result.snapshot_id} of {result.version}"
    yield from _rule(result)
    yield from _counts(result)
    if result.items:
        places = "in these rows" if _has_rows(result) else "that begin on these lines"
        yield f"hit are the items {places} of the file, counted from 1:"
    for item in result.items[:SHOWN_ITEMS]:
        yield from _item(item, "row" if _has_rows(result) else "line")
    if more := len(result.items) - min(len(result.items), SHOWN_ITEMS):
        yield f"and {plural(more, 'item')} more; --json lists them"
    if result.documents is not None and result.documents.num_documents:
        yield from _documents(result.documents)
    if clean is not None:
        left = result.counts.items - len(result.items)
        yield f"{plain(str(clean))}: the {plural(left, 'item')} not hit, as they were"
    yield from (f"note: {note}" for note in result.notes)
    yield f"limit: {LIMIT}{_miss(result)}"


def _rule(result: Contamination) -> Iterator[str]:
    rule = result.rule
    if rule.read_from == "corpus":
        shorter = f"shorter texts from {rule.whole_from} words on as a whole"
        yield f"read from the corpus: every run of {rule.ngram} words, {shorter}"
    else:
        sampled = "all" if rule.rate == 1 else f"1 in {rule.rate:,} by hash"
        yield f"read from the index {rule.index_sha256}: runs of {rule.ngram} words, {sampled}"
    if rule.false_positive_rate:
        yield (
            f"  a filter: {rule.false_positive_rate:.2g} of n-grams are hit by chance; of the items that were checked "
            f"{result.expected_false:.2g} are expected to be"
        )


def _counts(result: Contamination) -> Iterator[str]:
    counts = result.counts
    if counts.rate is None or counts.interval is None:
        yield f"{plural(counts.items, 'item')}, none of which could be checked"
    else:
        low, high = (100 * end for end in counts.interval)
        share = f"{100 * counts.rate:.2f} % (95 % interval {low:.2f} to {high:.2f} %, Wilson score)"
        yield f"{plural(counts.items, 'item')}: {counts.hit:,} of {counts.checked:,} checked are hit, {share}"
    reasons = (
        (counts.too_short, "too short to count"),
        (counts.short, "too short for the index, and only the corpus could tell"),
        (counts.not_sampled, "without an n-gram in the sample"),
        (counts.without_field, f"without a field {plain(' or '.join(result.fields))}"),
    )
    if told := [f"{n:,} {why}" for n, why in reasons if n]:
        yield f"  not checked: {'; '.join(told)}"


def _has_rows(result: Contamination) -> bool:
    return benchmarks.format_of(Path(result.benchmark)) == "parquet"


def _item(item: HitItem, place: str) -> Iterator[str]:
    spans = ", ".join(
        f"{plain(one.field)} characters {one.start:,} to {one.end:,}" for one in item.spans[:SHOWN_DOCUMENTS]
    )
    yield f"{place} {item.line:,}{_id(item)}: {spans}{_and_more(len(item.spans), SHOWN_DOCUMENTS)}"
    for document in (item.documents or ())[:SHOWN_DOCUMENTS]:
        places = ", ".join(f"{start:,} to {end:,}" for start, end in document.spans[:SHOWN_DOCUMENTS])
        yield f"  {plain(document.id)} characters {places}{_and_more(len(document.spans), SHOWN_DOCUMENTS)}"
    if item.num_documents and item.num_documents > SHOWN_DOCUMENTS:
        yield f"  and {plural(item.num_documents - SHOWN_DOCUMENTS, 'document')} more"


def _id(item: HitItem) -> str:
    return "" if item.id is None else f" (id {plain(shortened(str(item.id), SHOWN_ID))})"


def _documents(documents: TrainedDocuments) -> Iterator[str]:
    yield f"{plural(documents.num_documents, 'document')} of the snapshot:"
    for document in documents.listed[:SHOWN_ITEMS]:
        yield from _document(document)
    if documents.num_documents > SHOWN_ITEMS:
        yield f"  and {plural(documents.num_documents - SHOWN_ITEMS, 'document')} more; --json lists them"
    yield from (f"note: {note}" for note in documents.notes)


def _document(document: ServedDocument) -> Iterator[str]:
    for piece in document.pieces[:SHOWN_DOCUMENTS]:
        many = f"rows {piece.first_row:,} to {piece.last_row:,}"
        rows = many if piece.last_row > piece.first_row else f"row {piece.first_row:,}"
        yield f"  {plain(document.id)}: {piece.shard} {rows}"
    if document.servings is None:
        return
    steps = sorted({one.step for one in document.servings})
    told = ", ".join(f"{step:,}" for step in steps[:SHOWN_STEPS])
    yield f"    trained on at steps {told}{_and_more(len(steps), SHOWN_STEPS)}" if steps else "    not trained on yet"


def _miss(result: Contamination) -> str:
    rule = result.rule
    if rule.rate == 1:
        return ""
    examples = ", ".join(f"{100 * rule.miss_chance(n):.2g} % at {n}" for n in MISS_EXAMPLES)
    return f"; an item of which n n-grams are copied is missed with probability (1 - 1/{rule.rate:,})^n: {examples}"


def _and_more(number: int, shown: int) -> str:
    return f" and {number - shown:,} more" if number > shown else ""

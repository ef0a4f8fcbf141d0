"""How fast each stage is, beside its peers in the same run, and how right.

    python -m tests.bench [--quick] [--only BENCH ...] [--json FILE] [FOLDER]

FOLDER is a collection of *.jsonl.zst files whose lines have a `text`, such as ../shared/data, which also has the web
archives, pages and labelled texts that some rows need. Without it documents are made from a seed, and rows on quality
that need labels are left out. The corpus is fixed: 12 MB of documents of 200 to 12,000 characters, one of each folder
in turn; a slow peer takes the first 3 MB, plain Python the first MB. --quick takes a quarter of that, and no build of
all there is.

TEXT_DEDUP_PYTHON=PATH names an interpreter of its own that has text-dedup, whose dependencies do not fit beside ours;
bench_near_pairs then has its rows, too. What takes longer is a program of its own: `python -m tests.bench.big_clusters
10000000 2GB` finds the clusters of ten million documents in two gigabytes.

How right the decisions on text are, beside other tools and with pictures: python -m tests.bench.report.

How to read a row: the median amount a CPU second (process and all below it; MB are millions of bytes of UTF-8 text),
the slowest and fastest round (three, or five where they differ much), the figure to reach with `ok` or `MISSED`, the
most memory that was resident (libraries included), and for a peer how many times its speed ours is. On a machine that
others use, CPU seconds still grow by a third or so, since caches are shared: ratios within one run move less.
"""

import argparse
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from tests.bench import measure
from tests.bench.documents import QUICK, Corpus, Sizes, megabytes
from tests.bench.measure import Quality, Row

BENCHES = (
    "bench_raw",
    "bench_extract",
    "bench_extract_kinds",
    "bench_signals",
    "bench_text",
    "bench_dedup",
    "bench_near_pairs",
    "bench_ngrams",
    "bench_tokens",
    "bench_engine",
    "bench_growth",
    "bench_loader",
    "bench_pipeline",
)


def module_of(bench: str) -> ModuleType:
    return importlib.import_module(f"tests.bench.{bench}")


def rows(bench: str, corpus: Corpus) -> Iterator[Row]:
    """The rows of one bench: its own `rows`, else its `CASES` as they stand."""
    module = module_of(bench)
    if hasattr(module, "rows"):
        yield from module.rows(corpus)
    else:
        yield from measure.run_cases(bench, module.CASES, corpus)


def quality(bench: str, corpus: Corpus) -> Iterator[Quality]:
    module = module_of(bench)
    if hasattr(module, "quality"):
        yield from module.quality(corpus)


def main(arguments: list[str]) -> int:
    about, _, how = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser("python -m tests.bench", description=about, epilog=how, formatter_class=_AsWritten)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--quick", action="store_true", help="a quarter of the documents, and no large build")
    parser.add_argument("--only", nargs="+", choices=BENCHES, default=BENCHES, metavar="BENCH", help=", ".join(BENCHES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows there, too")
    args = parser.parse_args(arguments)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # start-up is that of a program whose modules were compiled once
    with tempfile.TemporaryDirectory(prefix="corpus-bench-") as scratch:
        corpus = Corpus(Path(scratch), args.folder, QUICK if args.quick else Sizes()).store()
        found = run(corpus, args.only)
    if args.json:
        args.json.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return 0


def run(corpus: Corpus, benches: tuple[str, ...]) -> dict[str, object]:
    """Run the benches, print the table, and return it."""
    machine, text = measure.machine(), corpus.text()
    about = {
        "documents": len(text),
        "megabytes": round(megabytes(text), 1),
        "from": corpus.folder.name if corpus.folder else "a seed",
    }
    print(f"{machine['cpu']}, {machine['cores']} cores, load average {machine['load_average']}; {machine['system']}")
    print(f"Python {machine['python']}; " + ", ".join(f"{name} {v}" for name, v in machine["libraries"].items()))
    print(f"{about['documents']:,} documents, {about['megabytes']} MB, from {about['from']}\n\n{measure.SPEED_HEAD}")
    speeds, rights = [], []
    for bench in benches:
        for row in rows(bench, corpus):
            print(row, flush=True)
            speeds.append(row.as_json())
    print(f"\n{measure.QUALITY_HEAD}")
    for bench in benches:
        for one in quality(bench, corpus):
            print(one, flush=True)
            rights.append(one.as_json())
    print(f"\nload average at the end: {measure.machine()['load_average']}")
    return {"machine": machine, "corpus": about, "speed": speeds, "quality": rights}


class _AsWritten(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the docstring."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

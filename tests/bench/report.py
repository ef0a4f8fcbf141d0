"""One report of what each decision on text is worth: tables and pictures, ours beside others, from one run.

    python -m tests.bench.report FOLDER --out DIR [--only PART ...]

FOLDER is the shared collection of labelled texts. DIR gets report.md, report.json and a picture a table. Other tools
run where they are installed: trafilatura and readability-lxml beside ours, datatrove, dolma, presidio-analyzer,
detect-secrets and wordllama in the interpreter that TEXT_PEERS_PYTHON names, since their dependencies do not fit beside
ours. What is not there is named in the report.

    pip install trafilatura lxml_html_clean readability-lxml    # beside ours
    head -n 16 tests/bench/text_peers_program.py    # what the other interpreter needs
"""

import argparse
import importlib
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formats import durable
from tests.bench import measure, report_tables
from tests.bench.documents import Corpus
from tests.bench.report_tables import Table, shown

PARTS = {
    "texts": "report_texts",
    "languages": "report_languages",
    "decontamination": "bench_decontamination",
    "pii": "bench_pii",
    "speed": "report_speed",
}
PICTURES = "pictures"


def made(corpus: Corpus, parts: list[str]) -> Iterator[tuple[str, Table, float]]:
    """(part, table, wall seconds it took) in the order of PARTS."""
    for part in parts:
        module = importlib.import_module(f"tests.bench.{PARTS[part]}")
        start = time.monotonic()
        for table in module.tables(corpus):
            yield part, table, time.monotonic() - start
            start = time.monotonic()


def markdown(head: str, tables: list[tuple[str, Table]], files: dict[str, str]) -> str:
    """The report; `files`: name of a picture in DIR -> its SVG, filled here."""
    lines = ["# What our decisions on text are worth", "", head, ""]
    behind = [(table.title, one) for _, table in tables for one in table.behind]
    lines += ["## Where another tool leads", ""]
    lines += [f"- {title}: {one}." for title, one in behind] or ["Nowhere in these tables."]
    lines.append("")
    for part, table in tables:
        lines += [f"## {table.title}", "", table.about, "", table.markdown(), ""]
        for number, picture in enumerate(table.pictures):
            name = f"{PICTURES}/{part}-{re.sub('[^a-z0-9]+', '-', table.title.lower()).strip('-')}-{number}.svg"
            files[name] = picture.standalone()
            lines += [f"![{picture.title}]({name})", ""]
    return "\n".join(lines)


def head_words() -> str:
    """The machine, and which peers did not run."""
    where = measure.machine()
    told = [
        f"{where['cpu']}, {where['cores']} cores, load average {where['load_average']}; Python {where['python']}; "
        + ", ".join(f"{name} {version}" for name, version in where["libraries"].items())
        + "."
    ]
    if report_tables.python_of_peers() is None:
        told.append(
            f"No interpreter of peers was named ({report_tables.PEERS_PYTHON}), so the peers it has did not run."
        )
    else:
        told += [f"{tool} did not run: {why}." for tool, why in report_tables.missing().items()]
    return "\n\n".join(told)


def as_json(part: str, table: Table) -> dict[str, Any]:
    return {
        "part": part,
        "title": table.title,
        "about": table.about,
        "head": list(table.head),
        "rows": [[cell if isinstance(cell, int | float | None) else shown(cell) for cell in row] for row in table.rows],
        "behind": list(table.behind),
    }


def main(arguments: list[str]) -> int:
    about, _, how = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        "python -m tests.bench.report",
        description=about,
        epilog=how,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    args = parser.parse_args(arguments)
    if not args.folder.is_dir():
        parser.error(f"{args.folder}: is no folder; give that of the labelled texts")
    tables: list[tuple[str, Table]] = []
    with tempfile.TemporaryDirectory(prefix="corpus-report-") as scratch:
        for part, table, seconds in made(Corpus(Path(scratch), args.folder), args.only):
            print(f"{table.title}: {seconds:.0f} s", file=sys.stderr, flush=True)
            tables.append((part, table))
            write(args.out, tables)  # a later part may fail, and this one took its time
    print(args.out / "report.md")
    return 0


def write(out: Path, tables: list[tuple[str, Table]]) -> None:
    """The report of these tables, in place of an older one."""
    files: dict[str, str] = {}
    files["report.md"] = markdown(head_words(), tables, files)
    found = {"machine": measure.machine(), "tables": [as_json(part, table) for part, table in tables]}
    files["report.json"] = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    for name, text in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        durable.write_file((out / name).absolute(), text.encode("utf-8"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The `corpus` command: what Dagster has no verb for. One file a subcommand in `corpus_assets.commands`."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from corpus_assets.commands import build, config, fetch, ledger, trace, up, verify
from formats.errors import ConfigError, CorpusError
from formats.layout import Layout

_COMMANDS = (up, build, ledger, config, fetch, verify, trace)
OK, FAILED, WRONG_USAGE = 0, 1, 2


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="corpus", description="From a licence ledger to verified, byte-identical training shards."
    )
    top.add_argument("--root", type=Path, help="the artifacts root; default: CORPUS_ROOT, else found from here upwards")
    top.add_argument("--cache", type=Path, help="where fetched bytes lie; default: CORPUS_CACHE, else corpus/cache")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add_parser(commands)
    return top


def find_root(start: Path) -> Path:
    """The nearest folder at or above `start` that holds a corpus with a ledger; `start` itself when none does."""
    for folder in (start, *start.parents):
        if (folder / "corpus" / "LEDGER.jsonl").is_file():
            return folder
    return start


def layout_of(args: argparse.Namespace) -> Layout:
    """The layout that options, environment and working directory name, in this order."""
    root = args.root or Path(os.environ.get("CORPUS_ROOT") or find_root(Path.cwd()))
    cache = args.cache or os.environ.get("CORPUS_CACHE")
    return Layout(root.resolve(), Path(cache).resolve() if cache else None)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. 0: fine; 1: a check or a build failed; 2: wrong usage, config or ledger."""
    args = parser().parse_args(argv)
    args.layout = layout_of(args)
    try:
        return args.run(args)
    except CorpusError as error:
        for line in (str(error), *getattr(error, "__notes__", ())):
            print(f"corpus: {line}", file=sys.stderr)
        return WRONG_USAGE if isinstance(error, ConfigError) else FAILED
    except KeyboardInterrupt:
        print("corpus: stopped; a rerun goes on from what is finished", file=sys.stderr)
        return 130


if __name__ == "__main__":
    raise SystemExit(main())

"""The `corpus` command: what Dagster has no verb for. One file a subcommand in `corpus_assets.commands`."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import corpus_assets.start  # noqa: F401  first: it makes loading the rest faster
from corpus_assets.commands import live_output, words
from corpus_assets.commands.exit_codes import Parser
from formats import userinfo
from formats.errors import ConfigError, CorpusError
from formats.layout import Layout

COMMANDS = (
    "up",
    "build",
    "tokenize",
    "status",
    "preview",
    "ledger",
    "config",
    "fetch",
    "verify",
    "trace",
    "takedown",
    "diff",
    "replay",
    "export",
    "push",
    "pull",
    "contamination",
    "dedup",
    "model",
    "extract",
    "yank",
    "gc",
    "plan",
    "serve",
    "completion",
)
"""Each is a module of `corpus_assets.commands`, loaded when it is asked for: all of them take seconds."""
_NOT_FOR_ALL = 0o002
"""Nothing is written that everybody may change, whatever the umask says."""
OK, FAILED, WRONG_USAGE = 0, 1, 2
STOPPED, READER_GONE = 130, 141
"""As a shell names ends by SIGINT and SIGPIPE."""


def parser(commands: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """The command line with these commands."""
    top = Parser(
        prog="corpus",
        description="From a licence ledger to the exact tokens every rank saw.",
        parents=[_for_all_commands()],
    )
    subparsers = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in commands:
        importlib.import_module(f"corpus_assets.commands.{name}").add_parser(subparsers)
    _describe(top)
    return top


def _describe(parser: argparse.ArgumentParser) -> None:
    """Let the help of each command begin with what the list of commands says of it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {one.dest: one.help for one in action._choices_actions}
            for name, below in action.choices.items():
                words = told.get(name) or ""
                below.description = words[:1].upper() + words[1:]
                _describe(below)


def _for_all_commands() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(prog="corpus", add_help=False)
    options.add_argument(
        "--root", type=Path, help="the artifacts root; default: CORPUS_ROOT, else found from here upwards"
    )
    options.add_argument("--cache", type=Path, help="where fetched bytes lie; default: CORPUS_CACHE, else corpus/cache")
    return options


def _asked_for(argv: Sequence[str] | None) -> Sequence[str]:
    """The one command that is named; all where none is, so that help and errors list them."""
    _, rest = _for_all_commands().parse_known_args(argv)
    return rest[:1] if rest and rest[0] in COMMANDS else COMMANDS


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
    try:
        try:
            return _run(argv)
        finally:
            sys.stdout.flush()  # now: at the interpreter's exit nobody would put a failure in words
    except BrokenPipeError:  # `corpus trace … | head`: the reader has what it wanted
        live_output.give_up(sys.stdout)
        return READER_GONE
    except OSError as error:
        live_output.give_up(sys.stdout)
        print(f"corpus: {userinfo.mask(words.of_os_error(error))}", file=sys.stderr)
        return FAILED


def _run(argv: Sequence[str] | None) -> int:
    os.umask(os.umask(_NOT_FOR_ALL) | _NOT_FOR_ALL)
    try:
        args = parser(_asked_for(argv)).parse_args(argv)
        args.layout = layout_of(args)
        return args.run(args)
    except CorpusError as error:
        for line in (str(error), *getattr(error, "__notes__", ())):
            print(f"corpus: {userinfo.mask(line)}", file=sys.stderr)
        return WRONG_USAGE if isinstance(error, ConfigError) else FAILED
    except KeyboardInterrupt:
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""  # of the ^C and the line of progress
        print(f"{clear}corpus: stopped; a rerun goes on from what is finished", file=sys.stderr)
        return STOPPED


if __name__ == "__main__":
    raise SystemExit(main())

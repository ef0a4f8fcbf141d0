"""Runs subcommands as the `corpus` program does, over one artifacts root."""

import argparse
from pathlib import Path
from typing import Any

from formats.layout import Layout


def run(module: Any, root: Path, *words: str) -> int:
    """The exit code of `corpus <words>`; usage errors raise SystemExit, wrong input the command's own exceptions."""
    parser = argparse.ArgumentParser(prog="corpus")
    module.add_parser(parser.add_subparsers())
    args = parser.parse_args(words)
    args.layout = Layout(root)
    return module.run(args)

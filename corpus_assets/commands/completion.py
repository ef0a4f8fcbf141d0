"""`corpus completion SHELL`: what a shell reads to complete commands, options, versions, token sets, sources and files.

The script is made of the parsers, so that it knows what they know. It asks no Python at a Tab: names come from the
folder of configs and from the ledger, and only those that the project allows as names, since a shell expands the words
it is given.
"""

import argparse
from collections.abc import Iterator
from typing import Any

SHELLS = ("bash", "zsh")
_FILES = ("FILE", "FILE.html", "RECORD", "STATE", "PAGES", "BENCHMARK", "PATH_OR_URL")
_FOLDERS = ("FOLDER", "OUT", "ROOT", "CACHE")
_NAMES = {"VERSION": "versions", "KEY": "keys", "SOURCE": "sources", "SNAPSHOT": "keys"}
"""What an argument is by the word that stands for it in the help."""

_FOUND = r"""
_corpus_root() {
  local folder="${CORPUS_ROOT:-$PWD}"
  while [ -n "$folder" ] && [ ! -f "$folder/corpus/LEDGER.jsonl" ]; do folder="${folder%/*}"; done
  printf '%s\n' "$folder"
}
_corpus_found_keys() {
  find "$(_corpus_root)/corpus/configs" -mindepth 2 -maxdepth 2 -name '*.yaml' 2>/dev/null |
    LC_ALL=C sed -nE 's#^.*/([a-z0-9][a-z0-9_-]*)/([a-z0-9][a-z0-9._-]*)\.yaml$#\1.\2#p'
}
_corpus_found_versions() { _corpus_found_keys | LC_ALL=C sed -nE '/^[^.]+\.[^.]+$/p'; }
_corpus_found_sources() {
  LC_ALL=C sed -nE 's/^.*"source_id": *"([a-z0-9][a-z0-9_-]*)".*$/\1/p' \
    "$(_corpus_root)/corpus/LEDGER.jsonl" 2>/dev/null
}
"""
_OFFERED = {
    "bash": '_corpus_{name}() {{ compgen -W "$(_corpus_found_{name})" -- "$1"; }}\n',
    "zsh": '_corpus_{name}() {{ local -a found; found=(${{(f)"$(_corpus_found_{name})"}}); compadd -a found; }}\n',
}


def add_parser(subparsers: Any) -> None:
    """Add `completion` to the command line."""
    parser = subparsers.add_parser("completion", help="print what bash or zsh needs to complete this command")
    parser.set_defaults(run=run)
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=" or ".join(SHELLS))


def run(args: argparse.Namespace) -> int:
    """0: it is printed."""
    from corpus_assets import cli  # it imports its commands by name, this one among them

    print(script(cli.parser(), args.shell))
    return 0


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """What `shell` has to read."""
    import shtab

    for action in _arguments(parser):
        if found := _completed_by(str(action.metavar or action.dest.upper())):
            action.complete = found  # type: ignore[attr-defined]  # where shtab looks
    names = sorted(set(_NAMES.values()))
    preamble = {one: _FOUND + "".join(_OFFERED[one].format(name=name) for name in names) for one in SHELLS}
    return shtab.complete(parser, shell, preamble=preamble)


def _completed_by(word: str) -> dict[str, str] | None:
    import shtab

    if word in _NAMES:
        return dict.fromkeys(SHELLS, f"_corpus_{_NAMES[word]}")
    return shtab.FILE if word in _FILES else shtab.DIRECTORY if word in _FOLDERS else None


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every argument of a parser and of all below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in set(action.choices.values()):
                yield from _arguments(below)
        else:
            yield action

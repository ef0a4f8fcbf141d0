"""What every `--help` says of the exit codes: what is the command's own stands in the docstring of its `run`."""

import argparse
from collections.abc import Callable
from typing import NoReturn

from formats import userinfo

_FOR_ALL = (
    "1 also where a stored file is missing, damaged or from another build, or where the system refuses to read or "
    "write; 2: wrong usage, or an input, config or ledger that a person has to mend; 130: stopped. Errors are told on "
    "standard error"
)


class Parser(argparse.ArgumentParser):
    """A parser whose help ends with the exit codes; parsers of subcommands are of the same class."""

    def format_help(self) -> str:
        run = self.get_default("run")
        empty = "; with --json, standard output then stays empty." if "--json" in self.format_usage() else "."
        self.epilog = f"Exit codes: {_own(run) if run else '0: done;'} {_FOR_ALL}{empty}"
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """As argparse does; what was typed is repeated without the passwords in it."""
        super().error(userinfo.mask(message))


def _own(run: Callable[..., object]) -> str:
    """The beginning of the docstring, up to what is raised: `0: no item is hit; 1: some are.`"""
    told, _, _ = " ".join((run.__doc__ or "").split()).partition(" Raises ")
    return told if told.startswith("0:") else "0: done;"

"""Addresses of Spark: which have a form that Spark knows, and whether anybody answers there.

Spark itself tells a wrong one by a Java exception, some of them after minutes.
"""

import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise

from formats.errors import ConfigError, TransientError

FORMS = "local[2], local-cluster[2,1,1024], spark://HOST:7077, yarn, k8s://HOST:443, or sc://HOST:15002 (Connect)"
_HOST = r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])"
_MASTERS = (
    r"local(?:\[(?:[1-9][0-9]*|\*)(?:,[1-9][0-9]*)?\])?",
    r"local-cluster\[[1-9][0-9]*,[1-9][0-9]*,[1-9][0-9]*\]",
    rf"spark://{_HOST}:[0-9]+(?:,{_HOST}:[0-9]+)*",
    r"yarn",
    r"k8s://\S+",
)
_CONNECT = rf"sc://{_HOST}(?::[0-9]+)?(?:/\S*)?"
_CONNECT_PORT = 15002
_PLACE = re.compile(rf"({_HOST})(?::([0-9]+))?")
ANSWER_SECONDS = 5.0


def check(address: str, setting: str, *, connect: bool = True) -> None:
    """Raise ConfigError, which names the setting, for an address of no known form; `connect` says whether that of a
    Connect server is one.
    """
    forms = (*_MASTERS, _CONNECT) if connect else _MASTERS
    if not any(re.fullmatch(form, address) for form in forms):
        raise ConfigError(f"{setting}: {address!r} is no address of Spark; expected such as {FORMS}")


def check_command(command: Sequence[str], setting: str) -> None:
    """The same for the `--master` of a spark-submit command, where it names one."""
    for word, following in pairwise([*command, ""]):
        if word == "--master":
            check(following, f"{setting}: --master", connect=False)
        elif word.startswith("--master="):
            check(word.removeprefix("--master="), f"{setting}: --master", connect=False)


def reach(address: str) -> None:
    """Raise ConfigError where no host of a `spark://` or `sc://` address has a known name, TransientError where none of
    them takes a connection. Others are for Spark to reach.
    """
    failures = list[OSError]()
    for host, port in _places(address):
        try:
            with closing(socket.create_connection((host.strip("[]"), port), ANSWER_SECONDS)):
                return
        except OSError as error:
            failures.append(error)
    if failures and all(isinstance(error, socket.gaierror) for error in failures):
        raise ConfigError(f"Spark at {address}: the host has no known address; mend its name, or the network's names")
    if failures:
        raise TransientError(
            f"Spark at {address}: nobody answers ({failures[-1].strerror or failures[-1]}); start it there, or mend "
            f"the address, then run again"
        )


def _places(address: str) -> Iterator[tuple[str, int]]:
    kind, _, rest = address.partition("://")
    if kind not in ("spark", "sc"):
        return
    for place in rest.partition("/")[0].split(","):
        if match := _PLACE.fullmatch(place):
            yield match[1], int(match[2] or _CONNECT_PORT)

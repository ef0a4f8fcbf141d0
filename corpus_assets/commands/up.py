"""`corpus up [--build KEY]`: the Dagster UI on this corpus, after a build if one is asked for."""

import argparse
import errno
import functools
import ipaddress
import os
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

from corpus_assets.commands import environment, live_output, up_log, up_process
from corpus_assets.commands.build import build
from corpus_assets.commands.tokenize import tokenize
from corpus_assets.commands.up_records import Record
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import TokensKey, VersionKey
from resources.alert_words import UI_VARIABLE

HOST, PORT = "127.0.0.1", 3000
_ANOTHER_HOST = "--host takes an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them"
_KNOWN_WARNINGS = (
    "Function `observable_source_asset` is currently in beta",
    "Parameter `use_user_code_server` of initializer",
    "Specifying a partitions_def on an AssetCheckSpec",
    "Function `dev_command` is superseded",
)
"""Of Dagster, about what this project knows that it uses; the pinned version is what it is tested with."""
_TODO = {
    errno.EADDRINUSE: "end what listens there, or take another --port",
    errno.EADDRNOTAVAIL: _ANOTHER_HOST,
    errno.EACCES: "this user may not listen below port 1024; take another --port",
}


def add_parser(subparsers: Any) -> None:
    """Add `up` to the command line."""
    parser = subparsers.add_parser("up", help="show the corpus in the Dagster UI")
    parser.set_defaults(run=run)
    parser.add_argument("--build", metavar="KEY", help="build this version, or the snapshot of this token set, first")
    parser.add_argument("--host", default=HOST, help=f"default: {HOST}, reachable from this machine alone")
    parser.add_argument("--port", type=int, default=PORT, help=f"default: {PORT}")
    parser.add_argument("--log-format", choices=("text", "json"), default="text", help="of what is printed")
    parser.add_argument("--every-tick", action="store_true", help="print all that Dagster prints, traces and ticks too")


def run(args: argparse.Namespace) -> int:
    """0: told to end by TERM or HUP. Does not return while the UI runs. Raises ConfigError when the port or the
    root is taken, or an alert channel that is set is of no use, before a build begins.
    """
    reached = channels()
    check_port(args.host, args.port)
    up_process.hold_alone(args.layout)
    if args.build is None:
        environment.prepare(args.layout)
    elif failed := _build(args.layout, args.build):
        return failed
    return _serve(args, reached)


def channels() -> list[str]:
    """The alert channels that are set, in words. Raises ConfigError that says what is wrong with each, and with the
    address that alerts link to.
    """
    from resources.http_post import check_url
    from resources.mail import Mail  # loads Dagster, which takes seconds
    from resources.slack import Slack
    from resources.webhook import Webhook

    found, wrong = [], []
    for channel in (Webhook, Slack, Mail):
        try:
            found.append(channel.set_in_environment())
        except ConfigError as error:
            wrong.append(f"{error}; mend it, or unset it: no alert would be delivered there")
    if url := os.environ.get(UI_VARIABLE):
        try:
            check_url(UI_VARIABLE, url)
        except ConfigError as error:
            wrong.append(f"{error}; mend it, or unset it: no alert could link to its run")
    if wrong:
        raise ConfigError("\n".join(wrong))
    return [words for words in found if words]


def _build(layout: Layout, key: str) -> int:
    if key.count(".") > 1:
        return tokenize(layout, TokensKey.parse(key))
    return build(layout, VersionKey.parse(key))


def _serve(args: argparse.Namespace, reached: list[str]) -> int:
    """Run the UI and its daemon until they are told to end."""
    beside_python = Path(sys.executable).with_name("dagster")
    dagster = str(beside_python) if beside_python.exists() else shutil.which("dagster")
    if not dagster:
        raise ConfigError("the dagster command is not installed in this environment; install the project again")
    url = url_of(args.host, args.port)
    # Dagster lets a sensor look at five runs a tick; a version of many sources has two runs a source.
    os.environ.setdefault("DAGSTER_RUN_STATUS_SENSOR_PROCESS_LIMIT", "100")
    # On a busy machine the code can take longer to answer than the minute after which Dagster fails a run.
    os.environ.setdefault("DAGSTER_GRPC_TIMEOUT_SECONDS", "600")
    # Alerts link to the runs' pages; behind a proxy, whoever sets it knows the address better.
    os.environ.setdefault(UI_VARIABLE, url)
    # Every process of a run would say them anew; what the person set comes later and counts.
    ours = [f"ignore:{words}" for words in _KNOWN_WARNINGS]
    os.environ["PYTHONWARNINGS"] = ",".join([*ours, *filter(None, [os.environ.get("PYTHONWARNINGS")])])
    os.environ["PYTHONUNBUFFERED"] = "1"  # a line is printed when it is said, through the pipe too
    command = [dagster, "dev", "-w", str(environment.PROJECT / "workspace.yaml"), "-h", args.host]
    with up_process.alone(args.layout, url) as lock:
        to = ", ".join(reached) or "nobody: no channel is set (docs/operate.md, Alerts)"
        for line in (f"Alerts go to {to}", f"The UI is at {url} (Ctrl-C ends it)"):
            said = Record("", "corpus", "INFO", line)
            live_output.say(up_log.as_json(said) if args.log_format == "json" else line, sys.stdout)
        show = functools.partial(
            up_log.pump, out=sys.stdout, every=args.every_tick, json_lines=args.log_format == "json"
        )
        return up_process.run([*command, "-p", str(args.port)], lock, show)


def url_of(host: str, port: int) -> str:
    """Where the UI that listens there is reached: of one that listens on all addresses, by this machine's name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:  # a name
        return f"http://{host}:{port}"
    if address.is_unspecified:
        return f"http://{socket.getfqdn()}:{port}"
    return f"http://{f'[{host}]' if address.version == 6 else host}:{port}"


def check_port(host: str, port: int) -> None:
    """Raises ConfigError when the UI could not listen there: it would fail while its daemon goes on."""
    if not 0 < port < 65536:
        raise ConfigError(f"--port {port}: expected a port from 1 to 65535")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        unknown = isinstance(error, socket.gaierror)
        todo = _ANOTHER_HOST if unknown else _TODO.get(error.errno or 0, "take another --port")
        raise ConfigError(f"{host}:{port}: {error.strerror}; {todo}") from None

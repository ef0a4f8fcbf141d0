"""`corpus up [--build KEY]`: the Dagster UI on this corpus, after a build if one is asked for."""

import argparse
import errno
import os
import shutil
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn

from corpus_assets.commands import environment
from corpus_assets.commands.build import build
from corpus_assets.commands.tokenize import tokenize
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import TokensKey, VersionKey

HOST, PORT = "127.0.0.1", 3000
_ANOTHER_HOST = "--host takes an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them"
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


def run(args: argparse.Namespace) -> int:
    """Does not return while the UI runs. Raises ConfigError when the port is taken, before a build begins."""
    check_port(args.host, args.port)
    if args.build is None:
        environment.prepare(args.layout)
    elif failed := _build(args.layout, args.build):
        return failed
    return _become_the_ui(args.host, args.port)


def _build(layout: Layout, key: str) -> int:
    if key.count(".") > 1:
        return tokenize(layout, TokensKey.parse(key))
    return build(layout, VersionKey.parse(key))


def _become_the_ui(host: str, port: int) -> NoReturn:
    beside_python = Path(sys.executable).with_name("dagster")
    dagster = str(beside_python) if beside_python.exists() else shutil.which("dagster")
    if not dagster:
        raise ConfigError("the dagster command is not installed in this environment; install the project again")
    # Dagster lets a sensor look at five runs a tick; a version of many sources has two runs a source.
    os.environ.setdefault("DAGSTER_RUN_STATUS_SENSOR_PROCESS_LIMIT", "100")
    # On a busy machine the code can take longer to answer than the minute after which Dagster fails a run.
    os.environ.setdefault("DAGSTER_GRPC_TIMEOUT_SECONDS", "600")
    # Alerts link to the runs' pages; behind a proxy, whoever sets it knows the address better.
    os.environ.setdefault("CORPUS_UI_URL", f"http://{host}:{port}")
    print(f"The UI is at http://{host}:{port} (Ctrl-C ends it)", flush=True)
    os.execv(dagster, [dagster, "dev", "-w", str(environment.PROJECT / "workspace.yaml"), "-h", host, "-p", str(port)])


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

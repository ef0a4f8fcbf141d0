"""`corpus serve`: snapshots and traces over HTTP, from this machine alone and read-only unless it is told otherwise."""

import argparse
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from corpus_assets.commands.up import check_port
from formats.errors import ConfigError

HOST, PORT = "127.0.0.1", 8330
LOOPBACK = ("127.0.0.1", "localhost", "::1")
TOKEN = "CORPUS_SERVE_TOKEN"
MIN_TOKEN, MAX_TOKEN = 16, 1024
MAX_CONNECTIONS = 64


def add_parser(subparsers: Any) -> None:
    """Add `serve` to the command line."""
    parser = subparsers.add_parser("serve", help="answer over HTTP where tokens of snapshots came from")
    parser.set_defaults(run=run)
    parser.add_argument("--host", default=HOST, help=f"default: {HOST}, reachable from this machine alone")
    parser.add_argument("--port", type=int, default=PORT, help=f"default: {PORT}")
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help=f"lets who has its token POST configs (or {TOKEN} does)"
    )


def run(args: argparse.Namespace) -> int:
    """Does not return while it serves; 0 when stopped. Raises ConfigError for a port or token that will not do."""
    import uvicorn  # here: no other command should wait for it

    from corpus_assets.commands.serve_app import make_app

    token = read_token(args.token_file)
    check_port(args.host, args.port)
    is_loopback = args.host in LOOPBACK
    app = make_app(args.layout, token, only_loopback=is_loopback)
    writing = "takes configs with the token" if token else "read-only"
    print(f"Serving {args.layout.root} at http://{args.host}:{args.port} ({writing}; Ctrl-C ends it)", flush=True)
    if not is_loopback:
        print("note: whoever reaches this address can read; put TLS and access rules before it", flush=True)
    with suppress(KeyboardInterrupt):
        uvicorn.run(
            app,
            host=args.host,
            port=args.port,
            limit_concurrency=MAX_CONNECTIONS,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
        )
    return 0


def read_token(file: Path | None) -> str | None:
    """The token in a file, else in the environment; None where there is none. Raises ConfigError for one that is no
    secret: it must have 16 characters or more that a header can hold.
    """
    if file is not None:
        try:
            token = file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise ConfigError(f"--token-file {file}: cannot be read ({why}); write the token into it") from None
    elif TOKEN in os.environ:
        token = os.environ[TOKEN].strip()
    else:
        return None
    if not MIN_TOKEN <= len(token) <= MAX_TOKEN or not all("!" <= c <= "~" for c in token):
        raise ConfigError(
            f"the token has {len(token)} characters, expected {MIN_TOKEN} to {MAX_TOKEN} of ASCII without spaces; make "
            'one with: python -c "import secrets; print(secrets.token_urlsafe(32))"'
        )
    return token

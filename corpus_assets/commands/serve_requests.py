"""What is let through of a request: who may write, how long a body may be, which parameters there are."""

import asyncio
import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from corpus_assets.commands.serve import LOOPBACK

MAX_BODY_BYTES = 256 * 1024
BODY_SECONDS = 20
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_OFFSET = re.compile(r"[0-9]{1,18}")


@dataclass
class Refused(Exception):
    """The answer to a request that is not served: a status and words, a problem each."""

    status: int
    words: str
    problems: tuple[str, ...] = ()


def check_host(request: Request) -> None:
    """A page elsewhere must not reach this machine through a name of its own that leads here (DNS rebinding)."""
    found = _HOST.fullmatch(request.headers.get("host", ""))
    if not found or found[1].strip("[]").lower() not in LOOPBACK:
        raise Refused(400, f"host is none of {', '.join(LOOPBACK)}; serve another with --host")


def check_token(request: Request, token: str | None) -> None:
    """Writing needs the token; without one nobody writes. The comparison takes the same time wherever they differ."""
    if token is None:
        raise Refused(403, "this server is read-only; start it with --token-file to take configs")
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    digests = (hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest() for text in (given, token))
    if not hmac.compare_digest(*digests) or scheme.lower() != "bearer":
        raise Refused(401, "expected the header `Authorization: Bearer TOKEN` with this server's token")


async def json_body(request: Request) -> Any:
    """The JSON value of a body of bounded length that comes within bounded time; no key twice, no NaN."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, "expected content-type application/json")
    too_long = Refused(413, f"expected a body of at most {MAX_BODY_BYTES} bytes")
    length = request.headers.get("content-length", "0")
    if re.fullmatch("[0-9]{1,18}", length) is None or int(length) > MAX_BODY_BYTES:
        raise too_long
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                data += piece
                if len(data) > MAX_BODY_BYTES:
                    raise too_long
    except TimeoutError:
        raise Refused(408, f"the body did not come within {BODY_SECONDS} seconds") from None
    try:
        return json.loads(bytes(data), object_pairs_hook=_object, parse_constant=_no_constant)
    except RecursionError:
        raise Refused(422, "the body is nested too deeply; a config has a few levels") from None
    except ValueError as error:
        raise Refused(422, f"the body is no JSON: {str(error)[:200]}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def parameters(request: Request, *names: str) -> dict[str, str]:
    """The query's parameters, each exactly once and no others."""
    given = request.query_params.multi_items()
    if sorted(name for name, _ in given) != sorted(names):
        raise Refused(400, f"expected the parameters {', '.join(names) or 'none'}, each once and no others")
    return dict(given)


def offset_of(text: str) -> int:
    if not _OFFSET.fullmatch(text):
        raise Refused(400, "offset: expected a whole number from 0, of at most 18 digits")
    return int(text)

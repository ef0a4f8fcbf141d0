"""The HTTP endpoints of `corpus serve`. Reading is for everybody who reaches the port; writing needs a token.

Names from outside are looked up in manifests or held to be ids and names; none becomes a path as it came.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from corpus_assets.commands import serve_answers, serve_openapi
from corpus_assets.commands.serve_requests import Refused, check_host, check_token, json_body, offset_of, parameters
from corpus_assets.plans.new_token_config import write_token_config
from formats.errors import ConfigError, CorpusError, PublishedError
from formats.layout import Layout
from formats.naming import VersionKey, check_name
from formats.snapshot import manifest
from formats.snapshot.manifest import Snapshot

_HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
}
Next = Callable[[Request], Awaitable[Response]]


class Server:
    """The endpoints over one artifacts root."""

    def __init__(self, layout: Layout, token: str | None) -> None:
        self._layout, self._token = layout, token

    async def snapshots(self, request: Request) -> Response:
        """One route for both: of two, the first would answer other methods as if it was alone."""
        if request.method == "POST":
            return await self.new_snapshot(request)
        parameters(request)
        return JSONResponse(await run_in_threadpool(serve_answers.of_all, self._layout))

    def snapshot(self, request: Request) -> Response:
        parameters(request)
        return JSONResponse(serve_answers.of_snapshot(self._layout, self._opened(request.path_params["snapshot_id"])))

    def manifest(self, request: Request) -> Response:
        """The very bytes that the id is the digest of."""
        parameters(request)
        found = self._opened(request.path_params["snapshot_id"])
        return Response((found.folder / manifest.NAME_ON_DISK).read_bytes(), media_type="application/json")

    def token(self, request: Request) -> Response:
        asked = parameters(request, "snapshot", "shard", "offset")
        offset = offset_of(asked["offset"])
        snapshot = self._opened(asked["snapshot"])
        try:
            return JSONResponse(serve_answers.of_token(self._layout, snapshot, asked["shard"], offset))
        except ConfigError as error:
            raise Refused(404, self._shown(error)) from None

    async def new_snapshot(self, request: Request) -> Response:
        check_token(request, self._token)
        parameters(request)
        body = await json_body(request)
        return await run_in_threadpool(self._write, body)

    def _write(self, body: Any) -> Response:
        if not isinstance(body, dict) or set(body) != {"dataset", "version", "config"}:
            raise Refused(422, "expected an object of dataset, version and config, and no more")
        try:
            names = (check_name(name, body[name]) for name in ("dataset", "version"))
            version = VersionKey(*names)
            if not self._layout.config(version).exists():
                raise Refused(404, f"version {version} has no config; write it with `corpus config new {version}`")
            config = write_token_config(self._layout, version, body["config"])
        except PublishedError as error:
            raise Refused(409, self._shown(error)) from None
        except ConfigError as error:
            raise Refused(422, "the config is refused", tuple(self._shown(error).splitlines())) from None
        key = str(config.key(version))
        answer = {"build_id": key, "config_sha256": config.config_sha256, "next": f"corpus tokenize {key}"}
        return JSONResponse(answer, 202)

    def openapi(self, request: Request) -> Response:
        parameters(request)
        return JSONResponse(serve_openapi.document())

    def page(self, request: Request) -> Response:
        parameters(request)
        return HTMLResponse(serve_openapi.page())

    def _opened(self, snapshot_id: str) -> Snapshot:
        try:
            folder = manifest.folder_of(self._layout.root, snapshot_id)
        except ConfigError as error:
            raise Refused(400, str(error)) from None
        if not folder.is_dir():
            raise Refused(404, f"there is no snapshot {snapshot_id} here")
        return manifest.read(self._layout.root, snapshot_id)

    def _shown(self, error: Exception) -> str:
        """An error's words without the paths of this machine."""
        return str(error).replace(f"{self._layout.root}/", "").replace(str(self._layout.root), "the artifacts root")

    def on_refused(self, _: Request, error: Any) -> Response:
        headers = {"www-authenticate": "Bearer"} if error.status == 401 else {}
        more = {"problems": list(error.problems)} if error.problems else {}
        return JSONResponse({"error": error.words, **more}, error.status, headers)

    def on_http(self, _: Request, error: Any) -> Response:
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)

    def on_damage(self, _: Request, error: Any) -> Response:
        return JSONResponse({"error": self._shown(error)}, 500)

    def on_system(self, _: Request, error: Any) -> Response:
        return JSONResponse({"error": f"{error.strerror or 'the system refused it'}; see to the server"}, 500)

    def on_failure(self, _: Request, error: Any) -> Response:
        """What nobody foresaw: its traceback goes to the server's log, and not to who asked."""
        del error
        return JSONResponse({"error": "the server failed; its log says why"}, 500)


def make_app(layout: Layout, token: str | None = None, *, only_loopback: bool = True) -> Starlette:
    """The application. `only_loopback`: requests must name this machine as a loopback host."""
    server = Server(layout, token)

    async def guard(request: Request, call_next: Next) -> Response:
        try:
            if only_loopback:
                check_host(request)
            response = await call_next(request)
        except Refused as error:
            response = server.on_refused(request, error)
        response.headers.update(_HEADERS)
        return response

    app = Starlette(
        routes=[
            Route("/", server.page),
            Route("/openapi.json", server.openapi),
            Route("/snapshots", server.snapshots, methods=["GET", "POST"]),
            Route("/snapshots/{snapshot_id}", server.snapshot),
            Route("/snapshots/{snapshot_id}/manifest", server.manifest),
            Route("/trace/token", server.token),
        ],
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=guard)],
        exception_handlers={
            Refused: server.on_refused,
            HTTPException: server.on_http,
            CorpusError: server.on_damage,
            OSError: server.on_system,
            Exception: server.on_failure,
        },
    )
    app.router.redirect_slashes = False
    return app

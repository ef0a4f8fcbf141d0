"""Alerts to a webhook: one JSON object a run that failed, or of which a check did not pass. Each waits in an outbox
until the receiver took it.
"""

import http.client
import json
import os
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg

from formats import durable
from formats.errors import ConfigError, TransientError

VARIABLE = "CORPUS_WEBHOOK"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected POST would arrive as a GET, without the alert, and count as delivered."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


class Webhook(dg.ConfigurableResource):
    """Where alerts go; an empty url means nobody asked for them. The url may hold a secret, so no message names it."""

    url: str = ""
    tries: int = 4
    timeout_seconds: float = 10.0
    backoff_seconds: float = 1.0

    def post(self, payload: dict[str, Any]) -> bool:
        """True once the receiver took it; False without a url. Raises TransientError when every try failed, ConfigError
        for a url of another kind.
        """
        if not self.url:
            return False
        if not self.url.startswith(("http://", "https://")):
            raise ConfigError(f"{VARIABLE}: expected a URL that begins with http:// or https://")
        data = json.dumps(payload, sort_keys=True).encode()
        headers = {"content-type": "application/json"}
        failure = ""
        for attempt in range(self.tries):
            if attempt:
                time.sleep(self.backoff_seconds * 2 ** (attempt - 1))
            try:
                request = urllib.request.Request(self.url, data, headers)
                with _OPENER.open(request, timeout=self.timeout_seconds):
                    return True
            except (OSError, http.client.HTTPException) as error:
                failure = str(error)
        raise TransientError(f"{VARIABLE}: {self.tries} tries to post an alert failed, the last with: {failure}")

    @classmethod
    def of_environment(cls) -> "Webhook":
        """The url stays in the environment: the UI shows the variable's name in its place."""
        return cls(url=dg.EnvVar(VARIABLE)) if os.environ.get(VARIABLE) else cls()


@dataclass(frozen=True)
class Outbox:
    """Alerts on their way, a file each: a receiver that is down for a while misses none. One may come twice, after a
    kill between post and removal.
    """

    folder: Path

    def put(self, name: str, payload: dict[str, Any]) -> None:
        durable.write_file(self.folder / f"{name}.json", json.dumps(payload).encode())

    def deliver(self, webhook: Webhook) -> int:
        """Post what waits; returns how many. Raises TransientError at the first that is not taken: it waits on, and so
        does what is behind it.
        """
        delivered = 0
        with durable.one_at_a_time(self.folder / ".lock"):
            for path in sorted(self.folder.glob("*.json")) if webhook.url else ():
                webhook.post(durable.json_of(path))
                path.unlink()
                delivered += 1
        return delivered

"""Alerts to a webhook: one JSON object a failed run or failed check, posted with retries."""

import json
import os
import time
import urllib.error
import urllib.request
from typing import Any

import dagster as dg

from formats.errors import TransientError

VARIABLE = "CORPUS_WEBHOOK"


class Webhook(dg.ConfigurableResource):
    """Where alerts go; an empty url means nobody asked for them."""

    url: str = ""
    tries: int = 4
    timeout_seconds: float = 10.0
    backoff_seconds: float = 1.0

    def post(self, payload: dict[str, Any]) -> bool:
        """True once the receiver took it; False without a url. Raises TransientError when every try failed."""
        if not self.url:
            return False
        data = json.dumps(payload, sort_keys=True).encode()
        headers = {"content-type": "application/json"}
        failure = ""
        for attempt in range(self.tries):
            if attempt:
                time.sleep(self.backoff_seconds * 2 ** (attempt - 1))
            try:
                request = urllib.request.Request(self.url, data, headers)
                with urllib.request.urlopen(request, timeout=self.timeout_seconds):
                    return True
            except (urllib.error.URLError, OSError) as error:
                failure = str(error)
        raise TransientError(f"{VARIABLE}: {self.tries} tries to post an alert failed, the last with: {failure}")

    @classmethod
    def of_environment(cls) -> "Webhook":
        return cls(url=os.environ.get(VARIABLE, ""))

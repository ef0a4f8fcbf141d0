"""Alerts to a webhook: one JSON object a run that failed, or of which a check did not pass."""

import json
import os
from collections.abc import Sequence

import dagster as dg

from resources import http_post
from resources.outbox import Alert, Receiver

VARIABLE = "CORPUS_WEBHOOK"


class Webhook(dg.ConfigurableResource):
    """Where alerts go; an empty url means nobody asked for them. The url may hold a secret, so no message names it."""

    url: str = ""
    tries: int = 3
    timeout_seconds: float = 10.0
    backoff_seconds: float = 1.0

    @property
    def name(self) -> str:
        return "webhook"

    def receivers(self) -> Sequence[Receiver]:
        """Itself, or nobody."""
        return [self] if self.url else []

    def send(self, name: str, alert: Alert) -> None:
        """Post the alert as it is. Raises as Receiver.send says."""
        del name  # the run's id is in the alert
        tries = http_post.Tries(self.tries, self.timeout_seconds, self.backoff_seconds)
        http_post.post(VARIABLE, self.url, json.dumps(alert, sort_keys=True).encode(), tries)

    @classmethod
    def of_environment(cls) -> "Webhook":
        """The url stays in the environment: the UI shows the variable's name in its place."""
        return cls(url=dg.EnvVar(VARIABLE)) if os.environ.get(VARIABLE) else cls()

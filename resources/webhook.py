"""Alerts to a webhook: one JSON object a run that failed, or of which a check did not pass."""

import json
from typing import ClassVar

from resources.http_channel import HttpChannel
from resources.outbox import Alert

VARIABLE = "CORPUS_WEBHOOK"


class Webhook(HttpChannel):
    """Takes the alert as it is."""

    variable: ClassVar[str] = VARIABLE
    name: ClassVar[str] = "webhook"

    def body(self, alert: Alert) -> bytes:
        return json.dumps(alert, sort_keys=True).encode()

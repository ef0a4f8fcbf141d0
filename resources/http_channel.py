"""What channels that take alerts by a POST to a secret URL share: settings, tries, and where the URL comes from."""

import os
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import dagster as dg

from resources import http_post
from resources.outbox import Alert, Receiver


class HttpChannel(dg.ConfigurableResource):
    """A URL that alerts are posted to; an empty one means nobody asked for them. It is a secret: no message names it,
    but `variable`, which is where it is set. `name` is that of the receiver.
    """

    variable: ClassVar[str]
    name: ClassVar[str]

    url: str = ""
    tries: int = 3
    timeout_seconds: float = 10.0
    backoff_seconds: float = 1.0

    def body(self, alert: Alert) -> bytes:
        """What is posted for an alert: JSON."""
        raise NotImplementedError

    def receivers(self) -> Sequence[Receiver]:
        """Itself, or nobody."""
        return [self] if self.url else []

    def send(self, name: str, alert: Alert) -> None:
        """Post the alert. Raises as Receiver.send says."""
        del name  # the run's id is in the alert
        tries = http_post.Tries(self.tries, self.timeout_seconds, self.backoff_seconds)
        http_post.post(self.variable, self.url, self.body(alert), tries)

    @classmethod
    def set_in_environment(cls) -> str:
        """The channel in words, "" where it is not set. Raises ConfigError, without the URL, for one of no use."""
        if not (url := os.environ.get(cls.variable)):
            return ""
        http_post.check_url(cls.variable, url)
        return f"{cls.name} ({cls.variable})"

    @classmethod
    def of_environment(cls) -> Self:
        """The url stays in the environment: the UI shows the variable's name in its place."""
        settings: dict[str, Any] = {"url": dg.EnvVar(cls.variable)} if os.environ.get(cls.variable) else {}
        return cls(**settings)

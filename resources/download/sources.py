"""Where bytes come from, by the scheme of the url: HTTP connections (http.py), or stores by fsspec (stores.py)."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from urllib.parse import urlsplit

from resources.download.access import Access
from resources.download.http import Connections
from resources.download.http_answer import Answer
from resources.download.settings import FetchSettings
from resources.download.stores import Stores
from resources.download.wanted import HTTP_SCHEMES


class Sources:
    """Open while a fetch lasts; safe for threads. `pause(seconds)` waits where `access` says so, or raises."""

    def __init__(
        self, settings: FetchSettings, access: Access | None = None, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._settings, self._access, self._pause = settings, access or Access(), pause
        self._http, self._stores = Connections(settings, self._access, pause), Stores(settings)

    @contextmanager
    def get(self, url: str, position: int, if_range: str | None) -> Iterator[Answer]:
        """The file from byte `position` on, where it still is that of `if_range`. Raises FailedTry, ConfigError."""
        with self._access.connection(url, self._pause):
            if urlsplit(url).scheme in HTTP_SCHEMES:
                opened = self._http.get(url, position, if_range)
            else:
                self._access.check([url], self._settings)
                self._pause(self._access.before_request(url))
                opened = self._stores.get(url, position, if_range)
            with opened as answer:
                yield replace(answer, read=lambda max_bytes: self._read(url, answer, max_bytes))

    def _read(self, url: str, answer: Answer, max_bytes: int) -> bytes:
        block = answer.read(self._access.block_bytes(url, max_bytes))
        if (seconds := self._access.after_read(url, len(block))) > 0:
            self._pause(seconds)
        return block

    def files_below(self, url: str) -> list[str]:
        """The urls of the files that a url names, sorted; HTTP knows no folders. Raises FailedTry, ConfigError."""
        return [url] if urlsplit(url).scheme in HTTP_SCHEMES else self._stores.files_below(url)

    def __enter__(self) -> "Sources":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._http.close()

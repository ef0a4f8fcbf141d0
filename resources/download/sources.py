"""Where bytes come from, by the scheme of the url: HTTP connections (http.py), or stores by fsspec (stores.py)."""

from contextlib import AbstractContextManager
from types import TracebackType
from urllib.parse import urlsplit

from resources.download.http import Answer, Connections
from resources.download.settings import FetchSettings
from resources.download.stores import Stores
from resources.download.wanted import HTTP_SCHEMES


class Sources:
    """Open while a fetch lasts; safe for threads."""

    def __init__(self, settings: FetchSettings) -> None:
        self._http, self._stores = Connections(settings), Stores(settings)

    def get(self, url: str, position: int, if_range: str | None) -> AbstractContextManager[Answer]:
        """The file from byte `position` on, where it still is that of `if_range`. Raises FailedTry, ConfigError."""
        source = self._http if urlsplit(url).scheme in HTTP_SCHEMES else self._stores
        return source.get(url, position, if_range)

    def files_below(self, url: str) -> list[str]:
        """The urls of the files that a url names, sorted; HTTP knows no folders. Raises FailedTry, ConfigError."""
        return [url] if urlsplit(url).scheme in HTTP_SCHEMES else self._stores.files_below(url)

    def __enter__(self) -> "Sources":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._http.close()

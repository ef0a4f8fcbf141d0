"""Files of object stores and file servers (s3, gs, sftp, ftp, …) by fsspec: answers as those of HTTP, so that they are
resumed, verified and cached in the same way.

Credentials and endpoints come from where each driver looks for them (its environment variables, `FSSPEC_S3_ANON` and
the like, ~/.config/fsspec), never from the url.
"""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import fsspec

from formats import canonical
from formats.errors import ConfigError, CorpusError
from resources.download.addresses import NotPublicError, host_of, public_addresses
from resources.download.http_answer import Answer, FailedTry
from resources.download.partial_file import Validators
from resources.download.settings import FetchSettings
from resources.download.wanted import mask_foreign, masked

T = TypeVar("T")
_READ_BYTES = 1024 * 1024
_PACKAGES = {
    "s3": "'corpus-assets[s3]'", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "oss": "ossfs",
    "hf": "huggingface_hub", "sftp": "paramiko", "webhdfs": "requests",
}  # fmt: skip
_OF_A_HOST = frozenset({"ftp", "sftp", "hdfs", "webhdfs"})
"""Schemes whose url names the host to connect to; the endpoint of the others is a setting of this machine."""
_VERSION_KEYS = ("ETag", "etag", "VersionId", "generation", "md5Hash", "content_md5", "blob_id", "mtime", "modify",
                 "modificationTime", "LastModified", "last_modified", "created", "size")  # fmt: skip
"""What drivers tell of a file that changes when its content does; never when it was read."""


def require_driver(url: str) -> None:
    """Raises ConfigError, with what to install, where no driver of the url's scheme is here."""
    scheme = urlsplit(url).scheme
    try:
        fsspec.get_filesystem_class(scheme)
    except (ImportError, ValueError) as error:
        todo = f"pip install {_PACKAGES.get(scheme, 'its fsspec driver')}"
        raise ConfigError(f"{masked(url)}: the driver of {scheme}:// is not installed ({error}); {todo}") from None


class Stores:
    """One connection a thread and host, made anew after a failure."""

    def __init__(self, settings: FetchSettings) -> None:
        self._settings, self._mine = settings, threading.local()

    @contextmanager
    def get(self, url: str, position: int, if_range: str | None) -> Iterator[Answer]:
        """The file from byte `position` on, or from 0 where `if_range` is not what it is now. Raises FailedTry,
        ConfigError.
        """
        self._check_host(url)
        store = self._asked(url, lambda: self._store(url))
        path = store._strip_protocol(url)
        self._asked(url, lambda: store.invalidate_cache(path))
        about = self._asked(url, lambda: store.info(path))
        if about.get("type") == "directory":
            raise ConfigError(
                f"{masked(url)}: is a folder; name its files in the ledger, `corpus ledger add` lists them"
            )
        now, total = _validators(about), about.get("size")
        start = 0 if if_range is not None and if_range != now.if_range else position
        file = self._asked(url, lambda: store.open(path, "rb", block_size=self._settings.interval_bytes))
        try:
            self._asked(url, lambda: file.seek(start))

            def read(max_bytes: int) -> bytes:
                return self._asked(url, lambda: _read(file, max_bytes))

            yield Answer(start, total, total, now, None, read, in_one_piece=False)
        finally:
            file.close()

    def files_below(self, url: str) -> list[str]:
        """The urls of the files that a url names: itself, all below a folder, or what a pattern matches; sorted."""
        self._check_host(url)
        store = self._asked(url, lambda: self._store(url))
        path = store._strip_protocol(url)
        if any(sign in url for sign in "*["):
            found = self._asked(url, lambda: store.glob(path, detail=True))
            names = [name for name, about in found.items() if about["type"] == "file"]
        elif self._asked(url, lambda: store.isdir(path)):
            names = list(self._asked(url, lambda: store.find(path)))
        else:
            return [url]
        parts = urlsplit(url)
        root = f"{parts.scheme}://{parts.netloc}/" if parts.scheme in _OF_A_HOST else f"{parts.scheme}://"
        return sorted(root + name.lstrip("/") for name in names)

    def _store(self, url: str) -> Any:
        parts = urlsplit(url)
        if (found := vars(self._mine).get(key := f"{parts.scheme}://{parts.netloc}")) is None:
            driver = fsspec.get_filesystem_class(parts.scheme)
            # A class's own cache of instances would hand out one whose connection broke.
            found = driver(**driver._get_kwargs_from_urls(url), skip_instance_cache=True)
            vars(self._mine)[key] = found
        return found

    def _asked(self, url: str, call: Callable[[], T]) -> T:
        """What the driver answers; its failures as ours."""
        try:
            return call()
        except CorpusError:
            raise
        except FileNotFoundError:
            raise ConfigError(f"{masked(url)}: no such file in the store; mend the url in the ledger") from None
        except PermissionError as error:
            raise ConfigError(
                f"{masked(url)}: access is refused ({mask_foreign(error, url)}); give its driver credentials"
            ) from None
        except Exception as error:  # drivers let through whatever their libraries raise
            vars(self._mine).clear()
            words = mask_foreign(error, url)
            if "Credential" in words:
                raise ConfigError(f"{masked(url)}: no credentials ({words}); give its driver some") from None
            raise FailedTry(f"no answer: {words}") from None

    def _check_host(self, url: str) -> None:
        host = host_of(url)
        if urlsplit(url).scheme not in _OF_A_HOST or self._settings.may_be_private(host):
            return
        try:
            public_addresses(host, urlsplit(url).port)
        except NotPublicError as error:
            raise error.as_config_error(url) from None
        except (socket.gaierror, UnicodeError) as error:
            raise FailedTry(f"no answer: {mask_foreign(error, url)}") from None


def _read(file: Any, max_bytes: int) -> bytes:
    return file.read(min(max_bytes, _READ_BYTES))


def _validators(about: Mapping[str, Any]) -> Validators:
    said = {key: str(about[key]) for key in _VERSION_KEYS if about.get(key) is not None}
    return Validators(f'"{canonical.digest(said)}"' if said.keys() - {"size"} else None)

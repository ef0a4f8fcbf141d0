"""Objects of an S3-compatible store: put only where none lies, read back by digest, tried again with growing pauses.

Nothing is listed, and nothing is renamed. Credentials and endpoint come from where the client looks for them (AWS_*,
~/.aws). Each object carries the SHA-256 of its bytes as metadata; the store is handed it as a checksum, too, so that it
refuses a body that arrived damaged. Cost: a request an object up to `part_bytes`, else one a part and two.
"""

import base64
import hashlib
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from formats.errors import ConfigError, CorruptDataError, TransientError
from resources.remote import s3_errors
from resources.remote.address import Address

T = TypeVar("T")
_READ_BYTES = 1 << 20
_MOST_PARTS = 10_000
_MOST_PAUSE_SECONDS = 30.0
_META = "sha256"


@dataclass(frozen=True)
class S3Settings:
    """How patient, and how much at once: `parallel_files` times `part_bytes` is held in memory."""

    max_tries: int = 6
    backoff_seconds: float = 0.5
    timeout_seconds: float = 60.0
    part_bytes: int = 32 * 1024 * 1024
    parallel_files: int = 4


@dataclass(frozen=True)
class About:
    """What the store says of an object. `sha256` is None where who put it did not say it."""

    num_bytes: int
    sha256: str | None


class S3Store:
    """Objects by the names that their files have below the artifacts root. Safe for threads."""

    def __init__(self, address: Address, settings: S3Settings | None = None) -> None:
        self.address, self.settings = address, settings or S3Settings()

    def url(self, name: str) -> str:
        return f"{self.address.url}/{name}"

    def about(self, name: str) -> About | None:
        """None where no such object lies. Raises ConfigError, TransientError, as all that follow."""
        answer = self._asked_for(name, lambda: self._client.head_object(**self._named(name)))
        return None if answer is None else About(int(answer["ContentLength"]), answer.get("Metadata", {}).get(_META))

    def put_new(self, name: str, path: Path, sha256: str) -> bool:
        """Put a file where no object lies yet; False where one does, of whatever bytes. Raises CorruptDataError for a
        file that has another digest: nothing is put then.
        """
        with open(path, "rb") as file:
            size = max(self.settings.part_bytes, -(-path.stat().st_size // _MOST_PARTS))
            first = file.read(size)
            if len(first) < size:
                _hold(path, hashlib.sha256(first).hexdigest(), sha256)
                return self._put(name, first, IfNoneMatch="*")
            return self.about(name) is None and self._put_parts(name, path, sha256, first, file)

    def put_new_bytes(self, name: str, data: bytes) -> bool:
        return self._put(name, data, IfNoneMatch="*")

    def replace(self, name: str, data: bytes) -> None:
        """For the few names whose meaning may change."""
        self._put(name, data)

    def remove(self, name: str) -> None:
        self._asked(name, lambda: self._client.delete_object(**self._named(name)))

    def read(self, name: str) -> bytes | None:
        """A small object, held to its digest where that was said; None where none lies."""

        def once() -> bytes:
            answer = self._client.get_object(**self._named(name))
            data: bytes = answer["Body"].read()
            said = answer.get("Metadata", {}).get(_META)
            if said is not None and hashlib.sha256(data).hexdigest() != said:
                raise TransientError(f"{self.url(name)}: sha256 is not {said}, which it was put with")
            return data

        return self._asked_for(name, once)

    def digest(self, name: str) -> str | None:
        """SHA-256 of an object's bytes, all of them read; None where none lies."""
        return self._asked_for(name, lambda: self._stream(name, None))

    def fetch(self, name: str, path: Path, sha256: str) -> None:
        """Write an object's bytes to `path`, whole and verified or not at all. Raises CorruptDataError for another
        digest or none.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:

            def once() -> str:
                with open(temporary, "wb") as file:
                    return self._stream(name, file)

            found = self._asked_for(name, once)
            if found != sha256:
                todo = "remove the object and `corpus push` it again from a machine that has it"
                raise CorruptDataError(self.url(name), "sha256", sha256, found or "missing", todo)
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def _stream(self, name: str, file: BinaryIO | None) -> str:
        hasher = hashlib.sha256()
        body = self._client.get_object(**self._named(name))["Body"]
        while piece := body.read(_READ_BYTES):
            hasher.update(piece)
            if file is not None:
                file.write(piece)
        return hasher.hexdigest()

    def _put(self, name: str, data: bytes, **condition: str) -> bool:
        digest = hashlib.sha256(data)
        said = {"ChecksumSHA256": _base64(digest.digest()), "Metadata": {_META: digest.hexdigest()}}
        return self._new(name, lambda: self._client.put_object(**self._named(name), Body=data, **said, **condition))

    def _put_parts(self, name: str, path: Path, sha256: str, first: bytes, file: BinaryIO) -> bool:
        named = self._named(name)
        begun = self._asked(
            name,
            lambda: self._client.create_multipart_upload(**named, ChecksumAlgorithm="SHA256", Metadata={_META: sha256}),
        )
        upload = {**named, "UploadId": begun["UploadId"]}
        done, whole, data = False, hashlib.sha256(), first
        parts: list[dict[str, Any]] = []
        try:
            while data:
                whole.update(data)
                part = {"PartNumber": len(parts) + 1, "ChecksumSHA256": _base64(hashlib.sha256(data).digest())}
                answer = self._asked(name, partial(self._client.upload_part, **upload, **part, Body=data))
                parts.append({**part, "ETag": answer["ETag"]})
                data = file.read(len(first))
            _hold(path, whole.hexdigest(), sha256)
            last = {**upload, "MultipartUpload": {"Parts": parts}, "IfNoneMatch": "*"}
            done = self._new(name, lambda: self._client.complete_multipart_upload(**last))
            return done
        finally:
            if not done:  # what a killed process leaves is for a rule of the bucket to remove
                self._abort(upload)

    def _abort(self, upload: dict[str, Any]) -> None:
        from botocore import exceptions

        try:
            self._client.abort_multipart_upload(**upload)
        except (exceptions.ClientError, exceptions.BotoCoreError):
            return  # the failure that led here is the one to tell

    def _new(self, name: str, put: Callable[[], Any]) -> bool:
        """False where the store says that an object lies there. A try whose answer was lost may be why: the caller
        compares digests.
        """
        from botocore.exceptions import ClientError

        def once() -> bool:
            try:
                put()
            except ClientError as error:
                if s3_errors.code_of(error) in s3_errors.LIES_THERE:
                    return False
                raise
            return True

        return self._asked(name, once)

    def _asked_for(self, name: str, call: Callable[[], T]) -> T | None:
        from botocore.exceptions import ClientError

        def once() -> T | None:
            try:
                return call()
            except ClientError as error:
                if s3_errors.code_of(error) in s3_errors.MISSING:
                    return None
                raise

        return self._asked(name, once)

    def _asked(self, name: str, call: Callable[[], T]) -> T:
        """What the store answers, asked again while that may help."""
        from botocore import exceptions

        for tries in range(1, self.settings.max_tries + 1):
            try:
                return call()
            except TransientError as error:
                failure = error
            except (exceptions.ClientError, exceptions.BotoCoreError) as error:
                ours = s3_errors.as_ours(error, self.url(name))
                if not isinstance(ours, TransientError):
                    raise ours from None
                failure = ours
            if tries < self.settings.max_tries:
                time.sleep(min(self.settings.backoff_seconds * 2 ** (tries - 1), _MOST_PAUSE_SECONDS))
        raise TransientError(f"{failure}; given up after {self.settings.max_tries} tries, run it again") from None

    def _named(self, name: str) -> dict[str, str]:
        return {"Bucket": self.address.bucket, "Key": self.address.key(name)}

    @cached_property
    def _client(self) -> Any:
        return _client(self.settings, self.address.url)


def _client(settings: S3Settings, url: str) -> Any:
    try:
        import botocore.session
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise ConfigError(f"{url}: {error}; pip install 'corpus-assets[s3]'") from None
    config = Config(
        retries={"total_max_attempts": 1},  # ours are counted and told
        connect_timeout=settings.timeout_seconds,
        read_timeout=settings.timeout_seconds,
        max_pool_connections=2 * settings.parallel_files,
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    try:
        return botocore.session.get_session().create_client("s3", config=config)
    except (BotoCoreError, ValueError) as error:
        raise s3_errors.as_ours(error, url) from None


def _base64(digest: bytes) -> str:
    return base64.b64encode(digest).decode()


def _hold(path: Path, found: str, expected: str) -> None:
    if found != expected:
        raise CorruptDataError(path, "sha256", expected, found, "restore it from a copy, or build it again")

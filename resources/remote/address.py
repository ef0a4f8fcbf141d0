"""Where published artifacts are stored beside this machine's disk: the setting, and the driver it needs."""

import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from formats.errors import ConfigError

VARIABLE = "CORPUS_STORE"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9!_.*'()=-]+(?:/[A-Za-z0-9!_.*'()=-]+)*")
"""S3's safe characters (AWS, "Naming Amazon S3 objects"), so that a key is the same in every client."""


@dataclass(frozen=True)
class Address:
    """A bucket and what every key below it begins with ("" or no slash at its ends)."""

    bucket: str
    prefix: str = ""

    @classmethod
    def parse(cls, url: str) -> "Address":
        """Raises ConfigError, which does not repeat what may hold a secret."""
        try:
            parts = urlsplit(url)
        except ValueError:  # whose words may repeat it
            raise ConfigError(f"{VARIABLE}: is not a URL, expected s3://BUCKET/PREFIX") from None
        if parts.scheme != "s3":
            raise ConfigError(f"{VARIABLE}: expected s3://BUCKET or s3://BUCKET/PREFIX")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ConfigError(
                f"{VARIABLE}: holds more than a bucket and a prefix; credentials and endpoint belong into the "
                "environment (AWS_PROFILE, AWS_ENDPOINT_URL) or into ~/.aws"
            )
        prefix = parts.path.strip("/")
        if not _BUCKET.fullmatch(parts.netloc) or (prefix and not _PREFIX.fullmatch(prefix)):
            raise ConfigError(
                f"{VARIABLE}: expected s3://BUCKET/PREFIX with a bucket of 3 to 63 of a-z 0-9 . - and a prefix of "
                "letters, digits and !_.*'()=- between slashes"
            )
        return cls(parts.netloc, prefix)

    @property
    def url(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def key(self, name: str) -> str:
        """The object's key of a file that is `name` below the artifacts root."""
        return f"{self.prefix}/{name}" if self.prefix else name


def named(url: str | None = None) -> Address:
    """The store that `url`, else the environment names. Raises ConfigError where neither does."""
    if not (url := url or os.environ.get(VARIABLE)):
        raise ConfigError(f"no store is named; set {VARIABLE}=s3://BUCKET/PREFIX or give --store with it")
    return Address.parse(url)

"""The object store that published artifacts go to, as a resource."""

import os

import dagster as dg

from formats import userinfo
from resources.remote.address import VARIABLE, named
from resources.remote.s3 import S3Settings, S3Store

_DEFAULT = S3Settings()


class RemoteStore(dg.ConfigurableResource):
    """Settings of the store; none of them changes a byte. Credentials are where the client looks for them: AWS_*,
    ~/.aws.
    """

    url: str = ""
    max_tries: int = _DEFAULT.max_tries
    part_bytes: int = _DEFAULT.part_bytes
    parallel_files: int = _DEFAULT.parallel_files

    def open(self) -> S3Store:
        """Raises ConfigError where no store is named, or not rightly."""
        settings = S3Settings(max_tries=self.max_tries, part_bytes=self.part_bytes, parallel_files=self.parallel_files)
        return S3Store(named(self.url), settings)

    @classmethod
    def of_environment(cls) -> "RemoteStore":
        """A password in it is refused by `open`; masked here, since the UI shows settings."""
        return cls(url=userinfo.mask_url(os.environ.get(VARIABLE, "")))

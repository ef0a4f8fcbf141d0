"""What S3 and its client say when something fails, as errors of ours. Of their messages nothing is passed on but codes:
they may hold key ids, signatures and endpoints with passwords.
"""

import re
from typing import Any

from formats.errors import ConfigError, CorpusError, TransientError

LIES_THERE = frozenset({"PreconditionFailed", "412", "NoSuchUpload"})
"""An upload that is gone was completed by a try whose answer was lost."""
MISSING = frozenset({"NoSuchKey", "NotFound", "404"})
_REFUSED = frozenset({
    "AccessDenied", "403", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken",
    "AuthorizationHeaderMalformed", "401", "Unauthorized", "AccountProblem", "AllAccessDisabled",
})  # fmt: skip
_MAY_PASS = frozenset({
    "SlowDown", "RequestTimeout", "RequestTimeTooSkewed", "InternalError", "ServiceUnavailable", "Throttling",
    "ThrottlingException", "TooManyRequests", "ConditionalRequestConflict", "OperationAborted", "BadDigest",
    "XAmzContentChecksumMismatch", "IncompleteBody", "XMinioServerNotInitialized",
})  # fmt: skip
"""Of the 4xx those that say nothing of what was asked: a body that arrived damaged is sent again."""
_CODE = re.compile("[A-Za-z0-9.]{1,60}")
TODO_CREDENTIALS = "give the environment or ~/.aws credentials that may read and write there"


def code_of(error: Any) -> str:
    """The code of a ClientError, as S3 names it or as an HTTP status."""
    said = str(error.response.get("Error", {}).get("Code", ""))
    return said if _CODE.fullmatch(said) else str(status_of(error))


def status_of(error: Any) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def as_ours(error: Exception, what: str) -> CorpusError:
    """The error of one request about `what`, a URL without secrets: TransientError where asking again may help."""
    from botocore import exceptions

    if isinstance(error, exceptions.ClientError):
        return _of_answer(error, what)
    if isinstance(error, exceptions.HTTPClientError | exceptions.ConnectionError | exceptions.IncompleteReadError):
        return TransientError(f"{what}: no answer ({type(error).__name__})")
    if isinstance(error, exceptions.NoCredentialsError | exceptions.PartialCredentialsError):
        return ConfigError(f"{what}: no credentials were found ({type(error).__name__}); {TODO_CREDENTIALS}")
    return ConfigError(f"{what}: the client cannot ask ({type(error).__name__}); look at AWS_* and ~/.aws")


def _of_answer(error: Any, what: str) -> CorpusError:
    code, status = code_of(error), status_of(error)
    if code in _REFUSED or status in (401, 403):
        return ConfigError(f"{what}: access is refused ({code}); {TODO_CREDENTIALS}")
    if code == "NoSuchBucket":
        return ConfigError(f"{what}: there is no such bucket; make it, or mend the setting")
    if code in _MAY_PASS or status >= 500 or status in (408, 409, 429):
        return TransientError(f"{what}: the store answered {code or status}")
    return ConfigError(f"{what}: the store refuses the request ({code or status}); see its documentation")

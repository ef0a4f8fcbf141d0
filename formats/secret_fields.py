"""Fields of a url's query that sign or authorize a request, told by their names: refused in the ledger, and masked in
whatever is shown.
"""

import re

_CREDENTIAL = re.compile(
    r"token(?!iz)|signature|secret|passw|passphrase|credential|authoriz|(api|access)[_-]?key"
    r"|(?<![a-z])(sig|auth|pwd|pass|key|jwt|sas)(?![a-z])",
    re.IGNORECASE,
)
_PERHAPS = re.compile(r"token|key|sig|secret|pass|pwd|auth|cred|session|code|jwt|policy", re.IGNORECASE)


def is_credential(name: str) -> bool:
    """Whether a url with this field must not be published; `author`, `codec`, `country_code` are none."""
    return _CREDENTIAL.search(name) is not None


def is_masked(name: str) -> bool:
    """Whether its value is not shown: every credential's, and rather too much than too little."""
    return is_credential(name) or _PERHAPS.search(name) is not None

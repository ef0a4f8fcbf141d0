"""Which digits are a telephone number by the numbering plans of countries, as phonenumbers knows them."""

from functools import cache
from typing import Any

import phonenumbers
from phonenumbers import PhoneNumberType

from corpus_assets.stages.pii_patterns import compiled
from formats.errors import ConfigError

_MAY_OMIT_PREFIX = ("BR", "IN")
"""Where a number is mostly written without the 0 that is dialled before it, and formatted with it."""
_KINDS = {
    "fixed_line": PhoneNumberType.FIXED_LINE,
    "mobile": PhoneNumberType.MOBILE,
    "toll_free": PhoneNumberType.TOLL_FREE,
    "premium_rate": PhoneNumberType.PREMIUM_RATE,
    "shared_cost": PhoneNumberType.SHARED_COST,
    "personal_number": PhoneNumberType.PERSONAL_NUMBER,
    "voip": PhoneNumberType.VOIP,
    "pager": PhoneNumberType.PAGER,
    "uan": PhoneNumberType.UAN,
    "voicemail": PhoneNumberType.VOICEMAIL,
}
"""The kinds of number in phonenumbers' metadata: every valid number is of one of them."""


@cache
def local_numbers(regions: tuple[str, ...]) -> Any:
    """One RE2 of the digits of every valid number of the regions, as written there (with the 0 dialled before it).

    Raises ConfigError for a region that phonenumbers does not know.
    """
    forms = ["[^0-9]"]  # no regions: nothing matches
    for region in regions:
        metadata = phonenumbers.PhoneMetadata.metadata_for_region(region)
        if metadata is None:
            raise ConfigError(f"phone region {region!r} is not known; give ISO 3166 codes such as US, GB, FR")
        prefix = metadata.national_prefix or ""
        for kind, number_type in _KINDS.items():
            example = phonenumbers.example_number_for_type(region, number_type)
            if example is not None:
                national = phonenumbers.format_number(example, phonenumbers.PhoneNumberFormat.NATIONAL)
                must = national.lstrip("(").startswith(prefix) and region not in _MAY_OMIT_PREFIX
                pattern = getattr(metadata, kind).national_number_pattern
                forms.append(f"(?:{prefix}){'' if must else '?'}(?:{pattern})")
    return compiled("|".join(forms))


def is_international(number: str) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse("+" + number))
    except phonenumbers.NumberParseException:
        return False

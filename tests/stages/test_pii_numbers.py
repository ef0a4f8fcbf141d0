"""The tables behind cards and phones, against slow obvious twins and the library's own examples."""

import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st
from phonenumbers import PhoneNumberType

from corpus_assets.stages.pii_cards import is_card
from corpus_assets.stages.pii_keys import entropy_millibits
from corpus_assets.stages.pii_numbering_plans import local_numbers
from corpus_assets.stages.pii_patterns import compiled


def luhn_twin(number: str) -> bool:
    digits = [int(digit) for digit in reversed(number)]
    return sum(digits[::2]) % 10 == -sum(d * 2 // 10 + d * 2 % 10 for d in digits[1::2]) % 10


@given(
    st.integers(11, 20),
    st.sampled_from(["4", "5100", "34", "6011", "3528", "62", "2221", "1", "9", "63", "2721"]),
    st.data(),
)
def test_a_card_has_prefix_length_and_check_digit(size, prefix, data):
    number = prefix + data.draw(st.text("0123456789", min_size=size - len(prefix), max_size=size - len(prefix)))
    lengths = {"4": (13, 16, 19), "5100": (16,), "34": (15,), "6011": (16, 19), "3528": (16,), "62": (16, 17, 18, 19),
               "2221": (16,)}  # fmt: skip
    if prefix in lengths:
        assert is_card(number) == (size in lengths[prefix] and luhn_twin(number))
    elif prefix in ("9", "2721") or (prefix == "63" and number[:4] != "6304"):
        assert not is_card(number)


@pytest.mark.parametrize("number", ["4" + "0" * 15, "2221" + "0" * 12, "2720990000000007", "3589990000000003"])
def test_one_wrong_digit_is_no_card(number):
    right = next(number[:-1] + check for check in "0123456789" if is_card(number[:-1] + check))
    assert not any(is_card(right[:-1] + check) for check in "0123456789" if check != right[-1])


@pytest.mark.parametrize(
    "region", ["US", "GB", "FR", "DE", "IT", "ES", "AU", "IN", "BR", "JP", "CN", "MX", "SE", "PL", "ZA"]
)
def test_the_library_s_example_numbers_are_known_as_they_are_dialled(region):
    known = local_numbers((region,))
    for kind in (PhoneNumberType.FIXED_LINE, PhoneNumberType.MOBILE, PhoneNumberType.TOLL_FREE):
        example = phonenumbers.example_number_for_type(region, kind)
        if example is None:
            continue
        written = phonenumbers.format_number(example, phonenumbers.PhoneNumberFormat.NATIONAL)
        digits = "".join(character for character in written if character.isdigit())
        assert known.fullmatch(digits.encode()), (region, written)


@given(st.text("0123456789", min_size=7, max_size=12))
def test_a_known_number_is_valid_for_the_library(number):
    for region in ("US", "FR", "ES"):
        if local_numbers((region,)).fullmatch(number.encode()):
            assert phonenumbers.is_valid_number_for_region(phonenumbers.parse(number, region), region)


@given(st.binary(min_size=1, max_size=40))
def test_entropy_is_between_nothing_and_a_bit_for_each_doubling(value):
    bits = entropy_millibits(value)
    assert 0 <= bits <= 1000 * max(1, (len(set(value)) - 1).bit_length())
    assert entropy_millibits(bytes(reversed(value))) == bits


@pytest.mark.parametrize(
    ("value", "millibits"), [(b"aaaa", 0), (b"abab", 1000), (b"abcd", 2000), (b"aab", 918), (b"", 0)]
)
def test_entropy_has_these_values(value, millibits):
    assert entropy_millibits(value) == millibits


def test_patterns_match_bytes_not_characters():
    assert compiled(r"\xc3[\xa0-\xbf]").search("né".encode()).span() == (1, 3)

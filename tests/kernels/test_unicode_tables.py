import unicodedata

import numpy as np
import pytest
import unicodedata2

from corpus_assets.kernels import make_unicode_tables
from corpus_assets.kernels.unicode_tables import (
    LETTER,
    OTHER,
    SINGLE,
    SPACE,
    case_version,
    nfc_table,
    tables,
    unicode_version,
)


@pytest.fixture(scope="module")
def remade():
    return make_unicode_tables.build()


def test_the_library_that_normalizes_has_the_unicode_version_of_the_tables():
    assert unicodedata2.unidata_version == unicode_version()


def test_classes_are_what_the_script_makes_from_the_library(remade):
    assert np.array_equal(remade[0], tables()[0])


def test_the_nfc_table_is_what_the_script_makes_from_the_library():
    assert np.array_equal(make_unicode_tables.build_nfc(), nfc_table())


def test_a_newer_python_only_adds_lower_case(remade):
    stored = tables()[1]
    cased = np.flatnonzero(stored != np.arange(len(stored)))
    assert np.array_equal(remade[1][cased], stored[cased])
    if unicodedata.unidata_version == case_version():
        assert np.array_equal(remade[1], stored)


@pytest.mark.parametrize(
    ("char", "kind"),
    [
        ("a", LETTER), ("ß", LETTER), ("한", LETTER), ("ع", LETTER), ("我", SINGLE), ("々", SINGLE), ("カ", SINGLE),
        ("ｶ", SINGLE), ("ไ", SINGLE), ("ກ", SINGLE), ("ក", SINGLE), ("က", SINGLE), ("\u3000", SPACE), ("\u200b", OTHER),
        ("😀", OTHER), ("_", OTHER),
    ],
)  # fmt: skip
def test_the_class_of_a_character(char, kind):
    assert tables()[0][ord(char)] == kind


def test_the_tables_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        tables()[0][0] = 1

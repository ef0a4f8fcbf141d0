"""The page of reject reasons tells every one."""

import re
from pathlib import Path

import formats
from formats.reject_reasons import DAMAGED, RejectReason


def test_every_reason_stands_on_the_page_once_and_in_its_order():
    page = (Path(formats.__file__).parent / "reject_reasons.md").read_text("utf-8")
    assert re.findall(r"^\| `([a-z0-9_]+)` \|", page, re.MULTILINE) == [reason.value for reason in RejectReason]


def test_the_page_says_which_count_as_damaged():
    page = (Path(formats.__file__).parent / "reject_reasons.md").read_text("utf-8")
    assert set(re.findall(r"^\| `([a-z0-9_]+)` \|.*\| yes \|$", page, re.MULTILINE)) == set(DAMAGED)

"""Which versions an advisory holds for: ranges, lists, pre-releases and names, as the OSV schema has them."""

import pytest
from packaging.version import Version

from tests.audit import advisory
from tests.audit.made_up import events, record


def holds(version, **changes):
    [one] = advisory.from_osv(record(**changes)).affected
    return one.holds(advisory.public(version))


def affected(among, **changes):
    return [version for version in among if holds(version, **changes)]


def test_a_range_holds_from_what_introduced_it_to_before_what_fixed_it():
    assert affected(["1.1.9", "1.2", "1.3.99", "1.4", "2"]) == ["1.2", "1.3.99"]


def test_a_pre_release_of_the_fixed_version_is_not_fixed_and_one_of_the_first_is_not_affected():
    assert affected(["1.2rc1", "1.2", "1.4.dev1", "1.4rc2", "1.4", "1.4.post1"]) == ["1.2", "1.4.dev1", "1.4rc2"]


def test_zero_stands_before_every_version_and_a_range_without_an_end_holds_for_ever():
    assert affected(["0.0.0.dev0", "0!0a1", "7"], ranges=events(("introduced", "0"))) == ["0.0.0.dev0", "0!0a1", "7"]


def test_the_last_affected_version_is_affected_and_the_next_is_not():
    ranges = events(("introduced", "0"), ("last_affected", "2.5"))
    assert affected(["2.5", "2.5.post1", "2.5.1"], ranges=ranges) == ["2.5"]


def test_what_a_build_adds_to_its_version_does_not_lead_out_of_a_range():
    ranges = events(("introduced", "0"), ("last_affected", "2.13.0"))
    assert holds("2.13.0+cpu", ranges=ranges)
    assert holds("2.13.0+cpu", ranges=None, versions=["2.13.0"])
    assert not holds("1.4+local.1")


@pytest.mark.parametrize("turn", range(4))
def test_events_may_stand_in_any_order_and_a_fault_may_come_back(turn):
    pairs = [("introduced", "1"), ("fixed", "2"), ("introduced", "3"), ("fixed", "4")]
    pairs = pairs[turn:] + pairs[:turn]
    assert affected(["0.9", "1", "2", "2.9", "3", "4"], ranges=events(*pairs)) == ["1", "3"]


def test_a_fault_that_comes_back_where_it_was_mended_is_there():
    pairs = [("introduced", "0"), ("fixed", "2"), ("introduced", "2"), ("fixed", "3")]
    assert affected(["1", "2", "2.9", "3"], ranges=events(*pairs)) == ["1", "2", "2.9"]


def test_versions_that_are_listed_count_beside_ranges_however_they_are_written():
    assert affected(["1.0.0", "1", "5.0", "5.1"], versions=["1.0", "5.0.0", "not-a-version"]) == ["1.0.0", "1", "5.0"]


def test_ranges_of_commits_say_nothing_where_versions_are_listed_and_are_not_judged_alone():
    commits = events(("introduced", "0"), type="GIT")
    assert affected(["1", "2"], ranges=commits, versions=["2"]) == ["2"]
    with pytest.raises(
        advisory.BadAdvisoryError, match="PYSEC-2026-1: says of flower-press neither versions nor a range"
    ):
        advisory.from_osv(record(ranges=commits))


def test_a_package_without_a_word_on_versions_is_affected_in_all():
    assert holds("99", ranges=[])


@pytest.mark.parametrize("name", ["Flower_Press", "flower.press", "FLOWER--press"])
def test_a_package_has_one_name_however_it_is_spelt(name):
    assert [one.package for one in advisory.from_osv(record(package=name)).of("flower-press")] == ["flower-press"]


def test_packages_of_other_ecosystems_are_others():
    assert not advisory.from_osv(record(package="flower-press", ecosystem="x", affected=[
        {"package": {"name": "flower-press", "ecosystem": "npm"}, "versions": ["1"]},
    ])).affected  # fmt: skip


def test_a_version_that_nothing_can_be_held_against_is_told_and_not_passed_over():
    with pytest.raises(advisory.BadAdvisoryError, match="PYSEC-2026-1: version 'yesterday' is none of PEP 440"):
        advisory.from_osv(record(ranges=events(("introduced", "0"), ("fixed", "yesterday"))))
    with pytest.raises(advisory.BadAdvisoryError, match=r"float .1\.1. where a text is expected"):
        advisory.from_osv(record(versions=[1.10]))


def test_the_version_that_mends_it_is_the_first_above_that_no_other_range_holds():
    ranges = events(("introduced", "0"), ("fixed", "2.0"), ("introduced", "2.0"), ("fixed", "2.1"))
    [one] = advisory.from_osv(record(ranges=[*ranges, *events(("introduced", "3"), ("fixed", "3.2"))])).affected
    assert [one.fixed_in(Version(version)) for version in ("1", "2.0.5", "3.1")] == [
        Version("2.1"), Version("2.1"), Version("3.2"),
    ]  # fmt: skip
    [one] = advisory.from_osv(record(ranges=events(("introduced", "0"), ("last_affected", "2")))).affected
    assert one.fixed_in(Version("1")) is None

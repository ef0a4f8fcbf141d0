"""What is said of dedup: losses by source, and keepers that are unlike their cluster in length."""

import statistics

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.plans import audit_dedup, curves, dedup_report
from corpus_assets.plans.dedup_report import unlike_their_cluster
from corpus_assets.plans.pinned import Build, load_pairs
from formats.dedup_rules import NearRules
from formats.layout import Layout
from resources.engines.local import LocalEngine
from tests.plans import dedup_runs
from tests.plans.dedup_runs import V1
from tests.plans.naive_dedup import Doc, Rules
from tests.plans.test_dedup_plan import source, text


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60)), max_size=30), st.sampled_from([0.0, 0.2, 0.5, 3.0]))
def test_members_are_held_against_the_median_of_their_cluster(members, ratio):
    clusters = np.array([cluster for cluster, _ in members], np.int64)
    lengths = np.array([length for _, length in members], np.int64)
    expected = []
    for cluster, length in members:
        median = statistics.median(other for mine, other in members if mine == cluster)
        expected.append(bool(abs(length - median) * 10 > round(ratio * 10) * median))
    assert unlike_their_cluster(clusters, lengths, ratio).tolist() == expected


def built(root, sources, **near):
    """(build, pairs) of a small version."""
    dedup_runs.run(root, sources, Rules(), **near)
    layout = Layout(root)
    return Build(layout, LocalEngine(scratch=root / "scratch", workers=1)), load_pairs(layout, V1)


def swallowed(root, **near):
    """A source of which one document of four stays, and one that loses nothing."""
    forum = source("forum", text(0), text(1), text(2), "a text that nobody else has written down so far", rank=20)
    return built(root, [source("books", text(), rank=1), forum], **near)


def test_what_each_source_lost_is_counted(tmp_path):
    build, pairs = swallowed(tmp_path / "root")
    books, forum = dedup_report.survival(build, pairs)
    assert (books.entered, books.exact, books.near) == (1, 0, 0)
    assert (forum.source, forum.entered, forum.near, forum.loss_ratio) == ("forum", 4, 3, 0.75)
    assert forum.as_json()["kept"] == 1


def test_a_source_that_loses_more_than_the_set_share_is_told(tmp_path):
    found = audit_dedup.source_survival(*swallowed(tmp_path / "root"))
    assert not found.passed
    assert found.words.startswith("forum loses 75.0 % of 4 documents (0 exact, 3 near); max_source_loss_ratio is 0.5")
    assert audit_dedup.source_survival(*swallowed(tmp_path / "more", max_source_loss_ratio=0.75)).passed


def test_a_keeper_far_from_the_median_length_of_its_cluster_is_told(tmp_path):
    page = " ".join(f"word{n}" for n in range(100))
    scrape = f"{page} {' '.join(f'menu{n}' for n in range(24))}"
    copies = [Doc(f"{page} copy {n}", "2026-02-01") for n in range(2)]
    sources = [source("scrapes", scrape, rank=1), source("web", *copies, "alone here", rank=20)]
    build, pairs = built(tmp_path / "root", sources, jaccard_threshold=0.75)
    found = audit_dedup.keeper_lengths(build, pairs)
    assert not found.passed
    assert found.words.startswith("1 of 1 keeper that something was dropped onto differs in length")
    assert "such as scrapes:0;" in found.words
    looser = built(tmp_path / "looser", sources, jaccard_threshold=0.75, max_keeper_length_ratio=0.4)
    assert audit_dedup.keeper_lengths(*looser).passed


def test_a_keeper_that_replaces_nothing_is_no_alarm(tmp_path):
    """The longest of a chain stays, too far from the first keeper to be dropped; nothing is dropped onto it."""
    page = [f"word{n}" for n in range(100)]
    longer = [*page, *(f"more{n}" for n in range(20))]
    longest = [*longer, *(f"most{n}" for n in range(24))]
    sources = [source("a", " ".join(page), rank=1), source("b", " ".join(longer), " ".join(longest), rank=20)]
    build, pairs = built(tmp_path / "root", sources, jaccard_threshold=0.75)
    assert dedup_report.cluster_sizes(build, pairs).tolist() == [3]
    found = dedup_report.keeper_lengths(build, pairs)
    assert (found.keepers, found.num_unlike) == (1, 0)


def test_without_duplicates_nothing_is_unlike(tmp_path):
    build, pairs = built(tmp_path / "root", [source("books"), source("web", "one", "two")])
    assert audit_dedup.keeper_lengths(build, pairs).figures == {"keepers": 0, "keepers_unlike": 0}
    assert audit_dedup.source_survival(build, pairs).passed


def test_sizes_are_those_of_the_clusters(tmp_path):
    build, pairs = swallowed(tmp_path / "root")
    assert dedup_report.cluster_sizes(build, pairs).tolist() == [4]


def test_clusters_are_drawn_by_size():
    picture = dedup_report.sizes_picture(np.array([2, 2, 3, 7, 20_000]))
    for words in ("2", "3", "5 to 8", "10,001 and more"):
        assert f">{words}<" in picture.inline()
    assert ">4<" not in picture.inline()


def test_the_s_curve_says_which_share_is_compared_at_the_threshold():
    assert "threshold 0.8: 94.7% compared" in curves.s_curve(NearRules()).inline()
    assert "threshold 0.7: 61.3% compared" in curves.s_curve(NearRules(jaccard_threshold=0.7)).inline()

"""Pairs drawn for people: which, why the keeper stays, and the page that shows them."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.plans import dedup_sample, dedup_sample_page
from corpus_assets.plans.published_version import open_published
from formats.dedup_labels import LENGTH, RANDOM
from formats.dedup_rules import NearRules
from formats.layout import Layout
from tests.plans import dedup_runs, tiny_corpus
from tests.plans.dedup_runs import V1
from tests.plans.naive_dedup import Doc, Rules
from tests.plans.test_dedup_plan import source, text

PAGE = " ".join(f"word{n}" for n in range(100))


@pytest.fixture(scope="module")
def version(tmp_path_factory):
    """Twenty near copies of a text, and a longer scrape that stays for two shorter pages."""
    root = tmp_path_factory.mktemp("sample") / "root"
    scrape = f"{PAGE} {' '.join(f'menu{n}' for n in range(24))}"
    copies = [text(n % 6, say=f"say{n}") for n in range(20)]
    sources = [
        source("books", text(), rank=1),
        source("scrapes", Doc(scrape, "2026-01-01")),
        source("web", *(Doc(f"{PAGE} copy {n}", "2026-02-01") for n in range(2)), *copies, rank=20),
    ]
    dedup_runs.run(root, sources, Rules(), jaccard_threshold=0.75)
    return open_published(Layout(root), V1)


def test_a_quarter_is_drawn_for_length_and_the_rest_from_all_alike(version):
    drawn = dedup_sample.draw(version, 8, seed=1)
    assert (drawn.num_near, drawn.num_alarmed) == (22, 2)
    assert [pair.drawn for pair in drawn.pairs].count(LENGTH) <= 2
    assert {pair.keeper.id for pair in drawn.pairs if pair.length_alarm} == {"scrapes:0"}
    assert len({pair.dropped.id for pair in drawn.pairs}) == len(drawn.pairs)
    assert all(pair.length_alarm for pair in drawn.pairs if pair.drawn == LENGTH)
    assert len(drawn.pairs) == 8
    everything = dedup_sample.draw(version, 100, seed=1)
    assert len(everything.pairs) == 22
    assert {pair.drawn for pair in everything.pairs} == {RANDOM}


def test_a_seed_draws_the_same_pairs_and_another_one_others(version):
    first, again, other = ([p.dropped.id for p in dedup_sample.draw(version, 5, seed).pairs] for seed in (1, 1, 2))
    assert first == again != other


@given(st.integers(0, 30), st.sets(st.integers(0, 29)), st.integers(1, 40))
def test_as_many_pairs_as_there_are_up_to_n_are_drawn_and_the_random_ones_are_the_first_of_all(total, alarmed, n):
    ids = [f"web:{k}" for k in range(total)]
    for_length = [one for k, one in enumerate(ids) if k in alarmed]
    drawn = dedup_sample._both_ways(for_length[:n], ids[:n], n)
    fair = [one for one, how in drawn.items() if how == RANDOM]
    assert len(drawn) == min(n, total)
    assert fair == ids[: len(fair)]
    assert len(fair) >= min(n - n // dedup_sample.LENGTH_SHARE, total)
    beside = [one for one, how in drawn.items() if how == LENGTH]
    assert beside == [one for one in for_length if one not in fair][: len(beside)]
    left = len([one for one in for_length if one not in [*fair, *beside]])
    assert not left or len(beside) >= min(n // dedup_sample.LENGTH_SHARE, total - len(fair))


def test_what_put_the_keeper_first_is_said(version):
    why = {pair.keeper.id: pair.why for pair in dedup_sample.draw(version, 100, 1).pairs}
    assert why["books:0"] == "source_rank 1 comes before 20"
    assert why["scrapes:0"] == "source_rank 10 comes before 20"


def test_the_page_escapes_texts_marks_what_differs_and_runs_its_own_script_alone(tmp_path):
    layout = tiny_corpus.copy(tmp_path / "root")
    version = open_published(layout, tiny_corpus.V1)
    drawn = dedup_sample.draw(version, 10, 1)
    page = dedup_sample_page.render(version.key, version.digest, drawn, NearRules(), 1)
    assert "<mark>poorly" in page
    assert "<mark>badly" in page
    assert "script-src 'sha256-" in page
    assert page.count("<script>") == 1
    head = unescape(re.search(r'data-head="([^"]*)"', page)[1])
    assert f'"manifest_sha256": "{version.digest}"' in head
    pair = drawn.pairs[0]
    hostile = dedup_sample.SampledPair(
        pair.dropped.__class__(**{**vars(pair.dropped), "text": "<script>alert(1)</script> \"'&", "url": '"><img>'}),
        pair.keeper, pair.jaccard, "</section>", pair.drawn, True,
    )  # fmt: skip
    page = dedup_sample_page.render(version.key, version.digest, dedup_sample.Drawn([hostile], 1, 1), NearRules(), 1)
    assert page.count("<script>") == 1
    assert "<img>" not in page
    assert page.count("</section>") == 1

"""Pages of kinds other than articles: always the same, in many scripts, and the shipped model is ahead on each kind."""

import pytest

from corpus_assets.plans.block_evaluation import by_resiliparse, routed, score
from corpus_assets.plans.extractors import shipped_model
from tests.golden.make_block_model import PAGES_OF_A_TEMPLATE, training_pages
from tests.golden.written_kinds import SCRIPTS, TEMPLATES, kind_page

ALL = [one for of_kind in TEMPLATES.values() for one in of_kind]


def test_a_page_is_always_the_same_and_no_other_templates():
    assert [kind_page(7, one) for one in ALL] == [kind_page(7, one) for one in ALL]
    assert len({kind_page(7, one).html for one in ALL}) == len(ALL)


def test_pages_are_in_every_script():
    pages = [kind_page(number, one).html for one in ALL for number in range(PAGES_OF_A_TEMPLATE)]
    for language, *_ in SCRIPTS:
        assert any(f"<html lang={language}>".encode() in page for page in pages)


def test_a_template_that_is_held_out_is_in_no_page_of_training():
    groups = {page.group for page in training_pages("goods")}
    assert "goods" not in groups
    assert {one.__name__ for one in ALL} - groups == {"goods"}


@pytest.mark.parametrize("kind", TEMPLATES)
def test_the_shipped_model_is_ahead_of_resiliparse_on_pages_that_it_did_not_see(kind):
    model = shipped_model()
    pages = [kind_page(5_000 + number, one) for one in TEMPLATES[kind] for number in range(8)]
    ours, resiliparse = score("ours", pages, lambda page: routed(page, model)), score("r", pages, by_resiliparse)
    assert ours.f1 > resiliparse.f1

"""Training and judging: labels, folds, the published measure, the same bytes every time, and what real pages give."""

from dataclasses import replace

import numpy as np
import pytest

from corpus_assets.kernels.block_trees import probabilities
from corpus_assets.plans import block_evaluation, block_training, labelled_pages
from corpus_assets.plans.block_evaluation import by_blocks, by_resiliparse, folds, out_of_fold, routed, score
from corpus_assets.plans.extractors import SHIPPED, shipped_model
from corpus_assets.plans.labelled_pages import LabelledPage, example, overlap
from formats import block_model
from formats.errors import ConfigError
from tests.bench.labelled_collections import articles, readable
from tests.golden import make_block_model
from tests.golden.written_pages import written_page
from tests.shared_data import DATA, needs_shared_data

PAGES = [written_page(number) for number in range(40)]


def test_the_same_pages_in_any_order_give_the_same_bytes():
    first = block_model.to_bytes(block_training.train(PAGES[:20]))
    assert block_model.to_bytes(block_training.train(PAGES[:20][::-1])) == first
    assert block_model.to_bytes(block_training.train(PAGES[:19])) != first


@pytest.mark.parametrize("num_also", [0, 8])
def test_the_model_is_the_mean_of_what_the_library_grew(num_also):
    examples = [example(page) for page in PAGES[:20]]
    own, also = examples[num_also:], [turned(one) for one in examples[:num_also]]
    grown: list = []
    grow = block_training._grow
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_training, "_grow", lambda *args: grown.append(grow(*args)) or grown[-1])
        model = block_training.train_on(own, also=also)
    features = np.concatenate([one.features for one in examples])
    assert len(grown) == block_training.BAGS
    asked = np.column_stack([features, np.zeros(len(features))]) if also else features
    logit = np.mean([one.decision_function(asked.astype(np.float32)) for one in grown], axis=0)
    wanted = 1 / (1 + np.exp(-logit))
    found = probabilities(features, model.nodes, model.roots, model.base) / block_model.ONE
    assert np.abs(found - wanted).max() < 0.002


def turned(one):
    """What others would want who want all else."""
    return replace(one, share=1 - one.share)


def test_what_others_want_of_their_pages_is_not_wanted_of_ones_own():
    every = [example(page) for page in PAGES]
    own, others, judged = every[:15], [turned(one) for one in every[15:30]], every[30:]
    features, share, weight = (
        np.concatenate([getattr(one, of) for one in judged]) for of in ("features", "share", "weight")
    )

    def error_of(model):
        found = probabilities(features, model.nodes, model.roots, model.base) / block_model.ONE
        return np.average(np.abs(found - share), weights=weight)

    assert error_of(block_training.train_on(own, also=others)) < 0.2
    assert error_of(block_training.train_on(own + others)) > 0.4


def test_a_model_learns_to_keep_what_is_wanted():
    models = out_of_fold(PAGES, leaves=2)
    found = score("blocks", PAGES, lambda page: by_blocks(page, models[page.name]))
    assert found.f1 > 0.85
    assert found.f1 > score("resiliparse", PAGES, by_resiliparse).f1


def test_blocks_are_labelled_by_the_words_that_are_wanted():
    page = "<h1>One two three four five</h1><p>Menu here<p>one two three four five six<p>seven eight nine ten no"
    found = example(LabelledPage("a", "a", page.encode(), "one two three four five six seven eight nine ten"))
    assert found.share.tolist() == [0, 0, 1, 0.8]
    assert found.weight.tolist() == pytest.approx([n / 20 + 0.0005 for n in (5, 2, 6, 5)])


def test_a_text_that_stands_twice_counts_once_in_the_longer_run():
    page = "<li>one two three four</li><p>zero one two three four five</p>"
    found = example(LabelledPage("a", "a", page.encode(), "zero one two three four five"))
    assert found.share.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("wanted", "found", "sides"),
    [
        ("a b c d e", "a b c d e", (1, 1)),
        ("a b c d e", "a b c d", (1, 0.5)),
        ("a b c d", "a b c d x y", (1 / 3, 1)),
        ("a b", "a b", (1, 1)),
        ("", "", (1, 1)),
        ("", "a", (0, 1)),
        ("a", "", (1, 0)),
        ("a b c d a b c d", "a b c d", (1, 0.2)),
    ],
)
def test_a_page_is_measured_by_its_counted_runs_of_four_words(wanted, found, sides):
    assert overlap(wanted, found) == pytest.approx(sides)


def test_folds_split_no_group_and_are_the_same_every_time():
    pages = [LabelledPage(f"{n}", f"{n % 7}", b"", "") for n in range(30)]
    of_fold = folds(pages)
    assert len({(page.group, fold) for page, fold in zip(pages, of_fold, strict=True)}) == 7
    assert set(of_fold) == set(range(block_evaluation.FOLDS))
    assert folds(pages[::-1]) == of_fold[::-1]
    with pytest.raises(ConfigError, match="4 groups"):
        folds([page for page in pages if int(page.group) < 4])


def test_a_folder_of_pages_is_read_and_its_faults_are_named(tmp_path):
    with pytest.raises(ConfigError, match="holds no page"):
        labelled_pages.read(tmp_path)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a.html").write_bytes(b"<p>A")
    with pytest.raises(ConfigError, match=r"a\.html: no a\.txt"):
        labelled_pages.read(tmp_path)
    (tmp_path / "site" / "a.txt").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"a\.txt: is not UTF-8 at byte 0"):
        labelled_pages.read(tmp_path)
    (tmp_path / "site" / "a.txt").write_text("A", "utf-8")
    assert labelled_pages.read(tmp_path) == [LabelledPage("site/a", "site", b"<p>A", "A")]


def test_pages_that_teach_nothing_are_refused():
    with pytest.raises(ConfigError, match="teach nothing"):
        block_training.train([LabelledPage("a", "a", b"<p>all of it", "all of it")])


@pytest.mark.slow
def test_the_shipped_model_is_made_of_the_written_pages():
    assert block_model.to_bytes(make_block_model.made()) == SHIPPED.read_bytes()


@needs_shared_data
@pytest.mark.slow
def test_out_of_fold_the_blocks_reach_their_figure_on_real_articles():
    pages = articles(DATA)
    models = out_of_fold(pages, readable(DATA))
    assert score("blocks", pages, lambda page: by_blocks(page, models[page.name])).f1 >= 0.970
    assert score("routed", pages, lambda page: routed(page, models[page.name])).f1 >= 0.970


@needs_shared_data
def test_the_shipped_model_which_saw_no_real_page_is_ahead_of_resiliparse_on_articles():
    pages, model = articles(DATA), shipped_model()
    resiliparse = score("resiliparse", pages, by_resiliparse)
    assert resiliparse.f1 == pytest.approx(0.917, abs=0.002)
    assert score("shipped", pages, lambda page: routed(page, model)).f1 >= resiliparse.f1 + 0.02

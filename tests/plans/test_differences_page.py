"""The page of what differs: bars are the counts of both sides, every difference is there, names are shown as words."""

import json
import re
from collections import Counter
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.cli import main
from corpus_assets.commands import diff
from corpus_assets.commands.diff import compared
from corpus_assets.plans import differences_page, pictures_pairs
from corpus_assets.plans.differences import Difference
from corpus_assets.plans.pictures_pairs import Row, changed_most, pairs
from corpus_assets.plans.published_version import open_published
from formats.errors import ConfigError
from tests.commands import command_line
from tests.plans import tiny_snapshot
from tests.plans.test_datasheet import Page
from tests.plans.tiny_corpus import V1, V2

SVG = "{http://www.w3.org/2000/svg}"
counts = st.dictionaries(st.text(max_size=30), st.integers(0, 10**9), max_size=40)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return tiny_snapshot.copy(tmp_path_factory.mktemp("diff") / "root")[0]


@given(counts, counts)
def test_no_count_is_lost_however_many_names_there_are(before, after):
    rows = changed_most(before, after)
    assert (sum(row.before for row in rows), sum(row.after for row in rows)) == (
        sum(before.values()),
        sum(after.values()),
    )
    assert len(rows) <= pictures_pairs.NUM_ROWS + 1
    changes = [abs(row.after - row.before) for row in rows if not re.fullmatch(r"\d+ others", row.name)]
    shown = changes if len(rows) <= pictures_pairs.NUM_ROWS else changes[: pictures_pairs.NUM_ROWS]
    assert shown == sorted(shown, reverse=True)


@given(st.text(max_size=30), counts, counts)
def test_pairs_are_well_formed_and_say_both_numbers(title, before, after):
    rows = changed_most(before, after)
    drawn = ElementTree.fromstring(pairs(title, ("A", "B"), rows).standalone())
    said = " ".join(element.text or "" for element in drawn.iter(f"{SVG}text"))
    for row in rows:
        assert f"{row.before:,} → {row.after:,}" in said or not (row.before or row.after)
    kinds = Counter(element.get("class") for element in drawn.iter(f"{SVG}rect"))
    assert kinds["was"] == kinds["bar"] == len(rows) + 1


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (5, 5, "same"),
        (100, 104, "+4 (4.0 %)"),
        (100, 0, "−100 (100.0 %)"),
        (0, 7, "+7"),
        (1, 900, "+899"),
        (10_000, 9_999, "−1 (< 0.1 %)"),
    ],
)
def test_a_change_is_said_with_its_share_of_what_was(before, after, said):
    assert Row("x", before, after).change == said


def test_the_page_draws_the_counts_of_both_versions(corpus):
    _, facts = compared(corpus, "tiny.v1", "tiny.v2")
    found = {group.title: (dict(group.before), dict(group.after)) for group in differences_page.groups(*facts)}
    sides = [open_published(corpus, key).counts for key in (V1, V2)]
    kept = tuple({name: one["kept"] for name, one in side["sources"].items()} for side in sides)
    assert found["published documents by source"] == kept
    assert found["dropped documents by reason"] == tuple(side["dropped"] for side in sides)
    languages = tuple(
        dict(sum((Counter(one["languages"]) for one in side["sources"].values()), Counter())) for side in sides
    )
    assert found["published documents by language"] == languages


def test_the_page_tells_every_difference_and_nothing_else(corpus):
    result, facts = compared(corpus, "tiny.v1", "tiny.v2", documents=True)
    page = Page(differences_page.render(result, *facts))
    for one in result.found:
        assert one.name in page.cells
    assert "near_duplicate -> train_near_val" in page.cells
    same, facts = compared(corpus, "tiny.v1", "tiny.v1", documents=True)
    html = differences_page.render(same, *facts)
    assert "Nothing differs." in html
    assert "that differ (" not in html


def test_snapshots_are_drawn_by_their_buckets(corpus):
    names = sorted(path.name for path in corpus.snapshots.iterdir() if path.is_dir())
    result, facts = compared(corpus, names[0], names[-1])
    (group,) = [one for one in differences_page.groups(*facts) if one.title.startswith("tokens")]
    assert (
        sum(group.before.values()) == sum(one["tokens"] for one in facts[0].sections["tokens"]["buckets"].values()) > 0
    )
    assert "tokens by split and bucket" in differences_page.render(result, *facts)


def test_words_from_outside_are_shown_as_words(corpus):
    result, facts = compared(corpus, "tiny.v1", "tiny.v2")
    hostile = "<img src=x onerror=alert(1)>\u202e"
    result.found.append(Difference("sources", "web.title", hostile, None, (hostile,)))
    facts = (replace(facts[0], languages={hostile: 3}), facts[1])
    page = Page(differences_page.render(result, *facts))
    assert page.tags["img"] == page.tags["script"] == 0
    assert hostile.replace("\u202e", "\ufffd") in page.cells
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name == "src"]


def test_the_command_writes_the_page_and_the_same_one_again(corpus, tmp_path, capsys):
    out = tmp_path / "diff.html"
    command = ["--root", str(corpus.root), "diff", "tiny.v1", "tiny.v2", "--out", str(out)]
    assert main([*command, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["same"] is False
    first = out.read_bytes()
    assert main(command) == 1
    assert out.read_bytes() == first
    assert "near_duplicate" in capsys.readouterr().out
    assert main([*command[:3], "tiny.v1", "tiny.v1", "--out", str(out)]) == 0


@pytest.mark.parametrize("place", ["missing/diff.html", "corpus/tiny/v1/diff.html", "corpus"])
def test_a_page_is_refused_a_place_before_anything_is_read(corpus, place):
    with pytest.raises(ConfigError, match="--out"):
        command_line.run(diff, corpus.root, "diff", "tiny.v1", "tiny.v9", "--out", str(corpus.root / place))

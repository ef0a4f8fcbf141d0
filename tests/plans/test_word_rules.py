"""A version built with word lists: what is counted of whom, who leaves, and which lists are refused."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

import formats
from corpus_assets.commands.verify import verify_version
from corpus_assets.plans.datasheet_figures import measure
from corpus_assets.plans.datasheet_words import known_limits
from corpus_assets.plans.pinned import load_version
from corpus_assets.plans.published_version import open_published
from corpus_assets.plans.tracing import trace
from corpus_assets.plans.word_rules import read_entries
from formats import corpus_manifest, evidence, evidence_schemas
from formats.corpus_config import from_document
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.list_lines import plain_lines
from tests.plans import site_corpus, tiny_corpus
from tests.plans.site_corpus import V3, pinned, write_config


def word_list(root: Path, name: str, data: bytes, **limits) -> dict:
    return {**pinned(root, f"{name}.txt", data), "lang": "en", **limits}


def lists(root: Path) -> list[dict]:
    return [
        word_list(root, "birds", b"# birds\nowl\nold  owl!\n", max_ratio=0.01),
        word_list(root, "clocks", b"minute hand\nclock\n", max_ratio=0.01, min_words=4),
        word_list(root, "french", b"the\n", max_ratio=0.0, lang="fr"),
        word_list(root, "everywhere", b"river\n", max_ratio=1.0, lang="*"),
    ]


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return make(tmp_path_factory.mktemp("words") / "root")


def make(root: Path, workers: int = 1) -> Layout:
    layout = site_corpus.write_inputs(root)
    write_config(layout, words={"lists": lists(root)}, sites=site_corpus.site_lists(root))
    tiny_corpus.build(layout, V3, workers)
    return layout


def rows(layout: Layout, table: str) -> list[dict]:
    found = evidence.read(layout.evidence(V3), table)
    return pa.Table.from_batches(found, evidence_schemas.TABLES[table]).to_pylist()


def test_every_document_that_shares_a_word_with_a_list_of_its_language_is_counted(layout):
    counted = {(row["id"], row["list"]): (row["listed_words"], row["too_many"]) for row in rows(layout, "listed_words")}
    assert counted == {
        ("fables:0", "birds"): (2, True),  # "old owl", both words of one entry
        ("fables:1", "birds"): (2, True),  # the same in capitals
        ("fables:4", "clocks"): (1, False),
        ("shop:2", "clocks"): (2, False),
        ("web:0", "birds"): (2, True),
        ("web:1", "everywhere"): (2, False),
        ("web:2", "clocks"): (3, False),  # above its share, but fewer than 4
    }


def test_shares_are_in_millionths_of_the_documents_words(layout):
    words = {row["id"]: row["n_words"] for row in rows(layout, "documents")}
    for row in rows(layout, "listed_words"):
        assert row["n_words"] == words[row["id"]]
        assert row["listed_word_ratio"] == row["listed_words"] * 1_000_000 // row["n_words"]


def test_what_has_too_many_leaves_unless_it_left_before(layout):
    verdicts = {row["id"]: row["verdict"] for row in rows(layout, "documents")}
    goes = {name for name, verdict in verdicts.items() if verdict == "too_many_listed_words"}
    assert goes == {"fables:0", "web:0"}
    assert verdicts["fables:1"] == "exact_duplicate"
    assert verdicts["shop:0"] == "opt_out"


def test_the_manifest_and_the_funnel_count_them_after_the_filters(layout):
    filters = corpus_manifest.read(layout.version(V3))["filters"]
    assert list(filters)[-4:] == ["block_list", "length", "charset", "words"]
    assert filters["words"] == 2
    steps = measure(open_published(layout, V3)).funnel()
    assert [sum(step.taken) for step in steps if step.name == "filter words"] == [2]
    assert sum(steps[-1].left) == corpus_manifest.read(layout.version(V3))["n_docs"]


def test_the_datasheet_names_the_lists_with_their_limits(layout):
    told = " ".join(known_limits(measure(open_published(layout, V3))))
    assert "Word lists (birds above 0.01, clocks above 0.01, everywhere above 1, french above 0) count words" in told


def test_trace_tells_the_words_their_share_and_the_limit(layout):
    [found] = trace(layout, "fables:0", [V3]).documents
    assert found.reason == "2 of 67 words (0.02985) are on list birds, expected at most 0.01"
    [kept] = trace(layout, "web:2", [V3]).documents
    assert (kept.verdict, kept.listed_words[0].listed_words) == ("kept", 3)
    assert kept.listed_words[0].words.endswith("on list clocks, expected at most 0.01 or fewer than 4 words")


def test_every_check_of_verify_holds(layout):
    report = verify_version(layout, V3)
    assert report.ok, [problem for check in report.checks for problem in check.problems]


def test_one_and_two_workers_give_the_same_bytes(layout, tmp_path):
    other = make(tmp_path / "root", workers=2)
    for place in (layout.lock, lambda key: layout.evidence(key) / evidence.SEAL):
        path = place(V3)
        assert path.read_bytes() == (other.root / path.relative_to(layout.root)).read_bytes()


def entries(tmp_path: Path, data: bytes, sha256: str | None = None) -> pa.Table:
    layout = site_corpus.write_inputs(tmp_path / "root")
    one = word_list(layout.root, "bad", data, max_ratio=0.1)
    write_config(layout, words={"lists": [{**one, "sha256": sha256 or one["sha256"]}]})
    version = load_version(layout, V3)
    return read_entries(layout, version, version.config.words.lists[0])


def test_lines_without_words_and_too_long_phrases_are_refused_by_their_numbers(tmp_path):
    with pytest.raises(ConfigError) as raised:
        entries(tmp_path, b"fine\n!!!\n\na b c d e f g h i\n")
    first, second, _ = str(raised.value).splitlines()
    assert first.endswith("bad.txt: line 2: '!!!' has no word, expected 1 to 8")
    assert second.endswith("bad.txt: line 4: 'a b c d e f g h i' has 9 words, expected 1 to 8")


def test_a_list_that_is_no_text_or_another_file_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="line 2: is no UTF-8"):
        entries(tmp_path / "a", b"fine\n\xff\n")
    with pytest.raises(CorruptDataError, match="sha256"):
        entries(tmp_path / "b", b"fine\n", "0" * 64)


def test_an_empty_list_has_no_entries(tmp_path):
    assert entries(tmp_path, b"# nothing yet\n").num_rows == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"lang": "english"}, "lang: expected an ISO 639-1 code"),
        ({"max_ratio": 2}, "max_ratio: expected a number from 0 to 1"),
        ({"max_ratio": ...}, "max_ratio: missing"),
        ({"min_words": 0}, "min_words: expected a whole number"),
        ({"sha256": "x"}, "sha256: expected 64"),
    ],
)
def test_wrong_settings_of_a_list_are_refused(change, says):
    one = {"name": "a", "path": "a.txt", "sha256": "0" * 64, "lang": "en", "max_ratio": 0.1, **change}
    one = {name: value for name, value in one.items() if value is not ...}
    least = {"dataset": "d", "version": "v", "sources": ["s"], "licenses": {"allow": ["MIT"]}}
    with pytest.raises(ConfigError, match=re.escape(f"words.lists[0].{says}")):
        from_document({**least, "words": {"lists": [one]}})


def test_the_examples_of_the_page_are_right():
    page = (Path(formats.__file__).parent / "word_lists.md").read_text("utf-8")
    example = page.split("## The file")[1].split("```\n")[1]
    assert [text for _, text in plain_lines(example.encode(), "page")] == ["trump", "grand slam", "王牌"]

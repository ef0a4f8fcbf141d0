"""The draft of a summary of training content, and the questions of a datasheet: what is said is what was measured, and
what is not known is left to the provider.
"""

import re
from collections import Counter
from dataclasses import replace
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.commands.verify import verify_version
from corpus_assets.plans import datasheet_questions, training_content
from corpus_assets.plans.datasheet import write_datasheet
from corpus_assets.plans.datasheet_figures import measure
from corpus_assets.plans.datasheet_hosts import HostCounts
from corpus_assets.plans.published_version import open_published
from formats import evidence
from tests import faults
from tests.plans import site_corpus, tiny_corpus
from tests.plans.tiny_corpus import V1, V2

SECTIONS = (
    "## 1. General information",
    "### 1.1 Provider",
    "### 1.2 Model",
    "### 1.3 Modalities, size and character of the training data",
    "## 2. Sources",
    "### 2.1 Publicly available data sets",
    "### 2.2 Private data sets of third parties",
    "### 2.3 Data crawled from online sources",
    "### 2.4 User data",
    "### 2.5 Synthetic data",
    "### 2.6 Other sources",
    "## 3. Data processing",
    "### 3.1 Reservations of rights (text and data mining)",
    "### 3.2 Removal of illegal content",
    "### 3.3 Other processing",
)


@pytest.fixture
def layout(tmp_path):
    return tiny_corpus.copy(tmp_path / "root")


@pytest.fixture
def figures(layout):
    return measure(open_published(layout, V1))


def section(page, title):
    return re.search(rf"^{re.escape(title)}\n(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL)[1]


def of_kinds(figures, kinds):
    sources = [replace(one, row=replace(one.row, kind=kind)) for one, kind in zip(figures.sources, kinds, strict=True)]
    return replace(figures, sources=sources)


def test_the_draft_is_part_of_the_evidence_and_sealed(layout):
    write_datasheet(layout, V1)
    path = layout.evidence(V1) / evidence.TRAINING_CONTENT
    assert [line for line in path.read_text().splitlines() if line.startswith("##")] == list(SECTIONS)
    assert verify_version(layout, V1).ok
    faults.flip_byte(path, 10)
    assert not verify_version(layout, V1).ok


def test_figures_of_the_draft_are_those_of_the_evidence(layout, figures):
    page = training_content.render(figures)
    rows = pq.read_table(layout.evidence(V1) / "documents").to_pylist()
    kept = [row for row in rows if row["verdict"] == "kept"]
    chars = sum(row["n_chars"] for row in kept)
    assert f"| text | {chars:,} characters in {len(kept)} documents | less than 1 billion tokens |" in page
    by_host = Counter[str]()
    for row in kept:
        if row["url"].startswith("http"):
            by_host[urlsplit(row["url"]).hostname] += row["n_chars"]
    (host,) = by_host
    assert f"| {host} | {by_host[host]:,} | {100 * by_host[host] / chars:.1f} % |" in section(page, SECTIONS[7])
    assert "Latest acquisition: 2026-11-30" in page
    assert "email 1" in section(page, SECTIONS[13])
    assert f"| published | – | {len(kept)} |" in section(page, SECTIONS[14])


@pytest.mark.parametrize(
    ("kinds", "public", "crawled"), [(("jsonl", "warc"), "fables", "web"), (("html", "text"), "web", "fables")]
)
def test_a_source_stands_where_its_files_say_it_does(figures, kinds, public, crawled):
    page = training_content.render(of_kinds(figures, kinds))
    assert f"| {public} |" in section(page, SECTIONS[5])
    assert f"| {crawled} |" not in section(page, SECTIONS[5])
    assert f"| {crawled} |" in section(page, SECTIONS[7])
    assert "Period of retrieval: 2026-11-30 to 2026-11-30" in section(page, SECTIONS[7])


def test_terms_that_are_on_no_public_list_are_pointed_at(figures):
    assert "to be looked at first: web." in section(training_content.render(figures), SECTIONS[6])


@pytest.mark.parametrize(
    ("chars", "said"),
    [(249_999_999, "less than 1 billion tokens"), (250_000_000, "for the provider: depends on the tokenizer")],
)
def test_a_range_is_said_only_where_no_tokenizer_can_pass_it(figures, chars, said):
    one = figures.sources[0]
    alone = replace(figures, sources=[replace(one, counts={**one.counts, "chars": chars})])
    assert f"| {said} |" in training_content.render(alone)


@pytest.mark.parametrize(("num_hosts", "listed"), [(0, 0), (1, 1), (10, 1), (11, 2), (200, 20)])
def test_the_tenth_of_the_hosts_with_most_characters_is_listed(figures, num_hosts, listed):
    found = HostCounts()
    urls = [f"https://h{i}.example/" for i in range(num_hosts)]
    found.add(pa.array(urls, pa.large_string()), pa.array([10 + i for i in range(num_hosts)], pa.int64()))
    told = section(training_content.render(replace(figures, hosts=found)), SECTIONS[7])
    hosts = re.findall(r"^\| (h\d+)\.example \|", told, re.MULTILINE)
    assert hosts == [f"h{num_hosts - 1 - i}" for i in range(listed)]


def test_what_nobody_measured_is_marked_for_the_provider(figures):
    page = training_content.render(figures)
    for title in (*SECTIONS[1:4], *SECTIONS[6:11], *SECTIONS[12:14]):
        assert f"- {training_content.PROVIDER} " in section(page, title), title


def test_hostile_words_stay_in_their_cells(figures):
    hostile = "a | b\n## x <script> **[provider]** `c`"
    row = replace(figures.sources[0].row, title=hostile, license_evidence=hostile)
    page = training_content.render(replace(figures, sources=[replace(figures.sources[0], row=row), figures.sources[1]]))
    assert [line for line in page.splitlines() if line.startswith("##")] == list(SECTIONS)
    assert "<script" not in page.replace("\\<script", "")
    assert page.count(training_content.PROVIDER) == training_content.render(figures).count(training_content.PROVIDER)


@pytest.mark.parametrize("key", [V1, V2])
def test_every_question_is_answered_by_a_figure_or_open(layout, key):
    figures = measure(open_published(layout, key))
    asked = datasheet_questions.questions(figures)
    assert len({(one.topic, one.asks) for one in asked}) == len(asked) == 48
    answers = {one.asks: one.answer for one in asked}
    assert answers["How many rows are there?"].startswith(f"{figures.num_docs:,} documents: ")
    assert answers["Who paid for it?"] is None
    assert answers["Can consent be withdrawn?"] is None
    assert "email 1" in answers["Can single people be recognized?"]
    assert figures.version.digest in answers["How, and under which identifier?"]
    assert "CC0-1.0 (2 documents)" in answers["Under which terms?"]
    html = write_datasheet(layout, key).html.read_text()
    num_open = sum(one.answer is None for one in asked)
    assert html.count(datasheet_questions.OPEN) == num_open
    assert f"{num_open} of {len(asked)} are for the provider" in html


def test_a_purpose_is_what_the_config_says_and_never_made_up(figures):
    def purpose(notes):
        asked = datasheet_questions.questions(replace(figures, config=replace(figures.config, notes=notes)))
        return asked[0].answer

    assert purpose("") is None
    assert purpose("For <tests>.") == "The config notes: For <tests>."


def test_opt_outs_and_block_lists_are_told_with_what_left_for_them(tmp_path):
    layout = site_corpus.make(tmp_path / "root")
    rows = pq.read_table(layout.evidence(site_corpus.V3) / "documents").to_pylist()
    left = Counter(row["verdict"] for row in rows)
    figures = measure(open_published(layout, site_corpus.V3))
    page = training_content.render(figures)
    assert left["opt_out"] == left["blocked_site"] == 1
    assert "bound to: asked. Documents left out for them: 1." in section(page, SECTIONS[12])
    assert "bound to: forums. Documents left out for them: 1." in section(page, SECTIONS[13])
    answers = {one.asks: one.answer for one in datasheet_questions.questions(figures)}
    assert answers["Can consent be withdrawn?"] == "1 document left by 1 opt-out list: asked. Whom to ask is open."
    kept = {urlsplit(row["url"]).hostname for row in rows if row["verdict"] == "kept" and "://" in row["url"]}
    assert set(figures.hosts.counts) == kept
    assert "shop.example.co.uk" not in page

"""The datasheet: every figure is the evidence's, recomputed here the slow way; the page is safe, sealed and the same
every time.
"""

import base64
import json
import re
import shutil
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets import cli
from corpus_assets.commands.verify import verify_version
from corpus_assets.plans import (
    datasheet_drops,
    datasheet_figures,
    datasheet_hosts,
    datasheet_page,
    datasheet_pictures,
    datasheet_signals,
    for_people,
)
from corpus_assets.plans.datasheet import write_datasheet
from corpus_assets.plans.datasheet_bins import Histogram, edge_words, for_rule, log_edges
from corpus_assets.plans.datasheet_figures import measure
from corpus_assets.plans.datasheet_hosts import HostCounts
from corpus_assets.plans.datasheet_signals import SignalFigures
from corpus_assets.plans.datasheet_tokens import NO_SNAPSHOT
from corpus_assets.plans.datasheet_words import license_parts
from corpus_assets.plans.published_version import open_published
from formats import corpus_manifest, durable, evidence
from formats.corpus_config import CorpusConfig
from formats.corpus_shard import read_shards
from formats.errors import ConfigError, CorruptDataError
from formats.json_tables import table
from formats.layout import Layout
from formats.naming import TokensKey, VersionKey
from formats.reasons import MODEL_RULES, RULE_BIT, RULES, Rule
from tests import faults
from tests.formats import evidence_rows
from tests.plans import tiny_corpus, tiny_snapshot
from tests.plans.tampering import as_they_lie
from tests.plans.tiny_corpus import V1, V2


@pytest.fixture
def layout(tmp_path) -> Layout:
    return tiny_corpus.copy(tmp_path / "root")


def evidence_of(layout: Layout, key: VersionKey) -> list[dict[str, Any]]:
    return pq.read_table(layout.evidence(key) / "documents").to_pylist()


def text_bytes_of(layout: Layout, key: VersionKey) -> Counter[str]:
    """Source -> bytes of its published texts, counted one by one."""
    counted: Counter[str] = Counter()
    for doc in read_shards(layout.version(key)):
        counted[doc.source_id] += len(doc.text.encode())
    return counted


class Page(HTMLParser):
    """What a page is made of, as a browser would see it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.cells: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.cells:
            self.cells[-1] += data


@pytest.mark.parametrize("key", [V1, V2])
def test_figures_are_those_of_a_slow_count_of_the_evidence(layout, key):
    figures, rows = measure(open_published(layout, key)), evidence_of(layout, key)
    kept = [row for row in rows if row["verdict"] == "kept"]
    assert figures.num_docs == len(kept)
    assert figures.num_chars == sum(row["n_chars"] for row in kept)
    assert figures.verdicts == Counter(row["verdict"] for row in rows)
    assert figures.shard_bytes == sum(path.stat().st_size for path in layout.version(key).glob("*.parquet"))
    languages = {row["lang"] or "und" for row in rows}
    of_language = {
        code: Counter(row["verdict"] for row in rows if (row["lang"] or "und") == code) for code in languages
    }
    assert figures.by_language == of_language
    for verdict, example in figures.examples.items():
        assert example == next(row["id"] for row in rows if row["verdict"] == verdict)
    hosts = Counter(urlsplit(row["url"]).hostname for row in kept if row["url"].startswith("http"))
    assert figures.hosts.counts == hosts
    assert figures.hosts.elsewhere == len(kept) - hosts.total()
    for host, chars in figures.hosts.top_by_chars(99):
        assert chars == sum(row["n_chars"] for row in kept if urlsplit(row["url"]).hostname == host)
    edges, counts = figures.lengths.trimmed()
    assert counts == [sum(low <= row["n_chars"] < high for row in kept) for low, high in pairwise(edges)]
    texts = text_bytes_of(layout, key)
    assert {one.name: one.text_bytes for one in figures.sources} == {"fables": texts["fables"], "web": texts["web"]}
    for one in figures.licenses():
        mine = [row for row in kept if tiny_corpus.SOURCES[row["source_id"]]["license_spdx"] == one.name]
        assert (one.documents, one.chars) == (len(mine), sum(row["n_chars"] for row in mine))
        assert one.text_bytes == sum(texts[source] for source in {row["source_id"] for row in mine})
    clusters = pq.read_table(layout.evidence(key) / "clusters.parquet").to_pylist()
    assert sum(n for n, _, _ in figures.clusters) == len(clusters)
    assert sum(n for _, n, _ in figures.clusters) == sum(row["size"] for row in clusters)
    assert sum(n for _, _, n in figures.clusters) == sum(row["keepers"] for row in clusters)


@pytest.mark.parametrize("key", [V1, V2])
def test_the_funnel_loses_each_document_at_one_step_and_ends_at_what_is_published(layout, key):
    figures, rows = measure(open_published(layout, key)), evidence_of(layout, key)
    steps = figures.funnel()
    left = list(steps[0].left)
    assert left == [6, 4]  # records of fables and web
    for step in steps[1:]:
        left = [n - gone for n, gone in zip(left, step.taken or (0, 0), strict=True)]
        assert left == list(step.left)
    assert [step.name for step in steps if step.taken is None] == ["records fetched", "documents", "published"]
    assert sum(left) == sum(row["verdict"] == "kept" for row in rows)
    taken = {step.name: sum(step.taken) for step in steps if step.taken and any(step.taken)}
    near = {V1: "near duplicates", V2: "train rows near val"}[key]
    one_each = dict.fromkeys(("rejected records", "exact duplicates", "eval sets met", "filter length", near), 1)
    assert taken == {**one_each, "filter gopher": 1}


def test_a_signal_is_counted_where_its_rule_applies_and_cut_where_it_decides(layout):
    figures, rows = measure(open_published(layout, V1)), evidence_of(layout, V1)
    assert len(figures.signals) == datasheet_signals.MAX_SIGNALS
    assert {"too_few_words", "too_short"} <= {one.rule.reason for one in figures.signals}
    for one in figures.signals:
        bit = RULE_BIT[one.rule.reason]
        applies = [row for row in rows if not row["rules_not_applied"] & bit]
        at = list(one.histogram.edges).index(one.limit)
        fails = [i < at if one.rule.bound == "min" else i >= at for i in range(len(one.histogram.edges) - 1)]
        found = sum(one.histogram.counts[i] for i, failed in enumerate(fails) if failed)
        assert found == sum(bool(row["rules_failed"] & bit) for row in applies)
        assert one.histogram.counts.total() == len(applies)


@given(st.lists(st.integers(0, 10**15), max_size=40), st.integers(1, 10**6), st.booleans())
def test_a_histogram_puts_each_value_where_a_slow_search_does(values, anchor, closed_above):
    edges = log_edges(anchor)
    assert edges == sorted(set(edges))
    assert {0, 1, anchor} <= set(edges)
    histogram = Histogram(edges, closed_above)
    histogram.add(np.array(values, np.int64))
    search = bisect_left if closed_above else bisect_right
    bins = Counter(min(max(search(edges, value) - 1, 0), len(edges) - 2) for value in values)
    assert histogram.counts == bins
    kept_edges, counts = histogram.trimmed(edges.index(anchor))
    assert sum(counts) == len(values)
    assert len(kept_edges) == len(counts) + 1
    assert anchor in kept_edges


def accepted_limits(rule: Rule) -> st.SearchStrategy[int]:
    """Thresholds that the schema of a config lets through for the rule, in the unit of its signal."""
    config = table(CorpusConfig).schema()["properties"]
    if rule in MODEL_RULES:
        (section,) = (kind for kind in config[rule.filter]["anyOf"] if kind["type"] == "object")
        of = section["properties"]["models"]["items"] if rule.filter == "ppl" else section
        name = "max" if rule.bound == "max" else "min"
    else:
        of, name = config["profiles"]["properties"]["prose"], rule.reason
    (kind,) = (kind for kind in of["properties"][name]["anyOf"] if kind["type"] != "null")
    least, most = kind["minimum"], kind["maximum"]
    values = st.integers if kind["type"] == "integer" else st.floats
    drawn = st.sampled_from([least, most]) | values(least, min(most, 200)) | values(least, most)
    return drawn.map(lambda value: round(value * rule.scale))


@pytest.mark.parametrize(
    "rule", [rule for rule in (*RULES, *MODEL_RULES) if rule.bound != "allow"], ids=lambda rule: rule.reason
)
@given(data=st.data())
def test_every_limit_that_a_config_may_have_parts_what_passes_from_what_fails(rule, data):
    limit = data.draw(accepted_limits(rule))
    histogram = for_rule(rule, limit)
    edges, at = list(histogram.edges), list(histogram.edges).index(limit)
    assert edges == sorted(set(edges))
    assert len(edges) < 200
    assert len(edge_words(edges, rule)) == len(edges)
    values = data.draw(st.lists(st.integers(max(0, limit - 1), limit + 1) | st.integers(0, 2**53), max_size=8))
    histogram.add(np.array(values, np.int64))
    fails = range(at) if rule.bound == "min" else range(at, len(edges) - 1)
    drawn = sum(histogram.counts[i] for i in fails)
    assert drawn == sum(value < limit if rule.bound == "min" else value > limit for value in values)
    one = SignalFigures(rule, "profile prose", limit, histogram)
    assert datasheet_pictures.signal(one).body.count('<line class="limit"') == 1


def test_hosts_that_were_pruned_are_off_by_at_most_what_is_said(monkeypatch):
    monkeypatch.setattr(datasheet_hosts, "MAX_HOSTS", 3)
    urls = [f"https://h{i * i % 11}.example/{i}" for i in range(200)] + ["https://big.example/"] * 50
    found, exact = HostCounts(), Counter(urlsplit(url).hostname for url in urls)
    for start in range(0, len(urls), 7):
        batch = urls[start : start + 7]
        found.add(pa.array(batch, pa.large_string()), pa.array([len(url) for url in batch], pa.int64()))
    assert len(found.counts) <= 6
    assert found.floor > 0
    assert all(0 <= exact[host] - n <= found.floor for host, n in found.counts.items())
    assert found.top(1)[0][0] == "big.example"
    chars = Counter[str]()
    for url in urls:
        chars[urlsplit(url).hostname] += len(url)
    assert found.floor_chars > 0
    assert all(0 <= chars[host] - n <= found.floor_chars for host, n in found.chars.items())


def test_the_page_shows_hostile_words_as_words(layout):
    sheet = write_datasheet(layout, V1)
    html = sheet.html.read_text()
    page = Page(html)
    assert tiny_corpus.HOSTILE_TITLE in page.text
    assert not {"script", "img", "iframe", "object", "link"} & set(page.tags)
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name in ("src", "srcset")]
    ids = {value for _, name, value in page.attributes if name == "id"}
    for _, name, value in page.attributes:
        if name == "href":
            assert value.removeprefix("#") in ids or value.startswith("https://")
    assert "onerror=alert" not in re.sub(r"\\.|&lt;", "", sheet.markdown.replace("\\<img src=x onerror=alert(1)", ""))
    assert "<img" not in sheet.markdown.replace("\\<img", "")


def test_every_figure_that_people_ask_for_is_drawn(layout):
    html = write_datasheet(layout, V1).html.read_text()
    drawn = set(re.findall(r'aria-label="([^"]*)"', html))
    assert drawn >= {
        "published characters by source",
        "published bytes by source",
        "published documents by licence",
        "published bytes by licence",
        "published characters by licence",
        "published documents by language",
        "from records to published documents",
        "published documents by number of characters",
        "clusters by number of documents",
        "replacements in published documents",
        "published documents by host",
        "published characters by host",
        "published documents by day of retrieval",
    }
    limits = measure(open_published(layout, V1)).signals
    assert html.count('<line class="limit"') == len(limits) > datasheet_drops.NUM_SHOWN
    assert html.count("<details>") == html.count("</details>") == 1


def test_bytes_are_those_of_utf_8_after_personal_data_was_replaced(layout):
    """Of texts beyond ASCII: bytes are more than characters, and a redaction changes both."""
    fables = [{"path": "a.txt", "text": f"{tiny_corpus.GARDEN} Ž{'é' * 40} 狐"}]
    layout = tiny_corpus.write_inputs(layout.root.with_name("other"), {"fables": fables, "web": []})
    tiny_corpus.build(layout, V1)
    (doc,) = read_shards(layout.version(V1))
    assert "<EMAIL>" in doc.text
    figures = measure(open_published(layout, V1))
    assert figures.text_bytes == len(doc.text.encode()) > len(doc.text)
    assert [one.text_bytes for one in figures.sources] == [figures.text_bytes, 0]


def test_a_version_of_before_bytes_were_counted_says_so_and_has_a_datasheet(layout):
    counts = json.loads((layout.evidence(V1) / evidence.COUNTS).read_bytes())
    del counts[evidence.TEXT_BYTES]
    evidence_rows.write_json(layout.evidence(V1), evidence.COUNTS, counts)
    evidence_rows.seal_as_it_lies(layout.evidence(V1))
    sheet = write_datasheet(layout, V1)
    html = sheet.html.read_text()
    assert "did not count bytes of text by source" in Page(html).text
    assert "published bytes by" not in html
    assert verify_version(layout, V1).ok


def test_tokens_are_those_of_the_snapshots_that_are_here_and_nothing_is_estimated(tmp_path):
    layout, made = tiny_snapshot.copy(tmp_path / "root")
    lock = layout.snapshot_lock(TokensKey(V1, made.document["tokens"]))
    counts, corpus = made.document["counts"], lock.read_text()
    figures = measure(open_published(layout, V1))
    assert [(one.name, one.tokens) for one in figures.token_sets] == [(made.document["tokens"], counts["tokens"])]
    name = figures.token_sets[0].name
    by_licence = {one.name: one.tokens[name] for one in figures.licenses()}
    assert by_licence == counts["tokens_by_license"]
    assert sum(by_licence.values()) == counts["tokens"]
    html = datasheet_page.render(figures)
    assert f"tokens of {name} by licence" in html
    assert f"{counts['tokens']:,}" in Page(html).cells
    assert NO_SNAPSHOT not in Page(html).text
    other = snapshots_in(layout) - {corpus.strip()}
    for left_out in (other.pop(), "0" * 64):  # of another version; one that is not here
        lock.write_text(left_out + "\n")
        sheet = write_datasheet(layout, V1)
        assert Page(sheet.html.read_text()).text.count(NO_SNAPSHOT) == 2
        assert "no token snapshot of this version" in sheet.markdown
        assert "tokens of" not in sheet.html.read_text()
    lock.write_text(corpus)
    faults.flip_byte(made.folder / "manifest.json", 40)
    with pytest.raises(CorruptDataError, match="snapshot"):
        write_datasheet(layout, V1)


def snapshots_in(layout: Layout) -> set[str]:
    return {folder.name for folder in layout.snapshots.iterdir() if folder.is_dir()}


def hundred_sources(figures: datasheet_figures.Figures, retrieved: list[str]) -> datasheet_figures.Figures:
    one = figures.sources[0]
    rows = [replace(one.row, source_id=f"s{i:03d}", retrieved=day) for i, day in enumerate(retrieved)]
    sources = [replace(one, row=row, counts={**one.counts, "kept": 1, "chars": i}) for i, row in enumerate(rows)]
    return replace(figures, sources=sources)


def test_the_share_that_is_kept_of_a_language_stands_beside_what_took_most(layout):
    figures = measure(open_published(layout, V1))
    cells = Page(datasheet_page.render(figures)).cells
    for code, verdicts in figures.by_language.items():
        lost = {reason: n for reason, n in verdicts.items() if reason != "kept"}
        most = min(lost, key=lambda reason: (-lost[reason], reason)) if lost else ""
        at = [i for i in range(len(cells)) if cells[i : i + 3] == [code, str(verdicts.total()), str(verdicts["kept"])]]
        assert len(at) == 1
        assert cells[at[0] + 4] == most
        assert cells[at[0] + 5].startswith(str(lost.get(most, 0)))


def test_a_hundred_sources_are_drawn_as_the_largest_and_all_others(layout):
    figures = hundred_sources(measure(open_published(layout, V1)), ["2026-11-30"] * 100)
    picture = datasheet_pictures.source_shares(figures)
    texts = [one.text for one in ElementTree.fromstring(picture.standalone()).iter("{http://www.w3.org/2000/svg}text")]
    assert texts[1:5] == ["s099", "99", "s098", "98"]
    assert texts[-2:] == ["85 others", f"{sum(range(85)):,}"]
    assert picture.height < 500
    assert datasheet_pictures.funnel(figures).height < 500


@pytest.mark.parametrize(
    ("first", "last", "unit", "columns"),
    [
        ("2026-11-30", "2026-11-30", "day", 1),
        ("2026-11-29", "2027-01-27", "day", 60),
        ("2026-11-29", "2027-01-28", "month", 3),
        ("2021-01-01", "2025-12-31", "month", 60),
        ("2020-12-31", "2025-12-31", "year", 6),
        ("1900-01-01", "2025-12-31", "year", 126),
    ],
)
def test_dates_are_drawn_by_the_finest_unit_that_fits(layout, first, last, unit, columns):
    figures = hundred_sources(measure(open_published(layout, V1)), [last, first, first])
    picture = datasheet_pictures.dates(figures)
    assert picture.title == f"published documents by {unit} of retrieval"
    tips = re.findall(r"<title>(\S+) to (\S+): (\d+)</title>", picture.body)
    assert [n for _, _, n in tips] == (["3"] if columns == 1 else ["2", "1"])
    assert first.startswith(tips[0][0])
    assert last.startswith(tips[-1][0])
    bars = [float(x) for x in re.findall(r'<rect class="bar" x="([\d.]+)"', picture.body)]
    assert round((bars[-1] - bars[0]) / (640 / columns)) == columns - 1


def test_a_licence_links_to_its_text_and_an_own_one_to_nothing(layout):
    page = Page(write_datasheet(layout, V1).html.read_text())
    links = {value for _, name, value in page.attributes if name == "href" and not value.startswith("#")}
    assert links == {
        "https://spdx.org/licenses/CC0-1.0.html",
        "https://spdx.org/licenses/CC-BY-4.0.html",
        "https://example.org/terms?a=1&b=2",
    }


@pytest.mark.parametrize(
    ("expression", "linked"),
    [
        ("MIT", ["MIT"]),
        ("(MIT OR GPL-2.0+) AND LicenseRef-X", ["MIT", "GPL-2.0"]),
        ("GPL-2.0-only WITH Classpath-exception-2.0", ["GPL-2.0-only", "Classpath-exception-2.0"]),
        ("DocumentRef-a:LicenseRef-b", []),
    ],
)
def test_every_listed_word_of_an_expression_is_linked(expression, linked):
    parts = list(license_parts(expression))
    assert "".join(words for words, _ in parts) == expression
    assert [address for _, address in parts if address] == [f"https://spdx.org/licenses/{n}.html" for n in linked]


def test_the_page_says_what_the_version_is_made_of(layout):
    page = Page(write_datasheet(layout, V1).html.read_text())
    version = open_published(layout, V1)
    for said in (
        version.digest,
        version.manifest["config_sha256"],
        "stated on the cover",
        "the house",
        "2026-11-30",
        "shard_rows",
        "broken json",
        "corpus trace fables:4 --version tiny.v1",
        "Eval set quiz: of 1 text, 1 are met by any 13 words in a row",
    ):
        assert said in page.text
    assert [cell for cell in page.cells if cell in ("email", "<EMAIL>")] == ["email", "<EMAIL>"]


def test_the_short_form_is_small_and_has_the_funnel_as_a_picture(layout):
    sheet = write_datasheet(layout, V1)
    assert (layout.evidence(V1) / evidence.DATASHEET_MD).read_text() == sheet.markdown
    assert len(sheet.markdown) < 100_000
    picture = re.search(r"\(data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\)", sheet.markdown)
    assert picture
    assert "published" in "".join(ElementTree.fromstring(base64.b64decode(picture[1])).itertext())
    columns = [line.replace("\\|", "").count("|") for line in sheet.markdown.splitlines() if line.startswith("| ")]
    assert set(columns) <= {3, 4, 6, 8}


def test_equal_evidence_gives_equal_bytes_wherever_and_whenever(layout, tmp_path):
    other = tiny_corpus.make(tmp_path / "elsewhere", V1, V2)
    for one in (layout, other):
        write_datasheet(one, V2)
    for name in (evidence.DATASHEET_HTML, evidence.DATASHEET_MD, evidence.DIFFERENCES_HTML, evidence.SEAL):
        assert (layout.evidence(V2) / name).read_bytes() == (other.evidence(V2) / name).read_bytes()


def test_what_differs_from_the_version_before_is_the_page_of_corpus_diff_and_changes_nothing_that_is_locked(
    layout, tmp_path, capsys
):
    published = as_they_lie(layout.version(V2)), layout.lock(V2).read_bytes()
    first, sheet = write_datasheet(layout, V1), write_datasheet(layout, V2)
    assert (first.differences, first.since) == (None, "no version before it")
    assert not (layout.evidence(V1) / evidence.DIFFERENCES_HTML).exists()
    out = tmp_path / "diff.html"
    assert cli.main(["--root", str(layout.root), "diff", "tiny.v1", "tiny.v2", "--out", str(out)]) == 1
    assert sheet.differences.read_bytes() == out.read_bytes()
    assert re.fullmatch(r"tiny\.v1: \d+ differences", sheet.since)
    assert (as_they_lie(layout.version(V2)), layout.lock(V2).read_bytes()) == published
    assert verify_version(layout, V2).ok
    capsys.readouterr()
    cli.main(["--root", str(layout.root), "status", "tiny.v2"])
    assert {f"  {sheet.html}", f"  {sheet.differences}"} <= set(capsys.readouterr().out.splitlines())


def test_a_damaged_version_before_is_told_and_a_page_that_was_made_stays(layout):
    write_datasheet(layout, V2)
    page = (layout.evidence(V2) / evidence.DIFFERENCES_HTML).read_bytes()
    faults.flip_byte(layout.evidence(V1) / evidence.COUNTS, 20)
    sheet = write_datasheet(layout, V2)
    assert sheet.since.startswith("tiny.v1 cannot be read: ")
    assert sheet.differences.read_bytes() == page
    shutil.rmtree(layout.version(V1))
    shutil.rmtree(layout.evidence(V1))
    layout.lock(V1).unlink()
    sheet = write_datasheet(layout, V2)
    assert (sheet.since, sheet.differences.read_bytes()) == ("no version before it", page)
    assert verify_version(layout, V2).ok


def test_the_datasheet_is_sealed_and_verify_stays_green(layout):
    sheet = write_datasheet(layout, V1)
    report = verify_version(layout, V1)
    assert (report.ok, report.notes) == (True, [])
    before = sheet.html.stat().st_mtime_ns
    write_datasheet(layout, V1)
    assert sheet.html.stat().st_mtime_ns == before
    faults.flip_byte(sheet.html, 100)
    assert [check.name for check in verify_version(layout, V1).checks if not check.ok] == ["evidence"]
    write_datasheet(layout, V1)
    assert verify_version(layout, V1).ok


@pytest.mark.parametrize(
    "name", ["documents/part-00000.parquet", "files.parquet", "counts.json", "config.yaml", "ledger_rows.jsonl"]
)
def test_changed_evidence_gives_no_datasheet(layout, name):
    faults.flip_byte(layout.evidence(V1) / name, 20)
    with pytest.raises(CorruptDataError, match="sha256"):
        write_datasheet(layout, V1)
    assert not (layout.evidence(V1) / evidence.DATASHEET_HTML).exists()


def test_evidence_that_goes_missing_meanwhile_stays_in_the_seal(layout, monkeypatch):
    def lose_and_render(figures):
        (layout.evidence(V1) / "clusters.parquet").unlink()
        return render(figures)

    render = datasheet_page.render
    monkeypatch.setattr(datasheet_page, "render", lose_and_render)
    write_datasheet(layout, V1)
    assert not verify_version(layout, V1).ok
    with pytest.raises(CorruptDataError, match=r"clusters\.parquet: file is missing"):
        next(evidence.read(layout.evidence(V1), "clusters"))


def test_a_damaged_shard_changes_no_figure(layout):
    """`corpus verify` and the next build see it; the page is of what was published."""
    whole = write_datasheet(layout, V1).html.read_bytes()
    path = next(layout.version(V1).glob("*.parquet"))
    path.unlink()
    path.mkdir()
    assert write_datasheet(layout, V1).html.read_bytes() == whole


def test_what_is_read_of_evidence_is_what_was_checked(layout, monkeypatch):
    counts = layout.evidence(V1) / evidence.COUNTS
    before = open_published(layout, V1)
    faults.change_once_hashed(monkeypatch, counts, counts.read_bytes().replace(b"0", b"1"))
    manifest = layout.version(V1) / corpus_manifest.NAME_ON_DISK
    faults.change_once_hashed(monkeypatch, manifest, manifest.read_bytes().replace(b'"emails": ', b'"emails": 7'))
    assert open_published(layout, V1) == before


def test_counts_that_are_not_those_of_the_rows_are_refused(layout):
    path = layout.evidence(V1) / evidence.COUNTS
    counts = json.loads(path.read_bytes())
    counts["sources"]["web"]["verdicts"]["kept"] += 1
    durable.write_file(path, json.dumps(counts).encode())
    evidence_rows.seal_as_it_lies(layout.evidence(V1))
    with pytest.raises(CorruptDataError, match="verdicts"):
        write_datasheet(layout, V1)


def test_a_version_that_is_not_published_is_refused_by_name(layout):
    with pytest.raises(ConfigError, match=r"tiny.v9 is not published.*tiny.v1, tiny.v2"):
        write_datasheet(layout, VersionKey("tiny", "v9"))


@pytest.mark.parametrize("fables", [[], [{"path": "a.txt", "text": "Gone."}]], ids=["no document", "all dropped"])
def test_an_empty_corpus_has_a_datasheet(tmp_path, fables):
    layout = tiny_corpus.write_inputs(tmp_path / "root", {"fables": fables, "web": [b"{"]})
    tiny_corpus.build(layout, V1)
    sheet = write_datasheet(layout, V1)
    assert "0 documents with 0 characters from 2 sources" in Page(sheet.html.read_text()).text
    assert verify_version(layout, V1).ok


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (for_people.share(0, 0), "–"),
        (for_people.share(0, 9), "0 %"),
        (for_people.share(1, 9_999), "< 0.1 %"),
        (for_people.share(9_999, 10_000), "99.9 %"),
        (for_people.share(10, 10), "100.0 %"),
        (for_people.rounded(999_999), "999,999"),
        (for_people.rounded(3_642_937), "3.64 million"),
        (for_people.num_bytes(1023), "1,023 B"),
        (for_people.num_bytes(1536), "1.5 KiB"),
        (for_people.plural(1, "file"), "1 file"),
        (for_people.shortened("abcdefghij", 7), "abc…hij"),
        (for_people.shown("a\u202eb\x1bc"), "a\ufffdb\ufffdc"),
    ],
)
def test_numbers_and_texts_are_said_as_people_read_them(said, expected):
    assert said == expected

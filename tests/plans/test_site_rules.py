"""A version built with site lists: what leaves and why, that nothing else changes, and which lists are refused."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.commands.verify import verify_version
from corpus_assets.plans import audit_sites
from corpus_assets.plans.datasheet_figures import measure
from corpus_assets.plans.datasheet_words import known_limits
from corpus_assets.plans.pinned import load_pairs, load_version
from corpus_assets.plans.published_version import open_published
from corpus_assets.plans.site_rules import read_entries
from corpus_assets.plans.tracing import trace
from corpus_assets.plans.web_addresses import asks_for_sites, count_without, in_words
from formats import corpus_manifest, durable, evidence, evidence_schemas
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from formats.ledger import FieldMapping, from_json
from formats.reasons import Reason
from tests.formats import evidence_rows
from tests.plans import site_corpus, tampering, tiny_corpus
from tests.plans.site_corpus import V3, pinned, write_config


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return site_corpus.make(tmp_path_factory.mktemp("sites") / "root")


def rows(layout: Layout, table: str) -> list[dict]:
    found = evidence.read(layout.evidence(V3), table)
    return pa.Table.from_batches(found, evidence_schemas.TABLES[table]).to_pylist()


def test_documents_of_listed_sites_leave_with_the_reason_of_their_list(layout):
    verdicts = {row["id"]: row["verdict"] for row in rows(layout, "documents")}
    assert verdicts["shop:0"] == Reason.OPT_OUT
    assert verdicts["shop:3"] == Reason.BLOCKED_SITE
    assert Counter(verdicts.values()) == {
        "kept": 7, "opt_out": 1, "blocked_site": 1, "exact_duplicate": 1, "near_duplicate": 1, "contaminated": 1,
        "too_few_words": 1, "too_short": 1,
    }  # fmt: skip


def test_the_same_text_at_another_site_stays_although_the_listed_one_came_first(layout):
    """Else it would be a duplicate of a document that is not there."""
    mirror = next(row for row in rows(layout, "documents") if row["id"] == "shop:1")
    assert (mirror["verdict"], mirror["keeper_id"]) == ("kept", None)


def test_the_manifest_counts_them_in_the_order_in_which_they_decide(layout):
    filters = corpus_manifest.read(layout.version(V3))["filters"]
    assert list(filters) == ["lang", "gopher", "repetition", "ppl", "opt_out", "block_list", "length", "charset"]
    assert (filters["opt_out"], filters["block_list"]) == (1, 1)


def test_the_evidence_keeps_the_entry_of_each_as_it_is_written(layout):
    assert rows(layout, "listed_sites") == [
        {"id": "shop:0", "reason": "opt_out", "list": "asked", "line": 1, **site_corpus.OPT_OUT},
        {"id": "shop:3", "reason": "blocked_site", "list": "forums", "line": 3,
         "what": "https://forum.example.net/private/", "since": None, "why": None},
    ]  # fmt: skip


def test_trace_says_who_asked_and_when(layout):
    [found] = trace(layout, "shop:0", [V3]).documents
    assert found.reason == (
        "its site asked to be left out: example.co.uk (list asked, line 1, since 2026-11-30: mail of the owner)"
    )
    [found] = trace(layout, site_corpus.SHOP[3]["url"], [V3]).documents
    assert found.reason.endswith("on a block list: https://forum.example.net/private/ (list forums, line 3)")
    assert trace(layout, "shop:1", [V3]).documents[0].listed is None


def test_every_check_of_verify_holds(layout):
    report = verify_version(layout, V3)
    assert report.ok, [problem for check in report.checks for problem in check.problems]


def test_the_funnel_accounts_for_every_document(layout):
    counts = json.loads((layout.evidence(V3) / evidence.COUNTS).read_text())
    assert counts["documents"] == counts["kept"] + sum(counts["dropped"].values())
    assert counts["sources"]["shop"]["verdicts"] == {"blocked_site": 1, "kept": 3, "opt_out": 1}
    steps = measure(open_published(layout, V3)).funnel()
    assert [step.name for step in steps[3:5]] == ["filter opt_out", "filter block_list"]
    assert sum(steps[-1].left) == counts["kept"]


def test_the_datasheet_says_that_copies_elsewhere_stay(layout):
    told = list(known_limits(measure(open_published(layout, V3))))
    assert "Sites are left out by URL (lists asked, forums): the same text at another site stays." in told


def test_the_identity_of_every_source_names_its_matches_and_the_public_suffixes(layout):
    stages = json.loads((layout.evidence(V3) / evidence.STAGE_VERSIONS).read_text())["stages"]["sources"]
    for stage in stages.values():
        assert "site_matches" in stage["filtered_docs"]["inputs"]
        assert len(stage["site_matches"]["settings"]["public_suffixes"]) == 64
        assert stage["site_matches"]["libraries"].keys() >= {"publicsuffixlist", "idna"}


def test_one_and_two_workers_give_the_same_bytes(layout, tmp_path):
    other = site_corpus.make(tmp_path / "root", workers=2)
    for place in (layout.lock, lambda key: layout.evidence(key) / evidence.SEAL):
        path = place(V3)
        assert path.read_bytes() == (other.root / path.relative_to(layout.root)).read_bytes()


def test_a_version_without_lists_has_no_trace_of_them(tmp_path):
    layout = tiny_corpus.copy(tmp_path / "root")
    assert not (layout.evidence(tiny_corpus.V1) / "listed_sites.parquet").exists()
    assert "site" not in (layout.evidence(tiny_corpus.V1) / evidence.STAGE_VERSIONS).read_text()
    assert "opt_out" not in corpus_manifest.read(layout.version(tiny_corpus.V1))["filters"]


def test_an_empty_section_is_as_none_but_for_the_hash_of_the_config(tmp_path):
    layout = site_corpus.write_inputs(tmp_path / "root")
    write_config(layout, sites={"block": []})
    tiny_corpus.build(layout, V3)
    assert not (layout.evidence(V3) / "listed_sites.parquet").exists()


def test_a_list_that_names_nothing_that_is_there_has_an_empty_table(tmp_path):
    layout = site_corpus.write_inputs(tmp_path / "root")
    write_config(layout, sites={"block": [pinned(layout.root, "none.txt", b"# nobody\n")]})
    tiny_corpus.build(layout, V3)
    assert rows(layout, "listed_sites") == []
    assert corpus_manifest.read(layout.version(V3))["filters"]["block_list"] == 0


def entries(tmp_path: Path, change=None, **lists: list[dict[str, str]]) -> pa.Table:
    layout = site_corpus.write_inputs(tmp_path / "root")
    if change:
        change(layout.root)
    if lists:
        write_config(layout, sites=lists)
    return read_entries(layout, load_version(layout, V3))


def test_opt_outs_come_before_block_lists_and_lists_by_name(tmp_path):
    root = tmp_path / "root"
    block = [pinned(root, name, b"b.example\na.example\n") for name in ("z.txt", "a.txt")]
    asked = [pinned(root, "m.jsonl", json.dumps(site_corpus.OPT_OUT).encode())]
    found = entries(tmp_path, block=block, opt_out=asked)
    assert [(row["reason"], row["list"], row["line"]) for row in found.to_pylist()] == [
        ("opt_out", "m", 1),
        ("blocked_site", "a", 1),
        ("blocked_site", "a", 2),
        ("blocked_site", "z", 1),
        ("blocked_site", "z", 2),
    ]


def test_a_public_suffix_in_a_list_is_refused_by_its_line_and_every_other_bad_line_too(tmp_path):
    one = pinned(tmp_path / "root", "bad.txt", b"example.org\nco.uk\n\nexample.org:80\n")
    with pytest.raises(ConfigError) as raised:
        entries(tmp_path, block=[one])
    lines = str(raised.value).splitlines()
    assert [line.partition("bad.txt: ")[2][:6] for line in lines[:2]] == ["line 2", "line 4"]
    assert "write *.co.uk" in lines[0]


def test_a_changed_list_is_refused_with_both_digests(tmp_path):
    def change(root):
        (root / "lists" / "forums.txt").write_bytes(b"example.org\n")

    with pytest.raises(CorruptDataError, match=r"sha256 in .*v3.yaml") as raised:
        entries(tmp_path, change)
    assert raised.value.found == durable.sha256_of(tmp_path / "root" / "lists" / "forums.txt")


def test_a_missing_list_is_refused_by_its_path(tmp_path):
    with pytest.raises(ConfigError, match="list forums is missing"):
        entries(tmp_path, lambda root: (root / "lists" / "forums.txt").unlink())


def test_a_row_of_the_table_more_than_verdicts_is_found_by_verify(layout, tmp_path):
    shutil.copytree(layout.root, tmp_path / "root")
    folder = Layout(tmp_path / "root").evidence(V3)
    told = rows(layout, "listed_sites")
    (folder / "listed_sites.parquet").unlink()
    evidence.write(folder, "listed_sites", evidence_rows.table("listed_sites", told[:1]).to_batches())
    evidence_rows.seal_as_it_lies(folder)
    report = verify_version(Layout(tmp_path / "root"), V3)
    assert [p for c in report.checks for p in c.problems if "blocked_site are 1, listed_sites has 0" in p]


def test_sources_without_web_addresses_are_told_by_check_and_datasheet(layout):
    """The fables name files; without lists and caps nobody asks."""
    build = tampering.a_build(layout)
    found = {p.row.source_id: audit_sites.site_lists_apply(build, p) for p in load_pairs(layout, V3)}
    assert {name: one.passed for name, one in found.items()} == {"fables": False, "shop": True, "web": True}
    words = "site lists apply to no document of source fables: none of its 5 documents has a web address"
    assert found["fables"].words.startswith(f"{words}; map the field that holds it")
    assert found["fables"].figures == {"documents": 5, "without_address": 5}
    assert f"S{words[1:]}." in list(known_limits(measure(open_published(layout, V3))))


def test_records_without_a_mapped_url_lie_at_no_site_though_their_file_does():
    row = from_json(
        {
            "source_id": "lines", "title": "Lines", "kind": "jsonl", "license_spdx": "CC0-1.0",
            "files": [{"url": "https://example.org/a.jsonl", "sha256": "0" * 64, "bytes": 1}],
            "license_evidence": "on it", "attribution": "nobody", "retrieved": "2026-11-30", "bucket": "lines",
            "profile": "prose",
        }
    )  # fmt: skip
    urls = [pa.array(["https://example.org/a.jsonl#0", "b.jsonl#1"], pa.large_string())]
    assert count_without(row, urls) == (2, 2)
    assert count_without(replace(row, fields=FieldMapping(url="url")), urls) == (1, 2)
    told = in_words("the cap of domains", row, 1, 2)
    assert told == "the cap of domains cannot meet 1 of 2 documents of source lines: no web address"


@pytest.mark.parametrize(
    ("more", "words"),
    [({}, ""), ({"domain_cap": {"max_documents": 1}}, "the cap of domains"), ({"sites": None}, "site lists")],
)
def test_only_lists_and_caps_ask_for_sites(tmp_path, more, words):
    layout = site_corpus.write_inputs(tmp_path / "root")
    lists = {"sites": site_corpus.site_lists(layout.root)} if "sites" in more else more
    site_corpus.write_config(layout, **lists)
    assert asks_for_sites(load_version(layout, V3).config) == words


def test_the_datasheet_names_everything_that_is_not_configured(layout):
    [told] = [one for one in known_limits(measure(open_published(layout, V3))) if one.startswith("Not configured")]
    models = "a model of perplexity, a model of quality, a model of safety"
    assert told == f"Not configured, so nothing was dropped by it: word lists, {models}, a cap of domains."

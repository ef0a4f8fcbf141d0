"""Tracing: every document of the tiny corpus leads back to its line, file and ledger row, kept or not; what is not
there is not found; what changed is refused.
"""

import hashlib
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets.plans import traced, tracing, tracing_back
from corpus_assets.plans.evidence_lookup import beginning_with, equal_to, hosts, of_domain
from corpus_assets.plans.published_version import open_published, published_versions
from corpus_assets.plans.reason_words import number
from corpus_assets.plans.traced import TracedDocument
from corpus_assets.plans.tracing import Target, trace
from formats.errors import ConfigError, CorruptDataError
from formats.layout import Layout
from tests import faults
from tests.formats import evidence_rows
from tests.plans import tiny_corpus
from tests.plans.tiny_corpus import HOSTILE_URL, V1, V2

EVERY_ID = [f"fables:{k}" for k in range(5)] + [f"web:{k}" for k in range(4)]


@pytest.fixture
def layout(tmp_path) -> Layout:
    return tiny_corpus.copy(tmp_path / "root")


def only(layout: Layout, words: str, key=V1) -> TracedDocument:
    found = trace(layout, words, [key])
    assert (len(found.documents), found.rejects) == (1, [])
    return found.documents[0]


def test_every_document_leads_back_to_its_line_file_and_ledger_row(layout):
    for row in pq.read_table(layout.evidence(V1) / "documents").to_pylist():
        found = only(layout, row["id"])
        lines = (layout.corpus / f"{row['source_id']}.jsonl").read_bytes()
        assert (found.url, found.verdict, found.doc_id) == (row["url"], row["verdict"], row["doc_id"])
        assert found.raw
        assert json.dumps(found.raw.text).encode() in lines
        assert found.raw.line == row["raw_line"]
        assert found.file == traced.FetchedFile(
            f"{row['source_id']}.jsonl", hashlib.sha256(lines).hexdigest(), len(lines)
        )
        assert found.ledger.license_spdx == tiny_corpus.SOURCES[row["source_id"]]["license_spdx"]
        assert found.ledger.digest == open_published(layout, V1).rows[row["source_id"]].digest


def test_a_kept_document_leads_to_its_row_in_a_shard(layout):
    for row_id in EVERY_ID:
        found = only(layout, row_id)
        assert (found.published is not None) == (found.verdict == "kept")
        if place := found.published:
            row = pq.read_table(layout.root / place.shard).slice(place.row, 1).to_pylist()[0]
            assert (row["id"], row["url"], row["split"]) == (row_id, found.url, place.split)
            assert (row["sha256"].hex(), row["minhash_cluster"]) == (place.sha256, place.minhash_cluster)
            assert (row["license_spdx"], row["pii_redactions"]) == (place.license_spdx, place.pii_redactions)
            assert place.row_of_version // 2 * 2 + place.row == place.row_of_version


def test_replaced_personal_data_is_counted_by_kind(layout):
    assert only(layout, "garden.txt").pii == {"email": 1, "phone": 0, "card": 0, "ip": 0, "key": 0}
    assert only(layout, "short.txt").pii is None


def test_a_filtered_document_says_every_rule_that_it_failed_with_value_and_limit(layout):
    found = only(layout, "short.txt")
    assert found.reason == "words is 14, expected at least 50 (filter gopher, profile prose)"
    assert [rule.reason for rule in found.rules_failed] == ["too_few_words"]
    note = next(one for one in trace(layout, HOSTILE_URL, [V1]).documents if one.verdict != "kept")
    assert note.reason == "characters is 13, expected at least 50 (filter length, profile prose)"
    assert {"too_short", "too_few_words"} <= {rule.reason for rule in note.rules_failed}


def test_an_exact_duplicate_names_what_stayed(layout):
    found = only(layout, "owl-again.txt")
    assert (found.verdict, found.cluster) == ("exact_duplicate", None)
    assert found.keeper == traced.Keeper("fables:0", "owl.txt", "kept", None, "shard-00000-of-00002.parquet", 0)
    assert found.reason.endswith("fables:0")


@pytest.mark.parametrize(("key", "verdict"), [(V1, "near_duplicate"), (V2, "train_near_val")])
def test_a_near_duplicate_names_what_stayed_and_how_alike_they_are(layout, key, verdict):
    found = only(layout, "https://sub.example.org/owl", key)
    assert (found.verdict, found.keeper.id, found.keeper.jaccard) == (verdict, "fables:0", 0.852941)
    assert "Jaccard 0.852941, dropped from 0.8 on" in found.reason
    assert (found.cluster.root, found.cluster.size, found.cluster.largest_distance) == ("fables:0", 2, 0.147059)


def test_a_contaminated_document_shows_the_words_that_meet_the_item(layout):
    found = only(layout, "leak.txt")
    assert (found.verdict, found.contamination.eval_set) == ("contaminated", "quiz")
    assert found.contamination.text
    assert found.contamination.text in tiny_corpus.QUIZ
    assert len(found.contamination.text.split()) >= 13


def test_a_url_gives_every_document_that_has_it(layout):
    found = trace(layout, HOSTILE_URL, [V1, V2])
    assert [(one.version, one.id) for one in found.documents] == [
        ("tiny.v1", "web:1"),
        ("tiny.v1", "web:3"),
        ("tiny.v2", "web:1"),
        ("tiny.v2", "web:3"),
    ]


def test_documents_beyond_the_limit_are_counted(layout, monkeypatch):
    monkeypatch.setattr(tracing, "MAX_DOCUMENTS", 1)
    found = trace(layout, HOSTILE_URL, [V1, V2])
    assert (len(found.documents), found.more) == (1, 3)


def test_a_rejected_record_is_found_by_its_url(layout):
    found = trace(layout, "fables.jsonl#3", [V1])
    assert found.documents == []
    reject = found.rejects[0]
    assert (reject.reason, reject.position, reject.source_id) == ("broken_json", 3, "fables")
    assert (reject.file.url, reject.ledger.license_spdx) == ("fables.jsonl", "CC0-1.0")
    assert (layout.root / reject.rejects_file).exists()


def test_who_asks_for_a_number_that_a_source_does_not_have_hears_which_it_has(layout):
    assert trace(layout, "fables:5", [V1]).notes == [
        "tiny.v1: fables has documents 0 to 4; rejects are found by their url"
    ]
    for words in ("fables:4", "nobody:0", "fables.jsonl#3"):
        assert trace(layout, words, [V1]).notes == []


def test_a_source_without_a_document_is_found_and_holds_none(tmp_path):
    lines = {
        "fables": tiny_corpus.FABLES,
        "web": [{"url": "https://a.example/1"}, {"url": "https://a.example/2"}, b"{"],
    }
    layout = tiny_corpus.write_inputs(tmp_path, lines)
    tiny_corpus.build(layout, V1)
    result = tracing_back.of_source(layout, "web", [V1])
    (held,) = result.versions
    assert (result.found, held.documents, held.kept, held.shards, held.dropped) == (True, 0, 0, [], {})
    assert held.rejects == {"web": {"broken_json": 1, "no_text_field": 2}}
    (reject,) = trace(layout, "https://a.example/2", [V1]).rejects
    assert (reject.reason, reject.position) == ("no_text_field", 1)
    assert trace(layout, "web:0", [V1]).notes == ["tiny.v1: web has no documents; rejects are found by their url"]
    (host,) = tracing_back.of_domain_name(layout, "a.example", [V1]).versions
    assert (host.documents, host.rejects) == (0, {"web": {"no_text_field": 2}})


def test_a_source_of_nothing_at_all_is_found(tmp_path):
    layout = tiny_corpus.write_inputs(tmp_path, {"fables": tiny_corpus.FABLES, "web": []})
    tiny_corpus.build(layout, V1)
    (held,) = tracing_back.of_source(layout, "web", [V1]).versions
    assert (held.documents, held.rejects) == (0, {"web": {}})


@pytest.mark.parametrize("words", ["fables:5", "nobody:0", "fables:00", "https://example.org/", "", "fables.jsonl"])
def test_what_is_not_there_is_not_found_and_what_was_searched_is_said(layout, words):
    found = trace(layout, words, [V1, V2])
    assert not found.found
    assert found.searched == [
        "tiny.v1: 9 documents",
        "tiny.v1: 1 rejected record of fables",
        "tiny.v2: 9 documents",
        "tiny.v2: 1 rejected record of fables",
    ]


def test_a_raw_set_that_is_gone_leaves_the_rest_of_the_chain(layout):
    shutil.rmtree(layout.raw_sets("fables"))
    found = trace(layout, "owl.txt", [V1])
    assert found.documents[0].raw is None
    assert found.documents[0].file
    assert found.documents[0].published
    assert "the raw set of fables is no longer below" in found.notes[0]


@pytest.mark.parametrize(
    "pattern",
    [
        "tiny/v1/shard-00000-*.parquet",
        "tiny/v1/_MANIFEST.json",
        "tiny/v1.evidence/documents/part-00000.parquet",
        "tiny/v1.evidence/files.parquet",
        "tiny/v1.evidence/clusters.parquet",
        "tiny/v1.evidence/counts.json",
        "tiny/v1.evidence/ledger_rows.jsonl",
        "raw/fables/*/part-00000.jsonl.zst",
        "raw/fables/*/manifest.json",
    ],
)
def test_whatever_changed_on_the_way_is_refused_by_name(layout, pattern):
    (path,) = layout.corpus.glob(pattern)
    faults.flip_byte(path, 40)
    with pytest.raises(CorruptDataError, match=path.name.partition(".")[0]):
        trace(layout, "owl.txt", [V1])


@pytest.mark.parametrize("words", ["zzz", "a", "fables:77"])
def test_a_changed_file_is_never_the_reason_why_something_is_not_found(layout, words):
    faults.flip_byte(layout.evidence(V1) / "documents" / "part-00000.parquet", 40)
    with pytest.raises(CorruptDataError, match="sha256"):
        trace(layout, words, [V1])


def test_shards_of_another_build_are_refused(layout):
    path = layout.evidence(V1) / "documents" / "part-00000.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index("row")
    rows = pa.array([{0: 1, 1: 0}.get(row, row) for row in table["row"].to_pylist()], pa.int64())
    pq.write_table(table.set_column(at, table.schema.field(at), rows), path)
    evidence_rows.seal_as_it_lies(layout.evidence(V1))
    with pytest.raises(CorruptDataError, match="id of row 1"):
        trace(layout, "fables:0", [V1])


def test_an_id_is_a_name_a_colon_and_a_plain_number():
    assert Target.parse("web:10") == Target("web:10", "web", 10)
    for words in ("web:", "web:-1", "web:01", "Web:1", "web:1 ", "https://a:1", "web.x:1"):
        assert Target.parse(words).source is None


def test_published_versions_are_those_with_a_lock(layout):
    assert published_versions(layout) == [V1, V2]
    layout.lock(V2).unlink()
    assert published_versions(layout) == [V1]
    with pytest.raises(ConfigError, match=r"tiny\.v2 is not published"):
        trace(layout, "fables:0", [V2])


def test_a_source_leads_to_its_shards_with_all_its_fates(layout):
    (held,) = tracing_back.of_source(layout, "fables", [V1]).versions
    assert [(shard.shard, shard.rows, shard.license_spdx) for shard in held.shards] == [
        ("corpus/tiny/v1/shard-00000-of-00002.parquet", 2, "CC0-1.0")
    ]
    assert (held.documents, held.kept, held.rejects) == (5, 2, {"fables": {"broken_json": 1}})
    assert held.dropped == {"contaminated": 1, "exact_duplicate": 1, "too_few_words": 1}
    assert not tracing_back.of_source(layout, "nobody", [V1]).found


def test_a_domain_counts_hosts_at_and_below_it_and_a_prefix_urls(layout):
    (held,) = tracing_back.of_domain_name(layout, "Example.org", [V1]).versions
    assert (held.documents, held.kept) == (4, 2)
    assert held.dropped == {"near_duplicate": 1, "too_short": 1}
    assert [(shard.source_id, shard.rows) for shard in held.shards] == [("web", 2)]
    (sub,) = tracing_back.of_domain_name(layout, "sub.example.org", [V1]).versions
    assert (sub.documents, sub.kept, sub.shards) == (1, 0, [])
    (prefix,) = tracing_back.of_prefix(layout, "owl", [V1]).versions
    assert (prefix.documents, prefix.kept) == (2, 1)
    (rejects,) = tracing_back.of_prefix(layout, "fables.jsonl#", [V1]).versions
    assert (rejects.documents, rejects.rejects) == (0, {"fables": {"broken_json": 1}})
    assert not tracing_back.of_domain_name(layout, "ample.org", [V1]).found


@pytest.mark.parametrize("domain", ["", ".", "https://example.org", "a/b", "a b", "user@host"])
def test_what_is_no_domain_is_refused(layout, domain):
    with pytest.raises(ConfigError):
        tracing_back.of_domain_name(layout, domain, [V1])


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Example.ORG/a", "example.org"),
        ("http://user:pw@a.example:80?x", "a.example"),
        ("HTTPS://a.example.", "a.example"),
        ("http://[2001:db8::1]:8080/", "[2001:db8::1]"),
        ("https://a.example#b", "a.example"),
        ("https://a.example/@b", "a.example"),
        ("https:///x", None),
        ("ftp://a.example/", None),
        ("a.example/b.jsonl#3", None),
        ("see https://a.example", None),
    ],
)
def test_the_host_of_a_web_address(url, host):
    assert hosts(pa.array([url], pa.large_string())).to_pylist() == [host]


@pytest.mark.parametrize("wanted", [equal_to("b"), beginning_with("b"), of_domain("b")])
def test_a_row_group_is_left_out_only_where_it_holds_nothing(wanted):
    mask, may_hold = wanted
    values = ["", "a", "ab", "b", "ba", "b\U0010ffff", "c", "https://b/", "https://x.b/"]
    for low in values:
        for high in values:
            inside = pa.array([v for v in values if low <= v <= high], pa.large_string())
            if True in mask(inside).to_pylist():
                assert may_hold(low, high)


@pytest.mark.parametrize(
    ("value", "scale", "words"),
    [
        (252_812, 10**6, "0.252812"),
        (150_000, 10**6, "0.15"),
        (10**6, 10**6, "1"),
        (4_368, 1000, "4.368"),
        (12_000, 1, "12,000"),
    ],
)
def test_numbers_are_said_exactly_in_peoples_unit(value, scale, words):
    assert number(value, scale) == words

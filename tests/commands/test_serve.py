"""`corpus serve`: what it answers, and that nothing from outside gets further than it should."""

import hashlib
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.plans.snapshot_corpus import snapshots_below
from formats.layout import Layout
from formats.snapshot import manifest, token_shard
from tests import faults
from tests.commands.serving import body, client_of
from tests.plans import tiny_snapshot
from tests.plans.tiny_snapshot import SEQ_LEN


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    return tiny_snapshot.copy(tmp_path_factory.mktemp("serve") / "root")


@pytest.fixture
def copied(served, tmp_path):
    """A root of the test's own that it may write to and break."""
    shutil.copytree(served[0].root, tmp_path / "root")
    return Layout(tmp_path / "root"), served[1]


def trace(client, snapshot, shard="train/web/00000.bin", offset=0):
    return client.get("/trace/token", params={"snapshot": snapshot.snapshot_id, "shard": shard, "offset": offset})


def test_a_snapshot_is_told_with_the_sums_of_its_buckets(served):
    layout, snapshot = served
    told = client_of(layout).get(f"/snapshots/{snapshot.snapshot_id}").json()
    assert told["snapshot_id"] == snapshot.snapshot_id
    assert (told["dataset"], told["corpus_version"], told["seq_len"]) == ("tiny", "v1", SEQ_LEN)
    for split in manifest.SPLITS:
        for name, sums in told["splits"][split].items():
            shards = [shard for shard in snapshot.shards(split) if shard.bucket == name]
            assert sums["shards"] == len(shards)
            assert sums["tokens"] == sum(shard.tokens for shard in shards)
    assert set(told["splits"]["train"]) == {"fables", "web"}


def test_the_snapshots_that_lie_here_are_listed_and_a_damaged_one_is_said_to_be(copied):
    layout, snapshot = copied
    client = client_of(layout, None)
    names = ("dataset", "corpus_version", "tokens")
    tiny = dict(zip(names, ("tiny", "v1", "t16"), strict=True))
    whole = [
        {"snapshot_id": one, **{name: manifest.read(layout.root, one).document[name] for name in names}, "damage": None}
        for one in snapshots_below(layout)
    ]
    assert {"snapshot_id": snapshot.snapshot_id, **tiny, "damage": None} in whole
    assert client.get("/snapshots").json() == {"snapshots": whole}
    (layout.snapshots / ("f" * 64)).mkdir()
    (layout.snapshots / "being-made.tmp").mkdir()
    lost = {"snapshot_id": f"sha256:{'f' * 64}", **dict.fromkeys(names), "damage": "manifest is missing"}
    assert client.get("/snapshots").json() == {"snapshots": [*whole, lost]}
    shutil.rmtree(layout.snapshots)
    assert client.get("/snapshots").json() == {"snapshots": []}
    assert client.get("/snapshots?x=1").status_code == 400
    assert client.post("/snapshots", json=body()).status_code == 403
    refused = client.delete("/snapshots")
    assert (refused.status_code, set(refused.headers["allow"].split(", "))) == (405, {"GET", "HEAD", "POST"})


def test_the_manifest_is_given_byte_for_byte(served):
    layout, snapshot = served
    answer = client_of(layout).get(f"/snapshots/{snapshot.snapshot_id}/manifest")
    assert f"sha256:{hashlib.sha256(answer.content).hexdigest()}" == snapshot.snapshot_id
    assert answer.headers["content-type"] == "application/json"


def test_every_token_of_a_shard_is_traced_to_its_document(served):
    layout, snapshot = served
    client = client_of(layout)
    shard = next(shard for shard in snapshot.shards("train") if shard.bucket == "web")
    index = token_shard.read_index(snapshot, shard).to_pylist()
    for offset in range(0, shard.sequences * SEQ_LEN, 13):
        told = trace(client, snapshot, shard.name, offset).json()
        found = [p for p in index if p["start"] <= offset < p["start"] + p["length"]]
        assert told["padding"] == (not found)
        for piece in found:
            assert told["id"] == piece["id"]
            assert told["span"]["token"] == piece["first"] + offset - piece["start"]
            assert told["license"] == "CC-BY-4.0 OR LicenseRef-Own"
            assert told["filters_passed"] == ["length", "charset", "gopher", "repetition"]
            assert told["crawl_date"] == "2026-11-30T00:00:00Z"
            assert told["source_url"].startswith("https://")
            assert told["dedup_cluster"] in (2, 3)
            assert len(told["doc_id"]) == 32
            assert told["notes"] == []


def test_what_cannot_be_told_is_null_and_said(served, tmp_path):
    layout, snapshot = served
    shutil.copytree(layout.snapshots, tmp_path / "snapshots")
    told = trace(client_of(Layout(tmp_path)), snapshot).json()
    assert told["id"]
    assert {told[name] for name in ("doc_id", "source_url", "crawl_date", "license", "dedup_cluster")} == {None}
    assert "cannot be told" in told["notes"][0]


def test_the_page_and_the_document_name_every_path(served):
    client = client_of(served[0])
    page, api = client.get("/"), client.get("/openapi.json").json()
    assert "<script" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for path in api["paths"]:
        assert path in page.text
    assert set(api["paths"]) == {
        "/snapshots/{snapshot_id}",
        "/snapshots/{snapshot_id}/manifest",
        "/trace/token",
        "/snapshots",
    }


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/snapshots/latest", 400),
        ("/snapshots/sha256:" + "a" * 64, 404),
        ("/snapshots/sha256:" + "a" * 64 + "/manifest", 404),
        ("/snapshots/..%2f..%2fetc%2fpasswd", 404),
        ("/snapshots/sha256:..", 400),
        ("/snapshots/%00", 400),
        ("/snapshots/sha256:" + "a" * 64 + "?x=1", 400),
        ("/trace/token", 400),
        ("/trace/token?snapshot=a&shard=b", 400),
        ("/trace/token?snapshot=a&shard=b&offset=0", 400),
        ("/trace/token?snapshot=a&snapshot=b&shard=b&offset=0", 400),
        ("/nothing", 404),
        ("/snapshots/", 404),
        ("/../../etc/passwd", 404),
    ],
)
def test_what_is_not_there_or_not_formed_is_said_as_json(served, path, status):
    answer = client_of(served[0]).get(path, follow_redirects=False)
    assert answer.status_code == status
    assert answer.json()["error"]


@pytest.mark.parametrize("offset", ["-1", "1e3", "0x1", " 1", "1" * 19, "", "١", "nan", "1_0"])
def test_an_offset_is_a_plain_number(served, offset):
    layout, snapshot = served
    assert trace(client_of(layout), snapshot, offset=offset).status_code == 400


def test_shards_and_offsets_that_the_snapshot_has_not_are_not_found(served):
    layout, snapshot = served
    client = client_of(layout)
    for shard in ("train/web/99999.bin", "../../../etc/passwd", "manifest.json", "", "\x00"):
        assert trace(client, snapshot, shard).status_code == 404
    assert "expected 0 to" in trace(client, snapshot, offset=10**9).json()["error"]


@given(shard=st.text(max_size=80), offset=st.text(max_size=24), snapshot=st.text(max_size=90))
@settings(max_examples=60, deadline=None)
def test_any_text_as_a_parameter_is_answered_and_never_with_a_failure(served, shard, offset, snapshot):
    client = client_of(served[0])
    for which in (snapshot, served[1].snapshot_id):
        answer = client.get("/trace/token", params={"snapshot": which, "shard": shard, "offset": offset})
        assert answer.status_code in (400, 404)
        assert answer.json()["error"]


def test_a_damaged_file_is_named_without_the_paths_of_this_machine(copied):
    layout, snapshot = copied
    shard = next(shard for shard in snapshot.shards("train") if shard.bucket == "web")
    faults.flip_byte(manifest.folder_of(layout.root, snapshot.snapshot_id) / shard.index_name, 40)
    answer = trace(client_of(layout), snapshot)
    assert answer.status_code == 500
    assert f"{shard.index_name}: sha256" in answer.json()["error"]
    assert str(layout.root) not in answer.text
    (manifest.folder_of(layout.root, snapshot.snapshot_id) / "manifest.json").unlink()
    for path in ("", "/manifest"):
        answer = client_of(layout).get(f"/snapshots/{snapshot.snapshot_id}{path}")
        assert (answer.status_code, "manifest is missing" in answer.json()["error"]) == (500, True)


def test_what_nobody_foresaw_is_a_failure_without_its_traceback(served, monkeypatch):
    def broken(_):
        raise RuntimeError("of a secret kind")

    monkeypatch.setattr("corpus_assets.commands.serve_answers.of_snapshot", broken)
    answer = client_of(served[0]).get(f"/snapshots/{served[1].snapshot_id}")
    assert (answer.status_code, answer.json()) == (500, {"error": "the server failed; its log says why"})

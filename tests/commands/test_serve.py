"""`corpus serve`: what it answers, to whom, and that nothing from outside gets further than it should."""

import hashlib
import http.client
import json
import shutil
import socket
import threading
from contextlib import contextmanager, suppress

import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from corpus_assets.commands import serve, serve_requests
from corpus_assets.commands.serve_app import make_app
from corpus_assets.plans.snapshot_corpus import snapshots_below
from corpus_assets.validation import token_config as config_files
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import TokensKey
from formats.snapshot import manifest, token_shard
from tests import faults
from tests.plans import tiny_snapshot
from tests.plans.tiny_corpus import V1
from tests.plans.tiny_snapshot import SEQ_LEN

TOKEN = "a-token-for-these-tests-alone"
BEARER = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    return tiny_snapshot.copy(tmp_path_factory.mktemp("serve") / "root")


@pytest.fixture
def copied(served, tmp_path):
    """A root of the test's own that it may write to and break."""
    shutil.copytree(served[0].root, tmp_path / "root")
    return Layout(tmp_path / "root"), served[1]


def client_of(layout, token=TOKEN, **options):
    return TestClient(
        make_app(layout, token, **options), base_url="http://127.0.0.1:8330", raise_server_exceptions=False
    )


def config(**changes):
    tokenizer = {"path": "tokenizer.json", "sha256": "a" * 64}
    return {"tokens": "t4k", "tokenizer": tokenizer, "end_of_document": "<|end|>", "seq_len": 4096, **changes}


def body(**changes):
    return {"dataset": "tiny", "version": "v1", "config": config(), **changes}


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


def test_without_a_token_nobody_writes(copied):
    layout, _ = copied
    before = sorted(layout.root.rglob("*"))
    client = client_of(layout, token=None)
    for headers in ({}, BEARER, {"authorization": "Bearer "}, {"authorization": "Bearer None"}):
        assert client.post("/snapshots", json=body(), headers=headers).status_code == 403
    for verb in ("put", "delete", "patch", "post"):
        assert getattr(client, verb)(f"/snapshots/{snapshots_below(layout)[0]}").status_code == 405
    assert sorted(layout.root.rglob("*")) == before


@pytest.mark.parametrize(
    "given_header",
    ["", "Bearer", "Bearer ", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Bearer  {TOKEN}", f"Basic {TOKEN}", TOKEN,
     f"Bearer {TOKEN.upper()}", "Bearer \xff\xfe"],
)  # fmt: skip
def test_another_token_is_refused_before_the_body_is_read(copied, given_header):
    layout, _ = copied
    headers = {"authorization": given_header.encode("latin-1")} if given_header else {}
    answer = client_of(layout).post("/snapshots", content=b"{" * 10_000_000, headers=headers)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert not layout.token_config(TokensKey(V1, "t4k")).exists()


def test_tokens_are_compared_in_constant_time(monkeypatch, copied):
    compared = []
    real = serve_requests.hmac.compare_digest
    monkeypatch.setattr(serve_requests.hmac, "compare_digest", lambda a, b: compared.append((a, b)) or real(a, b))
    client_of(copied[0]).post("/snapshots", json=body(), headers={"authorization": "Bearer x"})
    ((one, other),) = compared
    assert len(one) == len(other) == 32  # digests: neither length nor prefix of the token shows


def test_a_config_is_written_as_a_file_that_the_reader_takes(copied):
    layout, _ = copied
    client, key = client_of(layout), TokensKey(V1, "t4k")
    answer = client.post("/snapshots", json=body(), headers=BEARER)
    assert answer.status_code == 202
    assert answer.json()["build_id"] == str(key)
    found = config_files.load(layout.token_config(key), key)
    assert (found.config_sha256, found.seq_len) == (answer.json()["config_sha256"], 4096)
    again = client.post("/snapshots", json=body(), headers=BEARER)
    assert (again.status_code, again.json()) == (202, answer.json())
    before = layout.token_config(key).read_bytes()
    other = client.post("/snapshots", json=body(config=config(seq_len=8)), headers=BEARER)
    assert (other.status_code, layout.token_config(key).read_bytes()) == (409, before)
    assert [path for path in layout.configs.rglob("*") if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({"config": config(seq_len=0)}, 422, "seq_len: expected a whole number"),
        ({"config": config(more=1)}, 422, "more: unknown setting"),
        ({"config": config(tokens="../../x")}, 422, "tokens: "),
        ({"config": config(tokens="a.b")}, 422, "tokens: "),
        ({"config": config(end_of_document="a\nb")}, 422, "end_of_document"),
        ({"config": config(tokenizer={"path": "/etc/passwd", "sha256": "a" * 64})}, 422, "tokenizer.path"),
        ({"config": config(tokenizer={"path": "a/../../b", "sha256": "a" * 64})}, 422, "tokenizer.path"),
        ({"config": config(tokenizer={"path": "..", "sha256": "a" * 64})}, 422, "tokenizer.path"),
        ({"config": config(tokenizer={"path": "a\\b", "sha256": "a" * 64})}, 422, "tokenizer.path"),
        ({"config": config(tokenizer={"path": ".dagster/x", "sha256": "a" * 64})}, 422, "tokenizer.path"),
        ({"config": None}, 422, "expected an object"),
        ({"dataset": "../x"}, 422, "is not a name"),
        ({"dataset": "raw"}, 422, "is reserved"),
        ({"dataset": ["a"]}, 422, "is not a name"),
        ({"version": "v9"}, 404, "has no config"),
        ({"more": 1}, 422, "and no more"),
    ],
)
def test_a_config_that_the_reader_would_refuse_is_refused_and_not_written(copied, change, status, says):
    layout, _ = copied
    before = sorted(layout.configs.rglob("*"))
    answer = client_of(layout).post("/snapshots", json=body(**change), headers=BEARER)
    assert answer.status_code == status
    assert says in json.dumps(answer.json())
    assert sorted(layout.configs.rglob("*")) == before


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", 422),
        (b"{", 422),
        (b"[" * 100_000, 422),
        (json.dumps(body()).replace('"version": "v1"', '"version": "v9", "version": "v1"').encode(), 422),
        (b'{"dataset": NaN}', 422),
        (b'{"dataset": ' + b"9" * 10_000 + b"}", 422),
        (b"\xff\xfe{}", 422),
        (b'{"dataset": "\\ud800", "version": "v1", "config": {}}', 422),
        (b"null", 422),
        (b" " * (serve_requests.MAX_BODY_BYTES + 1), 413),
    ],
)
def test_a_body_of_any_kind_is_answered(copied, data, status):
    layout, _ = copied
    headers = {**BEARER, "content-type": "application/json"}
    answer = client_of(layout).post("/snapshots", content=data, headers=headers)
    assert (answer.status_code, bool(answer.json()["error"])) == (status, True)
    pieces = client_of(layout).post("/snapshots", content=iter([data[:5], data[5:]]), headers=headers)
    assert pieces.status_code == status


@pytest.mark.parametrize("deep", [b"[" * 100_000, b'{"a":' * 40_000])
def test_a_body_that_is_nested_too_deeply_is_told_so_in_words(copied, deep):
    headers = {**BEARER, "content-type": "application/json"}
    answer = client_of(copied[0]).post("/snapshots", content=deep, headers=headers)
    assert (answer.status_code, answer.json()) == (
        422,
        {"error": "the body is nested too deeply; a config has a few levels"},
    )


def test_another_kind_of_body_is_refused(copied):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = client_of(copied[0]).post("/snapshots", content=b"{}", headers={**BEARER, "content-type": kind})
        assert answer.status_code == 415


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "evil.example:8330", "[::1", "a b", "localhost:x"]
)
def test_a_name_of_somebody_elses_does_not_lead_here(served, host):
    answer = client_of(served[0]).get("/", headers={"host": host})
    assert answer.status_code == 400
    assert client_of(served[0], only_loopback=False).get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8330", "localhost:1", "LOCALHOST", "[::1]:8330", "[::1]"])
def test_the_loopback_by_any_of_its_names_does(served, host):
    assert client_of(served[0]).get("/", headers={"host": host}).status_code == 200


@contextmanager
def running(layout):
    """(host, port) of a real server in a thread."""
    listener = socket.create_server(("127.0.0.1", 0))  # who connects waits in its queue until the server is there
    server = uvicorn.Server(uvicorn.Config(make_app(layout, TOKEN), log_level="critical"))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield listener.getsockname()
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def begin_of_answer(address, data):
    """The first bytes that come back; none where the server cuts the connection, before or after it has read all."""
    with socket.create_connection(address, timeout=600) as raw, suppress(ConnectionError):
        raw.sendall(data)
        return raw.recv(64)
    return b""


def test_a_real_server_answers_over_a_socket_and_survives_what_is_no_http(served):
    layout, snapshot = served
    with running(layout) as address:
        for data in (b"\x00" * 100, b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"/" * 200_000 + b" HTTP/1.1\r\n\r\n",
                     b"POST /snapshots HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -5\r\n\r\n"):  # fmt: skip
            assert not begin_of_answer(address, data).startswith(b"HTTP/1.1 200")
        connection = http.client.HTTPConnection(*address, timeout=600)
        connection.request("GET", f"/snapshots/{snapshot.snapshot_id}/manifest")
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("server")) in ((200, None), (200, "uvicorn"))
        assert manifest.id_of(json.loads(answer.read())) == snapshot.snapshot_id
        connection.close()


def test_a_body_that_does_not_come_is_given_up(served, monkeypatch):
    monkeypatch.setattr(serve_requests, "BODY_SECONDS", 0.2)
    head = f"POST /snapshots HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n"
    head += "content-type: application/json\r\ncontent-length: 10\r\n\r\n{"
    with running(served[0]) as address, socket.create_connection(address, timeout=600) as raw:
        raw.sendall(head.encode())
        assert raw.recv(64).startswith(b"HTTP/1.1 408")


def test_the_token_comes_from_a_file_or_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv(serve.TOKEN, raising=False)
    assert serve.read_token(None) is None
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert serve.read_token(tmp_path / "token") == TOKEN
    monkeypatch.setenv(serve.TOKEN, "another-token-of-the-environment")
    assert serve.read_token(None) == "another-token-of-the-environment"
    assert serve.read_token(tmp_path / "token") == TOKEN


@pytest.mark.parametrize("text", ["", "short", "with spaces in it, many", "x" * 2000, "ü" * 20])
def test_a_token_that_is_no_secret_is_refused_without_being_shown(tmp_path, text):
    (tmp_path / "token").write_text(text)
    with pytest.raises(ConfigError) as refused:
        serve.read_token(tmp_path / "token")
    assert not text or text not in str(refused.value)
    with pytest.raises(ConfigError, match="cannot be read"):
        serve.read_token(tmp_path / "none")


def test_it_is_reachable_from_this_machine_alone_unless_it_is_told_otherwise():
    from corpus_assets import cli

    args = cli.parser().parse_args(["serve"])
    assert (args.host, args.token_file) == ("127.0.0.1", None)

"""`corpus serve` writes configs: for whom, which, and that nothing from outside gets further than it should."""

import json

import pytest

from corpus_assets.commands import serve_requests
from corpus_assets.plans.snapshot_corpus import snapshots_below
from corpus_assets.validation import token_config as config_files
from formats.naming import TokensKey
from tests.commands.serving import BEARER, TOKEN, body, client_of, config
from tests.plans import tiny_snapshot
from tests.plans.tiny_corpus import V1


@pytest.fixture
def copied(tmp_path):
    """A root of the test's own that it may write to and break."""
    return tiny_snapshot.copy(tmp_path / "root")


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

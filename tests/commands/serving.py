"""A service over a small snapshot, for the tests of `corpus serve`."""

from starlette.testclient import TestClient

from corpus_assets.commands.serve_app import make_app

TOKEN = "a-token-for-these-tests-alone"
BEARER = {"authorization": f"Bearer {TOKEN}"}


def client_of(layout, token=TOKEN, **options):
    return TestClient(
        make_app(layout, token, **options), base_url="http://127.0.0.1:8330", raise_server_exceptions=False
    )


def config(**changes):
    tokenizer = {"path": "tokenizer.json", "sha256": "a" * 64}
    return {"tokens": "t4k", "tokenizer": tokenizer, "end_of_document": "<|end|>", "seq_len": 4096, **changes}


def body(**changes):
    return {"dataset": "tiny", "version": "v1", "config": config(), **changes}

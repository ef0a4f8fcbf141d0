"""The API of `corpus serve` in OpenAPI 3.1, and the same as a page for people."""

from html import escape
from typing import Any

from corpus_assets.commands.serve_requests import MAX_BODY_BYTES
from corpus_assets.plans.new_token_config import TOKENIZER_PATH
from formats.json_tables import table
from formats.naming import MAX_LENGTH, NAME
from formats.token_config import TokenConfig

_TEXT, _WHOLE = {"type": "string"}, {"type": "integer", "minimum": 0}
_ID = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
_NAME = {"type": "string", "pattern": f"^{NAME.pattern}$", "maxLength": MAX_LENGTH}
_WHAT = {
    400: "the request is not formed as it should be",
    401: "the token is missing or another",
    403: "the server is read-only",
    404: "there is no such thing here",
    405: "another method is expected",
    408: "the body came too slowly",
    409: "a config of that name says something else",
    413: f"the body has more than {MAX_BODY_BYTES} bytes",
    415: "the body is no application/json",
    422: "the document is refused; `problems` has a line each",
    500: "a stored file is missing or damaged, and named",
}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    fields = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": fields, "additionalProperties": False}


def _token_config() -> dict[str, Any]:
    """As a file's, but for the tokenizer, which must lie below the root."""
    schema = table(TokenConfig).schema()
    schema["properties"]["tokenizer"]["properties"]["path"]["pattern"] = f"^{TOKENIZER_PATH}$"
    return schema


_SUMS = _object({"shards": _WHOLE, "sequences": _WHOLE, "tokens": _WHOLE})
_YANKED = _or_null(_object({"of": _TEXT, "reason": _TEXT, "yanked_on": _TEXT}))
_BUCKETS = {"type": "object", "additionalProperties": _SUMS}
SCHEMAS = {
    "Error": _object({"error": _TEXT, "problems": {"type": "array", "items": _TEXT}}, ["error"]),
    "Snapshots": _object(
        {
            "snapshots": {
                "type": "array",
                "items": _object(
                    {
                        "snapshot_id": _ID,
                        "dataset": _or_null(_TEXT),
                        "corpus_version": _or_null(_TEXT),
                        "tokens": _or_null(_TEXT),
                        "damage": _or_null(_TEXT),
                    }
                ),
            }
        }
    ),
    "Snapshot": _object(
        {
            "snapshot_id": _ID,
            "yanked": _YANKED,
            "dataset": _TEXT,
            "corpus_version": _TEXT,
            "tokens": _TEXT,
            "corpus_manifest_sha256": _TEXT,
            "token_config_sha256": _TEXT,
            "tokenizer": {"type": "object"},
            "vocab_size": _WHOLE,
            "eos_id": _WHOLE,
            "pad_id": _WHOLE,
            "seq_len": _WHOLE,
            "dtype": _TEXT,
            "packing": _TEXT,
            "counts": {"type": "object"},
            "splits": _object({"train": _BUCKETS, "val": _BUCKETS}),
        }
    ),
    "Manifest": {"type": "object", "description": "formats/snapshot/snapshot.md; its SHA-256 is the snapshot's id"},
    "TokenTrace": _object(
        {
            "snapshot": _ID,
            "shard": _TEXT,
            "offset": _WHOLE,
            "row": _WHOLE,
            "token_of_row": _WHOLE,
            "split": _TEXT,
            "bucket": _TEXT,
            "bucket_row": _WHOLE,
            "version": _TEXT,
            "yanked": _YANKED,
            "padding": {"type": "boolean"},
            "id": _or_null(_TEXT),
            "source_id": _or_null(_TEXT),
            "span": _or_null(_object({"token": _WHOLE, "first": _WHOLE, "end": _WHOLE})),
            "doc_id": _or_null(_TEXT),
            "source_url": _or_null(_TEXT),
            "crawl_date": _or_null(_TEXT),
            "filters_passed": _or_null({"type": "array", "items": _TEXT}),
            "dedup_cluster": _or_null(_WHOLE),
            "license": _or_null(_TEXT),
            "ledger_row_digest": _or_null(_TEXT),
            "raw_part": _or_null(_TEXT),
            "raw_line": _or_null(_WHOLE),
            "notes": {"type": "array", "items": _TEXT},
        }
    ),
    "NewSnapshot": _object(
        {"dataset": _NAME, "version": _NAME, "config": {"$ref": "#/components/schemas/TokenConfig"}}
    ),
    "TokenConfig": _token_config(),
    "Build": _object({"build_id": _TEXT, "config_sha256": _TEXT, "next": _TEXT}),
}


def _answers(good: int, says: str, schema: str, *bad: int) -> dict[str, Any]:
    def content(name: str) -> dict[str, Any]:
        return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}

    found = {str(good): {"description": says, "content": content(schema)}}
    return found | {str(code): {"description": _WHAT[code], "content": content("Error")} for code in bad}


def _parameter(name: str, place: str, says: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": place, "required": True, "description": says, "schema": schema}


_ID_IN_PATH = _parameter("snapshot_id", "path", "the snapshot's id", _ID)


def document() -> dict[str, Any]:
    """The OpenAPI document."""
    trace = [
        _parameter("snapshot", "query", "the snapshot's id", _ID),
        _parameter("shard", "query", "a shard as the manifest names it: train/web/00000.bin", _TEXT),
        _parameter("offset", "query", "which token of the shard, from 0", {**_WHOLE, "maximum": 10**18 - 1}),
    ]
    body = {"application/json": {"schema": {"$ref": "#/components/schemas/NewSnapshot"}}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "corpus serve",
            "version": "1",
            "description": "Snapshots of packed tokens, and where each token came from.",
        },
        "paths": {
            "/snapshots/{snapshot_id}": {
                "get": {
                    "operationId": "snapshot",
                    "summary": "What a snapshot is: its corpus, tokenizer, counts, and the sums of its buckets",
                    "parameters": [_ID_IN_PATH],
                    "responses": _answers(200, "the snapshot", "Snapshot", 400, 404, 500),
                }
            },
            "/snapshots/{snapshot_id}/manifest": {
                "get": {
                    "operationId": "manifest",
                    "summary": "The manifest, byte for byte: its SHA-256 is the id",
                    "parameters": [_ID_IN_PATH],
                    "responses": _answers(200, "the manifest", "Manifest", 400, 404, 500),
                }
            },
            "/trace/token": {
                "get": {
                    "operationId": "traceToken",
                    "summary": "The document of a token; what cannot be told is null, and notes say why",
                    "parameters": trace,
                    "responses": _answers(200, "where the token came from", "TokenTrace", 400, 404, 500),
                }
            },
            "/snapshots": {
                "get": {
                    "operationId": "snapshots",
                    "summary": "The snapshots that lie here: their ids, and what each was made of",
                    "responses": _answers(200, "the snapshots, by id", "Snapshots", 400, 500),
                },
                "post": {
                    "operationId": "newSnapshot",
                    "summary": "Write the config of a token set; its snapshot has an id once it is built",
                    "security": [{"token": []}],
                    "requestBody": {"required": True, "content": body},
                    "responses": _answers(
                        202, "the config is written", "Build", 400, 401, 403, 404, 408, 409, 413, 415, 422, 500
                    ),
                },
            },
        },
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def page() -> str:
    """The same for people: no script, nothing from elsewhere."""
    api = document()
    parts = [f"<h1>{escape(api['info']['title'])}</h1><p>{escape(api['info']['description'])}"]
    parts.append(' The same for programs: <a href="openapi.json">openapi.json</a>.</p>')
    for path, verbs in api["paths"].items():
        for verb, one in verbs.items():
            parts.append(f"<h2><code>{verb.upper()} {escape(path)}</code></h2><p>{escape(one['summary'])}.</p>")
            rows = [(p["name"], f"{p['in']}: {p['description']}") for p in one.get("parameters", ())]
            if "requestBody" in one:
                rows.append(("body", "application/json: dataset, version, config (formats/token_config.md)"))
            if "security" in one:
                rows.append(("authorization", "header: Bearer TOKEN"))
            rows += [(code, answer["description"]) for code, answer in one["responses"].items()]
            cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(says)}</td></tr>" for name, says in rows)
            parts.append(f"<table>{cells}</table>")
    style = "body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto}th{text-align:left;padding-right:1em}"
    title = escape(api["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{style}</style></head>'
        f"<body>{''.join(parts)}</body></html>"
    )

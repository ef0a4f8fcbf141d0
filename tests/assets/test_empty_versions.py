"""A version of which no row is published: its graph runs to the end as any other's does."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from formats import corpus_manifest
from formats.layout import Layout
from tests.assets import graph, tiny

NOTHING_ALLOWED = {"profiles": {"prose": {"too_short": 1_000_000}}}


def without_documents(layout: Layout) -> None:
    """Every input file holds one line, and it is cut off."""
    data = b'{"text": "cut o'
    for source in tiny.SOURCES:
        (layout.root / f"inputs/{source}.jsonl").write_bytes(data)
    file = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    tiny.write_ledger(
        layout,
        *(tiny.ledger_row(s, files=[{"url": f"../inputs/{s}.jsonl", **file}]) for s in tiny.SOURCES),
    )


def without_survivors(layout: Layout) -> None:
    tiny.write_config(layout, **NOTHING_ALLOWED)


@pytest.mark.parametrize(("emptied", "raw"), [(without_documents, 0), (without_survivors, 27)])
def test_a_version_without_a_row_is_published_checked_and_described(tmp_path: Path, emptied: Any, raw: int) -> None:
    layout = tiny.unbuilt(tmp_path)
    emptied(layout)
    with graph.loaded(layout) as defs, graph.instance() as instance:
        ran = list(graph.build(defs, instance, tiny.V1))
        again = graph.run(defs, instance, tiny.V1, "shards", "manifest", "datasheet")
        every = graph.checks_of_a_version(defs)
    assert all(one.success for one in [*ran, again]), "\n".join(map(graph.failures, [*ran, again]))
    found = graph.checks(*ran)
    assert set(found) == every
    assert {name for name, check in found.items() if not check.passed} <= {"retention", "few_records_damaged"}
    assert graph.materialized(again) == ["shards", "manifest", "datasheet"]
    manifest = corpus_manifest.read(layout.version(tiny.V1))
    assert (manifest["n_docs"], [shard["rows"] for shard in manifest["shards"]]) == (0, [0])
    assert f"{raw} raw documents = 0 published + {raw} dropped" in str(found["version_conserved"].description)

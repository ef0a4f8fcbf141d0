"""The first build of a version says in a line what it takes over from others; none later does, nor a first version."""

import pytest

from corpus_assets.commands import build
from corpus_assets.plans import taken_over
from corpus_assets.plans.pinned import load_version, pin_row
from formats import ledger
from formats.layout import Layout
from formats.naming import VersionKey
from tests.assets import tiny
from tests.plans.tampering import a_build

V2 = VersionKey("tiny", "v2")


@pytest.fixture
def layout(tmp_path) -> Layout:
    return tiny.copy(tmp_path / "root")


def told(layout: Layout, key: VersionKey = V2) -> str | None:
    return taken_over.told(a_build(layout), load_version(layout, key))


def add_maps(layout: Layout) -> None:
    row = {**tiny.ledger_row("web"), "source_id": "maps"}
    ledger.append(layout.ledger, ledger.from_json(row))


def test_what_other_versions_made_is_told_by_asset_and_what_is_new_by_name(layout):
    add_maps(layout)
    tiny.write_config(layout, V2, sources=[*tiny.SOURCES, "maps"], shard_rows=5)
    assert told(layout) == (
        "reused from other versions, of 4 sources: raw_fetch of 3, doc_signals of 3, filtered_docs of 3, "
        "minhash_signatures of 3; nothing of maps"
    )


def test_other_thresholds_take_over_what_touches_no_threshold(layout):
    tiny.write_config(layout, V2, profiles={"prose": {"too_short": 11, "too_few_words": 8}})
    said = told(layout)
    assert said is not None
    assert "doc_signals of 3" in said
    assert "filtered_docs" not in said


def test_nothing_is_said_of_a_version_that_was_begun_or_published_or_is_the_first(layout, tmp_path):
    assert told(layout, tiny.V1) is None
    tiny.write_config(layout, V2)
    assert told(layout) is not None
    pin_row(layout, load_version(layout, V2).pairs[0])
    assert told(layout) is None
    assert told(tiny.unbuilt(tmp_path / "first"), tiny.V1) is None


def test_a_version_of_new_sources_alone_is_said_to_reuse_nothing(layout):
    add_maps(layout)
    tiny.write_config(layout, V2, sources=["maps"])
    assert told(layout) == "reused from other versions: nothing"


def test_a_build_says_it_before_its_first_run(layout, capsys, monkeypatch):
    tiny.write_config(layout, V2, shard_rows=5)
    monkeypatch.setattr(build, "opened", lambda *_, **__: pytest.fail("the first run"))
    with pytest.raises(pytest.fail.Exception, match="the first run"):
        build.build(layout, V2)
    assert "reused from other versions, of 3 sources: raw_fetch of 3" in capsys.readouterr().out

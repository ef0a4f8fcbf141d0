"""What a version pins: the ledger row of each source, kept once the version is published."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from corpus_assets.plans.pinned import load_pair, load_pairs, load_version, pin_row, pinned_value
from formats import durable, evidence, ledger
from formats.errors import ConfigError, CorruptDataError, PublishedError
from formats.layout import Layout
from formats.naming import PairKey, VersionKey
from tests import faults
from tests.assets import tiny
from tests.plans import tampering

V1, WEB = tiny.V1, PairKey("web", tiny.V1)


def change_row(layout: Layout, **changes: object) -> None:
    tiny.write_ledger(layout, tiny.ledger_row("web", **changes))


def test_a_row_is_pinned_as_it_stands_right_or_wrong(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    for changes in ({}, {"license_spdx": "no licence at all"}, {"colour": "red"}, {"files": None}):
        change_row(layout, **changes)
        pinned = pin_row(layout, WEB)
        assert pinned == pinned_value(layout, WEB)
        assert {**pinned, **changes} == pinned or changes == {"files": None}


def test_a_right_row_is_pinned_in_one_form_whatever_its_order_and_defaults(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    row = {**tiny.ledger_row("web"), "fields": {"text": "text", "url": "url"}}
    pinned = pin_row(layout, WEB)
    tiny.write_ledger(layout, dict(reversed(row.items())))
    assert pin_row(layout, WEB) == pinned
    assert ledger.from_json(pinned).digest == load_pair(layout, WEB).row.digest


def test_pinning_an_unchanged_row_writes_nothing(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    pin_row(layout, WEB)
    before = tampering.as_they_lie(layout.root)
    pin_row(layout, WEB)
    assert tampering.as_they_lie(layout.root) == before


def test_an_unpublished_version_takes_the_row_of_today(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    pin_row(layout, WEB)
    change_row(layout, title="The web, again")
    assert load_pair(layout, WEB).row.title == "The web"
    pin_row(layout, WEB)
    assert load_pair(layout, WEB).row.title == "The web, again"


@pytest.mark.parametrize("work", ["kept", "deleted"])
@pytest.mark.parametrize("row", ["changed", "wrong", "gone"])
def test_a_published_version_keeps_the_row_it_was_published_with(tmp_path: Path, work: str, row: str) -> None:
    layout = tiny.copy(tmp_path / "root")
    before = load_pair(layout, WEB).row
    if work == "deleted":
        shutil.rmtree(layout.corpus / "work")
    if row == "gone":
        layout.ledger.write_text("", "utf-8")
    else:
        change_row(layout, **({"title": "The web, again"} if row == "changed" else {"kind": "nonsense"}))
    pin_row(layout, WEB)
    assert load_pair(layout, WEB).row == before


def test_a_published_version_refuses_another_config_before_any_work(tmp_path: Path) -> None:
    layout = tiny.copy(tmp_path / "root")
    tiny.write_config(layout, shard_rows=7)
    before = tampering.as_they_lie(layout.root)
    with pytest.raises(PublishedError) as raised:
        pin_row(layout, WEB)
    for words in (
        str(layout.config(V1)),
        "is immutable",
        f"corpus config new <new> --from {V1}",
        durable.read_lock(layout.lock(V1)),
    ):
        assert words in str(raised.value)
    assert tampering.as_they_lie(layout.root) == before


def test_a_version_without_its_lock_counts_as_unpublished(tmp_path: Path) -> None:
    layout = tiny.copy(tmp_path / "root")
    tiny.write_config(layout, shard_rows=7)
    change_row(layout, title="The web, again")
    layout.lock(V1).unlink()
    assert pin_row(layout, WEB)["title"] == "The web, again"


@pytest.mark.parametrize("name", [evidence.LEDGER_ROWS, evidence.STAGE_VERSIONS, evidence.SEAL])
def test_broken_evidence_of_a_published_version_is_named_and_nothing_is_pinned(tmp_path: Path, name: str) -> None:
    layout = tiny.copy(tmp_path / "root")
    faults.flip_byte(layout.evidence(V1) / name, 50)
    before = tampering.as_they_lie(layout.root)
    with pytest.raises(CorruptDataError, match=name):
        pin_row(layout, WEB)
    assert tampering.as_they_lie(layout.root) == before


def test_a_source_outside_the_config_is_refused_by_name(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    tiny.write_config(layout, sources=["tales"])
    with pytest.raises(ConfigError, match="source 'web' is not among sources; add it there"):
        load_pair(layout, WEB)


def test_a_config_that_changes_while_it_is_loaded_is_that_of_the_bytes_that_were_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = tiny.unbuilt(tmp_path)
    path, read, old = layout.config(V1), Path.read_bytes, layout.config(V1).read_bytes()

    def edited_then(self: Path) -> bytes:
        data = read(self)
        if self == path and data == old:
            tiny.write_config(layout, shard_rows=7)
        return data

    monkeypatch.setattr(Path, "read_bytes", edited_then)
    first = load_version(layout, V1).config.shard_rows
    path.write_bytes(old)
    assert load_version(layout, V1).config.shard_rows == first != 7
    assert load_version(layout, V1).config.shard_rows == 7


def test_what_is_not_pinned_says_what_to_materialize(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ledger_entry of notes@tiny\.v1 is not materialized"):
        load_pairs(tiny.unbuilt(tmp_path), V1)


def test_every_refusal_of_a_row_is_named_in_one_error(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    change_row(layout, license_spdx="GPL-3.0-only", colour="red", files=[])
    pin_row(layout, WEB)
    with pytest.raises(ConfigError) as raised:
        load_pair(layout, WEB)
    for words in ("GPL-3.0-only is not allowed", "field colour: unknown field", "it lists no files"):
        assert words in str(raised.value)


def test_pairs_are_in_the_order_of_their_names_whatever_the_config_says(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    tiny.write_config(layout, sources=["web", "notes", "tales"])
    assert [pair.source for pair in load_version(layout, V1).pairs] == ["notes", "tales", "web"]
    for pair in tiny.PAIRS:
        pin_row(layout, pair)
    assert [pair.source_number for pair in load_pairs(layout, V1)] == [0, 1, 2]


def test_a_pinned_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    layout = tiny.copy(tmp_path / "root")
    layout.pinned_row(WEB).write_text(json.dumps({"source_id": "web"})[:-3])
    with pytest.raises(CorruptDataError, match=r"web@tiny\.v1\.json"):
        load_pair(layout, WEB)


def test_a_row_that_is_wrong_is_refused_with_the_ledger_in_the_words(tmp_path: Path) -> None:
    layout = tiny.unbuilt(tmp_path)
    change_row(layout, kind=None, colour="red")
    pin_row(layout, WEB)
    with pytest.raises(ConfigError) as raised:
        load_pair(layout, WEB)
    lines = str(raised.value).splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"{layout.ledger}: source web: field ") for line in lines)


PINNED_DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "a letter of the title": lambda data: data.replace(b"The web", b"The wet"),
    "a digit of the rank": lambda data: data.replace(b'"source_rank":3', b'"source_rank":1'),
    "without its digest": lambda data: data.replace(b'"sha256":"', b'"sha257":"'),
    "a list": lambda data: b"[" + data + b"]",
    "half": lambda data: data[: len(data) // 2],
    "empty": lambda _: b"",
}


@pytest.mark.parametrize("damage", PINNED_DAMAGE)
def test_a_pinned_row_that_changed_since_is_no_other_row(tmp_path: Path, damage: str) -> None:
    """It would give another raw set and another corpus, under a row that nobody wrote."""
    layout = tiny.copy(tmp_path / "root")
    path, whole = layout.pinned_row(WEB), layout.pinned_row(WEB).read_bytes()
    path.write_bytes(PINNED_DAMAGE[damage](whole))
    assert path.read_bytes() != whole
    with pytest.raises(CorruptDataError, match="delete the file and materialize ledger_entry again") as raised:
        load_pair(layout, WEB)
    assert raised.value.path == str(path)
    pin_row(layout, WEB)
    assert path.read_bytes() == whole
    assert load_pair(layout, WEB).row.source_id == "web"


def test_a_version_without_config_says_how_to_write_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"v9\.yaml: is missing; write it with `corpus config new tiny\.v9`"):
        load_version(tiny.unbuilt(tmp_path), VersionKey("tiny", "v9"))

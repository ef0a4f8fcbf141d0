"""A build says what disk it may take, and refuses before any work where that is not free."""

from collections import namedtuple

import pytest

from corpus_assets.commands import build
from corpus_assets.plans import space
from corpus_assets.plans.pinned import load_version
from formats import ledger
from formats.errors import ConfigError
from tests.assets import tiny
from tests.commands import command_line
from tests.plans.tampering import a_build, as_they_lie

Usage = namedtuple("Usage", ("total", "used", "free"))


@pytest.fixture
def free(monkeypatch):
    """Sets what is free."""
    return lambda n: monkeypatch.setattr(space.shutil, "disk_usage", lambda _: Usage(0, 0, n))


def expected(layout):
    return space.expected(a_build(layout), load_version(layout, tiny.V1))


def test_plain_text_takes_its_bytes_times_the_stated_factor(tmp_path):
    (found,) = expected(tiny.unbuilt(tmp_path))
    assert found.num_bytes == round(space.PLAIN * sum(map(len, tiny.FILES.values())))


@pytest.mark.parametrize(
    ("changes", "factor"),
    [
        ({"kind": "warc", "fields": None}, space.PAGES),
        ({"kind": "parquet"}, space.PACKED),
        ({"files": [{"url": "https://a.example/b.jsonl.zst", "sha256": "0" * 64, "bytes": 9}]}, space.PACKED),
        ({}, space.PLAIN),
    ],
)
def test_the_factor_is_that_of_the_kind(changes, factor):
    assert space.factor(ledger.from_json(tiny.ledger_row("web", **changes))) == factor


def test_what_is_to_be_fetched_counts_until_it_is_here(tmp_path):
    layout = tiny.unbuilt(tmp_path)
    before = expected(layout)[0].num_bytes
    data = tiny.FILES["web"]
    row = tiny.ledger_row("web")["files"][0]
    tiny.write_ledger(layout, tiny.ledger_row("web", files=[{**row, "url": "https://a.example/web.jsonl"}]))
    assert expected(layout)[0].num_bytes == before + len(data)
    layout.cache.mkdir()
    (layout.cache / row["sha256"]).write_bytes(data)
    assert expected(layout)[0].num_bytes == before


def test_a_published_version_takes_nothing(tmp_path):
    assert expected(tiny.copy(tmp_path / "root")) == []


def test_what_is_made_already_takes_less(tmp_path):
    layout = tiny.copy(tmp_path / "root")
    layout.lock(tiny.V1).unlink()
    whole = space.PLAIN * sum(map(len, tiny.FILES.values()))
    assert expected(layout)[0].num_bytes == round(space.HALF_DONE * whole)


def test_a_build_that_does_not_fit_is_refused_with_the_numbers_and_touches_nothing(tmp_path, free):
    layout = tiny.unbuilt(tmp_path)
    free(1_000)
    before = as_they_lie(layout.root)
    with pytest.raises(ConfigError, match=r"may take .* KiB, 1,000 B are free.*--ignore-space"):
        command_line.run(build, layout.root, "build", "tiny.v1")
    assert as_they_lie(layout.root) == before


@pytest.mark.parametrize("words", [(), ("--ignore-space",)])
def test_with_room_or_told_to_ignore_it_the_build_begins(tmp_path, free, monkeypatch, capsys, words):
    class Begun(Exception):
        pass

    def begins(*_: object, **__: object) -> None:
        raise Begun

    free(1_000 if words else 10**12)
    monkeypatch.setattr(build, "opened", begins)
    with pytest.raises(Begun):
        command_line.run(build, tiny.unbuilt(tmp_path).root, "build", "tiny.v1", *words)
    assert "the build may take" in capsys.readouterr().out

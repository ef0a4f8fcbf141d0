"""What a person has to mend in a token set is said before any work, with the line."""

import sys
from pathlib import Path

import pytest

from corpus_assets.plans import token_build
from corpus_assets.plans.snapshot import make_snapshot
from corpus_assets.plans.token_build import TokenBuild, load_checked, open_build
from corpus_assets.stages import fast_tokenizer
from corpus_assets.stages.tokenizer_file import load_fast
from corpus_assets.validation import token_config
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import TokensKey
from resources.engines.local import LocalEngine
from tests import faults
from tests.assets import tiny, tiny_tokens

KEY = tiny_tokens.KEY


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return tiny.copy(tmp_path / "root")


def opened(layout: Layout, key: TokensKey = KEY) -> TokenBuild:
    return open_build(layout, LocalEngine(scratch=layout.root / "scratch", workers=1), key)


def test_a_token_set_that_fits_is_opened(layout):
    tiny_tokens.write(layout, buckets={"all": ["notes", "web"]})
    build = opened(layout)
    assert str(build) == str(build.key) == "tiny.v1.t16"
    assert [build.bucket_of(source) for source in tiny.SOURCES] == ["all", "tales", "all"]
    assert {bucket for _, bucket in build.ranges} == {"all", "tales"}


def test_shards_of_all_buckets_are_numbered_on_by_their_characters(layout):
    tiny_tokens.write(layout, shard_tokens=60)
    ranges = list(opened(layout).ranges.items())
    assert [key for key, _ in ranges] == sorted(key for key, _ in ranges)
    assert [number for _, numbers in ranges for number in numbers] == list(range(ranges[-1][1].stop))
    assert max(len(numbers) for _, numbers in ranges) > 1


@pytest.mark.parametrize(("changes", "field", "words"), [
    ({"end_of_document": "<none>"}, "end_of_document", "tokenizer.json has no token '<none>'"),
    ({"pad": "<none>"}, "pad", "tokenizer.json has no token '<none>'"),
    ({"tokenizer": {"path": "none.json", "sha256": "ab" * 32}}, "tokenizer", "none.json is missing; put it"),
    ({"tokenizer": {"path": "tokenizer.json", "sha256": "ab" * 32}}, "tokenizer", "expected abab"),
    ({"buckets": {"all": ["web", "letters"]}}, "buckets.all", "letters: no source of tiny.v1"),
])  # fmt: skip
def test_a_setting_that_does_not_fit_is_named_by_file_and_line(layout, changes, field, words):
    tiny_tokens.write(layout, **changes)
    with pytest.raises(ConfigError) as raised:
        opened(layout)
    assert str(raised.value).startswith(f"{token_config.place_of(layout.token_config(KEY), field)}: ")
    assert words in str(raised.value)


def test_a_tokenizer_that_changed_is_refused_and_one_elsewhere_is_read(layout, tmp_path):
    tiny_tokens.write(layout)
    (layout.root / tiny_tokens.NAME).rename(tmp_path / "elsewhere.json")
    pin = {**tiny_tokens.config()["tokenizer"], "path": str(tmp_path / "elsewhere.json")}
    layout.token_config(KEY).unlink()
    tiny_tokens.write(layout, tokenizer=pin)
    assert load_checked(layout, KEY).tokenizer.path == pin["path"]
    faults.flip_byte(layout.root / tiny_tokens.NAME, 100)
    layout.token_config(KEY).write_text(layout.token_config(KEY).read_text().replace(pin["path"], tiny_tokens.NAME))
    with pytest.raises(ConfigError, match=r"sha256 is .*, expected .*; restore the file, or pin the one you mean"):
        load_checked(layout, KEY)


def test_a_version_that_is_not_published_has_no_tokens_yet(tmp_path):
    layout = tiny.unbuilt(tmp_path)
    tiny_tokens.write(layout)
    with pytest.raises(ConfigError, match=r"version tiny.v1 is not published"):
        opened(layout)


def test_without_the_library_the_extra_to_install_is_named(layout, monkeypatch):
    tiny_tokens.write(layout)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ConfigError, match=r"pip install 'corpus-assets\[tokens\]'"):
        opened(layout)


# The fast path.


def fast_config(**changes: object) -> dict:
    return {**tiny_tokens.config()["tokenizer"], "fast": True, **changes}


@pytest.fixture
def proofs(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The proofs that were asked for, each of which finds no difference."""
    asked: list[object] = []
    monkeypatch.setattr(fast_tokenizer, "difference", lambda *of: asked.append(of))
    return asked


def test_fastokens_is_proven_once_for_a_tokenizer_and_the_versions_of_both(layout, proofs, monkeypatch):
    tiny_tokens.write(layout, tokenizer=fast_config())
    for _ in range(2):
        assert opened(layout).loaded().fast is not None
    assert len(proofs) == 1
    monkeypatch.setattr(token_build, "library_version", lambda name: f"another {name}")
    load_checked(layout, KEY)
    assert len(proofs) == 2


def test_a_tokenizer_for_which_fastokens_gives_other_ids_is_refused_before_any_work(layout, monkeypatch):
    monkeypatch.setattr(fast_tokenizer, "difference", lambda *_: "'ab': token 1 is [5] and with fastokens [6]")
    tiny_tokens.write(layout, tokenizer=fast_config())
    for _ in range(2):  # a refusal is no proof
        with pytest.raises(ConfigError) as raised:
            opened(layout)
        place = token_config.place_of(layout.token_config(KEY), "tokenizer.fast")
        assert str(raised.value).startswith(f"{place}: fastokens gives other ids than the tokenizers library: 'ab'")


def test_without_fastokens_installed_the_extra_is_named_with_the_line(layout, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastokens", None)
    tiny_tokens.write(layout, tokenizer=fast_config())
    load_fast.cache_clear()
    with pytest.raises(ConfigError, match=r"tokenizer.fast: fastokens is not installed; .*corpus-assets\[fast\]"):
        opened(layout)


@pytest.mark.usefixtures("proofs")
def test_the_fast_path_writes_the_same_shards_and_says_by_what_they_were_made(layout):
    found = []
    for fast in (False, True):
        tiny_tokens.write(layout, tokenizer=fast_config(fast=True) if fast else tiny_tokens.config()["tokenizer"])
        found.append(make_snapshot(opened(layout)).document)
    assert found[0]["splits"] == found[1]["splits"]
    assert [set(one["tokenizer"]["libraries"]) for one in found] == [{"tokenizers"}, {"tokenizers", "fastokens"}]
    assert found[0]["stage_versions"]["tokenized"] != found[1]["stage_versions"]["tokenized"]

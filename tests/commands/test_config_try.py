"""`corpus config try` says what a build under other thresholds would decide, from stored signals; it writes nothing."""

import json
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpus_assets.commands import config
from corpus_assets.plans import try_thresholds, try_thresholds_page
from corpus_assets.plans.pinned import load_pair, load_version, pin_row
from corpus_assets.plans.source_stages import counted_signals, verdicts
from corpus_assets.plans.try_thresholds import SourceChange
from formats import dataset
from formats.errors import ConfigError
from formats.naming import PairKey, VersionKey
from tests.assets import tiny
from tests.commands import command_line
from tests.plans import site_corpus
from tests.plans.tampering import a_build, as_they_lie

V2 = VersionKey("tiny", "v2")


def tried(capsys, layout, *words: str) -> dict[str, dict]:
    options = [option for word in words for option in ("--set", word)]
    assert command_line.run(config, layout.root, "config", "try", "tiny.v1", *options, "--json") == 0
    return {one["source"]: one for one in json.loads(capsys.readouterr().out)["sources"]}


@pytest.mark.parametrize("words", [31, 33])
def test_it_says_what_a_build_under_these_thresholds_decides(tmp_path, capsys, words):
    layout = tiny.copy(tmp_path / "root")
    said = tried(capsys, layout, f"prose.too_few_words={words}", "prose.top_4gram_too_frequent=null")
    rules = {"too_short": 10, "too_few_words": words, "top_4gram_too_frequent": None}
    tiny.write_config(layout, V2, profiles={"prose": rules})
    moved = 0
    for source, one in said.items():
        pin_row(layout, PairKey(source, V2))
        build, pair = a_build(layout), load_pair(layout, PairKey(source, V2))
        made = dataset.read_table(verdicts(build, pair).make())
        counts = {entry["values"]: entry["counts"] for entry in made["verdict"].value_counts().to_pylist()}
        assert one["kept"]["after"] == counts.pop("kept", 0)
        assert one["dropped"]["after"] == counts
        sizes = dataset.read_table(counted_signals(build, pair).open())["n_chars"].to_pylist()
        kept = [verdict == "kept" for verdict in made["verdict"].to_pylist()]
        assert one["chars"]["after"] == sum(n for n, stays in zip(sizes, kept, strict=True) if stays)
        moved += one["go_out"] + one["come_in"]
    assert moved > 0


@pytest.mark.parametrize("setting", ["en.prose.too_few_words=33", "en.too_few_words=33"])
def test_a_limit_of_one_language_says_what_a_build_with_it_decides(tmp_path, capsys, setting):
    layout = tiny.copy(tmp_path / "root")
    said = tried(capsys, layout, setting)
    tiny.write_config(layout, V2, languages={"en": {"prose": {"too_few_words": 33}}})
    for source, one in said.items():
        pin_row(layout, PairKey(source, V2))
        made = dataset.read_table(verdicts(a_build(layout), load_pair(layout, PairKey(source, V2))).make())
        assert one["kept"]["after"] == made["verdict"].to_pylist().count("kept")
    assert sum(one["go_out"] for one in said.values()) > 0
    other = tried(capsys, layout, setting.replace("en.", "ja."))
    assert all(one["moved"] == [] for one in other.values())


def test_the_curve_of_a_language_is_that_of_its_documents(tmp_path):
    layout = tiny.copy(tmp_path / "root")
    version = load_version(layout, VersionKey("tiny", "v1"))
    for setting, has_some in (("en.too_few_words=33", True), ("ja.too_few_words=33", False)):
        changed, changes = try_thresholds.with_changes(version, [setting])
        found = list(try_thresholds.changed_sources(a_build(layout), version, changed, changes))
        assert any(one.percentiles["too_few_words"] for one in found) == has_some


def test_a_language_and_all_together_are_all(tmp_path):
    version = load_version(tiny.unbuilt(tmp_path), VersionKey("tiny", "v1"))
    changed, changes = try_thresholds.with_changes(version, ["de.prose.too_short=5", "prose.too_short=7"])
    assert changes == {"prose": {"too_short": None}}
    assert changed.language_thresholds("prose") == {"de": {"too_short": 5}}
    assert changed.thresholds("prose")["too_short"] == 7


def test_without_a_change_nothing_moves(tmp_path, capsys):
    said = tried(capsys, tiny.copy(tmp_path / "root"), "prose.too_few_words=8")
    assert all(one["moved"] == [] and one["kept"]["before"] == one["kept"]["after"] for one in said.values())


def test_it_writes_nothing(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    before = as_they_lie(layout.root)
    tried(capsys, layout, "too_few_words=30")
    assert as_they_lie(layout.root) == before


def test_what_site_lists_dropped_stays_dropped(tmp_path):
    layout = site_corpus.make(tmp_path / "root")
    version = load_version(layout, site_corpus.V3)
    changed, changes = try_thresholds.with_changes(version, ["too_short=100000"])
    found = {one.source: one for one in try_thresholds.changed_sources(a_build(layout), version, changed, changes)}
    shop = found["shop"]
    assert shop.kept_after == 0
    at_sites = {reason: shop.dropped(after=False)[reason] for reason in ("opt_out", "blocked_site")}
    assert at_sites == {"opt_out": 1, "blocked_site": 1}
    assert {reason: shop.dropped(after=True)[reason] for reason in at_sites} == at_sites


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(limit=st.integers(0, 60))
def test_documents_are_conserved_and_a_higher_minimum_never_keeps_more(limit):
    layout = tiny.built()
    version = load_version(layout, tiny.V1)
    kept = []
    for words in (limit, limit + 1):
        changed, changes = try_thresholds.with_changes(version, [f"too_few_words={words}"])
        found = list(try_thresholds.changed_sources(a_build(layout), version, changed, changes))
        assert all(sum(one.moved.values()) == one.documents for one in found)
        assert all(one.kept_after - one.kept_before == one.come_in - one.go_out for one in found)
        kept.append([one.kept_after for one in found])
    assert all(more >= less for more, less in zip(*kept, strict=True))


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("too_few_words", "expected"),
        ("gopher.min_words=30", "expected"),
        ("poetry.too_few_words=30", "a profile of prose, code, short"),
        ("xx.yy.too_few_words=30", "a language such as de"),
        ("prose.de.too_few_words=30", "a language such as de"),
        ("de.too_few_words=-1", "languages.de.prose.too_few_words"),
        ("too_few_words=many", "is no number"),
        ("too_few_words=-1", "profiles.prose.too_few_words"),
        ("too_few_words=1.5", "profiles.prose.too_few_words"),
    ],
)
def test_a_setting_that_is_none_is_refused_by_name(tmp_path, capsys, setting, said):
    with pytest.raises(ConfigError, match=said):
        tried(capsys, tiny.unbuilt(tmp_path), setting)


@pytest.mark.parametrize(
    "words",
    [
        ("too_few_words=5", "too_few_words=50"),
        ("prose.too_few_words=5", "too_few_words=5"),
        ("en.too_few_words=5", "en.prose.too_few_words=6"),
    ],
)
def test_a_limit_that_is_set_twice_is_refused(tmp_path, words):
    layout = tiny.copy(tmp_path / "root")
    with pytest.raises(ConfigError, match=f"--set {words[1]}: this limit is set before, too"):
        try_thresholds.with_changes(load_version(layout, tiny.V1), words)
    both = ("prose.too_few_words=5", "en.prose.too_few_words=6", "code.too_few_words=5")
    try_thresholds.with_changes(load_version(layout, tiny.V1), both)


def test_a_rule_whose_filter_is_not_configured_is_refused(tmp_path, capsys):
    layout = tiny.unbuilt(tmp_path)
    tiny.write_config(layout, filters=["length"])
    with pytest.raises(ConfigError, match="filter gopher is not among the filters"):
        tried(capsys, layout, "too_few_words=30")


def test_a_version_that_is_not_measured_says_what_to_do(tmp_path, capsys):
    with pytest.raises(ConfigError, match="materialize raw_fetch first"):
        tried(capsys, tiny.unbuilt(tmp_path), "too_few_words=30")


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href") and value]


def test_the_page_has_tables_and_plots_and_loads_nothing(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    out = tmp_path / "trial.html"
    words = ("config", "try", "tiny.v1", "--set", "too_few_words=30", "--out", str(out))
    assert command_line.run(config, layout.root, *words) == 0
    assert f"the page: {out}" in capsys.readouterr().out
    page = Page()
    page.feed(out.read_text("utf-8"))
    assert {"table", "svg", "polyline"} <= set(page.tags)
    assert "script" not in page.tags
    assert [link for link in page.links if not link.startswith(("#", "data:"))] == []


def test_what_comes_from_outside_is_escaped():
    evil = "<script>alert(1)</script>"
    one = SourceChange(evil, "prose", 1, 1, 0, 5, 0, {("kept", "too_short"): 1}, {"too_short": [1.0, 2.0]})
    assert "<script>" not in try_thresholds_page.render(tiny.V1, [evil], [one])


def test_people_see_a_line_a_source_and_what_moves(tmp_path, capsys):
    layout = tiny.copy(tmp_path / "root")
    assert command_line.run(config, layout.root, "config", "try", "tiny.v1", "--set", "too_few_words=31") == 0
    out = capsys.readouterr().out
    assert "    kept -> too_few_words: " in out
    assert "nothing was run" in out


def test_a_rule_that_is_none_is_told_with_the_one_that_was_meant(tmp_path):
    version = load_version(tiny.unbuilt(tmp_path), tiny.V1)
    with pytest.raises(ConfigError) as raised:
        try_thresholds.with_changes(version, ["too_few_wrds=80"])
    assert str(raised.value).endswith("too_few_wrds is no rule; did you mean too_few_words?")

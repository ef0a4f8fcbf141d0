import json

import pytest

from corpus_assets.commands import config as command
from corpus_assets.validation.corpus_config import load
from formats import ledger
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import VersionKey
from tests.commands.command_line import run
from tests.formats import ledger_rows

KEY = VersionKey("starter", "v1")


def new(root, *words):
    return run(command, root, "config", "new", "starter.v1", *words)


def test_a_new_config_holds_what_was_asked_for(tmp_path):
    assert new(tmp_path, "--sources", "web, no,1e3", "--allow", "mit,LicenseRef-A", "--notes", "no: 'yes'\n# ä 🦊") == 0
    config = load(Layout(tmp_path).config(KEY), KEY)
    assert (config.sources, config.licenses.allow) == (("1e3", "no", "web"), ("LicenseRef-A", "MIT"))
    assert config.notes == "no: 'yes'\n# ä 🦊"


def test_the_examples_in_a_new_config_are_right_when_they_are_taken_in(tmp_path):
    new(tmp_path, "--sources", "web", "--allow", "MIT")
    path = Layout(tmp_path).config(KEY)
    head, mark, examples = path.read_text("utf-8").partition("\n#\n")
    assert mark
    path.write_text(head + "\n" + "".join(line.removeprefix("# ") + "\n" for line in examples.splitlines()), "utf-8")
    config = load(path, KEY)
    assert config.lang.allow == ("de", "en")
    assert config.thresholds("prose")["too_few_words"] == 20


def test_a_source_that_would_be_stopped_is_noted(tmp_path, capsys):
    ledger.append(Layout(tmp_path).ledger, ledger_rows.row())
    new(tmp_path, "--sources", "fables,web", "--allow", "MIT")
    said = capsys.readouterr().err
    assert "source fables: licence CC-BY-4.0 is not allowed by starter.v1" in said
    assert "source web is not in the ledger, which has fables; add it with `corpus ledger add web …`" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sources", "x, x,x", "--allow", "MIT"], "--sources names x more than once; name each once"),
        (["--sources", "a,b,a,b", "--allow", "MIT"], "--sources names a, b more than once; name each once"),
        (["--sources", "x", "--allow", "MIT,MIT"], "--allow names MIT more than once; name each once"),
    ],
)
def test_a_name_given_twice_is_an_error_and_nothing_is_written(tmp_path, words, message):
    with pytest.raises(ConfigError) as raised:
        new(tmp_path, *words)
    assert str(raised.value) == message
    assert not Layout(tmp_path).config(KEY).exists()


def test_a_source_added_twice_to_a_copy_is_an_error_too(tmp_path):
    new(tmp_path, "--sources", "web", "--allow", "MIT")
    with pytest.raises(ConfigError, match="--add-source names x more than once"):
        run(command, tmp_path, "config", "new", "starter.v2", "--from", str(KEY), "--add-source", "x,x")
    assert not Layout(tmp_path).config(VersionKey("starter", "v2")).exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sources", "a b", "--allow", "MIT"], "sources[0]"),
        (["--sources", ",", "--allow", "MIT"], "sources: expected at least 1"),
        (["--sources", "web", "--allow", "MTI"], "did you mean MIT?"),
        (["--sources", "web", "--allow", "MIT OR ISC"], "list each by itself"),
        (["--sources", "web", "--allow", "MIT", "--notes", "bell \x07"], "notes: expected text"),
    ],
)
def test_a_config_that_would_be_wrong_is_not_written(tmp_path, words, message):
    with pytest.raises(ConfigError) as raised:
        new(tmp_path, *words)
    assert message in str(raised.value)
    assert not Layout(tmp_path).config(KEY).exists()


def test_a_config_that_is_there_is_never_overwritten(tmp_path):
    new(tmp_path, "--sources", "web", "--allow", "MIT")
    before = Layout(tmp_path).config(KEY).read_bytes()
    with pytest.raises(ConfigError, match="is there already"):
        new(tmp_path, "--sources", "books", "--allow", "MIT")
    assert Layout(tmp_path).config(KEY).read_bytes() == before


COMMENTED = """\
# the tale of this corpus
dataset: "starter"   # its name
version: v1  # the first
sources:
  # by hand
  - web   # all of it
  - books # some
# and the licences
licenses:
  allow: [MIT,
          ISC]  # no others
lang: {allow: [de]}
notes: |
  version: v1
"""
COPIED = """\
# the tale of this corpus
dataset: starter   # its name
version: v2  # the first
sources:
  # by hand
  - web   # all of it
  - books # some
  - '1e3'
# and the licences
licenses:
  allow: [MIT,
          ISC, Apache-2.0]  # no others
lang: {allow: [de]}
notes: |
  version: v1
"""


def copied(root, text, *words):
    path = Layout(root).config(KEY)
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")
    assert run(command, root, "config", "new", "starter.v2", "--from", "starter.v1", *words) == 0
    return path.with_name("v2.yaml").read_text("utf-8")


def test_a_copy_keeps_comments_and_takes_in_sources_and_licences(tmp_path):
    assert copied(tmp_path, COMMENTED, "--add-source", "1e3,web", "--allow", "apache-2.0,mit") == COPIED


def test_a_copy_has_every_rule_of_the_old_version_under_its_own_name(tmp_path):
    copied(tmp_path, COMMENTED)
    old, new = (load(Layout(tmp_path).config(VersionKey("starter", v)), VersionKey("starter", v)) for v in ("v1", "v2"))
    assert {**old.as_json(), "version": "v2"} == new.as_json()


def test_a_config_in_json_and_one_without_a_last_newline_are_copied_too(tmp_path):
    as_json = '{"dataset": "starter", "version": "v1", "licenses": {"allow": ["MIT"]}, "sources": ["web"]}'
    words = ("--add-source", "a,b")
    assert '"sources": ["web", a, b]' in copied(tmp_path / "json", as_json, *words)
    block = "dataset: starter\nversion: v1\nlicenses: {allow: [MIT,]}\nsources:\n- web"
    assert copied(tmp_path / "block", block, *words, "--allow", "ISC").endswith(
        "[MIT, ISC,]}\nsources:\n- web\n- a\n- b"
    )


def test_the_head_of_a_copied_config_names_the_copy(tmp_path):
    new(tmp_path, "--sources", "web", "--allow", "MIT")
    run(command, tmp_path, "config", "new", "other.v7", "--from", "starter.v1")
    text = Layout(tmp_path).config(VersionKey("other", "v7")).read_text("utf-8")
    assert "starter" not in text
    assert "--from other.v7" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected --sources and --allow, or --from"),
        (["--sources", "web"], "expected --sources and --allow, or --from"),
        (["--sources", "web", "--allow", "MIT", "--add-source", "a"], "expected --sources and --allow, or --from"),
        (["--from", "starter.v0"], "v0.yaml: is missing"),
        (["--from", "starter"], "has no dot"),
        (["--from", "good.v1", "--sources", "web"], "--sources and --notes go without --from"),
        (["--from", "good.v1", "--add-source", "a b"], "sources[1]"),
        (["--from", "good.v1", "--allow", "MTI"], "did you mean MIT?"),
        (["--from", "block.v1"], "version: expected a word"),
    ],
)
def test_a_copy_that_would_be_wrong_is_not_written(tmp_path, words, message):
    for name, version in (("good", "v1"), ("block", "|-\n  v1")):
        path = Layout(tmp_path).config(VersionKey(name, "v1"))
        path.parent.mkdir(parents=True)
        path.write_text(f"dataset: {name}\nsources: [web]\nlicenses: {{allow: [MIT]}}\nversion: {version}\n", "utf-8")
    with pytest.raises(ConfigError) as raised:
        new(tmp_path, *words)
    assert message in str(raised.value)
    assert not Layout(tmp_path).config(KEY).exists()


def test_show_says_where_each_setting_comes_from(tmp_path, capsys):
    new(tmp_path, "--sources", "web", "--allow", "MIT")
    capsys.readouterr()
    assert run(command, tmp_path, "config", "show", "starter.v1") == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()[2:]}
    assert lines["dataset"].endswith("line 4")
    assert lines["dedup.near.jaccard_threshold"].split()[1:] == ["0.8", "default"]


def test_show_says_the_limits_that_languages_have_of_their_own(tmp_path, capsys):
    path = tmp_path / "corpus/configs/starter/v1.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(
        "dataset: starter\nversion: v1\nsources: [web]\nlicenses: {allow: [CC0-1.0]}\nlang: {own_rules: true}\n"
        "languages: {de: {prose: {too_few_words: 12}}}\n"
    )
    assert run(command, tmp_path, "config", "show", "starter.v1") == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()[2:]}
    assert lines["languages.de.prose.too_few_words"].endswith("line 6")
    own = {name for name, line in lines.items() if line.endswith("the language's own")}
    config = load(path, KEY)
    general = config.thresholds("prose")
    assert {name for name in own if ".prose." in name} == {
        f"languages.{code}.prose.{reason}"
        for code, limits in config.language_thresholds("prose").items()
        for reason, limit in limits.items()
        if limit != general[reason] and (code, reason) != ("de", "too_few_words")
    }
    assert len({name.split(".")[1] for name in own}) >= 12
    run(command, tmp_path, "config", "show", "starter.v1", "--json")
    said = json.loads(capsys.readouterr().out)
    assert said["language_thresholds"]["prose"] == config.language_thresholds("prose")


def test_show_says_that_bands_miss_the_threshold(tmp_path, capsys):
    path = tmp_path / "corpus/configs/starter/v1.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(
        "dataset: starter\nversion: v1\nsources: [web]\nlicenses: {allow: [CC0-1.0]}\n"
        "dedup: {near: {jaccard_threshold: 0.7}}\n"
    )
    assert run(command, tmp_path, "config", "show", "starter.v1") == 0
    assert "note: dedup.near: 16 bands of 8 rows compare 61.3% of the pairs" in capsys.readouterr().err


def test_show_as_json_has_settings_origins_and_thresholds(tmp_path, capsys):
    new(tmp_path, "--sources", "web", "--allow", "MIT")
    capsys.readouterr()
    run(command, tmp_path, "config", "show", "starter.v1", "--json")
    said = json.loads(capsys.readouterr().out)
    config = load(Layout(tmp_path).config(KEY), KEY)
    assert said["settings"] == config.as_json()
    assert said["config_sha256"] == config.config_sha256
    assert said["from_file"] == ["dataset", "version", "sources", "licenses.allow"]
    assert said["thresholds"]["prose"] == config.thresholds("prose")


def test_a_version_that_is_no_key_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="has no dot"):
        run(command, tmp_path, "config", "show", "starter")

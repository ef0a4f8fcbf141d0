from pathlib import Path

import pytest

from corpus_assets.validation.corpus_config import discover, load
from formats import corpus_config
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import VersionKey

KEY = VersionKey("starter", "v2")
LEAST = "dataset: starter\nversion: v2\nsources: [web]\nlicenses: {allow: [MIT]}\n"


def write(root: Path, text: str, name: str = "starter/v2.yaml") -> Path:
    path = Layout(root).configs / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_a_config_is_read_from_its_file(tmp_path):
    config = load(write(tmp_path, LEAST + "lang: {allow: [nb, de]}\nshard_rows: 50_000\n"), KEY)
    assert (config.key, config.lang.allow, config.shard_rows) == (KEY, ("de", "nb"), 50_000)


def test_the_example_of_the_specification_is_right_and_has_the_hash_it_says(tmp_path):
    text = (Path(corpus_config.__file__).parent / "corpus_config.md").read_text("utf-8")
    example = text.partition("```yaml\n")[2].partition("```")[0]
    assert f"`{load(write(tmp_path, example), KEY).config_sha256}`" in text


def test_comments_and_layout_do_not_change_the_hash(tmp_path):
    plain = load(write(tmp_path, LEAST), KEY)
    other = "# why\nsources:\n  - web  # all of it\nlicenses:\n  allow: ['MIT']\nversion: \"v2\"\ndataset: starter\n"
    assert load(write(tmp_path, other), KEY) == plain


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("- web\n", "line 1: expected an object"),
        (LEAST.replace("v2", "v3"), "line 2: version: is v3, but the file lies at configs/starter/v2.yaml; write v2"),
        (LEAST.replace("starter", "other"), "line 1: dataset: is other"),
        (LEAST.replace("v2", "2"), "line 2: version: expected a name [a-z0-9][a-z0-9_-]*, found 2; put it in quotes"),
        (LEAST.replace("MIT", "MTI"), "line 4: licenses.allow: 'MTI'"),
        (LEAST.replace("MIT", "MIT OR ISC"), "more than one licence"),
        (LEAST + "pii: {phone_regions: [GB, UK]}\n", "line 5: pii.phone_regions: UK is no country"),
        (
            LEAST + "lang: {allow: [no]}\n",
            "line 5: lang.allow[0]: expected an ISO 639-1 code or und, found 'no', which no document is found to be in"
            "; did you mean nb?",
        ),
        (LEAST + "dedup:\n  near:\n    treshold: 1\n", "line 7: dedup.near.treshold: unknown setting"),
        (LEAST + "shard_rows: yes\n", "line 5: shard_rows: expected a whole number"),
        (
            LEAST + "dedup: {near: {jaccard_threshold: .nan}}\n",
            "line 5: dedup.near.jaccard_threshold: expected a number",
        ),
    ],
)
def test_a_wrong_config_is_refused_with_path_line_and_setting(tmp_path, text, words):
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as raised:
        load(path, KEY)
    assert all(line.startswith(f"{path}: ") for line in str(raised.value).splitlines())
    assert words in str(raised.value)


def test_a_missing_config_says_how_to_write_one(tmp_path):
    with pytest.raises(ConfigError, match="write it with `corpus config new starter"):
        load(Layout(tmp_path).config(KEY), KEY)


def test_versions_are_found_in_order_and_token_sets_are_none(tmp_path):
    for name in ("starter/v2.yaml", "starter/v10.yaml", "code/v1.yaml", "starter/v2.gpt2.yaml", "starter/.v3.yaml.swp"):
        write(tmp_path, LEAST, name)
    write(tmp_path, "notes", "starter/README.md")
    found, wrong = discover(Layout(tmp_path))
    assert [str(key) for key in found] == ["code.v1", "starter.v10", "starter.v2"]
    assert not wrong
    assert discover(Layout(tmp_path / "nowhere")) == ({}, [])


@pytest.mark.parametrize(
    "name", ["starter/V1.yaml", "starter/v1.yml", "raw/v1.yaml", "My Data/v1.yaml", "a/v1.b.c.yaml"]
)
def test_a_file_whose_place_names_no_version_is_not_passed_over(tmp_path, name):
    path = write(tmp_path, LEAST, name)
    good = write(tmp_path, LEAST, "good/v1.yaml")
    found, wrong = discover(Layout(tmp_path))
    assert list(found.values()) == [good]
    assert [words.startswith(f"{path}: ") for words in wrong] == [True]

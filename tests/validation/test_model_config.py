from pathlib import Path

import pytest

from corpus_assets.validation import json_schema
from corpus_assets.validation.model_config import discover, load
from formats import model_config
from formats.errors import ConfigError
from formats.layout import Layout

LEAST = "model: good\nkind: quality\nversion: starter.v1\npositive: [books]\nnegative: [web]\n"
FLUENT = "model: good\nkind: perplexity\nversion: starter.v1\npositive: [books]\nlang: en\n"


def write(root: Path, text: str, name: str = "good.yaml") -> Path:
    path = Layout(root).models / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_a_model_is_read_from_its_file(tmp_path):
    config = load(write(tmp_path, LEAST + "seed: 7\n"), "good")
    assert (config.kind, config.positive, config.negative, config.seed) == ("quality", ("books",), ("web",), 7)
    assert (config.sources, config.chars) == (("books", "web"), 50_000_000)
    assert load(write(tmp_path, FLUENT + "max_chars: 9\n"), "good").chars == 9


def test_the_example_of_the_specification_is_right(tmp_path):
    text = (Path(model_config.__file__).parent / "model_config.md").read_text("utf-8")
    path = write(tmp_path, text.partition("```yaml\n")[2].partition("```")[0], "good-prose.yaml")
    assert load(path, "good-prose").lang == "en"


def test_comments_and_layout_do_not_change_the_hash(tmp_path):
    plain = load(write(tmp_path, LEAST), "good")
    assert load(write(tmp_path, "# why\n" + "\n".join(reversed(LEAST.splitlines())) + "\n"), "good") == plain
    assert load(write(tmp_path, LEAST + "seed: 2\n"), "good").config_sha256 != plain.config_sha256


WRONG = {
    "nothing": ("", "is empty"),
    "a list": ("- web\n", "line 1: expected an object"),
    "another name": (LEAST.replace("good", "bad"), "line 1: model: is bad, but the file is good.yaml"),
    "another kind": (LEAST.replace("quality", "beauty"), "line 2: kind: expected one of quality, safety, perplexity"),
    "no version": (LEAST.replace("starter.v1", "starter"), "line 3: version: expected <dataset>.<version>"),
    "a reserved dataset": (LEAST.replace("starter.v1", "raw.v1"), "line 3: version: dataset 'raw' is reserved"),
    "no negative": (LEAST.replace("negative: [web]\n", ""), "negative: a classifier needs sources"),
    "both sides": (LEAST.replace("[web]", "[books, web]"), "line 5: negative: books cannot be both"),
    "negative of a language model": (FLUENT + "negative: [web]\n", "line 6: negative: a language model"),
    "no language": (FLUENT.replace("lang: en\n", ""), "lang: a language model is of one language"),
    "nothing to read": (LEAST + "max_chars: 0\n", "line 6: max_chars: expected a whole number >= 1"),
    "a slip": (LEAST + "sed: 1\n", "sed: unknown setting"),
}
BEYOND_A_SCHEMA = ("nothing", "another name", "a reserved dataset", "no negative", "both sides",
                   "negative of a language model", "no language")  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_model_is_refused_with_path_line_and_setting(tmp_path, name):
    text, words = WRONG[name]
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as raised:
        load(path, "good")
    assert all(line.startswith(f"{path}: ") for line in str(raised.value).splitlines())
    assert words in str(raised.value)


@pytest.mark.parametrize("name", [name for name in WRONG if name not in BEYOND_A_SCHEMA])
def test_the_schema_refuses_what_the_reader_refuses(tmp_path, name):
    from corpus_assets.validation import plain_yaml

    assert json_schema.problems("model-config.schema.json", plain_yaml.read(write(tmp_path, WRONG[name][0])).value)


def test_a_missing_file_says_where_its_settings_are_explained(tmp_path):
    with pytest.raises(ConfigError, match=r"good.yaml: is missing; .*formats/model_config.md"):
        load(Layout(tmp_path).model_config("good"), "good")


def test_configs_are_found_beside_what_was_trained_and_misnamed_ones_are_told(tmp_path):
    for name in ("good.yaml", "Bad.yaml", "other.yml", "good.json", "mine.bin", ".good.yaml.swp"):
        write(tmp_path, LEAST, name)
    found, broken = discover(Layout(tmp_path))
    assert list(found) == ["good"]
    assert [Path(words.partition(": ")[0]).name for words in broken] == ["Bad.yaml", "other.yml"]
    assert discover(Layout(tmp_path / "nowhere")) == ({}, [])


def test_a_model_of_safety_is_a_classifier_and_needs_both_sides(tmp_path):
    text = LEAST.replace("quality", "safety")
    assert load(write(tmp_path, text), "good").kind == "safety"
    with pytest.raises(ConfigError, match="negative: a classifier needs sources"):
        load(write(tmp_path, text.replace("negative: [web]\n", "")), "good")

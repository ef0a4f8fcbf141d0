from pathlib import Path

import pytest

from corpus_assets.validation import corpus_config
from corpus_assets.validation.token_config import discover, load, place_of
from formats import token_config
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import TokensKey, VersionKey

KEY = TokensKey(VersionKey("starter", "v2"), "gpt2-4k")
LEAST = (
    "tokens: gpt2-4k\n"
    f"tokenizer: {{path: gpt2.json, sha256: {'ab' * 32}}}\n"
    "end_of_document: <|endoftext|>\n"
    "seq_len: 4096\n"
)


def write(root: Path, text: str, name: str = "starter/v2.gpt2-4k.yaml") -> Path:
    path = Layout(root).configs / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_a_token_set_is_read_from_its_file(tmp_path):
    config = load(write(tmp_path, LEAST + "buckets: {all: [web, books]}\npacking: best_fit\n"), KEY)
    assert (config.tokens, config.seq_len, config.packing) == ("gpt2-4k", 4096, "best_fit")
    assert config.bucket_of("web", "own") == "all"
    assert config.bucket_of("code", "own") == "own"
    assert config.key(KEY.version) == KEY


def test_the_example_of_the_specification_is_right(tmp_path):
    text = (Path(token_config.__file__).parent / "token_config.md").read_text("utf-8")
    assert load(write(tmp_path, text.partition("```yaml\n")[2].partition("```")[0]), KEY).seq_len == 4096


def test_comments_and_layout_do_not_change_the_hash(tmp_path):
    plain = load(write(tmp_path, LEAST), KEY)
    other = "# why\n" + "\n".join(reversed(LEAST.splitlines())) + "\n"
    assert load(write(tmp_path, other), KEY) == plain
    assert load(write(tmp_path, LEAST + "seed: 0\n"), KEY).config_sha256 != plain.config_sha256  # as it is written


@pytest.mark.parametrize(("text", "words"), [
    ("", "is empty"),
    ("- web\n", "line 1: expected an object"),
    (LEAST.replace("gpt2-4k", "gpt2-8k"), "line 1: tokens: is gpt2-8k, but the file lies at configs/starter/v2.gpt2"),
    (LEAST.replace("4096", "0"), "line 4: seq_len: expected a whole number from 1"),
    (LEAST.replace("seq_len: 4096", "seqlen: 4096"), "seqlen: unknown setting"),
    (LEAST.replace("seq_len: 4096\n", ""), "seq_len"),
    (LEAST.replace("ab" * 32, "abc"), "line 2: tokenizer.sha256: expected 64 lower-case hex digits"),
    (LEAST + "packing: greedy\n", "line 5: packing: expected one of concat, best_fit"),
    (LEAST + "buckets:\n  all: [web]\n  rest: [web]\n", "line 7: buckets.rest: web is in all already"),
    (LEAST + "seed: &a 1\n", "line 5: anchors"),
    (LEAST + "seed: 1\nseed: 2\n", "line 6: seed is there twice"),
    (LEAST + "pad: !!python/object:os.system {}\n", "line 5: the tag"),
])  # fmt: skip
def test_a_wrong_token_set_is_refused_with_path_line_and_setting(tmp_path, text, words):
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as raised:
        load(path, KEY)
    assert all(line.startswith(f"{path}: ") for line in str(raised.value).splitlines())
    assert words in str(raised.value)


def test_a_missing_file_says_where_its_settings_are_explained(tmp_path):
    with pytest.raises(ConfigError, match=r"v2.gpt2-4k.yaml: is missing; .*formats/token_config.md"):
        load(Layout(tmp_path).token_config(KEY), KEY)


def test_token_sets_and_versions_are_never_taken_for_one_another(tmp_path):
    names = (
        "starter/v2.yaml",
        "starter/v2.gpt2.yaml",
        "starter/v10.a.yaml",
        "code/v1.z.yaml",
        "starter/.v3.b.yaml.swp",
    )
    for name in names:
        write(tmp_path, LEAST, name)
    layout = Layout(tmp_path)
    assert [str(key) for key in discover(layout)] == ["code.v1.z", "starter.v10.a", "starter.v2.gpt2"]
    assert [str(key) for key in corpus_config.discover(layout)[0]] == ["starter.v2"]
    assert discover(Layout(tmp_path / "nowhere")) == {}


@pytest.mark.parametrize(
    "name", ["starter/v1.T.yaml", "starter/v1.a.b.yaml", "raw/v1.a.yaml", "a.b/v1.yaml", "a/v1.b.yml"]
)
def test_a_file_whose_place_names_no_token_set_is_told_of_once(tmp_path, name):
    path = write(tmp_path, LEAST, name)
    assert discover(Layout(tmp_path)) == {}
    assert [words.startswith(f"{path}: ") for words in corpus_config.discover(Layout(tmp_path))[1]] == [True]


def test_the_place_of_a_setting_is_its_line(tmp_path):
    path = write(tmp_path, LEAST)
    assert place_of(path, "end_of_document") == f"{path}: line 3: end_of_document"
    assert place_of(path, "pad") == f"{path}: line 1: pad"  # it is not there: the line of the whole

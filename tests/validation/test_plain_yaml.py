import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpus_assets.validation import plain_yaml
from formats.errors import ConfigError


def read(tmp_path: Path, text: str | bytes) -> plain_yaml.Document:
    path = tmp_path / "v1.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return plain_yaml.read(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("on", "on"), ("2024-01-01", "2024-01-01"), ("12:30", "12:30"), ("0x10", "0x10"),
        ("1.2.3", "1.2.3"),
        ("true", True), ("False", False), ("'true'", "true"), ("null", None), ("~", None), ("", None), ('""', ""),
        ("50_000", 50_000), ("-7", -7), ("007", 7), ("0.8", 0.8), ("1e-3", 0.001), (".5", 0.5), ("5.", 5.0),
        (".nan", ".nan"), (".inf", ".inf"), ("|\n  a\n  b", "a\nb"), ("[1, [a]]", [1, ["a"]]), ("{a: {}}", {"a": {}}),
    ],
)  # fmt: skip
def test_a_value_is_read_as_the_plain_core_of_yaml(tmp_path, text, value):
    found = read(tmp_path, f"x: {text}").value["x"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: &x 1", "line 2: anchors (&) and aliases (*) are not allowed"),
        ("a: 1\nb: *x", "line 2: anchors (&) and aliases (*) are not allowed"),
        ("a: !!python/object/apply:os.getcwd []", "line 1: the tag"),
        ("a: !!set {b}", "line 1: the tag"),
        ("a: 1\nb:\n  c: 1\n  c: 2", "line 4: c is there twice"),
        ("? [a]\n: 1", "line 1: a key must be a word"),
        ("a: 1\n---\nb: 1", "line 2: a second document"),
        ("a: [1\nb: 2", "is not YAML"),
        ("a: b: c", "line 1: is not YAML"),
        ("a:\n\t- b", "line 2: is not YAML"),
        ("[" * 100_000, "line 1: nested more than 20 deep"),
        ("\n".join(" " * i + "a:" for i in range(40)), "line 21: nested more than 20 deep"),
        ("a: \x01", "is not YAML"),
        (b"a: \xff", "is not UTF-8 at byte 3"),
        ("a: " + "x" * 1024 * 1024, "expected at most 1048576"),
    ],
)
def test_what_is_not_the_plain_core_is_refused_with_its_line(tmp_path, text, words):
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, text)
    assert str(raised.value).startswith(f"{tmp_path / 'v1.yaml'}: ")
    assert words in str(raised.value)


def test_a_missing_file_is_a_config_error(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        plain_yaml.read(tmp_path / "v1.yaml")


def test_every_setting_has_its_line_and_a_missing_one_that_around_it(tmp_path):
    found = read(tmp_path, "a: 1\nb:\n  c:\n    - x\n    - {d: 2}\n")
    assert found.lines == {"": 1, "a": 1, "b": 2, "b.c": 3, "b.c[0]": 4, "b.c[1]": 5, "b.c[1].d": 5}
    assert [found.line_of(path) for path in ("b.c[1].e", "b.c[7]", "b.z", "zzz")] == [5, 3, 2, 1]


CHARACTERS = st.characters(codec="utf-8", exclude_characters="\x85\u2028\u2029")  # the library writes these bare
TEXTS = st.text(CHARACTERS, max_size=20) | st.text("0123456789eE+-._~:", max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcXY -", min_size=1), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text("abc", min_size=1), JSON, max_size=4))
@example({"a": ["0E0", "09", "1_0", "no", "~", "", "null", "1e400", "12:30", "=", "<<"]})
def test_what_is_written_is_read_back(tmp_path_factory, value):
    folder = tmp_path_factory.mktemp("yaml")
    assert json.dumps(read(folder, plain_yaml.write(value)).value) == json.dumps(value)

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.validation import json_schema, plain_yaml
from corpus_assets.validation.fetch_rules import VARIABLE, load, of_machine
from formats import fetch_rules
from formats.errors import ConfigError
from formats.fetch_rules import AccessRules, FetchRules
from formats.json_tables import table
from formats.layout import Layout


def write(folder: Path, text: str) -> Path:
    path = Layout(folder).fetch_rules
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_the_example_of_the_specification_is_read(tmp_path):
    text = (Path(fetch_rules.__file__).parent / "fetch_rules.md").read_text("utf-8")
    assert load(write(tmp_path, text.partition("```yaml\n")[2].partition("```")[0])) == FetchRules(
        {"forum": AccessRules(2.0, 1, 5_000_000, authorization_from="FORUM_TOKEN")},
        {"data.example.org": AccessRules(10.0, user_from="EX_USER", password_from="EX_PASSWORD")},
    )


@pytest.mark.parametrize(
    ("written", "num_bytes"), [("1", 1), ("500kB", 500_000), ("64MiB", 2**26), ("2 GB", 2 * 10**9)]
)
def test_bytes_have_units(tmp_path, written, num_bytes):
    rules = load(write(tmp_path, f"sources: {{forum: {{bytes_per_second: {written}}}}}\n"))
    assert rules.sources["forum"].bytes_per_second == num_bytes


def test_the_file_is_the_roots_or_the_one_that_is_named(tmp_path, monkeypatch):
    layout = Layout(tmp_path / "root")
    monkeypatch.delenv(VARIABLE, raising=False)
    assert of_machine(layout) == FetchRules()
    write(layout.root, "hosts: {a.org: {connections: 1}}\n")
    assert of_machine(layout).hosts == {"a.org": AccessRules(connections=1)}
    other = tmp_path / "mine.yaml"
    monkeypatch.setenv(VARIABLE, str(other))
    with pytest.raises(ConfigError, match=rf"mine\.yaml: {VARIABLE} names it and it is missing"):
        of_machine(layout)
    other.write_text("# nothing yet\n")
    assert of_machine(layout) == FetchRules()


WRONG = {
    "a list": ("- forum\n", "line 1: expected an object of sources, hosts"),
    "a slip": (
        "sources:\n  forum:\n    request_per_second: 2\n",
        "line 3: sources.forum.request_per_second: unknown setting; did you mean requests_per_second?",
    ),
    "a slip above": ("source:\n  forum: {}\n", "line 1: source: unknown setting; did you mean sources?"),
    "no source": ("sources:\n  A Forum: {}\n", "line 2: sources.A Forum: expected a name"),
    "a url": ("hosts:\n  https://a.org: {}\n", "line 2: hosts.https://a.org: expected a host"),
    "never": ("hosts:\n  a.org:\n    requests_per_second: 0\n", "line 3: hosts.a.org.requests_per_second: expected"),
    "no connection": ("sources: {forum: {connections: 0}}\n", "connections: expected a whole number from 1 to 1000"),
    "no unit": ("sources: {forum: {bytes_per_second: 5 fish}}\n", "expected bytes, such as 500kB, 5MB or 64MiB"),
    "both": (
        "sources: {forum: {authorization_from: A, user_from: B}}\n",
        "authorization_from: stands beside user_from or password_from",
    ),
    "half": ("sources: {forum: {password_from: A}}\n", "password_from: is without user_from"),
}
BEYOND_A_SCHEMA = ("both", "half")


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_with_path_line_and_setting(tmp_path, name):
    path = write(tmp_path, WRONG[name][0])
    with pytest.raises(ConfigError) as raised:
        load(path)
    assert str(raised.value).startswith(f"{path}: line ")
    assert WRONG[name][1] in str(raised.value)


@pytest.mark.parametrize("name", [name for name in WRONG if name not in BEYOND_A_SCHEMA])
def test_the_schema_refuses_what_the_reader_refuses(tmp_path, name):
    assert json_schema.problems("fetch-rules.schema.json", plain_yaml.read(write(tmp_path, WRONG[name][0])).value)


@pytest.mark.parametrize("line", ["authorization_from: Bearer hunter2", "authorization: hunter2", "user_from: hunter2"])
def test_a_secret_in_the_place_of_its_variables_name_is_refused_and_not_repeated(tmp_path, line):
    with pytest.raises(ConfigError, match=r"line 3: hosts\.a\.org\.") as raised:
        load(write(tmp_path, f"hosts:\n  a.org:\n    {line}\n"))
    assert "hunter2" not in str(raised.value)


CELLS = st.none() | st.booleans() | st.integers(-1, 2_000) | st.sampled_from(
    [0.5, 1e-9, "", "A", "a", "TOKEN_1", "1A", "5MB", "5 MB", "05MB", "MB", "5MB\n", [], {}]
)  # fmt: skip


@given(st.sampled_from(sorted(table(AccessRules).kinds)), CELLS)
def test_reader_and_schema_agree_on_any_setting(key, cell):
    document = {"sources": {"forum": {key: cell}}}
    found = [words for _, words in fetch_rules.problems(document) if "is without user_from" not in words]
    assert bool(json_schema.problems("fetch-rules.schema.json", document)) == bool(found)

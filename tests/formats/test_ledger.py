import json
import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats import ledger, ledger_lines, ledger_urls
from formats.errors import ConfigError
from formats.ledger import LedgerFile, Violation
from tests.formats import ledger_rows
from tests.formats.ledger_rows import WRONG, WRONG_BEYOND_SCHEMA, row, value

EVERY_WRONG = {**WRONG, **WRONG_BEYOND_SCHEMA}


def write(path: Path, *lines: bytes | dict) -> Path:
    path.write_bytes(b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines))
    return path


@pytest.mark.parametrize("name", EVERY_WRONG)
def test_a_wrong_row_is_named_by_line_and_field(tmp_path, name):
    wrong, field, words = EVERY_WRONG[name]
    path = write(tmp_path / "LEDGER.jsonl", value(source_id="first"), wrong)
    found = ledger.violations(path)
    assert [(v.line, v.field) for v in found] == [(2, field)]
    assert words in found[0].message
    with pytest.raises(ConfigError) as raised:
        ledger.read(path)
    assert f"LEDGER.jsonl line 2: field {field}: " in str(raised.value)


BROKEN_LINES = {
    "byte order mark": (b"\xef\xbb\xbf{}\n", "byte order mark"),
    "not UTF-8": (b'{"title": "\xff"}\n', "not UTF-8 at byte 11"),
    "UTF-16": ('{"a": 1}'.encode("utf-16-le") + b"\n", "not JSON"),
    "empty line": (b"\n", "is empty"),
    "white space": (b" \t\r\n", "is empty"),
    "cut off": (b'{"source_id": "we', "not JSON at column"),
    "two objects": (b"{} {}\n", "not JSON at column 4"),
    "NaN": (b'{"source_rank": NaN}\n', "holds NaN"),
    "infinity": (b'{"source_rank": -Infinity}\n', "holds -Infinity"),
    "5000 digits": (b'{"source_rank": ' + b"9" * 5000 + b"}\n", "thousands of digits"),
    "10 MB of brackets": (b"[" * 10_000_000 + b"\n", "nested too deeply"),
    "10 MB of objects": (b'{"a":' * 2_000_000 + b"\n", "nested too deeply"),
    "a list": (b"[1]\n", "expected an object"),
    "null": (b"null\n", "expected an object"),
}


@pytest.mark.parametrize("name", BROKEN_LINES)
def test_a_line_that_is_no_object_is_a_violation_of_that_line(tmp_path, name):
    broken, words = BROKEN_LINES[name]
    found = ledger.violations(write(tmp_path / "LEDGER.jsonl", value(), broken))
    assert [(v.line, v.field) for v in found] == [(2, "")]
    assert words in found[0].message


def test_every_violation_of_every_line_is_named(tmp_path):
    path = write(
        tmp_path / "LEDGER.jsonl",
        value(kind="doc", retrieved="today"),
        b"{\n",
        value(source_id="second", files=[ledger_rows.file(sha256=1, bytes=-2)]),
    )
    places = [(v.line, v.field) for v in ledger.violations(path)]
    assert places == [(1, "kind"), (1, "retrieved"), (2, ""), (3, "files[0].sha256"), (3, "files[0].bytes")]


def test_a_key_that_is_there_twice_is_named_together_with_what_else_is_wrong(tmp_path):
    text = json.dumps(value(kind="doc")).replace('"title"', '"bucket": "x", "title"', 1)
    found = ledger.violations(write(tmp_path / "LEDGER.jsonl", text.encode() + b"\n"))
    assert [(v.field, v.message.split(";")[0]) for v in found[:1]] == [("bucket", "is there twice")]
    assert found[1].field == "kind"


def test_a_repeated_source_names_the_line_of_the_first(tmp_path):
    found = ledger.violations(write(tmp_path / "LEDGER.jsonl", value(), value(source_id="other"), value()))
    assert found == [Violation(3, "source_id", "'fables' is the source of line 1 already; a source has one row")]


@pytest.mark.parametrize("make", [Path.exists, Path.mkdir])
def test_a_missing_or_unreadable_ledger_is_one_violation_of_the_file(tmp_path, make):
    make(tmp_path / "LEDGER.jsonl")
    found = ledger.violations(tmp_path / "LEDGER.jsonl")
    assert [(v.line, v.field) for v in found] == [(0, "")]
    with pytest.raises(ConfigError, match=r"LEDGER\.jsonl"):
        ledger.read(tmp_path / "LEDGER.jsonl")


def test_rows_come_in_the_order_of_the_file_and_files_in_the_order_of_their_urls(tmp_path):
    path = write(tmp_path / "LEDGER.jsonl", value(source_id="b"), value(source_id="a"))
    rows = ledger.read(path)
    assert [r.source_id for r in rows] == ["b", "a"]
    assert [f.url for f in rows[0].files] == ["b.jsonl", "https://example.org/a.jsonl.gz"]


@given(st.permutations(["a", "b", "c/d"]), st.permutations(list(value())))
def test_the_digest_does_not_depend_on_the_order_of_files_or_keys(urls, keys):
    one = value(files=[ledger_rows.file(url) for url in sorted(urls)])
    other = {key: value(files=[ledger_rows.file(url) for url in urls])[key] for key in keys}
    assert ledger.from_json(other).digest == ledger.from_json(one).digest


def test_writing_a_default_out_does_not_change_the_digest():
    assert (
        row(source_rank=100, fields={"text": "text"}, files=[ledger_rows.file(bytes=10.0)]).digest
        == row(files=[ledger_rows.file()]).digest
    )


@pytest.mark.parametrize(
    "change",
    [
        {"license_spdx": "MIT"},
        {"retrieved": "2026-11-29"},
        {"source_rank": 1},
        {"fields": {"text": "body"}},
        {"container": "tar"},
        {"files": [ledger_rows.file("b.jsonl", "00" * 32)]},
    ],
)
def test_every_change_of_content_changes_the_digest(change):
    assert row(**change).digest != row().digest


@pytest.mark.parametrize("more", [{}, {"source_rank": 7, "container": "zip", "fields": {"url": "u", "license": "l"}}])
def test_a_row_comes_back_from_its_json(more):
    assert ledger.from_json(json.loads(json.dumps(ledger.to_json(row(**more))))) == row(**more)


def test_the_example_of_the_specification_is_right_and_has_the_digest_it_says():
    text = (Path(ledger.__file__).parent / "ledger.md").read_text("utf-8")
    example = ledger.from_json(json.loads(text.partition("```json\n")[2].partition("\n```")[0]))
    assert f"digest `{example.digest}`" in text


def test_every_field_of_a_row_is_in_the_specification():
    text = (Path(ledger.__file__).parent / "ledger.md").read_text("utf-8")
    for name in (*ledger.table(ledger.LedgerRow).kinds, *ledger.table(LedgerFile).kinds):
        assert f"`{name}`" in text or f"`files[].{name}`" in text


def test_a_row_that_is_not_found_may_be_the_line_that_is_broken(tmp_path):
    path = write(tmp_path / "LEDGER.jsonl", value(source_id="other"), bytes(40))
    with pytest.raises(ConfigError) as told:
        ledger.find(path, "web")
    first, second = str(told.value).splitlines()
    assert first.startswith("LEDGER.jsonl: 0 rows of source web, expected 1; add it")
    assert second.startswith("LEDGER.jsonl line 2")


def test_rows_of_many_sources_are_found_by_reading_the_file_through_once_and_a_change_is_seen(tmp_path, monkeypatch):
    names = [f"source-{number}" for number in range(40)]
    path = write(tmp_path / "LEDGER.jsonl", *[value(source_id=name) for name in names])
    parsed, whole = [], ledger_lines.parse
    monkeypatch.setattr(ledger_lines, "parse", lambda line: (parsed.append(line), whole(line))[1])
    assert [ledger.find(path, name)["source_id"] for name in names] == names
    assert len(parsed) == 2 * len(names)
    write(path, *[value(source_id=name, title="Another title") for name in names])
    assert {ledger.find(path, name)["title"] for name in names} == {"Another title"}


def test_append_adds_one_row_and_keeps_the_bytes_before_it(tmp_path):
    path = tmp_path / "corpus" / "LEDGER.jsonl"
    ledger.append(path, row())
    before = path.read_bytes().rstrip(b"\n")
    path.write_bytes(before)
    ledger.append(path, row(source_id="second"))
    assert path.read_bytes().startswith(before + b"\n")
    assert ledger.read(path) == [row(), row(source_id="second")]
    assert sorted(p.name for p in path.parent.iterdir()) == ["LEDGER.jsonl"]


@pytest.mark.parametrize(
    ("lines", "new", "words"),
    [
        ([value()], {}, "has a source fables already"),
        ([b"{\n"], {"source_id": "new"}, "line 1: is not JSON"),
        ([value()], {"source_id": "new", "files": (LedgerFile("a", "5e", 1),)}, "files\\[0\\].sha256"),
        ([value()], {"source_id": "raw"}, "reserved"),
    ],
)
def test_append_leaves_the_ledger_as_it_was_when_it_refuses(tmp_path, lines, new, words):
    path = write(tmp_path / "LEDGER.jsonl", *lines)
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=words):
        ledger.append(path, ledger.LedgerRow(**{**vars(row()), **new}))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["LEDGER.jsonl"]


def test_append_writes_through_a_link_to_the_ledger(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "LEDGER.jsonl").symlink_to("real/LEDGER.jsonl")
    ledger.append(tmp_path / "LEDGER.jsonl", row())
    assert (tmp_path / "LEDGER.jsonl").is_symlink()
    assert ledger.read(tmp_path / "real" / "LEDGER.jsonl") == [row()]


def _append_ten(path: Path, writer: int) -> None:
    for i in range(10):
        ledger.append(path, row(source_id=f"w{writer}-{i}"))


def test_rows_of_two_writers_at_once_are_all_kept(tmp_path):
    path = tmp_path / "LEDGER.jsonl"
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_append_ten, args=(path, writer)) for writer in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert sorted(r.source_id for r in ledger.read(path)) == sorted(f"w{w}-{i}" for w in range(2) for i in range(10))


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("a/b.txt", "/store/corpus/a/b.txt"),
        ("../in/b c.txt", "/store/in/b c.txt"),
        ("/data/100%25.txt", "/data/100%25.txt"),
        ("file:///data/a%20b.txt", "/data/a b.txt"),
        ("http://example.org/a", None),
        ("https://example.org/a", None),
    ],
)
def test_a_url_without_network_scheme_is_a_place_on_this_machine(url, path):
    assert ledger_urls.resolve_local(Path("/store/corpus/LEDGER.jsonl"), url) == (Path(path) if path else None)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["files", "url", "sha256", "bytes", "kind", "fields", "x"]), inner, max_size=3
            )
        ),
        max_leaves=8,
    )
)
def test_no_json_value_makes_the_check_raise(found):
    for wrong in (found, value(files=found), value(fields=found), {**value(), "title": found}):
        assert ledger.problems(wrong) or ledger.from_json(wrong)

import gzip
import hashlib
import io
import json
import os
import re
import stat
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpus_assets import cli
from corpus_assets.commands import ledger as command
from corpus_assets.commands import measure
from corpus_assets.commands.found_files import named
from formats import ledger, ledger_urls
from formats.errors import ConfigError, TransientError
from formats.layout import Layout
from tests.commands.command_line import run
from tests.commands.ledger_roots import TEXT, add, only_row, server, with_files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return with_files(tmp_path / "root")


def test_adding_a_folder_measures_every_file_below_it_that_is_not_hidden(root):
    assert add(root, "fables", root / "in", "--kind", "text") == 0
    row = only_row(root)
    expected = {"url": "../in/a.txt", "sha256": hashlib.sha256(TEXT).hexdigest(), "bytes": len(TEXT)}
    assert ledger.to_json(row)["files"][0] == expected
    assert [file.url for file in row.files] == ["../in/a.txt", "../in/more/b.txt", "../in/more/e.md"]
    for file in row.files:
        assert ledger_urls.resolve_local(Layout(root).ledger, file.url).read_bytes() == TEXT
    assert (row.license_spdx, row.kind, row.bucket, row.profile) == ("CC0-1.0", "text", "fables", "prose")


@pytest.mark.parametrize("name", [b"caf\xe9.txt", b"two\nlines.txt", b"sp ace#%.txt", b"back\\slash.txt"])
def test_a_name_that_cannot_stand_in_the_ledger_is_told_before_anything_is_measured(root, name):
    Path(os.fsdecode(os.fsencode(root / "in") + b"/" + name)).write_bytes(TEXT)
    told = named(str(root / "in" / os.fsdecode(name)))
    with pytest.raises(ConfigError) as caught:
        add(root, "fables", root / "in", "--kind", "text")
    assert re.fullmatch(
        re.escape(f"{told}: its name cannot stand in the ledger (") + r"has a [^()]*\); rename the file",
        str(caught.value),
    )
    assert not Layout(root).ledger.exists()


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("in/a\nb.txt", r"'in/a\nb.txt'"),
        ("in/sp ace#%.txt", "'in/sp ace#%.txt'"),
        ("caf\udce9.txt", r"'caf\udce9.txt'"),
        ("in/ä#1.txt", "in/ä#1.txt"),
        ("local:///etc/passwd", "local:///etc/passwd"),
        ("s3://me:hunter2@b/x", "s3://***@b/x"),
        ("s3:/me:hunter2@b/x", "***@b/x"),
    ],
)
def test_a_name_is_shown_as_it_is_escaped_where_it_cannot_be_printed(argument, shown):
    assert named(argument) == shown


def test_of_several_files_the_one_with_the_wrong_name_is_named(root, tmp_path):
    """A row has its files in another order than the names on the command line."""
    (root / "in" / "z#.txt").write_bytes(TEXT)
    (tmp_path / "outside.txt").write_bytes(TEXT)
    with pytest.raises(ConfigError, match=r"^\S+/in/z#\.txt: its name"):
        add(
            root, "fables", root / "in" / "z#.txt", tmp_path / "outside.txt", "http://e.example/a.txt", "--kind", "text"
        )


def test_a_file_that_several_arguments_name_is_in_the_row_once(root):
    add(root, "fables", root / "in" / "a.txt", f"{root}/in/**/*.txt")
    assert [file.url for file in only_row(root).files] == ["../in/a.txt", "../in/more/b.txt"]


def test_a_file_outside_the_root_keeps_its_absolute_path(root, tmp_path):
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(b'{"body": "x"}\n')
    words = ["--text-field", "body", "--license-field", "rights", "--rank", "7", "--retrieved", "2026-01-31"]
    add(root, "fables", outside, *words, "--title", "T", "--evidence", "E", "--attribution", "A", "--bucket", "b")
    row = only_row(root)
    assert row.files[0].url == str(outside)
    assert (row.fields.text, row.fields.license, row.source_rank, row.retrieved) == ("body", "rights", 7, "2026-01-31")
    assert (row.title, row.license_evidence, row.attribution, row.bucket) == ("T", "E", "A", "b")


@pytest.mark.parametrize(
    ("names", "guess"),
    [
        (["a.warc.gz", "b.WARC"], ("warc", None)),
        (["a.warc.wet.gz"], ("wet", None)),
        (["a.jsonl.zst", "b.ndjson"], ("jsonl", None)),
        (["a.htm"], ("html", None)),
        (["a.md", "b.txt"], (None, None)),
        (["a.tar.zst", "b.tgz"], (None, "tar")),
        (["a.zip"], (None, "zip")),
        (["https://example.org/a.parquet?v=1"], ("parquet", None)),
        (["a"], (None, None)),
    ],
)
def test_kind_and_container_are_guessed_from_suffixes_that_agree(names, guess):
    assert measure.guess(names) == guess


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.txt"], "nowhere.txt: no such file"),
        (["in"], "say --kind"),
        (["in", "--kind", "text", "--fields-field", "x"], None),
        (["in", "--kind", "text", "--license", "MTI"], "did you mean MIT?"),
        (["in", "--kind", "text", "--retrieved", "31.1.2026"], "field retrieved: "),
        (["in", "--kind", "text", "--bucket", "A B"], "field bucket: "),
        (["in", "--kind", "text", "--rank", "-1"], "field source_rank: "),
        (["in", "--kind", "text", "--url-field", "u"], "field fields: "),
    ],
)
def test_what_is_wrong_is_refused_before_a_file_is_read_and_nothing_is_written(root, monkeypatch, words, message):
    monkeypatch.chdir(root)
    monkeypatch.setattr(measure, "measure", lambda *_: pytest.fail("measured"))
    with pytest.raises(ConfigError if message else SystemExit) as raised:
        run(command, root, "ledger", "add", "fables", "--license", "MIT", *words)
    assert message is None or message in str(raised.value)
    assert not Layout(root).ledger.exists()


def test_a_source_that_is_there_already_is_refused(root):
    add(root, "fables", root / "in" / "a.txt")
    with pytest.raises(ConfigError, match="has a source fables already"):
        add(root, "fables", root / "in" / "a.txt")


def test_a_local_name_that_would_make_document_urls_unclear_is_refused(root):
    (root / "in" / "a#1.txt").write_bytes(TEXT)
    with pytest.raises(ConfigError, match=r"a#1\.txt: .*; rename the file"):
        add(root, "fables", root / "in" / "a#1.txt")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_many_files_are_one_line_elsewhere_and_one_that_is_drawn_over_on_a_terminal(root, capsys, monkeypatch):
    for number in range(1200):
        (root / "in" / f"{number}.txt").write_bytes(TEXT)
    monkeypatch.setattr(measure.Counter, "REDRAW_SECONDS", 0)
    add(root, "fables", root / "in", "--kind", "text", "--evidence", "E")
    said = capsys.readouterr()
    assert (said.out.count("\n"), said.err.count("\n")) == (1, 1)
    assert said.err.endswith(".d.txt: left out, as are all names with a dot before them; there are 2 here\n")
    assert said.out.startswith("added fables: 1,203 files, 28.2 KiB, CC0-1.0")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    add(root, "again", root / "in", "--kind", "text", "--evidence", "E")
    told, _, drawn = terminal.getvalue().partition("\n")
    assert "names with a dot" in told
    assert "\n" not in drawn
    assert "\r\x1b[Kmeasured 7 of 1,203 files, 168 B" in drawn
    assert drawn.endswith("\r\x1b[K")


def test_one_file_is_no_files(root, capsys):
    add(root, "fables", root / "in" / "a.txt")
    run(command, root, "ledger", "check")
    said = capsys.readouterr().out
    assert "added fables: 1 file, 24 B" in said
    assert "1 row in order" in said


def test_where_a_file_lies_is_said_without_detours(root, tmp_path):
    """Also in a root whose corpus folder is a link to another disk: the row was written by the path as one sees it."""
    (tmp_path / "disk").mkdir()
    (root / "corpus").symlink_to(tmp_path / "disk")
    add(root, "fables", root / "in" / "a.txt")
    path = ledger_urls.resolve_local(Layout(root).ledger, only_row(root).files[0].url)
    assert path == root / "in" / "a.txt"
    assert path.read_bytes() == TEXT


@pytest.mark.parametrize(("umask", "mode"), [(0o000, 0o664), (0o022, 0o644), (0o077, 0o600)])
def test_what_is_written_follows_the_umask_and_is_never_for_all_to_change(root, umask, mode):
    before = os.umask(umask)
    try:
        with server() as host:
            words = ["ledger", "add", "fables", f"{host}/whole.txt", "--license", "CC0-1.0"]
            assert cli.main(["--root", str(root), *words]) == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE(Layout(root).ledger.stat().st_mode) == mode
    (cached,) = Layout(root).cache.iterdir()
    assert stat.S_IMODE(cached.stat().st_mode) == mode & 0o444


def test_what_is_no_file_in_a_folder_is_told(root, capsys):
    (root / "in" / "loop").symlink_to(root / "in")
    add(root, "fables", root / "in", "--kind", "text")
    assert f"note: {root}/in/loop: left out, a link to a folder" in capsys.readouterr().err
    assert len(only_row(root).files) == 3


def test_a_file_that_grows_while_it_is_measured_is_not_entered(root, monkeypatch):
    real = measure._hash

    def growing(*words):
        found = real(*words)
        with (root / "in" / "a.txt").open("ab") as file:
            file.write(b"more")
        return found

    monkeypatch.setattr(measure, "_hash", growing)
    with pytest.raises(TransientError, match=r"a\.txt: changed while it was measured"):
        add(root, "fables", root / "in" / "a.txt")
    assert not Layout(root).ledger.exists()


def test_a_file_without_a_byte_is_noted_when_it_is_added(root, capsys):
    (root / "in/empty.txt").write_bytes(b"")
    assert add(root, "fables", root / "in/empty.txt", root / "in/a.txt") == 0
    told = capsys.readouterr().err
    assert "note: ../in/empty.txt has 0 bytes, and so holds one document without text" in told
    assert "a.txt has 0 bytes" not in told
    (root / "in/empty.jsonl").write_bytes(b"")
    assert add(root, "lines", root / "in/empty.jsonl") == 0
    assert "note: ../in/empty.jsonl has 0 bytes, and so holds no record" in capsys.readouterr().err


PAGE = {"text": "A fox.", "url": "https://example.org/fox", "meta": {"page-url": "https://example.org/1", "n": 3}}
NO_PAGE = {"text": "A fox.", "url": "fox.txt", "licence": "https://example.org/"}


def write_records(path: Path, record: dict) -> Path:
    """As JSON lines, gzip or Parquet, as the suffix says."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([record] * 3), path)
    else:
        lines = (json.dumps(record) + "\n").encode() * 3
        path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.parquet"])
def test_an_unmapped_field_with_web_addresses_is_told(root, capsys, name):
    assert add(root, "pages", write_records(root / name, PAGE)) == 0
    assert "note: the records hold web addresses in url, which is not mapped" in capsys.readouterr().err
    nested = {"text": "A fox.", "meta": PAGE["meta"]}
    assert add(root, "nested", write_records(root / f"n{name}", nested)) == 0
    assert "write `url: meta.page-url` in the row's fields" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_mapped_field_and_one_without_addresses_are_not_told(root, capsys, name):
    assert add(root, "mapped", write_records(root / name, PAGE), "--url-field", "url") == 0
    assert add(root, "places", write_records(root / f"b-{name}", NO_PAGE)) == 0
    assert "not mapped" not in capsys.readouterr().err


def test_records_that_cannot_be_read_stop_no_row(root, capsys):
    (root / "a.jsonl").write_bytes(b'{"url": "https://example.org"\n[1]\n\xff')
    (root / "a.parquet").write_bytes(b"no parquet")
    for source, name in (("lines", "a.jsonl"), ("rows", "a.parquet")):
        assert add(root, source, root / name) == 0
    assert "not mapped" not in capsys.readouterr().err

"""A database as a folder and as a git repository, and what is no database."""

import json
import subprocess

import pytest

from tests.audit import database
from tests.audit.made_up import record, write

YAML = """\
id: PYSEC-2026-7
modified: 2026-07-25T16:31:58Z
withdrawn: null
aliases: [CVE-2026-7]
affected:
- package: {name: Lamp.Oil, ecosystem: PyPI}
  ranges:
  - type: ECOSYSTEM
    events: [{introduced: "0"}, {fixed: 1.10}]
"""


NAMELESS = json.dumps({"id": "X", "modified": "", "affected": [{"package": {"ecosystem": "PyPI"}}]}).encode()


def names(found):
    return [one.id for one in found.advisories]


def test_records_of_the_packages_that_are_asked_for_are_read_and_all_are_counted(tmp_path):
    write(
        tmp_path, record(), record("PYSEC-2026-2", "another"), record("PYSEC-2026-3", withdrawn="2026-06-01T00:00:00Z")
    )
    (tmp_path / "vulns" / "oil.yaml").write_text(YAML, "utf-8")
    (tmp_path / "notes.json").write_text("[1]", "utf-8")
    found = database.read(tmp_path, ["flower-press", "lamp-oil"])
    assert sorted(names(found)) == ["PYSEC-2026-1", "PYSEC-2026-7"]
    assert (found.records, found.withdrawn, found.others, found.unreadable) == (4, 1, 1, [])
    assert found.newest == "2026-07-25T16:31:58Z"


def test_versions_in_yaml_are_texts_though_they_look_like_numbers(tmp_path):
    (tmp_path / "oil.yaml").write_text(YAML, "utf-8")
    [one] = database.read(tmp_path, ["lamp-oil"]).advisories
    [affected] = one.affected
    assert [str(span.fixed) for span in affected.spans] == ["1.10"]


def test_yaml_builds_no_objects(tmp_path):
    write(tmp_path, record())
    (tmp_path / "evil.yaml").write_text(
        "id: !!python/object/apply:os.mkdir [made]\nmodified: x\naffected: []\n", "utf-8"
    )
    database.read(tmp_path, ["flower-press"])
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("is_bare", [True, False])
def test_a_git_repository_is_read_as_the_folder_it_was_made_of(tmp_path, is_bare):
    tree = write(tmp_path / "tree", record(), record("PYSEC-2026-3", withdrawn="2026-06-01T00:00:00Z"))
    (tree / "vulns" / "oil.yaml").write_text(YAML, "utf-8")
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-C", str(tree)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "made up"]):
        subprocess.run([*git, *words], check=True)
    place = tree
    if is_bare:
        place = tmp_path / "bare"
        subprocess.run(["git", "clone", "-q", "--bare", str(tree), str(place)], check=True)
    found = database.read(place, ["flower-press", "lamp-oil"])
    assert (sorted(names(found)), found.records) == (["PYSEC-2026-1", "PYSEC-2026-7"], 3)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("broken.json", b'{"id": ', "neither YAML nor JSON"),
        ("broken.yaml", b"id: [", "neither YAML nor JSON"),
        ("deep.json", b"[" * 100_000, "neither YAML nor JSON"),
        ("latin.yaml", b"id: \xff", "neither YAML nor JSON"),
        ("long.json", b" " * (database.MAX_BYTES + 1), "bytes, expected at most"),
        ("no-name.json", NAMELESS, "X: "),
        ("no-list.json", b'{"id": "X", "modified": "", "affected": 3}', "X: no record of the OSV schema"),
    ],
)  # fmt: skip
def test_a_record_that_cannot_be_read_is_told_by_its_file(tmp_path, name, content, said):
    write(tmp_path, record())
    (tmp_path / name).write_bytes(content)
    found = database.read(tmp_path, ["flower-press"])
    assert len(found.unreadable) == 1
    assert found.unreadable[0].startswith(f"{name}: ")
    assert said in found.unreadable[0]


def test_what_holds_no_records_is_no_database(tmp_path):
    with pytest.raises(database.NoDatabaseError, match="is no folder"):
        database.read(tmp_path / "missing", ["a"])
    with pytest.raises(database.NoDatabaseError, match="holds no record of the OSV schema"):
        database.read(tmp_path, ["a"])
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "empty")], check=True)
    with pytest.raises(database.NoDatabaseError, match="git gave no files of HEAD"):
        database.read(tmp_path / "empty", ["a"])

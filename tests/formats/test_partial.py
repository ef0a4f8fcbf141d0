"""The checkpoint format: round trip, the page's example, the exported schema, and a table of bad ones."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import formats
from formats import partial
from formats.errors import CorruptDataError
from formats.partial import START, Checkpoint, Pair

FOLDER = Path(formats.__file__).parent
OLD, NEW = "11" * 32, "22" * 32
GOOD = Checkpoint("partial", 1, "https://example.org/a?token=***", '"v1"', None, True, 100, 64, NEW, Pair(32, OLD))


def as_json(**changes: Any) -> dict[str, Any]:
    value = {
        "format": "partial",
        "version": 1,
        "url": "https://example.org/a",
        "etag": None,
        "last_modified": None,
        "guarded": False,
        "expected_size": 100,
        "verified_bytes": 64,
        "sha256_prefix_hex": NEW,
        "previous": {"verified_bytes": 32, "sha256_prefix_hex": OLD},
    }
    return {**value, **changes}


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "x.partial.json"
    partial.write(path, GOOD)
    assert partial.read(path) == GOOD
    assert partial.read(path).pair == Pair(64, NEW)
    assert [one.name for one in tmp_path.iterdir()] == ["x.partial.json"]


def test_the_checkpoint_lies_beside_its_file(tmp_path):
    assert partial.path_of(tmp_path / "x.partial") == tmp_path / "x.partial.json"


def test_the_start_is_the_pair_of_no_bytes():
    assert Pair(0, hashlib.sha256().hexdigest()) == START


def test_the_exported_schema_is_what_the_code_says():
    text = (FOLDER / "partial.schema.json").read_text("utf-8")
    assert json.loads(text) == partial.json_schema(), "write it again: python -m formats.partial"


def test_the_worked_example_of_the_page_is_one(tmp_path):
    [example] = re.findall(r"```json\n(.*?)```", (FOLDER / "partial.md").read_text("utf-8"), re.DOTALL)
    path = tmp_path / "x.partial.json"
    path.write_text(example, "utf-8")
    checkpoint, content = partial.read(path), b"the cat sat on a mat"
    for pair in (checkpoint.pair, checkpoint.previous):
        assert hashlib.sha256(content[: pair.verified_bytes]).hexdigest() == pair.sha256_prefix_hex
    partial.write(path, checkpoint)
    assert path.read_text("utf-8") == example


BAD = {
    "a list": [],
    "no keys": {},
    "one key less": {key: value for key, value in as_json().items() if key != "guarded"},
    "one key more": as_json(extra=1),
    "another format": as_json(format="part"),
    "a later version": as_json(version=2),
    "no url": as_json(url=""),
    "a url of two lines": as_json(url="https://example.org/\na"),
    "a numeric etag": as_json(etag=5),
    "an endless etag": as_json(etag='"' + "e" * 2000 + '"'),
    "guarded as a number": as_json(guarded=1),
    "a negative size": as_json(expected_size=-1),
    "a size as text": as_json(expected_size="100"),
    "a fraction": as_json(verified_bytes=64.5),
    "nothing verified": as_json(verified_bytes=0),
    "more than the file": as_json(verified_bytes=101),
    "a previous pair as long": as_json(previous={"verified_bytes": 64, "sha256_prefix_hex": OLD}),
    "no previous pair": as_json(previous=None),
    "half a previous pair": as_json(previous={"verified_bytes": 32}),
    "a short digest": as_json(sha256_prefix_hex="22"),
    "an upper-case digest": as_json(sha256_prefix_hex="AA" * 32),
    "a digest and a newline": as_json(sha256_prefix_hex=NEW + "\n"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_checkpoint_is_refused_with_its_name_and_what_to_do(tmp_path, name):
    path = tmp_path / "x.partial.json"
    path.write_text(json.dumps(BAD[name]), "utf-8")
    with pytest.raises(CorruptDataError, match=r"x\.partial\.json: .*delete it"):
        partial.read(path)


@pytest.mark.parametrize(
    "name", [name for name in BAD if name not in ("more than the file", "a previous pair as long")]
)
def test_the_schema_refuses_it_too(name):
    assert not Draft202012Validator(partial.json_schema()).is_valid(BAD[name])


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[" * 60_000, b" " * 70_000, b'{"a":' + b"9" * 5000 + b"}"])
def test_bytes_that_are_no_json_are_refused(tmp_path, data):
    path = tmp_path / "x.partial.json"
    path.write_bytes(data)
    with pytest.raises(CorruptDataError):
        partial.read(path)


def test_a_checkpoint_cut_anywhere_is_refused(tmp_path):
    path = tmp_path / "x.partial.json"
    partial.write(path, GOOD)
    data = path.read_bytes()
    for length in range(len(data) - 1):  # without its last newline it still says the same
        path.write_bytes(data[:length])
        with pytest.raises(CorruptDataError):
            partial.read(path)


def test_a_missing_checkpoint_is_told(tmp_path):
    with pytest.raises(CorruptDataError, match="missing"):
        partial.read(tmp_path / "x.partial.json")


def test_a_wrong_checkpoint_is_not_written(tmp_path):
    path = tmp_path / "x.partial.json"
    with pytest.raises(CorruptDataError, match="previous"):
        partial.write(path, Checkpoint("partial", 1, "https://e.org", None, None, True, 100, 64, NEW, Pair(64, NEW)))
    assert not path.exists()

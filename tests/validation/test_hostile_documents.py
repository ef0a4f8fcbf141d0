"""A ledger or a config of megabytes that nobody wrote by hand is refused by line and field, within the seconds and the
memory that the fuzzers hold readers to.
"""

import pytest

from corpus_assets.validation import corpus_config, plain_yaml
from corpus_assets.validation import ledger as validation
from formats import ledger
from formats.errors import ConfigError
from tests.fuzz import hold
from tests.fuzz.targets.corpus_config import KEY

SIZE = 10 << 20
LEAST = b"dataset: starter\nversion: v1\nsources: [web]\nlicenses: {allow: [MIT]}\n"


def filled(before: bytes, piece: bytes, after: bytes = b"", size: int = SIZE) -> bytes:
    return before + piece * (size // len(piece)) + after


def numbered(size: int, entry: str, between: str) -> bytes:
    """Different keys, as many as fit."""
    return between.join(entry % i for i in range(size // (len(entry) + 6))).encode()


@pytest.fixture
def bounded(tmp_path, monkeypatch):
    """What checking a document in a file says, within the fuzzers' bounds; ten times its size in memory is free."""
    monkeypatch.setattr(hold, "MAX_GROWTH_BYTES", 1 << 30)

    def check(read, name, data):
        said = []

        def run(content, folder):
            path = folder / name
            path.write_bytes(content)
            try:
                said.extend(map(str, read(path)))
            except ConfigError as error:
                said.extend(str(error).splitlines())

        hold.hold(hold.Target(name, [], run), data, tmp_path)
        return said

    return check


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(filled(b"", b"["), "line 1: is nested too deeply", id="lists in lists"),
        pytest.param(filled(b"", b'{"a":'), "line 1: is nested too deeply", id="objects in objects"),
        pytest.param(filled(b'{"source_rank": ', b"9", b"}"), "line 1: holds a number of thousands", id="one number"),
        pytest.param(filled(b'{"source_rank": 1', b"0", b"e5}"), "line 1: field source_rank", id="one float"),
        pytest.param(filled(b'{"title": "', b"x", b'"}'), "line 1: field title: expected at most", id="one text"),
        pytest.param(filled(b'{"license_spdx": "', b"(", b'"}'), "line 1: field license_spdx", id="one bracket"),
        pytest.param(filled(b'{"', b"x", b'": 1}'), "line 1: field 'xxxx", id="one key"),
        pytest.param(b'{"\\ud800": 1}', r"line 1: field '\ud800': unknown field", id="half a surrogate pair"),
        pytest.param(b"{%s}" % numbered(SIZE, '"k%d": 1', ","), "line 1: field k0: unknown", id="unknown fields"),
        pytest.param(filled(b'{"a": 1', b', "a": 1', b"}"), "line 1: field a: is there twice", id="one field again"),
        pytest.param(filled(b'{"files": [1', b",1", b"]}"), "line 1: field files[0]: expected an object", id="numbers"),
        pytest.param(filled(b'{"files": [{}', b",{}", b"]}"), "line 1: field files[0].url: missing", id="empty files"),
        pytest.param(filled(b"", b"\n"), "line 1: is empty", id="empty lines"),
        pytest.param(filled(b"", b"{}\n"), "line 1: field source_id: missing", id="empty objects"),
        pytest.param(filled(b"", b'"\xff"\n'), "line 1: is not UTF-8", id="no text"),
    ],
)
def test_a_ledger_of_megabytes_is_refused_by_line_and_field(bounded, data, words):
    said = bounded(validation.check_ledger, "LEDGER.jsonl", data)
    assert any(words in one for one in said), said[:3]
    assert len(said) <= ledger.MAX_VIOLATIONS + 1
    assert max(map(len, said)) < 1_000


def test_the_last_violation_says_that_there_are_more(bounded):
    said = bounded(ledger.violations, "LEDGER.jsonl", b"{}\n" * 1_000)
    assert len(said) == ledger.MAX_VIOLATIONS + 1
    assert said[-1].endswith("more than 1000 things are wrong up to here; mend these first")
    said = bounded(ledger.violations, "LEDGER.jsonl", b"{%s}" % numbered(10_000, '"k%d": 1', ","))
    assert said[-1] == "line 1: more is wrong; mend this first"


@pytest.mark.parametrize("piece", [b"[", b"{a: ", b"- ", b"x", b"9", b"a: &a [*a]\n", b"? "])
def test_a_config_of_ten_megabytes_is_not_even_parsed(bounded, piece):
    said = bounded(lambda path: [corpus_config.load(path, KEY)], "v1.yaml", filled(LEAST, piece))
    assert "expected at most 1048576; a config holds rules, not data" in said[0]


PART = 256 * 1024
BOMB = b"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(filled(b"notes: ", b"[", size=PART), "line 1: nested more than 20 deep", id="lists"),
        pytest.param(filled(b"notes: ", b"{a: ", size=PART), "line 1: nested more than 20 deep", id="maps"),
        pytest.param(filled(b"notes:\n", b"- ", size=PART), "line 2: nested more than 20 deep", id="items in one line"),
        pytest.param(filled(b"", b"? ", size=PART), "line 1: a key must be a word", id="keys in keys"),
        pytest.param(BOMB, "line 1: anchors (&) and aliases (*)", id="doubling aliases"),
        pytest.param(b"a: 1\n<<: *a\n", "line 2: anchors (&) and aliases (*)", id="merge of an alias"),
        pytest.param(b"a: !!python/object/apply:os.system [id]\n", "line 1: the tag", id="a call"),
        pytest.param(b"a: !!binary aGk=\n", "line 1: the tag", id="binary"),
        pytest.param(b"%TAG ! tag:x,2000:\n---\na: !y z\n", "line 3: the tag tag:x,2000:y", id="a tag of their own"),
        pytest.param(filled(b"shard_rows: ", b"9", size=PART), "line 1: shard_rows: expected a whole", id="one number"),
        pytest.param(filled(b"notes: ", b"x", size=PART), "line 1: notes: expected at most 100000", id="one text"),
        pytest.param(filled(b"? ", b"k", b"\n: 1", PART), "line 1: a key of 262144 characters", id="one key"),
        pytest.param(filled(b"a: 1\n", b"a: 1\n", size=PART), "line 2: a is there twice", id="one key again"),
        pytest.param(b'a: 1\nb: "\\UFFFFFFFF"\n', "line 2: names a character that there is not", id="no character"),
        pytest.param(b'a: 1\nb: "\\U00110000"\n', "line 2: names a character that there is not", id="beyond Unicode"),
        pytest.param(b'"\\ud800": 1\n', r"line 1: '\ud800': unknown setting", id="half a surrogate pair"),
        pytest.param(numbered(PART, "k%d: 1", "\n"), "line 1: k0: unknown setting", id="unknown settings"),
    ],
)
def test_a_config_of_nothing_but_one_thing_is_refused_by_line_and_setting(bounded, data, words):
    said = bounded(lambda path: [corpus_config.load(path, KEY)], "v1.yaml", data)
    assert any(words in one for one in said), said[:3]
    assert len(said) <= 101
    assert max(map(len, said)) < 1_000


def test_many_values_below_long_names_are_not_named_each(bounded, monkeypatch):
    """Each value's path is kept: 1 MiB of such a file would make gigabytes of them."""
    monkeypatch.setattr(plain_yaml._Lines, "room", 1 << 20)
    text = (
        b"".join(b" " * i + b"%s:\n" % (b"k" * 190 + b"%d" % i) for i in range(18))
        + b" " * 18
        + b"[1"
        + b",1" * 3_000
        + b"]"
    )
    said = bounded(lambda path: [plain_yaml.read(path)], "v1.yaml", text)
    assert "line 19: too many values below too long names" in said[0]

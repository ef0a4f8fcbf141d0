"""What the starter corpus has to become, document by document.

The tables follow from texts and rules alone. The digest of the manifest also holds the bytes of pyarrow and zstd, so it
is bound to corpus_assets/constraints.txt and to the processor architecture. Remake the digests with
python -m tests.e2e.starter_golden
"""

import tempfile
from pathlib import Path

from corpus_assets.plans import audit_snapshot
from corpus_assets.plans.snapshot import last_snapshot
from formats import canonical, corpus_manifest, corpus_shard, durable
from formats.layout import Layout
from formats.naming import TokensKey, VersionKey
from tests.e2e import starter_runs

GOLDEN = starter_runs.PROJECT / "tests" / "golden" / "starter_manifest.sha256"
GOLDEN_SNAPSHOT = GOLDEN.with_name("starter_snapshot.sha256")
TOKENS = TokensKey(VersionKey("starter", "v1"), "bpe-512")
_HEAD = """\
# starter.v1: the SHA-256 of its _MANIFEST.json, bound to corpus_assets/constraints.txt and to x86-64; and that of its
# rows as values, whatever their encoding. Remake: python -m tests.e2e.starter_golden
"""

_HEAD_OF_SNAPSHOT = """\
# starter.v1.bpe-512: its snapshot's id, which also names every stage, setting and library that it was made by; and the
# SHA-256 over its documents' ids and tokens, which those alone decide. Remake: python -m tests.e2e.starter_golden
"""

RECORDS = {"fables": 30, "handbook": 26, "letters": 47, "notes": 54, "snippets": 30, "web": 32}
KEPT = {"fables": 30, "handbook": 19, "letters": 43, "notes": 50, "snippets": 28, "web": 22}

REJECTED = {
    "https://letters.example.org/lost/1": "no_text_field",
    "https://letters.example.org/en/4": "bad_date",
    "https://letters.example.org/en/5": "license_mismatch",
    "../inputs/web.warc.gz#0": "not_a_response",  # the record that describes the file
    "https://harrowferry.example/arrive.html": "not_a_response",  # its request; the page itself is a document
    "https://harrowferry.example/steam-engine.html": "http_status_not_200",
    "https://harrowferry.example/pixel.gif": "media_type_not_text",
    "../inputs/handbook.tar#handbook": "not_a_file",
    "../inputs/handbook.tar#handbook/board.svg": "other_file_name",
}
FILTERED = {
    "letters:43": "language_not_allowed",  # Latin
    "notes:51": "too_few_alphabetic_words",
    "notes:52": "too_few_alphabetic_words",
    "snippets:29": "too_short",
    "web:21": "too_short",
    "web:22": "too_short",
    "web:24": "top_3gram_too_frequent",  # a timetable
}
EXACT_DUPLICATES = {
    "handbook:11": "fables:2",  # wrapped anew, its title in capitals
    "notes:49": "notes:15",
    "notes:50": "notes:0",  # another case, other white space
    "snippets:7": "snippets:6",
    "web:15": "web:14",  # one page under two addresses
}
NEAR_DUPLICATES = {
    "handbook:7": ("fables:7", 904411),
    "handbook:9": ("fables:29", 841726),
    "handbook:10": ("fables:24", 850340),
    "web:23": ("fables:25", 845637),
}
NEAR_DUPLICATES_OF_V3 = {**NEAR_DUPLICATES, "handbook:21": ("handbook:22", 736842)}  # two editions of a chapter
CONTAMINATED = {"handbook:6": ("quiz", "0.question"), "web:18": ("quiz", "1.question")}

PII = {
    "handbook": {"card": 1, "email": 2, "ip": 2, "key": 2, "phone": 0},
    "letters": {"card": 1, "email": 10, "ip": 0, "key": 0, "phone": 8},
    "notes": {"card": 0, "email": 1, "ip": 0, "key": 0, "phone": 1},
    "snippets": {"card": 0, "email": 1, "ip": 2, "key": 1, "phone": 0},
    "web": {"card": 0, "email": 2, "ip": 0, "key": 0, "phone": 1},
}
PLANTED = (
    "5555 5555 5555 4444", "4111 1111 1111 1111", "030 23125 014", "01 99 00 12 34", "912 345 678", "8 495 123-45-67",
    "03-5555-0123", "010 5555 0188", "+44 20 7946", "01632 960 214", "grete.neu@", "vera.orlova@", "office@council",
    "webmaster@", "8.8.8.8", "2001:4860:4860::8888", "AKIAIOSFODNN7EXAMPLE", "Zw7-moorhen-Quay",
    "q7Rz-Moor9-Kt42-vLamp",
)  # fmt: skip
HARMLESS = ("192.168.4.20", "10.0.0.5")
"""Private addresses stay."""

LANGUAGES = {
    "ar": 2, "de": 10, "el": 1, "en": 137, "es": 6, "fr": 6, "hi": 2, "it": 4, "ja": 4, "nl": 3, "pl": 4, "pt": 3,
    "ru": 4, "sv": 1, "uk": 1, "und": 1, "zh": 3,
}  # fmt: skip
SPLITS = {"train": 174, "val": 18}


def digests(root: Path) -> dict[str, str]:
    """Of a root in which starter.v1 is built."""
    folder = Layout(root).version(VersionKey("starter", "v1"))
    rows = []
    for entry in corpus_manifest.read(folder)["shards"]:
        for batch in corpus_shard.read_shard(folder, entry):
            rows += [[v.hex() if isinstance(v, bytes) else v for v in row.values()] for row in batch.to_pylist()]
    manifest = durable.sha256_of(folder / corpus_manifest.NAME_ON_DISK)
    return {"_MANIFEST.json": manifest, "rows": canonical.digest(rows)}


def snapshot_digests(root: Path) -> dict[str, str]:
    """Of a root in which the token set was made."""
    snapshot = last_snapshot(Layout(root), TOKENS)
    documents = []
    for shard in audit_snapshot.all_shards(snapshot):
        back = audit_snapshot.read_back(snapshot, shard)
        documents += [[name, tokens.hex()] for name, tokens in back.documents()]
    return {
        "snapshot_id": snapshot.snapshot_id.removeprefix("sha256:"),
        "documents": canonical.digest(sorted(documents)),
    }


def stored_digests(path: Path = GOLDEN) -> dict[str, str]:
    lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    return {name: digest for digest, name in lines}


def _write(path: Path, head: str, digests: dict[str, str]) -> None:
    path.write_text(head + "".join(f"{digest}  {name}\n" for name, digest in digests.items()))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        root = starter_runs.copy_of_starter(Path(folder))
        starter_runs.tokenize(root, str(TOKENS))
        _write(GOLDEN, _HEAD, digests(root))
        _write(GOLDEN_SNAPSHOT, _HEAD_OF_SNAPSHOT, snapshot_digests(root))

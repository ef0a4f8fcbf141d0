"""Texts whose personal data is known: the presidio texts, files with planted secrets, and lines that only look so."""

import hashlib
import io
import json
import random
import re
import tarfile
from pathlib import Path

import zstandard

from tests.bench.documents import json_rows

Span = tuple[str, int, int]
"""(kind, start, end) in code points."""
KINDS = {"EMAIL_ADDRESS": "email", "PHONE_NUMBER": "phone", "CREDIT_CARD": "card", "IP_ADDRESS": "ip"}
SECRETS = "pii/detect-secrets/test_data.tar.zst"
_VALUE = re.compile(r"[=:(-]\s*\S")
LOOKALIKES = ("versions", "dates and times", "ids and counters", "coordinates", "hashes", "sections and tables")


def presidio_texts(data: Path) -> list[tuple[str, list[Span]]]:
    """(text, its spans of the four kinds) of the synthetic texts."""
    rows = json.loads((data / "pii/presidio/synth_dataset_v2.json").read_text("utf-8"))
    return [
        (
            row["full_text"],
            [
                (KINDS[span["entity_type"]], span["start_position"], span["end_position"])
                for span in row["spans"]
                if span["entity_type"] in KINDS
            ],
        )
        for row in rows
    ]


def scores(truth: list[list[Span]], found: list[list[Span]]) -> dict[str, tuple[int, int, int]]:
    """kind -> (found, false alarms, missed): a hit has the kind of a span, and half of both together in common."""
    counts = {kind: [0, 0, 0] for kind in KINDS.values()}
    for wanted, hits in zip(truth, found, strict=True):
        left = list(wanted)
        for hit in hits:
            if hit[0] not in counts:
                continue
            same = [one for one in left if one[0] == hit[0] and half_overlaps(one, hit)]
            counts[hit[0]][0 if same else 1] += 1
            if same:
                left.remove(same[0])
        for kind, _, _ in left:
            counts[kind][2] += 1
    return {kind: (right, alarms, missed) for kind, (right, alarms, missed) in counts.items()}


def half_overlaps(a: Span, b: Span) -> bool:
    return 2 * (min(a[2], b[2]) - max(a[1], b[1])) >= max(a[2], b[2]) - min(a[1], b[1])


def rates(right: int, alarms: int, missed: int) -> tuple[float, float, float]:
    """Precision, recall, F1; 0 where nothing was found."""
    return (
        right / (right + alarms or 1),
        right / (right + missed or 1),
        2 * right / (2 * right + alarms + missed or 1),
    )


def secret_files(data: Path) -> tuple[dict[str, str], dict[str, set[int]]]:
    """(file -> text; file -> lines, from 1, with a secret its makers tell).

    They tell the SHA-1 of each secret and a line, which in some files is that of an older text: the line that holds
    the secret counts, and theirs only where none does, and where it has a value at all.
    """
    packed = zstandard.ZstdDecompressor().stream_reader(io.BytesIO((data / SECRETS).read_bytes())).read()
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        texts = {
            member.name.partition("/")[2]: (tar.extractfile(member) or io.BytesIO()).read().decode("utf-8", "replace")
            for member in tar
            if member.isfile()
        }
    expected = json.loads(texts.pop("baseline.file"))["results"]
    named = {name.removeprefix("test_data/"): found for name, found in expected.items()}
    lines: dict[str, set[int]] = {}
    for name, text in texts.items():
        places: dict[str, int] = {}
        for number, line in enumerate(text.split("\n"), 1):
            pieces = (*re.findall(r"[^\s\"'=:,;()@]+=*", line), *re.findall(r"[\"']([^\"']*)[\"']", line))
            for piece in (line, line.strip("-"), *pieces):
                places.setdefault(hashlib.sha1(piece.encode(), usedforsecurity=False).hexdigest(), number)
        rows = [*text.split("\n"), ""]
        found = {places[one["hashed_secret"]] for one in named.get(name, ()) if one["hashed_secret"] in places}
        told = {one["line_number"] for one in named.get(name, ()) if one["hashed_secret"] not in places}
        lines[name] = found | {number for number in told if _VALUE.search(rows[number - 1])}
    return texts, lines
    return texts, lines


def code_texts(data: Path) -> list[str]:
    return [row["text"] for path in sorted((data / "code").glob("*.jsonl.zst")) for row in json_rows(path)]


def lookalikes(number: int = 200) -> dict[str, list[str]]:
    """kind of what only looks like personal data -> lines with one each, as they stand in code and logs."""
    draw = random.Random(7)

    def digits(n: int) -> str:
        return "".join(draw.choices("0123456789", k=n))

    def dotted(parts: int, most: int) -> str:
        return ".".join(str(draw.randrange(1, most)) for _ in range(parts))

    made = {
        "versions": (
            lambda: f'requires = ["lib{draw.choice("abc")}=={dotted(4, 60)}"]',
            lambda: f"Chrome/{draw.randrange(80, 130)}.0.{digits(4)}.{digits(2)} Safari/537.36",
            lambda: f"version {dotted(4, 200)} (build {digits(7)})",
            lambda: f"libcrypto.so.{dotted(3, 9)}-{digits(8)}",
        ),
        "dates and times": (
            lambda: f"{draw.randrange(1990, 2027)}-0{draw.randrange(1, 9)}-1{digits(1)} 12:{digits(2)}:{digits(2)},123",
            lambda: f"0{draw.randrange(1, 9)}.1{digits(1)}.{draw.randrange(1990, 2027)} 0{digits(1)}.30",
            lambda: f"ts={draw.randrange(1_400_000_000, 1_800_000_000)}{digits(3)} took 12",
            lambda: f"20{draw.randrange(10, 27)}0{draw.randrange(1, 9)}1{draw.randrange(9)}T{digits(6)}Z",
        ),
        "ids and counters": (
            lambda: f'{{"id": {digits(10)}, "parent": {digits(9)}}}',
            lambda: f"issue #{digits(7)} and order no. {digits(3)}-{digits(7)}-{digits(7)}",
            lambda: f"case {digits(16)} of {digits(8)}",
            lambda: f"uuid {digits(8)}-{digits(4)}-4{digits(3)}-8{digits(3)}-{digits(12)}",
        ),
        "coordinates": (
            lambda: f"{draw.randrange(90)}.{digits(6)}, -{draw.randrange(180)}.{digits(6)}",
            lambda: f"POINT({draw.randrange(90)}.{digits(7)} {draw.randrange(180)}.{digits(7)})",
            lambda: f"[{draw.randrange(1000)}, {draw.randrange(1000)}, {draw.randrange(1000)}, {draw.randrange(1000)}]",
            lambda: f"d=\"M {digits(3)} {digits(3)} L {digits(3)} {digits(3)} {digits(3)}\"",
        ),
        "hashes": (
            lambda: f"sha256: {draw.getrandbits(256):064x}",
            lambda: f"commit {draw.getrandbits(160):040x}",
            lambda: f"00:1b:{draw.getrandbits(8):02x}:{draw.getrandbits(8):02x}:3a:b7",
            lambda: f"etag \"{draw.getrandbits(64):016x}-{digits(3)}\"",
        ),
        "sections and tables": (
            lambda: f"see section {dotted(4, 20)} of the manual",
            lambda: f"{digits(4)} {digits(4)} {digits(4)} {digits(3)}",
            lambda: f"{digits(2)} {digits(3)} {digits(2)} {digits(3)} {digits(3)}",
            lambda: f"oid 1.3.6.1.4.1.{digits(4)}.{dotted(2, 9)}",
        ),
    }  # fmt: skip
    return {kind: [forms[i % len(forms)]() for i in range(number)] for kind, forms in made.items()}

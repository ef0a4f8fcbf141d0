"""Personal data beside datatrove's formatter, dolma's taggers, presidio's pattern recognizers and detect-secrets.

A hit is right where it has the kind of a labelled span, and half of both together in common. What replaces nothing of a
kind has no row for it. Alarms on code are an upper bound: addresses of authors are real.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from corpus_assets.plans.pictures import bars_in_order
from corpus_assets.stages.pii_patterns import PiiRules
from corpus_assets.stages.scrub_pii import find, scrub, scrub_bytes
from tests.bench import report_tables
from tests.bench.bench_text import REGIONS
from tests.bench.documents import Corpus, json_rows
from tests.bench.labelled_pii import (
    KINDS,
    Span,
    code_texts,
    lookalikes,
    presidio_texts,
    rates,
    scores,
    secret_files,
)
from tests.bench.report_tables import Table

PROSE, CODE = PiiRules("public", REGIONS, False), PiiRules("public", REGIONS, True)
ALL_IPS = PiiRules("all", REGIONS, False)
OURS, OURS_ALL = "ours", "ours, private IPs too"
OF_PEER = {
    "datatrove_pii": {"email", "ip"},
    "presidio": {"email", "phone", "card", "ip"},
    "dolma_fast": {"email", "phone", "ip"},
    "dolma_regex": {"email", "phone", "ip"},
}
CODE_BYTES = 1_000_000
LEFT = {
    "a digest of 32 or more hexadecimal digits": r"[\"'= ][0-9a-f]{32,64}\b",
    "ten to fifteen letters and digits": r"(?i)(?:^|[\"'=: (])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{10,15}\b",
    "words behind a secret's name": r"(?i)(?:secret|secure|token|password)[\"']?\s*[=:]\s*[\"']?[a-z]{8,}\b(?![.(\[])",
}
"""What is left of the lines told in files with planted secrets."""
Tagger = Callable[[list[str]], tuple[list[list[Span]], float]]


def ours(rules: PiiRules) -> Tagger:
    def tag(texts: list[str]) -> tuple[list[list[Span]], float]:
        column, data = pa.array(texts, pa.large_string()), [text.encode() for text in texts]
        settings = {"ips": rules.ips, "phone_regions": rules.phone_regions, "code": rules.code}
        found = [find(one, rules) for one in data]
        scrub(column[:2], **settings)
        start = time.process_time()
        scrub(column, **settings)
        seconds = time.process_time() - start
        return [[_in_code_points(one, hit) for hit in hits] for one, hits in zip(data, found, strict=True)], seconds

    return tag


def _in_code_points(text: bytes, hit: tuple[str, int, int]) -> Span:
    start = len(text[: hit[1]].decode())
    return hit[0], start, start + len(text[hit[1] : hit[2]].decode())


def peer(tool: str) -> Tagger:
    def tag(texts: list[str]) -> tuple[list[list[Span]], float]:
        found, seconds = report_tables.ask(tool, texts=texts)
        return [[(kind, start, end) for kind, start, end in hits] for hits in found], seconds

    return tag


def taggers(rules: PiiRules = PROSE) -> dict[str, tuple[Tagger, set[str]]]:
    """Name -> (what it does, the kinds it knows), ours first."""
    found = {OURS: (ours(rules), {*KINDS.values(), "key"})}
    return found | {tool: (peer(tool), kinds) for tool, kinds in OF_PEER.items() if report_tables.can(tool)}


def labelled(data: Path) -> Table:
    texts = presidio_texts(data)
    column, truth = [text for text, _ in texts], [spans for _, spans in texts]
    size = sum(len(text.encode()) for text in column) / 1e6
    rows: list[list[object]] = []
    behind: list[str] = []
    best: dict[str, float] = {}
    chosen = taggers()
    chosen = {OURS: chosen[OURS], OURS_ALL: (ours(ALL_IPS), {"ip"}), **dict(list(chosen.items())[1:])}
    pictured = []
    for name, (tag, kinds) in chosen.items():
        found, seconds = tag(column)
        for kind, counts in scores(truth, found).items():
            if kind not in kinds:
                continue
            precision, recall, f1 = rates(*counts)
            rows.append([name, kind, precision, recall, f1, *counts, size / max(seconds, 1e-6)])
            pictured.append((f"{kind}, {name}", round(1000 * f1)))
            if name in (OURS, OURS_ALL):
                best[kind] = max(best.get(kind, 0.0), f1)
            elif f1 > best[kind]:
                behind.append(f"{name} has F1 {f1:.3f} of {kind}, ours {best[kind]:.3f}")
    speeds = {str(row[0]): float(str(row[-1])) for row in rows}
    behind += [
        f"{name} runs at {speed:.1f} MB a CPU s on these short texts, half of which hold personal data, ours with more "
        f"kinds at {speeds[OURS]:.1f}; on code ours is the faster one, see below"
        for name, speed in speeds.items()
        if speed > speeds[OURS] and name != OURS_ALL
    ]
    rows.sort(key=lambda row: str(row[1]))
    return Table(
        "Personal data in labelled texts",
        f"{len(texts):,} synthetic texts of Presidio Research.",
        ("tool", "kind", "precision", "recall", "F1", "right", "alarms", "missed", "MB a CPU s"),
        rows,
        behind,
        (bars_in_order("F1 in thousandths, by kind and tool", sorted(pictured)),),
    )


def lines_of_ours(text: str) -> set[int]:
    """Lines, from 1, with a key by our rules."""
    data = text.encode()
    return {data[:start].count(b"\n") + 1 for kind, start, _ in find(data, CODE) if kind == "key"}


def secrets(data: Path) -> Table:
    """Lines with a finding in files with planted secrets."""
    files, expected = secret_files(data)
    found: dict[str, dict[str, set[int]]] = {OURS: {name: lines_of_ours(text) for name, text in files.items()}}
    if report_tables.can("detect_secrets"):
        told, _ = report_tables.ask("detect_secrets", files=files)
        found["detect_secrets"] = {name: set(lines) for name, lines in told.items()}
    rows: list[list[object]] = [
        [name, len(expected[name]), *_met(found, name, expected[name])] for name in sorted(files) if expected[name]
    ]
    total: list[object] = ["all", sum(map(len, expected.values()))]
    for one in found.values():
        met, more = ([_size(one, expected, name, inside) for name in files] for inside in (True, False))
        total += [sum(met), sum(more)]
    clean, size = code_sample(data)
    alarms: list[object] = ["lines of clean code, a MB", None]
    alarms += [None, sum(len(lines_of_ours(text)) for text in clean) / size * 1e6]
    if "detect_secrets" in found:
        told, _ = report_tables.ask("detect_secrets", files={f"{i}.txt": text for i, text in enumerate(clean)})
        alarms += [None, sum(map(len, told.values())) / size * 1e6]
    head = ["file", "lines told"]
    for tool in found:
        head += [f"{tool}: of these", f"{tool}: others"]
    behind = []
    if len(found) > 1 and int(str(total[4])) > int(str(total[2])):
        behind.append(
            f"detect_secrets finds {total[4]} of {total[1]} lines told, ours {total[2]}. What ours leaves is no key by "
            "anything that the line says: digests, short strings of letters and digits, and words. The "
            "table below has what taking such strings for keys would cost on clean code"
        )
    return Table(
        "Keys in files with planted secrets",
        "Lines with a finding, against the baseline that the makers of detect-secrets keep of their test files; what "
        "they tell of lines that have changed since and hold no value is left out. The last row is clean code.",
        head,
        [*rows, total, alarms],
        behind,
    )


def left_lines(data: Path) -> Table:
    """What the lines left would cost: strings like them in clean sources."""
    files, expected = secret_files(data)
    left = {name: expected[name] - lines_of_ours(text) for name, text in files.items()}
    code = code_texts(data)
    docs = [row["text"] for path in sorted((data / "docs-fastapi").glob("*.jsonl.zst")) for row in json_rows(path)]
    sizes = [sum(len(text.encode()) for text in texts) / 1e6 for texts in (code, docs)]
    rows: list[list[object]] = []
    for kind, pattern in LEFT.items():
        hit = re.compile(pattern)
        met = [
            f"{name}:{number}"
            for name, text in sorted(files.items())
            for number, line in enumerate(text.split("\n"), 1)
            if number in left[name] and hit.search(line)
        ]
        costs = [
            sum(1 for text in texts for _ in hit.finditer(text)) / size
            for texts, size in zip((code, docs), sizes, strict=True)
        ]
        rows.append([kind, ", ".join(met), *costs])
    return Table(
        "Strings that are not taken for keys",
        f"In a MB of clean code ({sizes[0]:.1f} MB) and documentation ({sizes[1]:.1f} MB): what a rule would replace "
        "that took such strings for keys. They are digests, ids, names, numbers and examples of manuals.",
        ("string", "lines left", "code, a MB", "documentation, a MB"),
        rows,
    )


def _met(found: dict[str, dict[str, set[int]]], name: str, told: set[int]) -> Iterator[int]:
    for lines in found.values():
        yield len(lines[name] & told)
        yield len(lines[name] - told)


def _size(found: dict[str, set[int]], expected: dict[str, set[int]], name: str, inside: bool) -> int:
    return len(found[name] & expected[name] if inside else found[name] - expected[name])


def code_sample(data: Path) -> tuple[list[str], int]:
    """(files of code, one in so many of all sources; their bytes)."""
    texts, size = [], 0
    every = code_texts(data)
    for text in every[:: max(1, len(every) // 400)]:
        if size < CODE_BYTES:
            texts.append(text)
            size += len(text.encode())
    return texts, size


def alarms_on_code(data: Path) -> Table:
    texts, size = code_sample(data)
    rows: list[list[object]] = []
    for name, (tag, kinds) in taggers(CODE).items():
        found, seconds = tag(texts)
        counts = Counter(kind for hits in found for kind, _, _ in hits)
        per_mb = [counts[kind] / size * 1e6 if kind in kinds else None for kind in (*KINDS.values(), "key")]
        rows.append([name, *per_mb, size / 1e6 / max(seconds, 1e-6)])
    if report_tables.can("detect_secrets"):
        told, seconds = report_tables.ask("detect_secrets", files={f"{i}.txt": text for i, text in enumerate(texts)})
        lines = sum(map(len, told.values())) / size * 1e6
        rows.append(["detect_secrets", *[None] * len(KINDS), lines, size / 1e6 / max(seconds, 1e-6)])
    return Table(
        "Replacements in a MB of code",
        f"{len(texts):,} files, {size / 1e6:.1f} MB, one in so many of all code sources; authors' addresses are real.",
        ("tool", *KINDS.values(), "key", "MB a CPU s"),
        rows,
    )


def false_alarms() -> Table:
    """Lines that only look so: of a hundred, how many have an alarm."""
    made = lookalikes()
    rows: list[list[object]] = []
    for name, (tag, _) in taggers(CODE).items():
        row: list[object] = [name]
        for lines in made.values():
            found, _ = tag(lines)
            row.append(100 * sum(bool(hits) for hits in found) / len(lines))
        rows.append(row)
    behind = [
        f"{row[0]} alarms less often on {kind}: a number of sixteen digits with an issuer's prefix and a right check "
        "digit is a card by every rule there is"
        for i, kind in enumerate(made, 1)
        for row in rows[1:]
        if float(str(row[i])) < float(str(rows[0][i]))
    ]
    return Table(
        "Alarms on what only looks like personal data",
        "Made lines of code and logs, 200 of each kind; alarms in a hundred lines.",
        ("tool", *made),
        rows,
        behind,
    )


def twice(data: Path) -> Table:
    """Texts that a second scrub changes."""
    rows: list[list[object]] = []
    for name, texts, rules in (
        ("labelled texts", [text for text, _ in presidio_texts(data)], PROSE),
        ("code", code_sample(data)[0], CODE),
        ("files with planted secrets", list(secret_files(data)[0].values()), CODE),
    ):
        once = [scrub_bytes(text.encode(), rules)[0] for text in texts]
        changed = sum(one != text.encode() for one, text in zip(once, texts, strict=True))
        rows.append([name, len(texts), changed, sum(scrub_bytes(one, rules)[0] != one for one in once)])
    return Table(
        "Scrubbing twice",
        "What was scrubbed is scrubbed again: nothing may change.",
        ("texts", "number", "changed at first", "changed again"),
        rows,
    )


def tables(corpus: Corpus) -> Iterator[Table]:
    if corpus.folder is not None:
        yield labelled(corpus.folder)
        yield secrets(corpus.folder)
        yield left_lines(corpus.folder)
        yield alarms_on_code(corpus.folder)
    yield false_alarms()
    if corpus.folder is not None:
        yield twice(corpus.folder)

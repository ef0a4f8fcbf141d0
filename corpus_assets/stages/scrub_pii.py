"""Replace personal data by its kind: <EMAIL> <PHONE> <CARD> <IP> <KEY>.

One pass over a batch's UTF-8 bytes says which rows a pattern is worth trying on (kernels/pii_candidates.py), RE2 which
of these have candidates (pii_patterns.py); only there Python looks, and validators decide (pii_validators.py). A
scrubbed text is scanned again until nothing is found, so scrubbing twice changes nothing.
Cost: linear in the text, 45 to 60 MB a CPU second on code, documentation and prose.
"""

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels import pii_candidates
from corpus_assets.stages.pii_patterns import PATTERNS, PLACEHOLDER, Hit, Pattern, PiiRules, compiled
from corpus_assets.stages.pii_validators import VALIDATORS
from formats.stage_tables import PII_KINDS

CODE_VERSION = "4"
LIBRARIES = ("pyarrow", "google-re2", "phonenumbers", "python-stdnum", "publicsuffixlist", "idna")

BEFORE_BYTES, AFTER_BYTES = 64, 400
"""What validators look at on either side of a match is less (private keys aside, which nothing before them hides)."""

_COMPILED = {pattern.name: compiled(pattern.regex) for pattern in PATTERNS}


def scrub(
    text: pa.Array, *, ips: str, phone_regions: Sequence[str], code: bool
) -> tuple[pa.Array, dict[str, pa.Array]]:
    """(the large_string column with personal data replaced, kind -> int32 replacements a row); null stays null."""
    rules = PiiRules(ips, tuple(phone_regions), code)
    data = text.cast(pa.large_binary())
    counts = {kind: np.zeros(len(text), np.int32) for kind in PII_KINDS}
    candidates: dict[int, list[Pattern]] = {}
    needs = pii_candidates.candidates(data)
    for pattern in PATTERNS:
        for row in _may_match(data, needs, pattern).tolist():
            candidates.setdefault(row, []).append(pattern)
    changed, replaced = np.zeros(len(text), bool), []
    for row in sorted(candidates):
        before = data[row].as_py()
        after, hits = scrub_bytes(before, rules, candidates[row])
        if hits:
            changed[row] = True
            replaced.append(after.decode("utf-8"))
        for kind, _, _ in hits:
            counts[kind][row] += 1
    scrubbed = (
        pc.replace_with_mask(text, pa.array(changed), pa.array(replaced, pa.large_string())) if replaced else text
    )
    return scrubbed, {kind: pa.array(values) for kind, values in counts.items()}


def scrub_bytes(text: bytes, rules: PiiRules, patterns: Sequence[Pattern] = PATTERNS) -> tuple[bytes, list[Hit]]:
    """(scrubbed UTF-8, every hit in the order found). Ends: what is replaced holds no placeholder, so each pass leaves
    fewer other bytes.
    """
    hits = find(text, rules, patterns)
    every = list(hits)
    while hits:
        pieces, at = [], 0
        for kind, start, end in hits:
            pieces += [text[at:start], PLACEHOLDER[kind]]
            at = end
        text = b"".join([*pieces, text[at:]])
        hits = find(text, rules, PATTERNS)
        every += hits
    return text, every


def find(text: bytes, rules: PiiRules, patterns: Sequence[Pattern] = PATTERNS) -> list[Hit]:
    """Hits of one UTF-8 text in their order in it, none overlapping: an earlier pattern wins, then the leftmost.

    What only the hit before it hides is a hit, too: of `<phone>,<phone>,<phone>` a scan that looks at the text as it
    stands finds the first alone, and as many scans as numbers would be needed.
    """
    taken: list[Hit] = []
    for pattern in patterns:
        hits: list[Hit] = []
        at = 0
        while match := _COMPILED[pattern.name].search(text, at):
            start, end = match.span()
            for hit in _validated(pattern, text, start, end, rules, hits):
                if (not hits or hit[1] >= hits[-1][2]) and _is_free(taken, hit):
                    hits.append(hit)
            at = max(end, hits[-1][2] if hits else 0)  # a hit may reach beyond its match
        taken = sorted([*taken, *hits], key=_start)
    return taken


def _validated(pattern: Pattern, text: bytes, start: int, end: int, rules: PiiRules, hits: list[Hit]) -> list[Hit]:
    """The hits of one match, as the text stands or else with the hits just before it replaced."""
    validate = VALIDATORS[pattern.name]
    found = validate(text, start, end, rules)
    if found or not hits or start - hits[-1][2] >= BEFORE_BYTES:
        return found
    left = _replaced_before(text, start, hits)
    shift = start - len(left)
    beside = left + text[start : end + AFTER_BYTES]
    found = validate(beside, len(left), len(left) + end - start, rules)
    return [(kind, s + shift, e + shift) for kind, s, e in found]


def _replaced_before(text: bytes, start: int, hits: list[Hit]) -> bytes:
    """BEFORE_BYTES or a few more of what stands before `start` once the hits, all of them before it, are replaced."""
    pieces: list[bytes] = []
    at, num_bytes = start, 0
    for kind, begin, end in reversed(hits):
        if num_bytes + at - end >= BEFORE_BYTES:
            break
        pieces += [text[end:at], PLACEHOLDER[kind]]
        num_bytes += at - end + len(PLACEHOLDER[kind])
        at = begin
    pieces.append(text[max(0, at - BEFORE_BYTES) : at])
    return b"".join(reversed(pieces))


def _start(hit: Hit) -> int:
    return hit[1]


def _is_free(taken: list[Hit], hit: Hit) -> bool:
    """Whether the hit overlaps none of the taken ones, which are in order."""
    _, start, end = hit
    after = bisect_right(taken, start, key=_start)
    return (after == 0 or taken[after - 1][2] <= start) and (after == len(taken) or end <= taken[after][1])


def _may_match(data: pa.Array, needs: np.ndarray, pattern: Pattern) -> np.ndarray:
    """The rows of a large_binary column that have a match, rising; a null row has none."""
    rows = np.arange(len(data)) if pattern.needs is None else np.flatnonzero(needs & pattern.needs)
    if rows.size < len(data):
        data = data.take(pa.array(rows))
    found = pc.match_substring_regex(data, pattern.regex).fill_null(False)
    return rows[found.to_numpy(zero_copy_only=False)]

"""fastokens in the place of the tokenizers library: for known shapes of byte-level BPE, and only once it is proven to
give the same ids.

The proof encodes, by both, every code point of the blocks with letters, marks, numbers and signs (and a sample of the
rest) in several surroundings, hard cases by name, and texts drawn from a seed: some 5 CPU seconds. What decides the ids
is the tokenizer file and the two versions; for the same three the proof holds.
"""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from formats.errors import ConfigError

PROOF_VERSION = 1
"""Raised when the texts of the proof change."""
LIBRARIES = ("fastokens",)
_EVERYWHERE = "a{c}b 1{c}2 .{c}. {c}{c}'s \n{c}"
_LARGE = (
    (0x3400, 0x4DC0),
    (0x4E00, 0xA000),
    (0xAC00, 0xD7A4),
    (0xE000, 0xF900),
    (0x17000, 0x18D80),
    (0x1B170, 0x1B300),
)
"""Blocks of ideographs, syllables and private use, of which one code point in SAMPLE is enough."""
_BEYOND = 0x20000
"""From here on ideographs, selectors and private use."""
SAMPLE = 61
_CODE_POINTS_A_TEXT = 64
_FUZZ_TEXTS, _FUZZ_PARTS = 300, 40
_SURROGATES = range(0xD800, 0xE000)
HARD = (
    "", " ", "\n", "\x00", "a\x00b", "  a", "a  ", "\t\n \r\n", "\r\r\n\n \n a", " \u3000\u00a0\u2028\u2029\u0085x",
    "it's IT'S we'll WE'LL I'm you've don't 'tis ''s '\u017f it'\u017f it\u2019s it\uff07s it\u2018s it\u02bcs",
    "1 12 123 1234 12345 123456789012345",
    "\u0660\u0661\u0662\u0663 \u0967\u0968 \u2460\u2461 \u2167 \u00bd \uff12\uff13",
    "e\u0301 \u00e9 \u0301 \u0301\u0301a \ufb01 \ufdfa \u1e9b\u0323 \u212b \u0344",
    "\uac01 \uac00\u11a8 \u3131\u314f 한국어",
    "ก็ไม่ได้ ท้ำ", "क्षत्रिय ज्ञ नमस्ते", "שָׁלוֹם עולם", "السَّلامُ عَلَيْكُم", "猫が好き。「東京」の空、",
    "\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308 \U0001f1e9\U0001f1ea",
    "\U0001f44d\U0001f3fd \u200d \ufe0f",
    "camelCase HTMLParser XMLHttp2Request snake_case", "a/b//c\\d --- === *** ... !!! ?!?", "ab " * 200, " \n" * 100,
    "x" * 500, " " * 500, "\n" * 300, "^" * 500, "7" * 301, "猫" * 300, "=" * 64 + "\n" + "-" * 63,
    "\ufeffbom \ufffd \U0010ffff \ue000 \u061c\u200e\u202e",
    "    def f(x):\n\t\treturn x  # it's\n\n\n\nclass A:\n        pass\n",
)  # fmt: skip


def load(data: bytes) -> Any:
    """The tokenizer file in fastokens. Raises ConfigError where that is not installed or refuses the file."""
    try:
        from fastokens import Tokenizer
    except ImportError:
        raise ConfigError("fastokens is not installed; install it with: pip install 'corpus-assets[fast]'") from None
    try:
        return Tokenizer.from_json_str(data.decode())
    except Exception as error:  # the library raises bare ones
        raise ConfigError(f"fastokens refuses this tokenizer ({error}); take `fast` out of the config") from None


def encode(fast: Any, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """uint32 ids of all texts one after the other, and int64 [text]: how many are each one's. Special tokens that occur
    in a text are encoded as text.
    """
    ids, offsets = fast.encode_batch_flat(texts, add_special_tokens=False, split_special_tokens=True)
    return np.frombuffer(ids, "<u4"), np.diff(np.frombuffer(offsets, "<u8").astype(np.int64))


def difference(library: Any, fast: Any, special: list[str]) -> str | None:
    """The first text for which the two give other ids, with the place and both ids; None when there is none."""
    for texts in _batches(special):
        flat, lengths = encode(fast, texts)
        ends = np.cumsum(lengths)
        expected = library.encode_batch_fast(texts, add_special_tokens=False)
        for text, one, end, length in zip(texts, expected, ends.tolist(), lengths.tolist(), strict=True):
            found = flat[end - length : end].tolist()
            if found != one.ids:
                at = first_difference(one.ids, found)
                return f"{text[:80]!r}: token {at} is {one.ids[at : at + 1]} and with fastokens {found[at : at + 1]}"
    return None


def first_difference(one: list[int], other: list[int]) -> int:
    """The place of the first id in which two lists differ."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def proof_texts(special: list[str]) -> Iterator[str]:
    """What the two have to agree on; `special` are the tokenizer's added tokens."""
    yield from HARD
    for token in special:
        yield from (token, f"a{token}b", f" {token} ", token * 3, token[:-1], f"{token}'s\n{token}")
    points = list(_code_points())
    for at in range(0, len(points), _CODE_POINTS_A_TEXT):
        yield "".join(_EVERYWHERE.replace("{c}", chr(point)) for point in points[at : at + _CODE_POINTS_A_TEXT])
    draw = random.Random(1)
    parts = [*(text for text in HARD if len(text) < 100), *special, *"aZ1'., \n\t猫é", "the", " and", "'ll", "  "]
    for _ in range(_FUZZ_TEXTS):
        yield "".join(draw.choice(parts)[: draw.randint(1, 30)] for _ in range(_FUZZ_PARTS))


def _code_points() -> Iterator[int]:
    for point in range(0x110000):
        large = point >= _BEYOND or any(first <= point < end for first, end in _LARGE)
        if point not in _SURROGATES and (not large or point % SAMPLE == 0):
            yield point


def _batches(special: list[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in proof_texts(special):
        batch.append(text)
        if len(batch) == _CODE_POINTS_A_TEXT:
            yield batch
            batch = []
    yield batch

"""Any text that a file may hold, through the whole text path: no record is lost or made up, no character changes but
by a rule, and neither order nor workers show.
"""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
import unicodedata2
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from corpus_assets.stages.scrub_pii import scrub
from formats.corpus_config import PiiRules
from resources.engines.contract import Engine
from resources.engines.local import LocalEngine
from tests.conformance.adversarial import AdversarialEngine
from tests.plans.text_runs import LEAK, Outcome, line, run
from tests.strategies import any_document

TALE = (
    "Grandmother Ilse kept a jar of buttons on the window sill. Each of them had a story, and she told one whenever it "
    "rained: the brass one from the ferry, the blue one from a coat that had been to sea, and the wooden one that a "
    "boy had carved for her when both of them were seven years old."
)
KNOWN = [
    TALE, TALE.replace("jar", "tin"), TALE.upper(), "\u00dcber \U0001f9f5 " + TALE + " " + LEAK + ".",
    TALE + "\n\nWrite to ilse@buttons-example.org.", TALE.replace(" ", "\n"), TALE.replace("o", "o\u0308"),
    TALE.replace("e", "e\0"), "\u202e" + TALE + "\u202c",
]  # fmt: skip
BROKEN = [
    b"",
    b"  ",
    b'{"text": "no end',
    b"[1]",
    b'{"text": 5}',
    b'{"body": "x"}',
    b'{"text": "\xff"}',
    b"\xef\xbb\xbf",
]

texts = any_document | st.sampled_from(KNOWN)
"""Texts as JSON can hold them, lone surrogates and all."""
lines = st.lists(texts.map(lambda text: line({"text": text})) | st.sampled_from(BROKEN), max_size=12)
sources = st.dictionaries(st.sampled_from(["books", "web"]), st.lists(lines, min_size=1, max_size=2), min_size=1)
profiles = st.sampled_from(["prose", "code", "short"])
# A build takes long, so what fails is shown as it was drawn.
drawing = settings(deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])


def normalized(text: str) -> str:
    return unicodedata2.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")


def expected(files: dict[str, list[list[bytes]]]) -> tuple[list[str], int]:
    """(the normalized texts that are documents, sorted; how many records are none). A run of blank lines is one."""
    found, rejects = [], 0
    read = [
        [(one, before) for before, one in pairwise([b"-", *file])] for contents in files.values() for file in contents
    ]
    for value, before in (one for file in read for one in file):
        if not value.strip() and not before.strip():
            continue
        try:
            text = json.loads(value.decode())["text"]
            text.encode()
        except (ValueError, KeyError, TypeError, AttributeError):  # UnicodeError is a ValueError
            rejects += 1
        else:
            found.append(normalized(text))
    return sorted(found), rejects


def hold(files: dict[str, list[list[bytes]]], found: Outcome, *, code: bool) -> None:
    """Every promise about the records of a version, against what was written into its files."""
    documents, rejects = expected(files)
    assert sorted(found.texts.values()) == documents
    assert len(found.rejects) == rejects
    assert found.told.keys() == found.texts.keys()
    fates = Counter(row["verdict"] for row in found.told.values())
    manifest = found.manifest
    assert fates["kept"] == manifest["n_docs"] == len(found.rows)
    dropped = [*manifest["filters"].values(), *(manifest["dedup"][f"{name}_dropped"] for name in ("exact", "near"))]
    assert len(documents) == manifest["n_docs"] + sum(dropped) + manifest["dedup"]["decontaminated"]
    for name, told in found.told.items():
        text = found.texts[name]
        assert told["n_chars"] == len(text)
        assert told["text_digest"] == hashlib.sha256(text.encode()).digest()
        if told["eval_set"] is not None:
            words = text[told["span_start"] : told["span_end"]].split()
            assert len(words) == 13
            assert " ".join(words).lower() in LEAK
    for row in found.rows:
        told, raw, text = found.told[row["id"]], found.texts[row["id"]], row["text"]
        assert (row["n_chars"], row["sha256"]) == (len(text), hashlib.sha256(text.encode()).digest())
        assert row["pii_redactions"] == sum(told[f"pii_{kind}"] for kind in ("email", "phone", "card", "ip", "key"))
        assert row["split"] == told["split"]
        assert text == raw or row["pii_redactions"] > 0
    texts = pa.array([row["text"] for row in found.rows], pa.large_string())
    again, _ = scrub(texts, ips="public", phone_regions=PiiRules().phone_regions, code=code)
    assert again.equals(texts)


def build_and_hold(files: dict[str, list[list[bytes]]], profile: str, *, verify: bool) -> None:
    with TemporaryDirectory() as folder:
        hold(files, run(Path(folder) / "root", files, profile=profile, verify=verify), code=profile == "code")


@settings(drawing, max_examples=15)
@given(sources, profiles)
def test_no_record_is_lost_and_no_character_changes_but_by_a_rule(files, profile):
    build_and_hold(files, profile, verify=False)


@pytest.mark.slow
@settings(drawing, max_examples=60)
@given(sources, profiles)
def test_no_record_is_lost_over_many_corpora_and_verify_agrees(files, profile):
    build_and_hold(files, profile, verify=True)


def dated(files: list[list[str]]) -> dict[str, list[list[bytes]]]:
    """Each text with a date of its own, so that among documents of one date order does not decide."""
    number = {text: n for n, text in enumerate(sorted({text for file in files for text in file}))}

    def as_line(text: str) -> bytes:
        return line({"text": text, "date": f"2026-01-{1 + number[text] % 28:02}T{number[text] // 28:02}:00:00Z"})

    return {"web": [[as_line(text) for text in file] for file in files]}


def order_and_workers(files: list[list[str]], seed: int, engine_of: Callable[[Path], Engine]) -> None:
    draw = random.Random(seed)
    shuffled = [text for file in files for text in file]
    draw.shuffle(shuffled)
    cut = draw.randint(0, len(shuffled))
    with TemporaryDirectory() as folder:
        root = Path(folder)
        first = run(root / "first", dated(files))
        other = run(root / "other", dated([shuffled[:cut], shuffled[cut:], []]), part_bytes=700)
        assert first.content() == other.content()
        again = run(root / "again", dated(files), engine=engine_of(root))
        assert (again.told, again.rows, again.shards) == (first.told, first.rows, first.shards)


def by_text(found: Outcome) -> dict[str, dict[str, object]]:
    return {found.texts[name]: row for name, row in found.told.items()}


def test_halves_of_a_surrogate_pair_are_rejects_and_whole_pairs_documents(tmp_path):
    """A half went on until the first step that wrote UTF-8 and ended the whole job there."""
    values = [
        rb'{"text": "a \ud83d b"}',
        rb'{"text": "a \ud83d\ude00 b"}',
        rb'{"text": "a \ude00\ud83d b"}',
        line({"text": TALE}),
    ]
    found = run(tmp_path / "root", {"web": [values]}, verify=True)
    assert [(one["position"], one["reason"]) for one in found.rejects] == [(0, "lone_surrogate"), (2, "lone_surrogate")]
    assert [row["text"] for row in found.rows] == ["a \U0001f600 b", TALE]


def test_a_nul_is_one_character_at_every_stage(tmp_path):
    """Some libraries end a text at it, some leave it out, some refuse it."""
    texts = ["a\0b", f"\0{TALE}", f"{TALE}\0", f"{TALE} {LEAK}\0 and more"]
    limits = {"short": {"too_many_control_characters": None}}
    found = run(tmp_path / "root", {"web": [[line({"text": text}) for text in texts]]}, profiles=limits, verify=True)
    told = by_text(found)
    assert [told[text]["n_chars"] for text in texts] == [len(text) for text in texts]
    assert told["a\0b"]["n_words"] == 2
    assert told[texts[3]]["verdict"] == "contaminated"
    kept = {row["text"] for row in found.rows}
    assert "a\0b" in kept
    assert all(text.count("\0") == 1 for text in kept)


corpora = st.lists(st.lists(texts, max_size=10), min_size=1, max_size=3)


@settings(drawing, max_examples=5)
@given(corpora, st.integers(0, 99))
def test_neither_the_order_of_lines_and_files_nor_the_number_of_workers_shows(files, seed):
    order_and_workers(files, seed, lambda root: LocalEngine(scratch=root / "scratch", workers=3, processes=False))


@pytest.mark.slow
@settings(drawing, max_examples=25)
@given(corpora, st.integers(0, 99))
def test_an_engine_that_cuts_retries_and_reorders_shows_no_more(files, seed):
    order_and_workers(files, seed, lambda _: AdversarialEngine(seed=seed))

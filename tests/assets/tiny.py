"""A corpus of three sources and some thirty short documents, made by the graph itself, once, and copied per test.

Its thresholds are lowered in the config, so that two sentences are a document; its shards hold six rows.
"""

import hashlib
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from formats.layout import Layout
from formats.naming import PairKey, VersionKey

V1 = VersionKey("tiny", "v1")
SOURCES = ("notes", "tales", "web")
PAIRS = tuple(PairKey(source, V1) for source in SOURCES)
LICENCES = {"notes": "CC-BY-4.0", "tales": "CC0-1.0", "web": "MIT"}

QUIZ = "Which of the nine bridges was built by the woman who never crossed a river in her life?"
MILL = (
    "The miller counted his sacks at dusk and found one too many, so he sat down in the doorway and waited for "
    "whoever had brought it to come back and take the blame."
)
LAMP = (
    "Every evening the lamplighter told the harbour one true thing, and in the morning the fishermen sailed out "
    "with it, because a secret that is known to all of them weighs nothing in a boat."
)
TALES = [
    MILL,
    LAMP,
    "A goat that had eaten the map led the travellers home, since it was the only one who had really taken in every "
    "road and every well between the mountain and the sea.",
    "The two sisters shared one umbrella for forty years and never agreed about the weather, which is why neither of "
    "them was ever quite wet and neither of them was ever quite dry.",
    "When the bell of the school cracked, the children came late for a week and learned more than before, for they "
    "had to ask one another what they had missed on the way.",
    "The king wanted a clock that showed only happy hours. The clockmaker brought him a dial without hands and said "
    "that the rest of the work was for the king to do.",
    "Nobody believed the boy who said that the hill was a sleeping whale until it rained for a month and the hill "
    "turned over to have its other side washed too.",
    MILL.upper(),  # an exact duplicate within the source
    "Short.",  # too short
    "A baker sold yesterday's bread at half the price and called it patient, and it was always sold out by noon, for "
    "the town was full of people who wished to be so called.",
]
NOTES = [
    "Questions about the workshop go to Ines at ines.carvalho@workshop-mail.com before Friday, and she will answer "
    "them all in one long letter when the kiln has cooled down again.",
    "The spare part can be ordered by phone at +1 415 555 2671 on any weekday. Please name the number of the machine, "
    "which is stamped upon the left foot under all that paint.",
    "Our server sits at 8.8.4.4 and answers slowly when it is hot, so the window beside it stays open from May until "
    "the swallows have left, whatever the neighbours say about it.",
    "The deposit was paid with card 4111 1111 1111 1111 by mistake, and the treasurer has asked everyone to forget "
    "the number at once and to bring cash to the next meeting instead.",
    f"In the quiz of last spring the hardest question was this one: {QUIZ} Only the smith knew the answer to it.",
    LAMP,  # an exact duplicate of another source
    "The key of the shed hangs behind the second drainpipe. Whoever takes it writes a name on the slate, and whoever "
    "brings it back wipes the name off with the left sleeve only.",
    "Apples are weighed without their leaves from this year on. The committee regrets the confusion and thanks the "
    "Brandt family for the very long and very detailed letter about it.",
    "Meeting moved to the boathouse. Bring a chair, a cup and something that floats, since the floor of the boathouse "
    "has not been entirely on our side since the flood in March.",
]
WEB = [
    MILL.replace("the blame", "the credit"),  # a near duplicate of another source
    "Our village has three wells and two opinions about each of them, and visitors are asked to drink before they "
    "listen, because afterwards the water will never taste the same to them.",
    "Opening hours of the museum of knots change with the tides. If the door is tied shut we are closed, and if you "
    "can untie it you may come in without a ticket.",
    "The old railway line is now a path for walkers. Trains still pass on it once a year, slowly and with apologies, "
    "so that the company may keep the right to the rails.",
    "Recipe for a soup against fog: take what the garden has, boil it until the windows are as white as the street, "
    "and eat it slowly with somebody who has nowhere else to go.",
    "Lost since Sunday: one grey parrot who can say the numbers up to twelve and the names of four bishops. He does "
    "not come when called but may be offended into an answer.",
    "We repair kites of every make. Please remove the string and the child before you send it in, and tell us in a "
    "few words what the wind was like upon the day in question.",
    "The choir meets on the stairs because the sound is better there. Basses stand at the bottom, sopranos at the "
    "top, and people who only want to go home are asked to hum along.",
]


def file_of(texts: list[str], source: str, broken_line: bool = False) -> bytes:
    """The JSON lines of one source; a line that is cut off becomes a reject."""
    rows = [{"text": text, "url": f"https://{source}.example/{i}"} for i, text in enumerate(texts)]
    lines = [json.dumps(row) for row in rows] + (['{"text": "cut o'] if broken_line else [])
    return "".join(line + "\n" for line in lines).encode()


FILES = {
    "notes": file_of(NOTES, "notes"),
    "tales": file_of(TALES, "tales", broken_line=True),
    "web": file_of(WEB, "web"),
}
EVAL_SET = (json.dumps({"question": QUIZ, "answer": "the toll keeper"}) + "\n").encode()


def ledger_row(source: str, **changes: Any) -> dict[str, Any]:
    """The ledger row of a source, but for `changes`; a change to None takes the field out."""
    data = FILES[source]
    row = {
        "source_id": source,
        "title": f"The {source}",
        "kind": "jsonl",
        "files": [{"url": f"../inputs/{source}.jsonl", "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}],
        "license_spdx": LICENCES[source],
        "license_evidence": "written for these tests",
        "attribution": "the house",
        "retrieved": "2026-11-30",
        "bucket": source,
        "profile": "prose",
        "source_rank": 1 + ("tales", "notes", "web").index(source),
        "fields": {"url": "url"},
        **changes,
    }
    return {name: value for name, value in row.items() if value is not None}


def config(key: VersionKey = V1, **changes: Any) -> dict[str, Any]:
    """The config of a version, but for `changes`."""
    eval_set = {"name": "quiz", "path": "evals/quiz.jsonl", "sha256": hashlib.sha256(EVAL_SET).hexdigest()}
    return {
        "dataset": key.dataset,
        "version": key.version,
        "sources": list(SOURCES),
        "licenses": {"allow": sorted(LICENCES.values())},
        "shard_rows": 6,
        "val_permille": 300,
        "max_damaged_ratio": 0.1,
        "profiles": {"prose": {"too_short": 10, "too_few_words": 8}},
        "decontaminate": {"eval_sets": [{**eval_set, "format": "jsonl", "fields": ["question", "answer"]}]},
        **changes,
    }


def write_ledger(layout: Layout, *rows: dict[str, Any]) -> None:
    """The ledger with the given rows in place of the sources' own; sources without one keep theirs."""
    given = {row["source_id"]: row for row in rows}
    layout.ledger.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(given.get(source, ledger_row(source))) + "\n" for source in SOURCES]
    layout.ledger.write_text("".join(lines), "utf-8")


def write_config(layout: Layout, key: VersionKey = V1, **changes: Any) -> None:
    path = layout.config(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(config(key, **changes), indent=2), "utf-8")


def unbuilt(root: Path) -> Layout:
    """Ledger, inputs, eval set and the config of v1 below `root`; nothing is built."""
    layout = Layout(root)
    for name, data in {**{f"inputs/{s}.jsonl": d for s, d in FILES.items()}, "evals/quiz.jsonl": EVAL_SET}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    write_ledger(layout)
    write_config(layout)
    return layout


_FOLDER = tempfile.TemporaryDirectory(prefix="tiny-graph-")
"""Removed when the tests end."""


@cache
def built() -> Layout:
    """The corpus with tiny.v1 published, made once a process. Tests read it; who writes takes a copy."""
    from tests.assets import graph  # it loads Dagster, which only a build needs

    layout = unbuilt(Path(_FOLDER.name) / "root")
    with graph.loaded(layout) as defs, graph.instance() as instance:
        for step in graph.build(defs, instance, V1):
            if not step.success:
                raise AssertionError(f"the tiny corpus cannot be built: {graph.failures(step)}")
    return layout


def copy(root: Path) -> Layout:
    """A copy of the built corpus."""
    shutil.copytree(built().root, root)
    return Layout(root)

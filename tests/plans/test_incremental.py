"""A version that adds a source takes over what the version before it has made, and is the same as one from nothing."""

from collections import Counter
from pathlib import Path
from unittest import mock

from corpus_assets.plans.pinned import Build
from formats.layout import Layout
from formats.naming import VersionKey
from resources.engines.local import LocalEngine
from tests.plans import dedup_runs
from tests.plans.dedup_runs import EVERY_PAIR, V1
from tests.plans.naive_dedup import Doc, Rules
from tests.plans.test_dedup_plan import drawn, source, text

V2 = VersionKey("small", "v2")
OF_A_SOURCE = ("documents", "doc_signals", "filtered_docs", "minhash_signatures", "band_parts")
OF_A_VERSION = ("keeper_ranks", "near_edges", "dedup_clusters")
RULES = Rules(val_permille=300)


def stage_outputs(layout: Layout) -> set[tuple[str, str]]:
    """(stage, identity) of everything that lies below corpus/work."""
    stages = (*OF_A_SOURCE, *OF_A_VERSION)
    return {(stage, folder.name) for stage in stages for folder in (layout.corpus / "work" / stage).glob("*[!k]")}


def built(layout: Layout, key: VersionKey) -> None:
    engine = LocalEngine(scratch=layout.root / "scratch", workers=1, processes=False)
    with mock.patch("os.fsync"):
        dedup_runs.build(Build(layout, engine), key)


def published(layout: Layout, key: VersionKey) -> dict[str, bytes]:
    """Every file of the version and of its evidence, by name."""
    folders = (layout.version(key), layout.evidence(key))
    files = {str(path.relative_to(folder)): path for folder in folders for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if name != "created.json"}


def inputs(root: Path) -> Layout:
    """Three sources with near and exact duplicates among them, one of them better than what was there before."""
    better = source("wiki", text(), *(Doc(text(n)) for n in range(4)), rank=0)
    sources = [*drawn(7, size=30), better]
    layout = dedup_runs.write_inputs(root, sources, RULES, EVERY_PAIR)
    before = [one.name for one in sources if one.name != "wiki"]
    dedup_runs.write_config(layout, V1, before, RULES, EVERY_PAIR)
    dedup_runs.write_config(layout, V2, [*before, "wiki"], RULES, EVERY_PAIR)
    return layout


def test_a_new_source_is_all_that_is_measured_signed_and_banded_and_the_result_is_that_from_nothing(tmp_path):
    step_by_step = inputs(tmp_path / "steps")
    built(step_by_step, V1)
    before = stage_outputs(step_by_step)
    assert Counter(stage for stage, _ in before) == dict.fromkeys(OF_A_SOURCE, 3) | dict.fromkeys(OF_A_VERSION, 1)
    built(step_by_step, V2)
    made = Counter(stage for stage, _ in stage_outputs(step_by_step) - before)
    assert made == dict.fromkeys((*OF_A_SOURCE, *OF_A_VERSION), 1)

    from_nothing = inputs(tmp_path / "nothing")
    built(from_nothing, V2)
    assert published(step_by_step, V2) == published(from_nothing, V2)
    assert stage_outputs(from_nothing) < stage_outputs(step_by_step)


def test_another_threshold_signs_and_bands_nothing_again(tmp_path):
    layout = inputs(tmp_path / "root")
    built(layout, V2)
    before = stage_outputs(layout)
    third = VersionKey("small", "v3")
    dedup_runs.write_config(
        layout,
        third,
        ["books", "forum", "web", "wiki"],
        Rules(threshold_millionths=900_000, val_permille=300),
        EVERY_PAIR,
    )
    built(layout, third)
    assert {stage for stage, _ in stage_outputs(layout) - before} == {"near_edges", "dedup_clusters"}

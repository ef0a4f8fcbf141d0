"""Publication: whole or not at all, the same bytes again, and never other ones."""

import errno
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from corpus_assets.plans import evidence as evidence_plan
from corpus_assets.plans import publish as publishing
from corpus_assets.plans import release_gate
from corpus_assets.plans.audit_version import manifest_hashes
from corpus_assets.plans.pinned import load_pairs
from corpus_assets.plans.publish import Published, publish
from formats import corpus_manifest, corpus_shard, dataset, durable
from formats import evidence as evidence_files
from formats.errors import ConfigError, CorruptDataError, PublishedError
from formats.layout import Layout
from tests import faults
from tests.assets import tiny
from tests.plans import tampering

V1 = tiny.V1


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return tiny.copy(tmp_path / "root")


def published(layout: Layout) -> Published:
    return publish(tampering.a_build(layout), load_pairs(layout, V1))


def bytes_of(layout: Layout) -> dict[str, bytes]:
    """Shards, manifest, evidence and lock, byte for byte; the datasheet and its seal are another asset's."""
    folder = layout.version(V1).parent
    others = ("datasheet.html", "DATASHEET.md", "TRAINING_CONTENT.md", "_EVIDENCE.json", "created.json")
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in others)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def unpublish(layout: Layout) -> None:
    for folder in (layout.version(V1), layout.evidence(V1)):
        shutil.rmtree(folder)
    layout.lock(V1).unlink()


def test_the_tiny_corpus_becomes_what_its_texts_and_rules_say(layout: Layout) -> None:
    done = published(layout)
    assert done.digest == durable.read_lock(layout.lock(V1))
    assert done.funnel.dropped == {
        "contaminated": 1,
        "exact_duplicate": 2,
        "near_duplicate": 1,
        "too_short": 1,
        "top_4gram_too_frequent": 1,
    }
    manifest = done.manifest
    assert [shard["rows"] for shard in manifest["shards"]] == [6, 6, 6, 3]
    assert list(manifest["filters"].items()) == [
        ("lang", 0), ("gopher", 0), ("repetition", 1), ("ppl", 0), ("length", 1), ("charset", 0)
    ]  # fmt: skip
    assert manifest["dedup"]["near_dropped"] == manifest["dedup"]["decontaminated"] == 1
    assert manifest["pii"] == {"emails": 1, "phones": 1, "cards": 1, "ips": 1, "keys": 0}
    docs = list(corpus_shard.read_shards(layout.version(V1)))
    assert [doc.id for doc in docs] == sorted(doc.id for doc in docs)
    assert {doc.source_id: doc.meta["license_spdx"] for doc in docs} == tiny.LICENCES
    assert done.num_bytes == sum(path.stat().st_size for path in layout.version(V1).glob("*.parquet"))


def test_a_version_that_is_published_is_not_written_again(layout: Layout) -> None:
    before = tampering.as_they_lie(layout.root)
    first, second = published(layout), published(layout)
    assert first == second
    assert tampering.as_they_lie(layout.root) == before


def test_a_version_is_made_again_with_the_same_bytes(layout: Layout) -> None:
    before = bytes_of(layout)
    unpublish(layout)
    published(layout)
    assert bytes_of(layout) == before


def test_a_version_whose_shards_are_gone_is_mended_under_its_lock(layout: Layout) -> None:
    before, lock = bytes_of(layout), layout.lock(V1).stat()
    shutil.rmtree(layout.version(V1))
    published(layout)
    assert bytes_of(layout) == before
    assert (layout.lock(V1).stat().st_ino, layout.lock(V1).stat().st_mtime_ns) == (lock.st_ino, lock.st_mtime_ns)


@pytest.mark.parametrize("gone", ["nothing", "shards", "evidence", "shards and evidence", "lock"])
def test_other_bytes_are_refused_whatever_is_left_of_the_published_version(layout: Layout, gone: str) -> None:
    tiny.write_config(layout, shard_rows=7)
    if "shards" in gone:
        shutil.rmtree(layout.version(V1))
    if "evidence" in gone:
        shutil.rmtree(layout.evidence(V1))
    old = durable.read_lock(layout.lock(V1))
    if gone == "lock":
        layout.lock(V1).unlink()
    before = bytes_of(layout)
    with pytest.raises(PublishedError) as raised:
        published(layout)
    said = str(raised.value)
    for words in (str(layout.version(V1)), f"is published with manifest {old}", "A published version is immutable"):
        assert words in said
    assert "corpus config new <new> --from" in said
    assert bytes_of(layout) == before
    assert not list(layout.corpus.glob("tiny/*.tmp"))


def test_a_config_that_changed_once_its_version_was_loaded_is_named(layout: Layout) -> None:
    tiny.write_config(layout, shard_rows=7)
    with pytest.raises(PublishedError) as raised:
        published(layout)
    assert f"{layout.config(V1)} is now " in str(raised.value)
    assert f"put back {layout.evidence(V1) / 'config.yaml'} here" in str(raised.value)


SHARD = corpus_shard.shard_name(1, 4)
DAMAGE: dict[str, Callable[[Path], Any]] = {
    "first byte": lambda path: faults.flip_byte(path, 0),
    "body": lambda path: faults.flip_byte(path, 60),
    "last byte": lambda path: faults.flip_byte(path, -1),
    "cut": faults.truncate,
    "empty": lambda path: path.write_bytes(b""),
    "missing": Path.unlink,
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", [f"v1/{SHARD}", f"v1/{corpus_manifest.NAME_ON_DISK}"])
def test_a_damaged_file_of_a_published_version_is_made_again_under_its_lock(
    layout: Layout, name: str, damage: str
) -> None:
    """As the error says that it names the file by: build the version again."""
    folder = layout.version(V1).parent
    before, whole = bytes_of(layout), tampering.as_they_lie(folder)
    DAMAGE[damage](folder / name)
    assert not manifest_hashes(layout, V1).passed
    published(layout)
    assert manifest_hashes(layout, V1).passed
    assert bytes_of(layout) == before
    now = tampering.as_they_lie(folder)
    assert all(now[path] == lies for path, lies in whole.items() if not path.startswith("v1/"))
    assert sorted(path.name for path in folder.iterdir()) == ["v1", "v1.evidence", "v1.lock"]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["documents/part-00000.parquet", "clusters.parquet", "stage_versions.json"])
def test_damaged_evidence_is_written_again_and_the_shards_are_left(layout: Layout, name: str, damage: str) -> None:
    before, shards = bytes_of(layout), tampering.as_they_lie(layout.version(V1))
    DAMAGE[damage](layout.evidence(V1) / name)
    published(layout)
    assert bytes_of(layout) == before
    assert tampering.as_they_lie(layout.version(V1)) == shards


def test_a_damaged_version_that_would_get_other_bytes_is_left_as_it_is(layout: Layout) -> None:
    tiny.write_config(layout, shard_rows=7)
    faults.flip_byte(layout.version(V1) / SHARD, 60)
    before = bytes_of(layout)
    with pytest.raises(PublishedError, match="is published with manifest"):
        published(layout)
    assert bytes_of(layout) == before


@pytest.mark.parametrize(("lock", "words"), [("f" * 63 + "?\n", "64 hex digits"), ("f" * 64 + "\n", "the lock alone")])
def test_a_lock_that_was_changed_is_named_and_left(layout: Layout, lock: str, words: str) -> None:
    layout.lock(V1).write_text(lock)
    before = bytes_of(layout)
    with pytest.raises(CorruptDataError, match=words) as raised:
        published(layout)
    assert raised.value.path == str(layout.lock(V1))
    assert bytes_of(layout) == before


def _rewritten(change: Callable[[tampering.Rows], Any]) -> Callable[..., dataset.Dataset]:
    """`_write_shards` with a fault in it: `change` edits the rows of the first shard before they are written."""
    real = publishing._write_shards

    def write(build: Any, pairs: Any, folder: Path) -> dataset.Dataset:
        made = real(build, pairs, folder)
        first, *others = made.shards
        rows = pa.Table.from_batches(dataset.read_shard(first), corpus_shard.SCHEMA).to_pylist()
        change(rows)
        batch = pa.RecordBatch.from_pylist(rows, corpus_shard.SCHEMA)
        again = corpus_shard.write_shard(0, Path(first.path), [batch], corpus_shard.SCHEMA, row_group_bytes=1 << 20)
        return replace(made, shards=(again, *others))

    return write


FAULTS: dict[str, tuple[Callable[[tampering.Rows], Any], str]] = {
    "another licence": (
        lambda rows: rows[2].update(license_spdx="GPL-3.0-only"),
        "check rows_match_ledger is broken (1 rows of notes: GPL-3.0-only, expected CC-BY-4.0)",
    ),
    "a stranger's row": (
        lambda rows: rows[2].update(source_id="forum"),
        "check rows_match_ledger is broken (1 rows of forum: CC-BY-4.0, expected no such source)",
    ),
    "an eval item": (
        lambda rows: rows[3].update(text=tiny.QUIZ),
        "check no_contamination is broken (21 rows against 6 protected sequences: 1 hits, the first in notes:",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_rows_that_a_blocking_check_would_find_are_never_published(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    change, words = FAULTS[fault]
    before = bytes_of(layout)
    unpublish(layout)
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_write_shards", _rewritten(change))
        with pytest.raises(CorruptDataError) as raised:
            published(layout)
    for said in (str(layout.version(V1)), words, "nothing was published"):
        assert said in str(raised.value)
    assert list(layout.version(V1).parent.iterdir()) == []
    published(layout)
    assert bytes_of(layout) == before


@pytest.mark.parametrize("where", ["rows", "documents"])
def test_counts_that_do_not_add_up_are_never_published(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """A row that a sort lost, or a document that the funnel did not count."""
    unpublish(layout)
    real_shards, real_count = publishing._write_shards, evidence_plan.count

    def without_the_last_shard(build: Any, pairs: Any, folder: Path) -> dataset.Dataset:
        made = real_shards(build, pairs, folder)
        shards = made.shards
        Path(shards[-1].path).unlink()
        for i, shard in enumerate(shards[:-1]):
            Path(shard.path).rename(folder / corpus_shard.shard_name(i, 3))
        left = [replace(s, path=str(folder / corpus_shard.shard_name(s.id, 3))) for s in shards[:-1]]
        return replace(made, shards=tuple(left))

    def without_a_drop(raw: Any, outcomes: Any) -> Any:
        funnel = real_count(raw, outcomes)
        funnel.sources["notes"].verdicts["exact_duplicate"] -= 1
        return funnel

    if where == "rows":
        monkeypatch.setattr(publishing, "_write_shards", without_the_last_shard)
    else:
        monkeypatch.setattr(evidence_plan, "count", without_a_drop)
    with pytest.raises(CorruptDataError, match=rf"check version_conserved is broken \(counts of {where} disagree"):
        published(layout)
    assert list(layout.version(V1).parent.iterdir()) == []


def test_an_eval_set_that_changed_since_stops_publication_by_name(layout: Layout) -> None:
    unpublish(layout)
    (layout.root / "evals/quiz.jsonl").write_bytes(tiny.EVAL_SET + b"\n")
    with pytest.raises(CorruptDataError, match=r"quiz\.jsonl: sha256 is"):
        published(layout)
    assert list(layout.version(V1).parent.iterdir()) == []


CHANGED_CONFIGS: dict[str, Callable[[bytes], bytes]] = {
    "another rule": lambda data: data.replace(b'"shard_rows": 6', b'"shard_rows": 7'),
    "no YAML any more": lambda data: data[:-1],
    "no UTF-8 any more": lambda data: data + b"\xff",
}


@pytest.mark.parametrize("change", CHANGED_CONFIGS)
def test_a_config_that_changes_during_its_build_is_not_published_as_what_it_was_built_by(
    layout: Layout, change: str
) -> None:
    unpublish(layout)
    pairs, path = load_pairs(layout, V1), layout.config(V1)
    whole = path.read_bytes()
    path.write_bytes(CHANGED_CONFIGS[change](whole))
    assert path.read_bytes() != whole
    with pytest.raises(ConfigError, match=r"v1\.yaml: changed while tiny\.v1 was built.*put the file back"):
        publish(tampering.a_build(layout), pairs)
    assert list(layout.version(V1).parent.iterdir()) == []
    path.write_bytes(whole + b"\n# a word")  # the same rules, written otherwise
    publish(tampering.a_build(layout), pairs)
    assert (layout.evidence(V1) / "config.yaml").read_bytes() == path.read_bytes()


class _Killed(BaseException):
    """The process ends here: nothing behind it runs."""


def _before(_: Callable[..., Any]) -> Callable[..., Any]:
    def killed(*_: Any, **__: Any) -> Any:
        raise _Killed

    return killed


def _after(real: Callable[..., Any]) -> Callable[..., Any]:
    def killed(*args: Any, **kwargs: Any) -> Any:
        real(*args, **kwargs)
        raise _Killed

    return killed


STEPS = [
    (publishing, "_write_shards"),
    (corpus_manifest, "write"),
    (release_gate, "hold"),
    (evidence_plan, "write"),
    (durable, "swap_folder"),
    (durable, "write_digest"),
]


@pytest.mark.parametrize("when", [_before, _after])
@pytest.mark.parametrize(("module", "name"), STEPS)
def test_a_kill_between_any_two_steps_leaves_it_unpublished_or_whole_and_a_rerun_finishes_it(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, when: Callable
) -> None:
    before = bytes_of(layout)
    unpublish(layout)
    tidy = shutil.rmtree
    with monkeypatch.context() as patched:
        patched.setattr(module, name, when(getattr(module, name)))
        # A killed process does not tidy up behind itself.
        patched.setattr(publishing.shutil, "rmtree", lambda path, **more: path.suffix == ".tmp" or tidy(path, **more))
        with pytest.raises(_Killed):
            published(layout)
    if layout.lock(V1).exists():
        assert manifest_hashes(layout, V1).passed
    published(layout)
    assert manifest_hashes(layout, V1).passed
    assert bytes_of(layout) == before
    assert sorted(path.name for path in layout.version(V1).parent.iterdir()) == ["v1", "v1.evidence", "v1.lock"]


def test_a_work_folder_on_another_file_system_is_copied_from(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path, name: Path) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link", str(name))

    before = bytes_of(layout)
    unpublish(layout)
    monkeypatch.setattr(durable.os, "link", refuse)
    published(layout)
    assert bytes_of(layout) == before


@pytest.mark.parametrize("name", ["clusters.parquet", "counts.json", "documents/part-00001.parquet"])
def test_evidence_damaged_before_its_seal_is_not_sealed_as_it_lies(
    layout: Layout, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damage_and_seal(folder: Path, written: Any) -> None:
        faults.truncate(folder / name)
        seal(folder, written)

    before, seal = bytes_of(layout), evidence_files.seal
    unpublish(layout)
    # Publication itself reads the counts, to say how large the version is.
    told = pytest.raises(CorruptDataError, match="length") if name == "counts.json" else nullcontext()
    with monkeypatch.context() as patched, told:
        patched.setattr(evidence_files, "seal", damage_and_seal)
        published(layout)
    with pytest.raises(CorruptDataError, match="length"):
        evidence_files.verified(layout.evidence(V1), name, evidence_files.read_seal(layout.evidence(V1))[name])
    if not name.startswith("documents/"):  # of these the stage's output is the same file
        published(layout)
        assert bytes_of(layout) == before


def test_a_manifest_damaged_before_its_lock_is_not_locked_as_it_lies(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap_and_damage(temporary: Path, out: Path) -> None:
        swap(temporary, out)
        if out == layout.version(V1):
            path = out / corpus_manifest.NAME_ON_DISK
            path.write_bytes(path.read_bytes().replace(b'"emails": 1', b'"emails": 7'))

    before, swap = bytes_of(layout), durable.swap_folder
    unpublish(layout)
    with monkeypatch.context() as patched:
        patched.setattr(durable, "swap_folder", swap_and_damage)
        with pytest.raises(CorruptDataError, match=r"_MANIFEST\.json: sha256"):
            published(layout)
    published(layout)
    assert bytes_of(layout) == before


def test_a_copy_from_there_that_does_not_fit_is_named(
    layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path, name: Path) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link", str(name))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(durable.os, "link", refuse)
    monkeypatch.setattr(durable.os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as raised:
        durable.link_or_copy(layout.ledger, tmp_path / "copy")
    assert raised.value.filename == str(tmp_path / "copy")


@pytest.mark.parametrize("work", ["kept", "deleted"])
def test_without_the_raw_sets_a_published_version_says_what_to_materialize(layout: Layout, work: str) -> None:
    shutil.rmtree(layout.corpus / "raw")
    if work == "deleted":
        shutil.rmtree(layout.corpus / "work/documents")
    with pytest.raises(ValueError, match="raw_fetch of source notes is not materialized"):
        published(layout)

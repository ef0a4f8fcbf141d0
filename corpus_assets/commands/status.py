"""`corpus status [VERSION…]`: what is there, missing, stale or failed, of versions, token sets and models."""

import argparse
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corpus_assets.commands.last_runs import BadEnd, bad_ends
from corpus_assets.commands.words import counted
from corpus_assets.plans import ledger_changes, standing, yanking
from corpus_assets.plans.for_people import shortened
from corpus_assets.plans.model_standing import ModelStanding, of_model
from corpus_assets.plans.pinned import Build, load_version
from corpus_assets.plans.published_version import published_versions
from corpus_assets.plans.standing import Standing, State, VersionStanding
from corpus_assets.plans.token_standing import TokenStanding, of_tokens
from corpus_assets.validation import corpus_config, model_config, token_config
from formats import corpus_manifest, evidence
from formats.errors import ConfigError, CorpusError
from formats.layout import Layout
from formats.naming import PairKey, VersionKey
from formats.yank import Yank
from resources.engines.local import LocalEngine
from resources.run_process import building

_REASONS_SHOWN = 8


@dataclass(frozen=True)
class Shown:
    """All that is told of one version. `stands` is None where its config is wrong; `wrong` says what cannot be read of
    that, or of the marks.
    """

    key: VersionKey
    stands: VersionStanding | None
    tokens: Sequence[TokenStanding]
    bad_ends: Sequence[BadEnd]
    wrong: str = ""
    marks: Sequence[Yank] = ()
    """What says that the version, or the snapshot that was made last of a token set, is yanked."""
    notes: Sequence[str] = ()
    """What a person should know although nothing is to be made."""

    @property
    def state(self) -> State:
        if self.stands is None:
            return State.REFUSED
        return min(self.stands.state, State.FAILED if self.bad_ends else State.DONE, key=list(State).index)

    @property
    def fine(self) -> bool:
        return not self.wrong and self.state.is_there and all(one.state.is_there for one in self.tokens)

    def reasons(self) -> Iterator[str]:
        """What a person should know beside the states, each once."""
        if self.wrong:
            yield self.wrong
        if self.stands:
            told = {one.why for one in self.stands.whole if one.why}
            for source, found in self.stands.sources.items():
                told |= {f"{source}: {one.asset}: {one.why}" for one in found if one.why}
            yield from sorted(told)
        yield from self.notes
        yield from map(str, (*self.marks, *self.bad_ends))
        yield from (f"{one.key}: {one.why}" for one in self.tokens if one.why)


def add_parser(subparsers: Any) -> None:
    """Add `status` to the command line."""
    parser = subparsers.add_parser("status", help="what is there, missing, stale or failed")
    parser.set_defaults(run=run)
    parser.add_argument(
        "versions",
        nargs="*",
        metavar="VERSION",
        help="<dataset>.<version>, each with all its sources; none: all, in short",
    )
    parser.add_argument("--json", action="store_true", help="print all of it, source by source, as JSON")


def run(args: argparse.Namespace) -> int:
    """0: all is there; 1: something is missing, stale, damaged or failed. Raises ConfigError for a version that has no
    config, and for a root that is no folder.
    """
    if not args.layout.root.is_dir():
        found = "is no folder" if args.layout.root.exists() else "is not there"
        raise ConfigError(f"{args.layout.root}: {found}; name the artifacts root by --root or CORPUS_ROOT")
    layout, named = args.layout, [VersionKey.parse(text) for text in args.versions]
    known, misplaced = corpus_config.discover(layout)
    for key in named:
        if key not in known and not layout.lock(key).exists():
            names = ", ".join(map(str, known)) or "none"
            raise ConfigError(f"there is no version {key} below {layout.root}; configs are there of: {names}")
    keys = named or sorted({*known, *published_versions(layout)})
    told = [_told(layout, key, steps=bool(named) or args.json) for key in keys]
    models, misnamed = _models(layout, named)
    misplaced = [*misplaced, *misnamed]
    processes = building(layout)
    if args.json:
        print(json.dumps(_as_json(layout, told, models, misplaced, processes), indent=2, ensure_ascii=False))
    else:
        _print(layout, told, models, misplaced, processes, each_source=bool(named))
    return 0 if _fine(told, models, misplaced) else 1


def _fine(told: Sequence[Shown], models: Sequence[ModelStanding], misplaced: Sequence[str]) -> bool:
    return bool(told) and not misplaced and all(one.fine for one in told) and all(one.state.is_there for one in models)


def _models(layout: Layout, named: Sequence[VersionKey]) -> tuple[list[ModelStanding], list[str]]:
    """Every model, or those of the documents of the versions named; and what is wrong with the names of files."""
    names, misplaced = model_config.discover(layout)
    if not names:
        return [], misplaced
    engine = LocalEngine(scratch=layout.work("scratch", "status"), workers=1, processes=False)  # runs nothing
    found = [of_model(Build(layout, engine), name) for name in names]
    return [one for one in found if not named or one.version in {str(key) for key in named}], [] if named else misplaced


def _told(layout: Layout, key: VersionKey, *, steps: bool) -> Shown:
    tokens = [of_tokens(layout, one) for one in token_config.discover(layout) if one.version == key]
    engine = LocalEngine(scratch=layout.work("scratch", "status"), workers=1, processes=False)  # runs nothing
    try:
        version = load_version(layout, key)
        stands = standing.of_version(Build(layout, engine), version, steps=steps)
    except CorpusError as error:
        return Shown(key, None, tokens, [], str(error))
    ends = bad_ends(layout, [*map(str, version.pairs), str(key), *(str(one.key) for one in tokens)])
    sources = {source: _failed(found, ends.get(str(PairKey(source, key)))) for source, found in stands.sources.items()}
    whole = _failed(stands.whole, ends.get(str(key)))
    marks, unreadable = _marks(layout, key, tokens)
    notes: list[str] = []
    if stands.published:
        with suppress(CorpusError):  # its state says so already
            notes += ledger_changes.since_published(layout, version)
    stands = VersionStanding(sources, whole, stands.published)
    return Shown(key, stands, tokens, list(ends.values()), "; ".join(unreadable), marks, notes)


def _marks(layout: Layout, key: VersionKey, tokens: Sequence[TokenStanding]) -> tuple[list[Yank], list[str]]:
    """The marks, and why others cannot be read: whoever reads what they are on is refused, so it is not fine."""
    found, unreadable = dict[Yank, None](), dict[str, None]()
    for name in (str(key), *(one.snapshot_id for one in tokens if one.snapshot_id and one.state.is_there)):
        try:
            mark = yanking.of_named(layout, name)
        except CorpusError as error:
            unreadable[str(error)] = None
        else:
            found |= {} if mark is None else {mark: None}
    return list(found), list(unreadable)


def _failed(found: Sequence[Standing], end: BadEnd | None) -> list[Standing]:
    """The first asset that is not there is the one that a failed run did not make; behind a refused one none ran."""
    for number, one in enumerate(found):
        if one.state is State.REFUSED:
            break
        if end and one.state in (State.MISSING, State.STALE):
            return [*found[:number], replace(one, state=State.FAILED), *found[number + 1 :]]
    return list(found)


def _as_json(
    layout: Layout, told: Sequence[Shown], models: Sequence[ModelStanding], misplaced: Sequence[str], processes: int
) -> dict[str, Any]:
    return {
        "fine": _fine(told, models, misplaced),
        "running_processes": processes,
        "misplaced_configs": list(misplaced),
        "versions": [_version_as_json(layout, one) for one in told],
        "models": [
            {"model": one.name, "state": one.state.value, "sha256": one.sha256, "version": one.version, "why": one.why}
            for one in models
        ],
    }


def _version_as_json(layout: Layout, one: Shown) -> dict[str, Any]:
    stands = one.stands
    return {
        "version": str(one.key),
        "state": one.state.value,
        "published": layout.lock(one.key).exists(),
        "yanked": {mark.of: mark.reason for mark in one.marks},
        "sources": {source: _assets(found) for source, found in stands.sources.items()} if stands else {},
        "whole": _assets(stands.whole) if stands else {},
        "tokens": [
            {"tokens": str(told.key), "state": told.state.value, "snapshot_id": told.snapshot_id, "why": told.why}
            for told in one.tokens
        ],
        "failed_runs": [{"partition": end.partition, "run_id": end.run_id, "how": end.how} for end in one.bad_ends],
        "pages": [str(page) for page in _pages(layout, one.key)],
        "reasons": list(one.reasons()),
    }


def _assets(found: Sequence[Standing]) -> dict[str, Any]:
    return {one.asset: {"state": one.state.value, **({"why": one.why} if one.why else {})} for one in found}


def _print(
    layout: Layout,
    told: Sequence[Shown],
    models: Sequence[ModelStanding],
    misplaced: Sequence[str],
    processes: int,
    *,
    each_source: bool,
) -> None:
    width = shutil.get_terminal_size((100, 24)).columns
    if not told:
        print(f"no version is below {layout.root}; `corpus config new` writes the config of one")
    for one in told:
        print(f"{one.key!s:24} {_headline(layout, one)}")
        for tokens in one.tokens:
            print(f"  tokens {tokens.key.tokens:15} {tokens.state:8} {tokens.snapshot_id or ''}".rstrip())
        if one.stands and one.stands.sources and (each_source or not one.stands.published):
            _print_sources(one.stands, width)
        for page in _pages(layout, one.key) if each_source else ():
            print(f"  {page}")
        reasons = list(one.reasons())
        for line in reasons if each_source else reasons[:_REASONS_SHOWN]:
            print(f"  ! {line}")
        if not each_source and len(reasons) > _REASONS_SHOWN:
            print(f"  ! and {len(reasons) - _REASONS_SHOWN:,} more: corpus status {one.key}")
    for model in models:
        print(f"model {model.name:18} {model.state:8} {model.sha256 or ''}".rstrip())
        if model.why:
            print(f"  ! {model.why}")
    for line in misplaced:
        print(f"! {line}")
    if processes:
        print(f"{counted(processes, 'process')} of `corpus build`, `corpus tokenize` or the UI at work")
    waiting = {
        "version": [str(one.key) for one in told if not one.state.is_there],
        "token set": [str(tokens.key) for one in told for tokens in one.tokens if not tokens.state.is_there],
        "model": [model.name for model in models if not model.state.is_there],
    }
    for thing, names in waiting.items():
        if names:
            print(f"{counted(len(names), thing)} not complete: {shortened(', '.join(names), width - 26)}")


def _pages(layout: Layout, key: VersionKey) -> list[Path]:
    """What people read of a version that has it: the datasheet, and what differs from the version before."""
    pages = [layout.evidence(key) / name for name in (evidence.DATASHEET_HTML, evidence.DIFFERENCES_HTML)]
    return [page for page in pages if page.is_file()]


def _headline(layout: Layout, one: Shown) -> str:
    if one.stands is None:
        there = "published, and " if layout.lock(one.key).exists() else ""
        return f"refused: {there}its config or evidence cannot be read"
    if not one.stands.published:
        sources = one.stands.sources.values()
        ready = sum(all(step.state is State.DONE for step in found) for found in sources)
        shared = sum(found[0].state is State.MISSING and found[1].state is State.DONE for found in sources)
        reused = f"; of {shared}, what is done was made for other versions and is reused" if shared else ""
        return f"{one.state}: not published, {ready} of {counted(len(sources), 'source')} complete{reused}"
    words = "published" if one.state.is_there else f"published, {one.state}"
    words += ", YANKED" if any(mark.of == str(one.key) for mark in one.marks) else ""
    try:
        manifest, digest = corpus_manifest.read_locked(layout.version(one.key), layout.lock(one.key))
    except CorpusError:
        return words
    counts = f"{counted(manifest['n_docs'], 'document')}, {counted(manifest['n_shards'], 'shard')}"
    return f"{words}: {counts}, manifest {digest[:12]}…"


def _print_sources(stands: VersionStanding, width: int) -> None:
    """A line for each row of states that occurs, with the sources that have it."""
    rows: dict[tuple[State, ...], list[str]] = {}
    for source, found in stands.sources.items():
        rows.setdefault(tuple(one.state for one in found), []).append(source)
    heads = [asset.replace("_", " ") for asset in standing.OF_SOURCE]
    columns = [max(len(word) for word in head.split()) for head in heads]
    columns = [max(size, 8) for size in columns]
    for part in (0, 1):  # two words, two lines
        print("  " + "  ".join(f"{head.split()[part]:{size}}" for head, size in zip(heads, columns, strict=True)))
    for states, sources in sorted(rows.items(), key=lambda row: (min(map(list(State).index, row[0])), row[1])):
        cells = "  ".join(f"{state:{size}}" for state, size in zip(states, columns, strict=True))
        names = f"{len(sources)}: {', '.join(sources)}" if len(sources) > 1 else sources[0]
        print(f"  {cells}  {shortened(names, max(20, width - len(cells) - 5))}")
    print("  " + ", ".join(f"{one.asset} {one.state}" for one in stands.whole))

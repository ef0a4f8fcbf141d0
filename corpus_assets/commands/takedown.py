"""`corpus takedown URL|DOMAIN|SOURCE`: every version, shard, snapshot and training step that holds it, and the opt-out
entry that leaves it out of the next version.
"""

import argparse
import datetime
import itertools
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corpus_assets.commands.new_files import as_configs_name_it
from corpus_assets.commands.trace_words import plain
from corpus_assets.plans import named_snapshot, takedown, yanking
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.pinning_configs import pinning_configs
from corpus_assets.plans.takedown import Takedown
from corpus_assets.plans.takedown_target import Target
from corpus_assets.plans.takedown_version import VersionHolding
from corpus_assets.plans.token_trace_back import SnapshotHolding
from formats import durable, run_record, site_lists
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import VersionKey
from formats.site_lists import OptOut

SHOWN_ROWS, SHOWN_COPIES, SHOWN_STEPS = 20, 10, 20


def add_parser(subparsers: Any) -> None:
    """Add `takedown` to the command line."""
    parser = subparsers.add_parser(
        "takedown",
        help="which versions, shards, snapshots and steps hold a site or source; write its opt-out entry",
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "target",
        metavar="URL|DOMAIN|SOURCE",
        help="a URL and all that begin so, a domain and all below it, both as in an opt-out list; or a source's name",
    )
    parser.add_argument("--run", type=Path, dest="record", metavar="RECORD", help="the steps, too, from a run record")
    parser.add_argument("--version", metavar="VERSION", help="<dataset>.<version> and its snapshots (default: all)")
    parser.add_argument(
        "--write-opt-out",
        type=Path,
        metavar="FILE",
        help="add the site to this opt-out list, made where it is missing; not to one that a config pins",
    )
    parser.add_argument(
        "--from",
        type=Path,
        dest="begins_with",
        metavar="LIST",
        help="with --write-opt-out: begin the new FILE with the entries of this list, which a config pins",
    )
    parser.add_argument("--why", metavar="TEXT", help="with --write-opt-out, required: who asked, and how")
    parser.add_argument(
        "--since", metavar="DATE", help="with --write-opt-out: day of the request (default: today, UTC)"
    )
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def run(args: argparse.Namespace) -> int:
    """0: all was searched, and nothing holds it; 1: something holds it (published rows, copies of its texts found
    elsewhere, raw sets, snapshots), or something could not be searched. Raises ConfigError, OrderError,
    CorruptDataError.
    """
    target = Target.parse(args.target)
    entry = _entry(args, target)
    record = run_record.read(args.record) if args.record else None
    if record is not None:
        named_snapshot.id_in_record(args.layout, record, args.record)
    named = VersionKey.parse(args.version) if args.version else None
    result = takedown.find(args.layout, target, record, named)
    holding = [one.version for one in result.versions] + [one.snapshot_id for one in result.snapshots]
    marks = dict.fromkeys(yanking.of_named(args.layout, name) for name in holding)
    result.notes += [str(mark) for mark in marks if mark]
    written = _write(args, entry) if entry else None
    if args.json:
        print(json.dumps(_as_json(result, written), indent=2, ensure_ascii=False))
    else:
        print("\n".join([*_words(result), *_written_words(result, args.write_opt_out, written)]))
    return 1 if result.held or result.not_searched else 0


def _entry(args: argparse.Namespace, target: Target) -> OptOut | None:
    """What is to be written, held to its format before any work."""
    if args.write_opt_out is None:
        alone = {"--why": args.why, "--since": args.since, "--from": args.begins_with}
        if given := [name for name, value in alone.items() if value is not None]:
            raise ConfigError(f"{', '.join(given)}: needs --write-opt-out FILE, the list that the entry is written to")
        return None
    if target.source is not None:
        raise ConfigError(
            f"--write-opt-out: {target.source} is a source, which no list names; leave it out of `sources` in a new "
            "config (corpus config new NEW --from OLD)"
        )
    place = args.write_opt_out
    if not place.parent.is_dir():
        raise ConfigError(f"--write-opt-out {place}: its folder is missing; make it first")
    if args.why is None:
        raise ConfigError("--write-opt-out: say who asked, and how, by --why; it stands in the list")
    entry = OptOut(args.target, args.since or datetime.datetime.now(datetime.UTC).date().isoformat(), args.why)
    site_lists.check(entry)
    listed = site_lists.opt_outs(place.read_bytes(), place) if place.exists() else []
    if args.begins_with is not None:
        _old_list(args)
    if entry.what not in {one.what for one in listed}:
        _hold_to_configs(args.layout, place)
    return entry


def _old_list(args: argparse.Namespace) -> bytes:
    """The bytes of the list that the new one begins with."""
    place, old = args.write_opt_out, args.begins_with
    if place.exists():
        raise ConfigError(f"--write-opt-out {place} is there already; leave --from out, or name a new file")
    if not old.is_file():
        raise ConfigError(f"--from {old}: there is no such list")
    data: bytes = old.read_bytes()
    site_lists.opt_outs(data, old)
    return data


def _hold_to_configs(layout: Layout, place: Path) -> None:
    """Another entry is another digest, so the list of a version that pins it must not change."""
    if not (configs := pinning_configs(layout, place)):
        return
    numbers = (n for n in itertools.count(2) if not place.with_stem(f"{place.stem}-{n}").exists())
    new = place.with_stem(f"{place.stem}-{next(numbers)}")
    more = f" and {len(configs) - 1} more" if len(configs) > 1 else ""
    raise ConfigError(
        f"--write-opt-out {place}: {configs[0]}{more} pins it by its sha256, so it must not change; write a new list, "
        f"which begins with its entries: --write-opt-out {shlex.quote(str(new))} --from {shlex.quote(str(place))}"
    )


def _write(args: argparse.Namespace, entry: OptOut) -> dict[str, Any]:
    """Adds the entry; says whether it was new, and what a config has to name."""
    path = args.write_opt_out
    try:
        added = site_lists.append(path, [entry], _old_list(args) if args.begins_with else b"")
    except OSError as error:
        raise ConfigError(f"--write-opt-out {path}: cannot be written ({error.strerror}); name another place") from None
    name = re.sub("[^a-z0-9_-]+", "-", path.stem.lower()).strip("-_") or "opt-out"
    pinned = {"name": name, "path": as_configs_name_it(args.layout, path), "sha256": durable.sha256_of(path)}
    return {"file": str(path), "added": bool(added), **pinned}


def _as_json(result: Takedown, written: dict[str, Any] | None) -> dict[str, Any]:
    value = asdict(result)
    for version in value["versions"]:
        for shard in version["shards"]:
            shard["listed"] = [{"row": row, "id": name} for row, name in shard["listed"]]
    steps = takedown.steps_of(result.snapshots)
    return {"held": result.held, "complete": not result.not_searched, **value, "steps": steps, "opt_out": written}


def _words(result: Takedown) -> Iterator[str]:
    for version in result.versions:
        yield from _version(version)
    for snapshot in result.snapshots:
        yield from _snapshot(snapshot)
    yield from (f"note: {note}" for note in result.notes)
    yield from (f"not searched: {plain(why)}" for why in result.not_searched)
    yield from _verdict(result)


def _verdict(result: Takedown) -> Iterator[str]:
    """What holds it, in a line each, with how that goes away; or that nothing does."""
    asked = plain(result.asked)
    if not result.held:
        yield f"{asked}: nothing {'that was searched ' if result.not_searched else ''}holds it; searched:"
        yield from (f"  {searched}" for searched in result.searched)
        return
    yield f"{asked}: is held by"
    published = sum(one.published for one in result.versions)
    if published:
        yield (
            f"  {plural(published, 'published row')}: leave it out of the next version, and yank those above "
            "(corpus yank VERSION --reason TEXT)"
        )
    if copies := sum(len(one.copies) for one in result.versions):
        copy = f"{plural(copies, 'document')} with {'its text' if copies == 1 else 'its texts'}"
        yield f"  {copy}, found elsewhere, which will stay: take down where they lie, too, if they are meant"
    folders = [*dict.fromkeys(folder for one in result.versions for folder in one.raw), *result.raw_sets]
    if folders:
        yield (
            f"  {plural(len(folders), 'raw set')} ({', '.join(folders)}): take the source out of ledger and configs, "
            "or its records out of the files and measure them anew; `corpus gc` frees a raw set that no ledger row, "
            "config or published version needs"
        )
    if result.snapshots:
        yield f"  {plural(len(result.snapshots), 'snapshot')}: make new ones of the next version, and yank these"


def _version(version: VersionHolding) -> Iterator[str]:
    yield f"{version.version}: {plural(version.documents, 'document')}, {version.published:,} published"
    if version.other_pages:
        yield f"  {plural(version.other_pages, 'document')} of these at other addresses that begin so"
    for shard in version.shards:
        yield f"  {shard.shard}: {plural(shard.rows, 'row')}"
        yield from (f"    row {row:,}: {plain(name)}" for row, name in shard.listed[:SHOWN_ROWS])
        if shard.rows > SHOWN_ROWS:
            yield f"    and {shard.rows - SHOWN_ROWS:,} more; --json lists them"
    yield from (f"  dropped: {n:,} {reason}" for reason, n in version.dropped.items())
    for copy in version.copies[:SHOWN_COPIES]:
        yield f"  stays elsewhere: {plain(copy.id)} ({plain(copy.url)}), of which {plain(copy.of)} was a duplicate"
    if (more := len(version.copies) - SHOWN_COPIES) > 0:
        yield f"  stays elsewhere: {plural(more, 'document')} more; --json lists them"
    yield from (f"  raw: {plural(n, 'document')} in {folder}" for folder, n in version.raw.items())


def _snapshot(holding: SnapshotHolding) -> Iterator[str]:
    held = f"{plural(holding.documents, 'document')}, {plural(holding.tokens, 'token')}"
    yield f"{holding.snapshot_id} of {holding.version}: {held}"
    yield from (f"  {shard}: {plural(tokens, 'token')}" for shard, tokens in holding.shards.items())
    steps = takedown.steps_of([holding])
    if steps is None:
        return
    told = ", ".join(f"{step:,}" for step in steps[:SHOWN_STEPS])
    more = f" and {len(steps) - SHOWN_STEPS:,} more" if len(steps) > SHOWN_STEPS else ""
    yield f"  trained on at steps {told}{more}" if steps else "  not trained on up to the saved state"


def _written_words(result: Takedown, path: Path | None, written: dict[str, Any] | None) -> Iterator[str]:
    if written is None or path is None:
        return
    yield f"{plain(str(path))}: {'added' if written['added'] else 'has it already'}; the next version names it so:"
    path_words = json.dumps(written["path"], ensure_ascii=False)
    yield f"  sites: {{opt_out: [{{name: {written['name']}, path: {path_words}, sha256: {written['sha256']}}}]}}"
    if others := max((one.other_pages for one in result.versions), default=0):
        yield (
            f"note: the entry stands for all addresses that begin so, and takes {plural(others, 'document')} along "
            "that are not exactly this page; a list knows no entry for one page alone"
        )

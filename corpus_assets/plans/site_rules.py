"""The site lists of a version: pinned files, their entries made ready once, and which documents lie at them."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.pinned import Build, Pair, Version, once_a_build
from corpus_assets.plans.pinned_file import pinned_bytes
from corpus_assets.plans.work import Output, identity
from corpus_assets.stages import match_sites, site_names
from corpus_assets.stages.place_rows import make_ids
from corpus_assets.stages.site_names import parse_site
from formats import dataset, parquet_file, site_lists
from formats.dataset import Dataset
from formats.errors import ConfigError
from formats.evidence_schemas import LISTED_SITES
from formats.layout import Layout
from formats.list_lines import Problems
from formats.list_rules import SiteList, WordList
from formats.reasons import Reason
from formats.stage_tables import SITE_ENTRIES, SITE_MATCHES
from resources.engines.contract import Dest, Task

_FORMATS = {Reason.OPT_OUT.value: site_lists.opt_outs, Reason.BLOCKED_SITE.value: site_lists.block_list}
_TOLD = ("reason", "list", "line", "what", "since", "why")


def list_path(layout: Layout, one: SiteList | WordList) -> Path:
    """Where a list lies: its path as written, or relative to the artifacts root."""
    return layout.root / one.path


def read_entries(layout: Layout, version: Version) -> pa.Table:
    """SITE_ENTRIES of all lists of the version. Raises ConfigError for a missing file, and for lines that are wrong,
    each by its number; CorruptDataError for a file that is not the one of the config.
    """
    config, written = version.config.sites, layout.config(version.key)
    rows = []
    for reason, lists in ((Reason.OPT_OUT.value, config.opt_out), (Reason.BLOCKED_SITE.value, config.block)):
        for one in lists:
            path = list_path(layout, one)
            problems = Problems(path)
            for entry in _FORMATS[reason](pinned_bytes(path, one.sha256, f"list {one.name}", written), path):
                try:
                    site = parse_site(entry.what)
                except ConfigError as error:
                    problems.add(entry.line, str(error))
                    continue
                rows.append(
                    (reason, one.name, entry.line, entry.what, entry.since, entry.why,
                     site.is_domain, site.host, match_sites.key_of(site))
                )  # fmt: skip
            problems.hold()
    columns = list(zip(*rows, strict=True)) or [()] * len(SITE_ENTRIES)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SITE_ENTRIES, strict=True)], schema=SITE_ENTRIES)


@once_a_build
def site_entries(build: Build, version: Version) -> Output:
    """SITE_ENTRIES of the version's lists, one shard."""
    config = version.config.sites
    ident = identity(
        "site_entries",
        match_sites.CODE_VERSION,
        settings={"public_suffixes": site_names.suffix_list_digest()},
        inputs={
            **{f"{Reason.OPT_OUT.value}/{one.name}": one.sha256 for one in config.opt_out},
            **{f"{Reason.BLOCKED_SITE.value}/{one.name}": one.sha256 for one in config.block},
        },
        libraries=site_names.LIBRARIES,
    )

    def make(folder: Path) -> Dataset:
        rows = read_entries(build.layout, version).to_batches()
        shard = dataset.write_shard(0, folder / "part.parquet", rows, SITE_ENTRIES, row_group_bytes=1 << 25)
        return Dataset(SITE_ENTRIES, (shard,))

    return Output(build.layout, ident, SITE_ENTRIES, make, str(version))


def site_matches(build: Build, pair: Pair, texts: Dataset) -> Output:
    """SITE_MATCHES of one source, cut like its documents `texts`."""
    entries = site_entries(build, pair.version).make()
    ident = identity(
        "site_matches",
        match_sites.CODE_VERSION,
        settings={"public_suffixes": site_names.suffix_list_digest()},
        inputs={"documents": texts.digest, "site_entries": entries.digest},
        libraries=(*match_sites.LIBRARIES, *site_names.LIBRARIES),
    )

    def make(folder: Path) -> Dataset:
        path = parquet_file.verified(entries.shards[0])
        task = Task("corpus_assets.stages.match_sites:match_sites", {"sites_path": str(path)})
        return build.engine.map_batches(texts.select("k", "url"), task, Dest(folder, SITE_MATCHES))

    return Output(build.layout, ident, SITE_MATCHES, make, str(pair))


def listed_sites(build: Build, found: list[tuple[Pair, Dataset]]) -> Iterator[pa.RecordBatch]:
    """LISTED_SITES of the SITE_MATCHES of all sources: sources by name, then by k."""
    if not found:
        return
    entries = dataset.read_table(site_entries(build, found[0][0].version).open(), columns=_TOLD)
    for pair, matches in found:
        for batch in dataset.read(matches):
            told = entries.take(batch.column("entry")).combine_chunks()
            columns = [make_ids(pair.row.source_id, batch.column("k")), *(_whole(told[name]) for name in _TOLD)]
            yield pa.RecordBatch.from_arrays(columns, schema=LISTED_SITES)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pc.cast(column.combine_chunks(), column.type) if column.num_chunks != 1 else column.chunk(0)

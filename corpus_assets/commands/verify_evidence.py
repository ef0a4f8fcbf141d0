"""The evidence of a version, held to its seal, to the manifest and to the shards.

The seal only says that nothing changed since it was written. What stands in the evidence is true where it agrees with
the shards, which the lock holds: licences and rows of every source and shard, ids and places of the kept documents.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.commands import verify_told
from corpus_assets.commands.verify_report import Say, VerifyReport
from corpus_assets.commands.verify_rows import COMPARED, Published
from corpus_assets.commands.verify_told import Told
from corpus_assets.plans.published_version import CONFIG_COPY
from corpus_assets.stages.sample_documents import is_in_sample
from corpus_assets.validation import corpus_config as config_files
from corpus_assets.validation.ledger import check_row_for_version
from formats import evidence, evidence_schemas
from formats.corpus_config import CorpusConfig
from formats.corpus_manifest import PII_KEYS
from formats.errors import ConfigError, CorruptDataError
from formats.languages import UNDETERMINED
from formats.naming import VersionKey
from formats.reasons import FILTER_BY_REASON, SITE_FILTERS, Reason

_FILES = (
    "documents",
    *(f"{name}.parquet" for name in evidence_schemas.SCHEMAS if name != "documents"),
    *(evidence.COUNTS, evidence.STAGE_VERSIONS, evidence.LEDGER_ROWS, CONFIG_COPY),
)
_OF_CONTENT = ("sums", "counts", "config", "ledger", "documents")


def check_evidence(
    folder: Path, manifest: dict[str, Any], published: Published | None, report: VerifyReport, say: Say | None
) -> None:
    """Every check of the evidence; `published` is what the shards hold, None where they could not be read whole."""
    check = report.check("evidence", "every sealed file is unchanged, its values are allowed")
    try:
        files = evidence.read_seal(folder)
    except CorruptDataError as error:
        check.add(error)
        report.leave_out(_OF_CONTENT, "the evidence is not whole")
        return
    held = evidence.names_in(folder)
    report.notes += [f"{folder / name} is not sealed, so it was not checked" for name in sorted(held - set(files))]
    for name, entry in files.items():
        if say:
            say(name)
        try:
            evidence.verified(folder, name, entry)
        except CorruptDataError as error:
            check.add(error)
    for name in _FILES:
        if not (evidence_schemas.table_names("documents", files) if name == "documents" else name in files):
            check.add(f"{folder / name}: is not in the seal; every version has it")
    told = verify_told.read(folder, len(manifest["shards"]), check) if check.ok else None
    if told is None:
        report.leave_out(_OF_CONTENT, "the evidence is not whole")
        return
    problems = {
        ("sums", "documents and PII sum to what the manifest says"): _sums(told, manifest),
        ("counts", "counts.json is what documents, files and shards sum to"): _counts(told, published),
        ("config", "config.yaml is the manifest's, and it allows every ledger row"): _config(told, manifest, published),
        ("ledger", "source and licence of every row are those of its ledger row"): _ledger(told, manifest, published),
    }
    problems["documents", "the documents that are called kept are the rows of the shards"] = (
        iter(()) if published is None else _kept(told, published)
    )
    for (name, says), found in problems.items():
        check = report.check(name, says)
        if published is None and name != "sums":
            check.unread = "not all rows of the shards could be read, to be compared"
        for problem in found:
            check.add(f"{folder}: {problem}")


def _sums(told: Told, manifest: dict[str, Any]) -> Iterator[str]:
    verdicts, dedup = told.of_verdict(), manifest["dedup"]
    by_filter: Counter[str] = Counter()
    for reason, n in verdicts.items():
        if reason in FILTER_BY_REASON:
            by_filter[FILTER_BY_REASON[reason]] += n
    near = verdicts[Reason.NEAR_DUPLICATE] + verdicts[Reason.TRAIN_NEAR_VAL]
    pairs = {
        "kept documents": (verdicts[Reason.KEPT], manifest["n_docs"]),
        "exact duplicates": (verdicts[Reason.EXACT_DUPLICATE], dedup["exact_dropped"]),
        "near duplicates": (near, dedup["near_dropped"]),
        "contaminated documents": (verdicts[Reason.CONTAMINATED], dedup["decontaminated"]),
        "filtered documents": (by_filter.total(), sum(manifest["filters"].values())),
        **{f"documents that filter {name} dropped": (by_filter[name], n) for name, n in manifest["filters"].items()},
        **{f"{said} replaced": (told.pii[kind], manifest["pii"][said]) for kind, said in PII_KEYS.items()},
    }
    for what, (found, said) in pairs.items():
        if found != said:
            yield f"{what} are {found}, the manifest says {said}"
    if (n := verdicts[Reason.TOO_MANY_LISTED_WORDS]) > len(told.wordy):
        yield f"documents dropped for listed words are {n}, listed_words has {len(told.wordy)} with too many"
    if told.near_items:
        yield f"near_items names {min(told.near_items)}, which decontamination did not let through"
    if told.mixed:
        yield f"mixed_languages names {min(told.mixed)}, which is not {UNDETERMINED} in documents"
    for reason in SITE_FILTERS:
        if verdicts[reason] != told.listed[reason]:
            yield f"documents dropped as {reason} are {verdicts[reason]}, listed_sites has {told.listed[reason]}"


def _counts(told: Told, published: Published | None) -> Iterator[str]:
    """counts.json is what `corpus trace` and the datasheet tell."""
    if published is not None and told.counts.get("shard_bytes") != published.num_bytes:
        yield f"shards have {published.num_bytes} bytes, {evidence.COUNTS} says {told.counts.get('shard_bytes')}"
    if published is not None and evidence.TEXT_BYTES in told.counts:
        of_text, says = dict(sorted(published.text_bytes.items())), told.counts[evidence.TEXT_BYTES]
        if _without_zeros(of_text) != _without_zeros(says):
            yield f"bytes of text by source are {of_text}, {evidence.COUNTS} says {says}"
    said = told.counts.get("sources")
    if not isinstance(said, dict) or not all(isinstance(one, dict) for one in said.values()):
        yield f"{evidence.COUNTS}: sources are {type(said).__name__}, expected an object of objects"
        return
    named = {source for source, _ in (*told.verdicts, *told.files)}
    if named - said.keys():
        yield f"{evidence.COUNTS}: sources {', '.join(sorted(named - said.keys()))} are missing"
    for source, one in sorted(said.items()):
        verdicts = {verdict: n for (name, verdict), n in sorted(told.verdicts.items()) if name == source}
        rejects = one.get("rejects")
        found = {
            "verdicts": (verdicts, _without_zeros(one.get("verdicts"))),
            "documents": (sum(verdicts.values()), one.get("documents")),
            "documents of its files": (told.files[source, "documents"], one.get("documents")),
            "records of its files": (told.files[source, "records"], one.get("records")),
            "rejects of its files": (
                told.files[source, "rejects"],
                sum(rejects.values()) if isinstance(rejects, dict) else rejects,
            ),
        }
        yield from (
            f"source {source}: {what} are {counted}, {evidence.COUNTS} says {n}"
            for what, (counted, n) in found.items()
            if counted != n
        )


def _sample(told: Told, config: CorpusConfig) -> Iterator[str]:
    """Whoever was left out of the sample, or taken into it, was so by the draw."""
    if not config.is_sample:
        if n := told.of_verdict()[Reason.NOT_SAMPLED]:
            yield f"{n} documents are {Reason.NOT_SAMPLED.value}, and {CONFIG_COPY} takes all of them"
        return
    before = pa.array([*SITE_FILTERS, Reason.NOT_SAMPLED.value])
    strays: Counter[str] = Counter()
    for batch in evidence.read(told.folder, "documents", columns=["doc_id", "verdict"]):
        verdict = pc.cast(batch.column("verdict"), pa.string())
        drawn = pa.array(is_in_sample(batch.column("doc_id"), permille=config.sample_permille, seed=config.sample_seed))
        out, known = pc.equal(verdict, Reason.NOT_SAMPLED.value), pc.is_in(verdict, before)
        for what, wrong in (
            ("left out, and the draw takes them", pc.and_(out, drawn)),
            ("looked at, and the draw leaves them out", pc.invert(pc.or_(known, drawn))),
        ):
            strays[what] += pc.sum(wrong).as_py() or 0
    yield from (f"{n} documents were {what} (sample_permille, sample_seed)" for what, n in strays.items() if n)


def _without_zeros(counts: Any) -> Any:
    return {name: n for name, n in counts.items() if n} if isinstance(counts, dict) else counts


def _config(told: Told, manifest: dict[str, Any], published: Published | None) -> Iterator[str]:
    try:
        key = VersionKey(manifest["dataset"], manifest["version"])
        config = config_files.load(told.folder / CONFIG_COPY, key)
    except ConfigError as error:
        yield str(error)
        return
    if config.config_sha256 != manifest["config_sha256"]:
        yield f"{CONFIG_COPY}: config_sha256 is {config.config_sha256}, the manifest says {manifest['config_sha256']}"
    yield from _sample(told, config)
    if set(config.sources) != told.rows.keys():
        has, wants = ", ".join(sorted(told.rows)), ", ".join(sorted(config.sources))
        yield f"{evidence.LEDGER_ROWS}: has rows of {has}, {CONFIG_COPY} names {wants}"
    for row in told.rows.values():
        yield from check_row_for_version(row, config)
    if published is not None and not published.largest_val < config.val_permille <= published.smallest_train:
        yield f"{CONFIG_COPY}: val_permille is {config.val_permille}, which does not explain the splits"


def _ledger(told: Told, manifest: dict[str, Any], published: Published | None) -> Iterator[str]:
    """Ledger rows against their digests in stage_versions.json and lineage, and lineage against the shards."""
    digests = {source: row.digest for source, row in told.rows.items()}
    for name, said in (("ledger_rows", digests), ("config_sha256", manifest["config_sha256"])):
        if (found := told.stages.get(name)) != said:
            yield f"{evidence.STAGE_VERSIONS}: {name} is {found}, expected {said}"
    lineage: Counter[tuple[int, str, str]] = Counter()
    for row in told.lineage:
        lineage[row["shard"], row["source_id"], row["license_spdx"]] += row["rows"]
        if (digest := row["ledger_row_digest"].hex()) != digests.get(row["source_id"]):
            yield f"lineage of shard {row['shard']}: ledger row {row['source_id']} has another digest than {digest}"
    of_shard = Counter[int]()
    for (shard, _, _), n in lineage.items():
        of_shard[shard] += n
    for i, entry in enumerate(manifest["shards"]):
        if of_shard[i] != entry["rows"]:
            yield f"lineage of shard {i} has {of_shard[i]} rows, the manifest says {entry['rows']}"
    for where, counted in (("lineage", lineage), ("shards", published.rows if published else Counter())):
        wrong: Counter[tuple[str, str]] = Counter()
        for (_, source, licence), n in counted.items():
            if source not in told.rows or told.rows[source].license_spdx != licence:
                wrong[source, licence] += n
        for (source, licence), n in sorted(wrong.items()):
            expected = told.rows[source].license_spdx if source in told.rows else "no row of this source"
            yield f"{where}: {n} rows of {source} under {licence}, its ledger row says {expected}"
    if published is not None:
        for shard, source, licence in sorted(lineage.keys() | published.rows.keys()):
            said, found = lineage[shard, source, licence], published.rows[shard, source, licence]
            if said != found:
                yield f"lineage of shard {shard} has {said} rows of {source} under {licence}, the shard {found}"


def _kept(told: Told, published: Published) -> Iterator[str]:
    if told.strange_shards:
        yield f"{told.strange_shards} kept documents name a shard that there is not"
    for i, (said, found) in enumerate(zip(told.digests, published.digests, strict=True)):
        if said != found:
            yield f"the kept documents of shard {i} are not its rows: {', '.join(COMPARED)} differ somewhere"

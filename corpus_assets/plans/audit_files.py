"""Whether stored files are as they were written: stage outputs by their manifests, the evidence by its seal. Every file
is hashed; nothing of it is decoded.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from corpus_assets.plans import ngram_index, stored
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.eval_index import eval_counts, eval_index
from corpus_assets.plans.for_people import plural
from corpus_assets.plans.mixed_texts import mixed_texts
from corpus_assets.plans.near_edges import band_parts
from corpus_assets.plans.near_items import near_items
from corpus_assets.plans.pinned import Build, load_pair, load_pairs
from corpus_assets.plans.placement import over_caps
from corpus_assets.plans.published_version import open_published
from corpus_assets.plans.site_rules import site_entries
from corpus_assets.plans.source_stages import documents_left_out, listed_documents, listed_words
from corpus_assets.plans.stored import Stored
from corpus_assets.plans.token_build import TokenBuild
from corpus_assets.plans.word_rules import word_entries
from corpus_assets.plans.work import Output, nothing_is_made
from formats import durable, evidence
from formats.errors import CorruptDataError
from formats.layout import Layout
from formats.naming import PairKey, VersionKey
from formats.parquet_file import Shard

SHOWN = 3
_OF_EVERY_DATASHEET = (evidence.DATASHEET_HTML, evidence.DATASHEET_MD, evidence.TRAINING_CONTENT)
_OF_DATASHEET = (*_OF_EVERY_DATASHEET, evidence.DIFFERENCES_HTML)
"""What differs is told where there is a version before it."""
_OF_INDEX = f"{ngram_index.FOLDER}/"


def outputs_of_source(build: Build, key: PairKey, asset: str) -> Finding:
    """Every part of the stage outputs that an asset of one source holds has the length and hash of its manifest."""
    with nothing_is_made():
        held = [stored.of_pair(build, key, asset), *_lying(_BESIDE_OF_SOURCE.get(asset, _nothing)(build, key))]
        if asset == "scrubbed_docs":
            eval_counts(eval_index(build, load_pair(build.layout, key).version))  # both files are held to their hashes
    return _as_written(held)


def outputs_of_version(build: Build, key: VersionKey, asset: str) -> Finding:
    """The same of an asset of the whole version; published files aside, which have their own checks."""
    with nothing_is_made():
        held = [stored.of_version(build, key, asset), *_lying(_BESIDE_OF_VERSION[asset](build, key))]
    published = build.layout.version(key)
    return _as_written(
        Stored(one.data_version, tuple(file for file in one.files if Path(file.path).parent != published))
        for one in held
    )


def outputs_of_tokens(build: TokenBuild, asset: str) -> Finding:
    """The same of an asset of a token set."""
    with nothing_is_made():
        return _as_written([stored.of_tokens(build, asset)])


def evidence_sealed(layout: Layout, key: VersionKey) -> Finding:
    """Every file of the evidence that is published with the version has the length and hash of the seal, and no other
    file lies there. What is made after the lock has checks of its own: a build that mends it is not stopped here.
    """
    folder = layout.evidence(key)
    sealed, path = evidence.read_seal(folder), folder / evidence.SEAL
    if path.read_bytes() != evidence.seal_bytes(durable.json_of(path)):
        return Finding(False, f"{path}: its bytes are of another form than its writer's; restore it from a copy")
    names = [name for name in sealed if not _made_later(name)]
    strangers = sorted(name for name in evidence.names_in(folder) - sealed.keys() if not _made_later(name))
    if strangers:
        told = ", ".join(strangers[:SHOWN])
        return Finding(False, f"{folder}: the seal does not name {told}; remove what is not of the evidence")
    return _sealed(layout, key, names)


def datasheet_sealed(layout: Layout, key: VersionKey) -> Finding:
    """The datasheet's page, its short form, the training summary and what differs are sealed, and have their hashes."""
    missing = [name for name in _OF_EVERY_DATASHEET if name not in evidence.read_seal(layout.evidence(key))]
    if missing:
        return Finding(False, f"the seal does not name {', '.join(missing)}; materialize datasheet")
    return _sealed(layout, key, [name for name in evidence.read_seal(layout.evidence(key)) if name in _OF_DATASHEET])


def ngram_index_sealed(build: Build, key: VersionKey) -> Finding:
    """Every file of the n-gram index is sealed, and has its hash. Raises ConfigError where one is asked for and was not
    made.
    """
    if stored.of_version(build, key, "ngram_index").data_version == ngram_index.NOT_KEPT:
        return Finding(True, "the version's config asks for no index")
    sealed = evidence.read_seal(build.layout.evidence(key))
    return _sealed(build.layout, key, [name for name in sealed if name.startswith(_OF_INDEX)])


def _made_later(name: str) -> bool:
    return name in _OF_DATASHEET or name.startswith(_OF_INDEX)


def _sealed(layout: Layout, key: VersionKey, names: Iterable[str]) -> Finding:
    folder, count, num_bytes = layout.evidence(key), 0, 0
    sealed, wrong = evidence.read_seal(folder), []
    for name in names:
        count, num_bytes = count + 1, num_bytes + sealed[name]["bytes"]
        try:
            evidence.verified(folder, name, sealed[name])
        except CorruptDataError as error:
            wrong.append(error)
    return _finding(wrong, count, num_bytes, "with the hashes of the seal")


def _as_written(held: Iterable[Stored]) -> Finding:
    held = list(held)
    files = {file.path: file for one in held for file in one.files}
    wrong = stored.damaged([Stored("", tuple(files.values()))])
    if not files:
        return Finding(True, "nothing is stored", {"files": 0, "bytes": 0, "files_damaged": 0})
    stages = sorted({Path(path).parent.parent.name for path in files})
    return _finding(wrong, len(files), sum(map(_length, files.values())), f"as written: {', '.join(stages)}")


def _length(file: Shard) -> int:
    return file.num_bytes


def _finding(wrong: list[CorruptDataError], count: int, num_bytes: int, what: str) -> Finding:
    figures = {"files": count, "bytes": num_bytes, "files_damaged": len(wrong)}
    if not wrong:
        return Finding(True, f"{plural(count, 'file')} of {plural(num_bytes, 'byte')} {what}", figures)
    more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    return Finding(False, "; ".join(map(str, islice(wrong, SHOWN))) + more, figures)


def _lying(outputs: Iterable[Output | None]) -> Iterator[Stored]:
    """Those that lie there: what comes of them stands without them."""
    for output in outputs:
        if output and output.folder.exists():
            yield Stored("", output.open().shards)


def _nothing(_build: Build, _key: PairKey) -> Iterator[Output | None]:
    yield from ()


def _beside_verdicts(build: Build, key: PairKey) -> Iterator[Output | None]:
    pair = load_pair(build.layout, key)
    if pair.config.sites.configured:
        yield site_entries(build, pair.version)
    for one in pair.config.words.lists:
        yield word_entries(build, pair.version, one)
    for plan in (listed_documents, listed_words, documents_left_out):
        yield plan(build, pair)


def _beside_clusters(build: Build, key: VersionKey) -> Iterator[Output | None]:
    for pair in load_pairs(build.layout, key):
        yield band_parts(build, pair)


def _beside_rows(build: Build, key: VersionKey) -> Iterator[Output | None]:
    pairs = load_pairs(build.layout, key)
    yield over_caps(build, pairs)
    for pair in pairs:
        yield near_items(build, pairs, pair)
        yield mixed_texts(build, pair)


def _beside_index(build: Build, key: VersionKey) -> Iterator[Output | None]:
    version = open_published(build.layout, key)
    if (config := version.config()).ngram_index.form != ngram_index.NOT_KEPT:
        yield ngram_index.indexed_parts(build, version, config)


_BESIDE_OF_SOURCE: dict[str, Callable[[Build, PairKey], Iterator[Output | None]]] = {"filtered_docs": _beside_verdicts}
_BESIDE_OF_VERSION: dict[str, Callable[[Build, VersionKey], Iterator[Output | None]]] = {
    "dedup_clusters": _beside_clusters,
    "shards": _beside_rows,
    "ngram_index": _beside_index,
}
"""Asset -> what it made on the way and does not give back itself."""

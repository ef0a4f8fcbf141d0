"""Audits of the published texts: they are read from the shards and put through the rules again."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.kernels.bands import band_keys
from corpus_assets.kernels.minhash import signatures
from corpus_assets.kernels.ngram_match import EvalIndex
from corpus_assets.kernels.ngram_share import WIDTH, share_index
from corpus_assets.kernels.shingles import is_edge, jaccard, shingle_sets
from corpus_assets.plans.audit_finding import Finding
from corpus_assets.plans.eval_index import build_index
from corpus_assets.plans.pinned import load_version
from corpus_assets.stages import decontaminate
from corpus_assets.stages.near_items import near_rows
from corpus_assets.stages.scrub_pii import scrub
from formats import corpus_manifest, corpus_shard, ledger
from formats import evidence as evidence_files
from formats.dedup_rules import NearRules
from formats.layout import Layout
from formats.naming import VersionKey

PII_ROWS_PER_SHARD = 2_000
NAMED_TEXTS = 3


def _texts(out: Path, *columns: str) -> Iterator[tuple[str, pa.RecordBatch]]:
    """(shard, rows with large_string text) of the version in the folder `out`."""
    for entry in corpus_manifest.read(out)["shards"]:
        for batch in corpus_shard.read_shard(out, entry, columns=["id", "text", *columns]):
            at = batch.schema.get_field_index("text")
            yield entry["name"], batch.set_column(at, "text", batch.column("text").cast(pa.large_string()))


def no_residual_pii(layout: Layout, key: VersionKey) -> Finding:
    """Scrubs the first rows of each shard again, by the rules of each row's source."""
    config = load_version(layout, key).config
    rows = ledger.read(layout.evidence(key) / evidence_files.LEDGER_ROWS)
    code = [row.source_id for row in rows if row.profile == "code"]
    checked, found, first = 0, 0, ""
    of_shard: Counter[str] = Counter()
    for shard, batch in _texts(layout.version(key), "source_id"):
        batch = batch.slice(0, max(0, PII_ROWS_PER_SHARD - of_shard[shard]))
        of_shard[shard] += batch.num_rows
        is_code = pc.is_in(batch.column("source_id"), pa.array(code, pa.string()))
        for as_code in (True, False):
            mine = batch.filter(is_code if as_code else pc.invert(is_code))
            _, counts = scrub(
                mine.column("text"), ips=config.pii.ips, phone_regions=config.pii.phone_regions, code=as_code
            )
            hits = np.sum([np.asarray(one) for one in counts.values()], axis=0)
            checked += mine.num_rows
            found += int(hits.sum())
            if not first and hits.any():
                first = mine.column("id")[int(np.flatnonzero(hits)[0])].as_py()
    words = f"{checked} rows scrubbed again, {found} hits" + (f", the first in {first}" if first else "")
    return Finding(found == 0, words, {"rows": checked, "hits": found})


def no_contamination(layout: Layout, key: VersionKey) -> Finding:
    """Matches every published row against the eval sets of the config, read anew."""
    index, _ = build_index(layout, load_version(layout, key).config)
    return protected_items(layout.version(key), index)


def protected_items(folder: Path, index: EvalIndex, *, tell_near: bool = True) -> Finding:
    """Matches every row of the shards in `folder` against the index. Rows without a protected sequence that hold much
    of an item are told, with `tell_near`, and do not fail: what was edited may have made another text of it.
    """
    checked, num_hits, first = 0, 0, ""
    near: list[str] = []
    num_near, short = 0, share_index(index) if tell_near else None
    for _, batch in _texts(folder):
        text = batch.column("text")
        item, _, _ = decontaminate.hits(text, index)
        checked += batch.num_rows
        num_hits += int((item >= 0).sum())
        if not first and (item >= 0).any():
            first = batch.column("id")[int(np.flatnonzero(item >= 0)[0])].as_py()
        if short is None:
            continue
        for row, entry, shared, of in zip(*(one.tolist() for one in near_rows(text, short)), strict=True):
            if item[row] < 0:
                num_near += 1
                if len(near) < NAMED_TEXTS:
                    name = ":".join(index.entries[entry])
                    near.append(f"{batch.column('id')[row].as_py()} has {shared} of {of} of {name}")
    words = f"{checked} rows against {_sequences(index)} protected sequences: {num_hits} hits"
    words += f", the first in {first}" if first else ""
    words += f"; {num_near} without one hold half of an item's {WIDTH}-grams: {'; '.join(near)}" if near else ""
    return Finding(num_hits == 0, words, {"rows": checked, "hits": num_hits, **({"near": num_near} if short else {})})


def _sequences(index: EvalIndex) -> int:
    return len(index.keys)


def no_leakage(layout: Layout, key: VersionKey) -> Finding:
    """Looks for train rows near a val row. Memory: the val rows' sets, a few thousandths of the corpus."""
    near = load_version(layout, key).config.dedup.near
    val_ids, val_sets, val_keys = [], [], []
    for _, batch in _texts(layout.version(key), "split"):
        val = batch.filter(pc.equal(batch.column("split"), "val"))
        keys, stays = _keys(val, near)
        val_keys.append(keys)
        val_ids += val.column("id").take(stays).to_pylist()
        val_sets.append(shingle_sets(val.column("text").take(stays), near.shingle, near.shingle_unit))
    sets = pa.concat_arrays(val_sets) if val_sets else pa.array([], pa.large_binary())
    owner, key_of = _by_key(np.concatenate(val_keys) if val_keys else np.zeros((0, near.bands), np.int64))
    checked, leaks, first = 0, 0, ""
    for _, batch in _texts(layout.version(key), "split"):
        train = batch.filter(pc.equal(batch.column("split"), "train"))
        keys, stays = _keys(train, near)
        train = train.take(stays)
        checked += train.num_rows
        row, val_row = _meetings(keys, key_of, owner)
        if not len(row):
            continue
        mine = shingle_sets(train.column("text").take(pa.array(row)), near.shingle, near.shingle_unit)
        leak = is_edge(*jaccard(mine, sets.take(pa.array(val_row))), near.jaccard_millionths)
        leaks += len(np.unique(row[leak]))
        if not first and leak.any():
            at = int(np.flatnonzero(leak)[0])
            first = f"{train.column('id')[int(row[at])].as_py()} near {val_ids[int(val_row[at])]}"
    words = f"{checked} train rows against {len(val_ids)} val rows: {leaks} near duplicates"
    return Finding(leaks == 0, words + (f", such as {first}" if first else ""), {"train_rows": checked, "leaks": leaks})


def _keys(batch: pa.RecordBatch, near: NearRules) -> tuple[np.ndarray, pa.Array]:
    """Band keys of the rows with words, and which rows these are."""
    text = batch.column("text")
    signature, num_shingles = signatures(text, shingle=near.shingle, unit=near.shingle_unit, seed=near.seed)
    stays = pa.array(np.flatnonzero(num_shingles > 0))
    return band_keys(signature.take(stays), near.bands, near.rows), stays


def _by_key(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(row, key with its band) of every band of every row, by key."""
    tagged = _tagged(keys)
    row = np.repeat(np.arange(len(keys)), keys.shape[1])
    order = np.argsort(tagged.reshape(-1), kind="stable")
    return row[order], tagged.reshape(-1)[order]


def _tagged(keys: np.ndarray) -> np.ndarray:
    """Keys of different bands never meet: the band goes into the low bits."""
    bands = keys.shape[1]
    return (keys // bands) * bands + np.arange(bands, dtype=np.int64)


def _meetings(keys: np.ndarray, key_of: np.ndarray, owner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(train row, val row) of every pair that shares a band, each once."""
    tagged = _tagged(keys).reshape(-1)
    row = np.repeat(np.arange(len(keys)), keys.shape[1])
    left, right = np.searchsorted(key_of, tagged, "left"), np.searchsorted(key_of, tagged, "right")
    counts = right - left
    met = np.repeat(row, counts)
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    val = owner[np.repeat(left, counts) + offsets]
    pairs = np.unique(np.stack((met, val), axis=1), axis=0) if len(met) else np.zeros((0, 2), np.int64)
    return pairs[:, 0], pairs[:, 1]


def no_equal_texts(layout: Layout, key: VersionKey) -> Finding:
    """Counts published rows whose text another row has, too: texts that differ in personal data alone are equal once
    it is replaced, after dedup saw them. Rows are told apart by the first 64 bits of their sha256: 8 bytes of memory a
    row; of versions of a billion rows, one in forty would count a pair too many.
    """
    out = layout.version(key)
    keys = np.empty(corpus_manifest.read(out)["n_docs"], np.uint64)
    checked = 0
    for _, mine in _first_bits(out):
        keys[checked : checked + len(mine)] = mine
        checked += len(mine)
    keys.sort()
    again = keys[1:][keys[1:] == keys[:-1]]
    repeated = np.unique(again)
    named: dict[int, list[str]] = {int(one): [] for one in repeated[:NAMED_TEXTS]}
    for ids, mine in _first_bits(out) if named else ():
        for row in np.flatnonzero(np.isin(mine, repeated[:NAMED_TEXTS])):
            of_text = named[int(mine[row])]
            if len(of_text) < 2:
                of_text.append(ids[int(row)].as_py())
    words = f"{checked} rows, {len(again)} of them with the text of an earlier row"
    if len(again):
        words += f" ({len(repeated)} texts), such as " + "; ".join(" = ".join(ids) for ids in named.values())
    return Finding(
        not len(again), words, {"rows": checked, "rows_repeated": len(again), "texts_repeated": len(repeated)}
    )


def _first_bits(out: Path) -> Iterator[tuple[pa.Array, np.ndarray]]:
    """(ids, first 64 bits of sha256 as uint64) of the rows of a version, in order."""
    for entry in corpus_manifest.read(out)["shards"]:
        for batch in corpus_shard.read_shard(out, entry, columns=["id", "sha256"]):
            digests = np.frombuffer(b"".join(batch.column("sha256").to_pylist()), np.uint64)
            yield batch.column("id"), digests[::4]

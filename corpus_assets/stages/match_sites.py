"""Which documents lie at a listed site: a domain and all below it, or a URL prefix. Only URLs are read.

Cost: one regular expression a URL; Python sees each host of a batch once, and of URL prefixes only as many steps as
they have different lengths.
"""

import hashlib
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpus_assets.kernels.url_paths import url_paths
from corpus_assets.stages.site_names import DEFAULT_PORTS, Site, canonical_host, with_parents
from formats.stage_tables import SITE_ENTRIES, SITE_MATCHES

CODE_VERSION = "1"
LIBRARIES = ("pyarrow",)
_NONE = np.iinfo(np.int64).max
_PARTS = (
    r"(?s)^[\x00-\x20]*(?:(?i:https?|ftp|wss?):[/\\]*|[/\\]{2})?"
    r"(?:[^/\\?#]*@)?(?P<host>\[[^/\\?#\]]*\]|[^/\\?#:@]*)(?::(?P<port>[0-9]*))?(?P<rest>(?:[/\\?#].*)?)$"
)
"""Also of a URL without a scheme: only listed sites are looked for, so a file name that looks like a host does no harm.
"""


@dataclass(frozen=True)
class UrlParts:
    """Row for row: number of the host in `hosts` (-1 for none), the port as written, and what follows."""

    hosts: list[str]
    host: np.ndarray
    port: pa.Array
    rest: pa.Array


def url_parts(urls: pa.Array) -> UrlParts:
    """The parts of each URL of a large_string column, hosts in their one form."""
    clean = (
        pc.replace_substring_regex(urls, r"[\t\r\n]", "")
        if pc.any(pc.match_substring_regex(urls, r"[\t\r\n]")).as_py()
        else urls
    )
    parts = pc.extract_regex(clean, _PARTS)
    host, port, rest = (pc.struct_field(parts, name) for name in ("host", "port", "rest"))
    written = pc.fill_null(host, "").dictionary_encode()
    names = [canonical_host(name) or "" for name in written.dictionary.to_pylist()]
    known = {name: i for i, name in enumerate(dict.fromkeys(name for name in names if name))}
    number = np.array([known.get(name, -1) for name in names] or [-1], np.int64)
    at = number[written.indices.to_numpy(zero_copy_only=False)] if len(urls) else np.zeros(0, np.int64)
    return UrlParts(list(known), at, port, rest)


@dataclass(frozen=True)
class SiteIndex:
    """SITE_ENTRIES rows; the number of a row is the entry's, and of several that match the lowest counts."""

    entries: pa.Table

    @cached_property
    def _domains(self) -> tuple[np.ndarray, np.ndarray, pa.Array]:
        """Hashes in order, with entry and name; of equal names the first."""
        at = np.flatnonzero(self.entries.column("is_domain").to_numpy())
        names = _one_chunk(self.entries.column("key")).take(pa.array(at))
        hashes = hashes_of(names.to_pylist())
        order = np.lexsort((at, hashes))
        return hashes[order], at[order], names.take(pa.array(order))

    @cached_property
    def _prefixes(self) -> dict[int, tuple[pa.Array, np.ndarray]]:
        """By length in code points: keys, each once, and the first entry of each."""
        at = np.flatnonzero(~self.entries.column("is_domain").to_numpy())
        keys = _one_chunk(self.entries.column("key")).take(pa.array(at))
        lengths = pc.utf8_length(keys).to_numpy()
        found = {}
        for length in np.unique(lengths).tolist():
            mine = np.flatnonzero(lengths == length)
            first: dict[str, int] = {}
            for key, entry in zip(keys.take(pa.array(mine)).to_pylist(), at[mine].tolist(), strict=True):
                first.setdefault(key, entry)
            found[length] = (pa.array(first.keys(), pa.large_string()), np.array(list(first.values()), np.int64))
        return found

    @cached_property
    def _prefix_hosts(self) -> frozenset[str]:
        mask = pc.invert(self.entries.column("is_domain"))
        return frozenset(pc.unique(self.entries.column("host").filter(mask)).to_pylist())

    def first_entries(self, urls: pa.Array) -> np.ndarray:
        """Per URL the lowest number of an entry that it falls under; -1 for none."""
        parts = url_parts(urls)
        of_host = np.append(self._of_hosts(parts.hosts), _NONE)  # the last one is for no host
        found = of_host[parts.host]
        listed = np.append([host in self._prefix_hosts for host in parts.hosts], False).astype(np.bool_)
        rows = np.flatnonzero(listed[parts.host])
        if rows.size:
            found[rows] = np.minimum(found[rows], self._of_prefixes(parts, rows))
        return np.where(found == _NONE, -1, found)

    def _of_hosts(self, hosts: list[str]) -> np.ndarray:
        names, owners = [], []
        for i, host in enumerate(hosts):
            above = with_parents(host)
            names += above
            owners += [i] * len(above)
        best = np.full(len(hosts), _NONE, np.int64)
        hashes, entries, listed = self._domains
        if not names or not len(hashes):
            return best
        wanted, asked = hashes_of(names), pa.array(names, pa.large_string())
        at, owner = np.searchsorted(hashes, wanted), np.array(owners, np.int64)
        while (live := np.flatnonzero((at < len(hashes)) & (hashes[np.minimum(at, len(hashes) - 1)] == wanted))).size:
            same = pc.equal(listed.take(pa.array(at[live])), asked.take(pa.array(live))).to_numpy(zero_copy_only=False)
            hit = live[same]
            np.minimum.at(best, owner[hit], entries[at[hit]])
            at[live] += 1  # names of one hash lie side by side
        return best

    def _of_prefixes(self, parts: UrlParts, rows: np.ndarray) -> np.ndarray:
        best = np.full(len(rows), _NONE, np.int64)
        take = pa.array(rows)
        hosts = pa.array(parts.hosts, pa.large_string()).take(pa.array(parts.host[rows]))
        paths = url_paths(parts.rest.take(take))
        port = pc.utf8_ltrim(pc.fill_null(parts.port.take(take), ""), "0")
        colon, empty = pa.scalar(":", pa.large_string()), pa.scalar("", pa.large_string())
        said = pc.invert(pc.is_in(port, pa.array(DEFAULT_PORTS, pa.large_string())))
        with_port = pc.if_else(said, pc.binary_join_element_wise(colon, port, empty), empty)
        for middle in (empty, with_port):
            keys = pc.binary_join_element_wise(hosts, middle, paths, empty)
            for length, (listed, entries) in self._prefixes.items():
                at = pc.index_in(pc.utf8_slice_codeunits(keys, 0, length), listed)
                hit = np.flatnonzero(at.is_valid().to_numpy(zero_copy_only=False))
                best[hit] = np.minimum(best[hit], entries[at.take(pa.array(hit)).to_numpy()])
        return best


def key_of(site: Site) -> str:
    """How an entry is found: a domain by its host, a prefix by host, port and path in one form."""
    if site.path is None:
        return site.host
    path = url_paths(pa.array([site.path], pa.large_string()))[0].as_py()
    return f"{site.host}:{site.port}{path}" if site.port else f"{site.host}{path}"


def hashes_of(names: list[str]) -> np.ndarray:
    """64 bits of each name, to find it by; names are compared themselves, too."""
    data = b"".join(hashlib.blake2b(name.encode("utf-8"), digest_size=8).digest() for name in names)
    return np.frombuffer(data, np.uint64)


@cache
def stored_sites(path: str) -> SiteIndex:
    """The SITE_ENTRIES in a file named by its identity, read once a process."""
    return SiteIndex(pq.read_table(path).cast(SITE_ENTRIES))


def match_sites(batch: pa.RecordBatch, *, sites_path: str) -> pa.RecordBatch:
    """`k` and `url` of DOCUMENTS -> SITE_MATCHES of those that lie at a listed site."""
    index = stored_sites(sites_path)
    entry = index.first_entries(batch.column("url"))
    rows = np.flatnonzero(entry >= 0)
    found = pa.array(entry[rows])
    reason = _one_chunk(index.entries.column("reason")).take(found)
    return pa.RecordBatch.from_arrays([batch.column("k").take(pa.array(rows)), reason, found], schema=SITE_MATCHES)


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)

"""Published documents and characters by host, in memory that does not grow with the data."""

from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.evidence_lookup import hosts

MAX_HOSTS = 100_000


@dataclass
class HostCounts:
    """Kept documents and their characters by host. Above 2 * MAX_HOSTS the hosts with fewest documents are forgotten:
    then a count may be too small by at most `floor` documents and `floor_chars` characters.
    """

    counts: Counter[str] = field(default_factory=Counter)
    chars: Counter[str] = field(default_factory=Counter)
    elsewhere: int = 0
    floor: int = 0
    floor_chars: int = 0

    def add(self, urls: pa.Array, n_chars: pa.Array) -> None:
        """`urls` and `n_chars` (code points) of the same documents."""
        found = hosts(urls)
        self.elsewhere += found.null_count
        rows = pa.table({"host": found, "n_chars": n_chars}).filter(pc.is_valid(found))
        sums = rows.group_by("host").aggregate([([], "count_all"), ("n_chars", "sum")])
        for row in sums.to_pylist():
            self.counts[row["host"]] += row["count_all"]
            self.chars[row["host"]] += row["n_chars_sum"]
        if len(self.counts) > 2 * MAX_HOSTS:
            by_count = _largest_first(self.counts)
            self.floor += by_count[MAX_HOSTS][1]
            self.floor_chars += max(self.chars[host] for host, _ in by_count[MAX_HOSTS:])
            self.counts = Counter(dict(by_count[:MAX_HOSTS]))
            self.chars = Counter({host: self.chars[host] for host in self.counts})

    def top(self, n: int) -> list[tuple[str, int]]:
        """(host, documents) of the `n` hosts with most documents."""
        return _largest_first(self.counts)[:n]

    def top_by_chars(self, n: int) -> list[tuple[str, int]]:
        """(host, characters) of the `n` hosts with most characters."""
        return _largest_first(self.chars)[:n]


def _largest_first(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

"""The section `dedup` of a corpus config: when two documents are near duplicates. Spec: corpus_config.md."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from formats.json_fields import Choice, Number, Problem, Whole
from formats.json_tables import Rules

NUM_PERM = 128


@dataclass(frozen=True)
class NearRules(Rules):
    """Near duplicates. A bucket above `max_bucket` members is hot: each is compared with its first `hot_keepers` only.
    Above `max_cluster` members a cluster raises the alarm; nothing else happens to it. The two ratios raise alarms:
    for a source that loses more of its documents to dedup, and for keepers that differ more in length from the median
    of their cluster.
    """

    drop: bool = True
    jaccard_threshold: Annotated[float, Number(0, 1)] = 0.8
    shingle: Annotated[int, Whole(1, 100)] = 5
    shingle_unit: Annotated[str, Choice(("word", "char"))] = "word"
    num_perm: Annotated[int, Whole(NUM_PERM, NUM_PERM, "signatures are stored as 128 x uint32")] = NUM_PERM
    bands: Annotated[int, Whole(1, NUM_PERM)] = 16
    rows: Annotated[int, Whole(1, NUM_PERM)] = 8
    seed: Annotated[int, Whole(0, 2**32 - 1)] = 1
    max_bucket: Annotated[int, Whole(2)] = 1000
    hot_keepers: Annotated[int, Whole(1)] = 16
    max_cluster: Annotated[int, Whole(1)] = 10_000
    max_source_loss_ratio: Annotated[float, Number(0, 1)] = 0.5
    max_keeper_length_ratio: Annotated[float, Number(0, 100)] = 0.2

    @property
    def jaccard_millionths(self) -> int:
        """The threshold as it decides: shared * 1_000_000 >= jaccard_millionths * union."""
        return round(self.jaccard_threshold * 1_000_000)

    def rules(self) -> Iterator[Problem]:
        if self.bands * self.rows > self.num_perm:
            needed = f"{self.bands} bands of {self.rows} rows need {self.bands * self.rows} permutations"
            yield "bands", f"{needed}, num_perm is {self.num_perm}; take fewer bands or rows"
        if self.hot_keepers > self.max_bucket:
            yield "hot_keepers", f"is {self.hot_keepers}, above max_bucket, which is {self.max_bucket}; take fewer"
        if self.jaccard_millionths < 1:
            yield "jaccard_threshold", "is 0 in millionths, so that all that meet were duplicates; take more"


@dataclass(frozen=True)
class DedupRules(Rules):
    """What counts as a copy of another document."""

    near: NearRules = NearRules()

"""Orders of small snapshots whose every row can be counted, and of one as large as they come."""

from hypothesis import strategies as st

from formats.order.mixture import Mixture
from formats.order.order import Bucket, Order

WORLDS = [1, 2, 3, 7, 8, 896, 1024]
WEIGHTS = [{"a": 6, "b": 3, "c": 1}, {"a": 1, "b": 1}, {"a": "0.001", "b": "0.999"}, {"b": 2, "c": 5}]
LAST_CHANGE = 61


@st.composite
def orders(draw, *, capped=True, max_changes=3):
    """Three buckets; changes of weights, lanes and run anywhere, and at LAST_CHANGE one that uses all buckets."""
    sizes = st.lists(st.integers(0, 40), min_size=1, max_size=3).filter(any)
    buckets = [Bucket(name, tuple(draw(sizes))) for name in "abc"]
    caps = {name: draw(st.integers(1, 3)) for name in "abc"} if capped else None
    positions = [0, *sorted(draw(st.sets(st.integers(1, LAST_CHANGE - 1), max_size=max_changes)))]
    mixtures = [
        Mixture(
            position,
            draw(st.sampled_from(WEIGHTS if position else WEIGHTS[:1])),
            draw(st.integers(1, 9)),
            draw(st.sampled_from([1, 2, 4, 9])),
            caps,
        )
        for position in positions
    ]
    mixtures.append(Mixture(LAST_CHANGE, WEIGHTS[0], 4, 4, caps))
    return Order(buckets, draw(st.integers(0, 2**63)), mixtures, chunk=draw(st.sampled_from([1, 3, 8, 64])))


def huge(num_buckets=24, **changes):
    """15T tokens of 4,096: 3.7e9 sequences in 10,000 shards."""
    buckets = [Bucket(f"bucket-{i:02}", (370_001 + i,) * (10_000 // num_buckets)) for i in range(num_buckets)]
    return Order(buckets, 11, [Mixture(0, {b.name: i + 1 for i, b in enumerate(buckets)}, **changes)])


def worked_example():
    """The one of order.md."""
    buckets = [Bucket("web", (2000, 1500, 1)), Bucket("books", (700, 300))]
    first, second = Mixture(0, {"web": 0.75, "books": 0.25}, 4, 8), Mixture(1001, {"web": 1, "books": 1}, 6, 8)
    return Order(buckets, 7, [first, second], chunk=8)

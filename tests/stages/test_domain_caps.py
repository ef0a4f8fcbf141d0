"""Caps of domains: the draw, and the same documents as by sorting each domain in Python."""

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.stages.domain_caps import CAPPED, DRAWS, draw, draws, over_caps
from tests.kernels.reference import mix64


def doc_ids(*values: int) -> pa.Array:
    return pa.array([f"{value:032x}" for value in values], pa.large_string())


def naive_draw(value: int, seed: int) -> int:
    drawn = mix64((value >> 64) ^ mix64(seed))
    return drawn - 2**64 if drawn >= 2**63 else drawn


@given(st.lists(st.integers(0, 2**128 - 1), max_size=5), st.integers(0, 2**53 - 1))
def test_the_draw_equals_reference(values, seed):
    assert draw(doc_ids(*values), seed).tolist() == [naive_draw(value, seed) for value in values]


def test_another_seed_draws_another_order():
    ids = doc_ids(*(i << 64 for i in range(100)))
    orders = {tuple(np.argsort(draw(ids, seed)).tolist()) for seed in range(20)}
    assert len(orders) == 20


def test_every_document_is_as_likely_as_another_to_be_first():
    ids = doc_ids(*(i << 64 for i in range(8)))
    first = Counter(int(np.argmin(draw(ids, seed))) for seed in range(4000))
    assert len(first) == 8
    assert all(400 <= n <= 600 for n in first.values())


ROWS = st.lists(
    st.tuples(st.sampled_from(["a.org", "b.org", "c.org"]), st.integers(-3, 3), st.integers(0, 9)), max_size=40
)


@settings(max_examples=300)
@given(ROWS, st.none() | st.integers(1, 6), st.none() | st.integers(1, 30), st.lists(st.integers(0, 40), max_size=5))
def test_what_goes_equals_a_sort_of_each_domain_however_the_rows_are_cut(rows, max_documents, max_bytes, cuts):
    rows = sorted((domain, drawn, k, size) for k, (domain, drawn, size) in enumerate(rows))
    of_domain = defaultdict(list)
    expected = []
    for domain, _, k, size in rows:
        mine = of_domain[domain]
        mine.append(size)
        over_number = max_documents is not None and len(mine) > max_documents
        if over_number or (max_bytes is not None and sum(mine) > max_bytes):
            expected.append((0, k, domain, len(mine) - 1))
    table = [
        {"bucket": 0, "domain": domain, "draw": drawn, "shard": 0, "k": k, "num_bytes": size}
        for domain, drawn, k, size in rows
    ]
    batch = pa.RecordBatch.from_pylist(table, DRAWS)
    bounds = sorted({0, len(rows), *(cut for cut in cuts if cut <= len(rows))})
    pieces = [batch.slice(a, b - a) for a, b in pairwise(bounds)]
    found = list(over_caps(0, iter(pieces), max_documents=max_documents, max_bytes=max_bytes))
    assert [tuple(row.values()) for row in pa.Table.from_batches(found, CAPPED).to_pylist()] == expected


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://a.b.example.co.uk/x", "example.co.uk"),
        ("http://Example.CO.uk:80", "example.co.uk"),
        ("https://me.github.io/", "me.github.io"),
        ("http://127.1/", "127.0.0.1"),
        ("owl.txt", None),
        ("www.example.org/page", None),
        ("../inputs/a.tar#www.example.org", None),
        ("s3://bucket/key", None),
        ("https://", None),
    ],
)
def test_a_document_has_the_registered_domain_of_its_web_address_or_none(url, domain):
    batch = pa.record_batch(
        {"k": pa.array([7], pa.int64()), "verdict": pa.array(["kept"], pa.large_string()),
         "text": pa.array(["é"], pa.large_string())}
    )  # fmt: skip
    withheld = pa.table({"k": pa.array([], pa.int64())})
    documents = pa.table(
        {"k": pa.array([7], pa.int64()), "doc_id": doc_ids(5), "url": pa.array([url], pa.large_string())}
    )
    found = draws(batch, withheld, documents, shard=3, seed=1, num_buckets=4).to_pylist()
    assert [(row["domain"], row["shard"], row["k"], row["num_bytes"]) for row in found] == (
        [(domain, 3, 7, 2)] if domain else []
    )

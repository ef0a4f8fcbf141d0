"""The order as a shuffle: nothing of the input's order is left, and every window has the mixture of the whole."""

import numpy as np
import pytest

from corpus_assets.stages.tokenize_documents import document_hashes
from formats.order.mixture import Mixture
from formats.order.order import Bucket, Order

N, CHUNK = 60 * 1024, 64
SOURCES = {"a": 0.6, "b": 0.3, "c": 0.1}
WIDEST = 4.9
"""Standard deviations that a fair draw leaves once in a million."""


@pytest.fixture(scope="module")
def served():
    """(number in the input, source) of each document in the order served: stored by hash, then read by the loader."""
    names = [f"{source}:{k}" for source, share in SOURCES.items() for k in range(round(share * N))]
    stored = np.argsort(document_hashes(names, 11)[:, 0])
    order = Order([Bucket("all", (N // 3, N // 3, N // 3))], 3, [Mixture(0, {"all": 1}, 16, CHUNK)], chunk=CHUNK)
    _, row = order.locate(np.arange(N))
    number = stored[row]
    return number, np.array([name[0] for name in names])[number]


def test_an_epoch_serves_each_document_once(served):
    assert sorted(served[0].tolist()) == list(range(N))


def test_the_rank_correlation_of_input_and_output_is_none(served):
    """Of documents by hash, and of what the loader adds to a snapshot's rows: the chunks."""
    number, _ = served
    assert abs(np.corrcoef(number, np.arange(N))[0, 1]) < WIDEST / np.sqrt(N)
    order = Order([Bucket("all", (N,))], 3, [Mixture(0, {"all": 1}, 16, CHUNK)], chunk=CHUNK)
    row = order.locate(np.arange(N))[1]
    assert abs(np.corrcoef(row, np.arange(N))[0, 1]) < WIDEST / np.sqrt(N / CHUNK)
    next_to = np.abs(np.diff(row))
    assert np.median(next_to) > N / 8  # neighbours served are not neighbours stored


@pytest.mark.parametrize("source", SOURCES)
def test_every_window_of_a_hundredth_has_each_source_within_its_binomial_interval(served, source):
    size = N // 100
    found = np.cumsum(np.concatenate([[0], served[1] == source]))
    share = (found[size:] - found[:-size]) / size
    deviation = np.sqrt(SOURCES[source] * (1 - SOURCES[source]) / size)
    assert np.abs(share - SOURCES[source]).max() < WIDEST * deviation


def test_every_window_of_a_hundredth_has_each_bucket_within_its_binomial_interval():
    weights = {"a": 0.6, "b": 0.3, "c": 0.1}
    order = Order([Bucket(name, (N,)) for name in weights], 3, [Mixture(0, weights, 64, 16)], chunk=16)
    bucket, size = order.locate(np.arange(N))[0], N // 100
    for b, share in enumerate(weights.values()):
        found = np.cumsum(np.concatenate([[0], bucket == b]))
        deviation = np.sqrt(share * (1 - share) / size)
        assert np.abs((found[size:] - found[:-size]) / size - share).max() < WIDEST * deviation

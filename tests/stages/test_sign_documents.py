import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.stages.sign_documents import sign_documents
from formats.stage_tables import SIGNATURES
from tests.kernels import reference
from tests.strategies import texts


def batch_of(rows):
    numbers = pa.array(range(10, 10 + len(rows)), pa.int64())
    return pa.record_batch({"k": numbers, "text": pa.array(rows, pa.large_string())})


@settings(deadline=None)
@given(st.lists(texts, max_size=8), st.integers(0, 8))
def test_every_document_with_words_has_one_row_however_batches_are_cut(rows, cut):
    batch = batch_of(rows)
    signed = sign_documents(batch)
    assert signed.schema == SIGNATURES
    assert signed["k"].to_pylist() == [10 + i for i, text in enumerate(rows) if reference.words(text)]
    cut = min(cut, len(rows))
    parts = [sign_documents(batch.slice(0, cut)), sign_documents(batch.slice(cut))]
    assert pa.Table.from_batches(parts).equals(pa.Table.from_batches([signed]))


def test_an_empty_batch_is_signed_as_no_rows():
    assert sign_documents(batch_of([])).num_rows == 0


def test_shingle_width_and_seed_change_the_signature():
    batch = batch_of(["one two three four five six seven eight"])
    rows = [sign_documents(batch, shingle=s, seed=r)["signature"][0] for s, r in ((5, 1), (4, 1), (5, 2))]
    assert len(set(rows)) == 3

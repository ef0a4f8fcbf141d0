import json

import numpy as np
import pyarrow as pa
import pytest
from datasketch import MinHash
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_assets.kernels.arrow import fixed_rows
from corpus_assets.kernels.minhash import EMPTY, NUM_PERM, permutations, signatures
from formats.errors import ConfigError
from tests.golden.make_signatures import GOLDEN, TEXTS
from tests.kernels import reference
from tests.strategies import text_arrays, texts


def column(*rows):
    return pa.array(rows, pa.large_string())


def oracle(text, num_perm, seed, shingle):
    sketch = MinHash(num_perm, seed=seed, scheme="affine32", hashfunc=lambda value: value)
    sketch.update_batch([value & 0xFFFFFFFF for value in reference.shingle_hashes(text, shingle)])
    return sketch.hashvalues.tolist()


@pytest.mark.parametrize(("num_perm", "seed"), [(128, 1), (128, 7), (16, 1), (1, 0)])
def test_permutations_are_those_of_datasketch(num_perm, seed):
    assert np.array_equal(permutations(num_perm, seed), MinHash(num_perm, seed=seed, scheme="affine32").permutations)


@settings(deadline=None)
@given(texts, st.sampled_from([(128, 1, 5), (16, 3, 2), (5, 1, 1)]))
def test_a_signature_equals_datasketch_fed_the_same_shingles(text, how):
    num_perm, seed, shingle = how
    signature, _ = signatures(column(text), shingle=shingle, num_perm=num_perm, seed=seed)
    assert fixed_rows(signature, np.uint32)[0].tolist() == oracle(text, num_perm, seed, shingle)


@settings(deadline=None, max_examples=30)
@given(text_arrays())
def test_rows_equal_the_reference_on_slices_and_nulls(batch):
    signature, num_shingles = signatures(batch)
    a, b = (values.tolist() for values in permutations())
    rows = [text or "" for text in batch.to_pylist()]
    assert fixed_rows(signature, np.uint32).tolist() == [reference.signature(text, 5, a, b) for text in rows]
    assert num_shingles.tolist() == [len(reference.shingle_hashes(text, 5)) for text in rows]


def test_golden_signatures_are_unchanged():
    signature, num_shingles = signatures(column(*TEXTS.values()))
    stored = json.loads(GOLDEN.read_text())
    assert [row.hex() for row in signature.to_pylist()] == [stored[name]["signature"] for name in TEXTS]
    assert num_shingles.tolist() == [stored[name]["num_shingles"] for name in TEXTS]


def test_short_texts_keep_signatures_of_their_own():
    signature, num_shingles = signatures(column("cat", "dog", "Cat!", "", " .\n", "😀"))
    rows = signature.to_pylist()
    assert num_shingles.tolist() == [1, 1, 1, 0, 0, 0]
    assert rows[0] == rows[2] != rows[1]
    assert rows[3] == rows[4] == rows[5] == int(EMPTY).to_bytes(4, "little") * NUM_PERM


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("小猫在花园里睡觉直到太阳下山然后回家吃饭", "小猫在花园里睡觉直到太阳下山然后回家喝水"),
        ("แมวตัวเล็กนอนหลับอยู่ในสวนจนพระอาทิตย์ตก", "แมวตัวเล็กนอนหลับอยู่ในสวนจนพระอาทิตย์ขึ้น"),
        (
            "نامت القطة الصغيرة في الحديقة حتى غابت الشمس ثم عادت",
            "نامت القطة الصغيرة في الحديقة حتى غابت الشمس ثم رجعت",
        ),
    ],
)
def test_near_copies_in_any_script_share_most_of_a_signature(left, right):
    signature, num_shingles = signatures(column(left, right))
    rows = fixed_rows(signature, np.uint32)
    assert num_shingles.min() > 1
    assert (rows[0] == rows[1]).mean() > 0.5


def test_a_long_document_beside_short_ones_keeps_its_signature():
    long = " ".join(f"word{i}" for i in range(30_000))
    together = signatures(column("a b", long, "c d"))[0]
    alone = [signatures(column(text))[0][0] for text in ("a b", long, "c d")]
    assert together.to_pylist() == [row.as_py() for row in alone]


@pytest.mark.parametrize("bad", [{"shingle": 0}, {"num_perm": 0}])
def test_settings_below_one_are_refused(bad):
    with pytest.raises(ConfigError, match="at least 1"):
        signatures(column("a"), **bad)

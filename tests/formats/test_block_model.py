"""Block models: one form of bytes, and everything else refused before it could send a walk astray."""

import json
from dataclasses import replace

import numpy as np
import pytest

from formats import block_model, canonical
from formats.block_model import BlockModel
from formats.errors import CorruptDataError
from tests import faults

NODES = [(1, 7, 1, 2), (-1, -65536, 0, 0), (-1, 65536, 0, 0), (-1, 300, 0, 0)]
TINY = BlockModel(
    "1", ("bytes", "words"), 32768, 500, -9, np.array(NODES, np.int32), np.array([0, 3], np.int32), {"pages": 2}
)
GOLDEN = (
    b'{"base":-9,"cut":32768,"feature_names":["bytes","words"],"features":"1","format":"block_model","training":'
    b'{"pages":2},"trees":[[[1,7,1,2],[-65536],[65536]],[[300]]],"unsure":500,"version":1}\n'
)


def test_a_model_is_these_bytes():
    assert block_model.to_bytes(TINY) == GOLDEN


def test_what_is_written_is_read_back(tmp_path):
    digest = block_model.write(TINY, tmp_path / "m.json")
    found = block_model.read(tmp_path / "m.json", digest)
    assert found.nodes.tolist() == [list(node) for node in NODES]
    assert replace(found, nodes=TINY.nodes, roots=TINY.roots) == replace(TINY, digest=digest)
    assert found.roots.tolist() == [0, 3]


def changed(**keys):
    return {**json.loads(GOLDEN), **keys}


WRONG = {
    "not JSON": b"{",
    "no object": [],
    "another format": changed(format="part"),
    "a later version": changed(version=2),
    "a key too many": changed(more=1),
    "a child before its parent": changed(trees=[[[1, 7, 0, 2], [1], [1]]]),
    "a child outside its tree": changed(trees=[[[1, 7, 1, 3], [1], [1]]]),
    "a feature that is none": changed(trees=[[[2, 7, 1, 2], [1], [1]]]),
    "a value that is a fraction": changed(trees=[[[0.5]]]),
    "a value too large": changed(trees=[[[2**31]]]),
    "a tree without nodes": changed(trees=[[]]),
    "no trees": changed(trees=[]),
    "half a surrogate pair": json.dumps(changed(training={"pages": "\ud800"})).encode(),
    "a number that is none": json.dumps(changed(training={"pages": float("inf")})).encode(),
    "a node of two": changed(trees=[[[1, 2]]]),
    "a feature twice": changed(feature_names=["a", "a"]),
    "true for 1": changed(cut=True),
    "keeps everything": changed(cut=0),
    "training that is a list": changed(training=[]),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_model_is_refused_by_the_name_of_its_file(tmp_path, name):
    data = WRONG[name]
    path = tmp_path / "m.json"
    path.write_bytes(data if isinstance(data, bytes) else canonical.to_bytes(data) + b"\n")
    with pytest.raises(CorruptDataError, match=r"m\.json"):
        block_model.read(path)


@pytest.mark.parametrize("data", [GOLDEN[:-1], GOLDEN + b"\n", GOLDEN.replace(b",", b", ", 1)])
def test_the_same_model_in_other_bytes_is_refused(tmp_path, data):
    with pytest.raises(CorruptDataError, match=r"bytes|content"):
        block_model.from_bytes(data, tmp_path / "m.json")


@pytest.mark.parametrize("at", [0, 60, -2])
def test_a_flipped_byte_is_reported_not_read(tmp_path, at):
    digest = block_model.write(TINY, tmp_path / "m.json")
    faults.flip_byte(tmp_path / "m.json", at)
    with pytest.raises(CorruptDataError, match="sha256"):
        block_model.read(tmp_path / "m.json", digest)

"""Small readers of the exported forms, written from their public descriptions."""

import json
import struct

import numpy as np

MEGATRON_TYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 6: "<f8", 7: "<f4", 8: "<u2"}


def megatron(prefix):
    """(documents, their borders): the .bin is mapped, and each document taken where the index says."""
    index = prefix.with_name(f"{prefix.name}.idx").read_bytes()
    assert index[:9] == b"MMIDIDX\x00\x00"
    version, code, sequences, borders = struct.unpack_from("<QBQQ", index, 9)
    assert version == 1
    at = 9 + struct.calcsize("<QBQQ")
    lengths = np.frombuffer(index, "<i4", sequences, at)
    pointers = np.frombuffer(index, "<i8", sequences, at + 4 * sequences)
    documents = np.frombuffer(index, "<i8", borders, at + 12 * sequences)
    assert len(index) == at + 12 * sequences + 8 * borders
    data = np.memmap(prefix.with_name(f"{prefix.name}.bin"), np.uint8, "r")
    dtype = np.dtype(MEGATRON_TYPES[code])
    found = [
        np.frombuffer(data[pointer : pointer + length * dtype.itemsize].tobytes(), dtype)
        for pointer, length in zip(pointers.tolist(), lengths.tolist(), strict=True)
    ]
    return found, documents.tolist()


def mds(folder):
    """The samples of all shards, each a dict of arrays."""
    index = json.loads((folder / "index.json").read_text())
    assert index["version"] == 2
    samples = []
    for shard in index["shards"]:
        data = (folder / shard["raw_data"]["basename"]).read_bytes()
        assert len(data) == shard["raw_data"]["bytes"] <= max(shard["size_limit"], 0)
        (n,) = struct.unpack_from("<I", data)
        assert n == shard["samples"]
        offsets = np.frombuffer(data, "<u4", n + 1, 4)
        config = json.loads(data[4 + 4 * (n + 1) : offsets[0]])
        assert offsets[-1] == len(data)
        for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            sample, at = {}, begin
            for name, encoding, size in zip(
                config["column_names"], config["column_encodings"], config["column_sizes"], strict=True
            ):
                kind, dtype, shape = encoding.split(":")
                assert kind == "ndarray"
                sample[name] = np.frombuffer(data[at : at + size], np.dtype(dtype)).reshape(int(shape))
                at += size
            assert at == end
            samples.append(sample)
    return samples

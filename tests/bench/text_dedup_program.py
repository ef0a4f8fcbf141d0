"""What text-dedup takes for duplicates, as a program for an interpreter that has it: texts in, pairs and keepers out.

It signs with the package's own `embed_func` at its defaults (64 bit, xxh3) and joins by its own union-find.
"""

import contextlib
import json
import sys
from collections import defaultdict
from itertools import combinations


def main() -> None:
    told = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):  # the package greets
        import numpy as np
        from text_dedup import minhash
        from text_dedup.utils import UnionFind, xxh3_32hash
    bands, rows = told["bands"], told["rows"]
    prime = np.uint64((1 << 61) - 1)
    draw = np.random.RandomState(42)
    permutations = (
        draw.randint(1, prime, size=(bands * rows,), dtype=np.uint64),
        draw.randint(0, prime, size=(bands * rows,), dtype=np.uint64),
    )
    tables: list[dict[bytes, list[int]]] = [defaultdict(list) for _ in range(bands)]
    for row, text in enumerate(told["texts"]):
        signed = minhash.embed_func(
            text,
            row,
            num_perm=bands * rows,
            ngram_size=told["ngram"],
            min_length=told["ngram"],
            hashranges=[(i * rows, (i + 1) * rows) for i in range(bands)],
            permutations=permutations,
            hash_func=xxh3_32hash,
            dtype=np.uint64,
            max_hash=np.uint32((1 << 32) - 1),
            modulo_prime=prime,
        )
        for table, key in zip(tables, signed["__signatures__"], strict=True):
            table[key].append(row)
    joined, pairs = UnionFind(), set()
    for table in tables:
        for bucket in table.values():
            pairs.update(combinations(bucket, 2))
            for row in bucket[1:]:
                joined.union(row, bucket[0])
    roots = {row: joined.find(row) for row in range(len(told["texts"]))}
    json.dump({"pairs": sorted(pairs), "keeper": {row: root for row, root in roots.items() if row != root}}, sys.stdout)


if __name__ == "__main__":
    main()

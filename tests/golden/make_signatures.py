"""Golden signatures: python -m tests.golden.make_signatures

They may change only with the word rule, the tables or the signature's definition, which is a new code version of the
stages that sign documents and decides near duplicates anew.
"""

import json
from pathlib import Path

import pyarrow as pa

from corpus_assets.kernels.minhash import signatures

GOLDEN = Path(__file__).with_name("signatures.json")
TEXTS = {
    "one word": "otter",
    "four words": "the otter sleeps here",
    "five words": "the otter sleeps here today",
    "sentence": "The OTTER sleeps here today; tomorrow it swims to the other bank, 12 km away.",
    "wrapped": "The otter\nsleeps here\r\ntoday: tomorrow it\tswims to the other bank 12 km away",
    "accents": "Où la loutre dort-elle aujourd’hui, près de l’étang gelé ?",
    "ideographs": "水獺今天睡在這裡，明天游到對岸。",
    "thai": "นากหลับอยู่ที่นี่วันนี้",
    "mixed": "한국어 문장 하나와 カタカナ words together, ১২৩ and 😀",
    "repeats": "row row row row row row row row your boat " * 40,
}


def main() -> None:
    signature, num_shingles = signatures(pa.array(list(TEXTS.values()), pa.large_string()))
    rows = zip(TEXTS, signature.to_pylist(), num_shingles.tolist(), strict=True)
    golden = {name: {"num_shingles": n, "signature": row.hex()} for name, row, n in rows}
    GOLDEN.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Make the starter's tokenizer from its texts, byte for byte the same each time: python make_tokenizer.py

A byte-level BPE of 2,048 tokens with the pattern of GPT-2. Prints the digest that the token set `v1.bpe-512.yaml` pins.
Training draws nothing at random: ties go to the pair whose ids are smaller, and ids follow from bytes and merges.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = Path(__file__).parent
MADE = HERE / "tokenizers" / "bpe-2048.json"
END, PAD = "<|end|>", "<|pad|>"
VOCAB_SIZE = 2048
MIN_FREQUENCY = 4
"""Pairs that are rarer are not joined, so that no name or number of one text becomes a token."""
FIELDS = {
    "inputs/fables-1.jsonl": "text",
    "inputs/fables-2.jsonl": "text",
    "inputs/letters.jsonl": "body",
    "inputs/snippets.jsonl": "code",
    "texts/notes.jsonl": "note",
}
"""File of JSON lines -> the field that holds the text."""


def texts() -> Iterator[str]:
    """What the tokenizer learns from, in the order of the files' names."""
    for name, field in FIELDS.items():
        for line in (HERE / name).read_text("utf-8").splitlines():
            yield json.loads(line).get(field) or ""
    for path in sorted((HERE / "texts" / "handbook").glob("*.md")):
        yield path.read_text("utf-8")


def made() -> bytes:
    """The bytes of the tokenizer file."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        min_frequency=MIN_FREQUENCY,
        special_tokens=[END, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts(), trainer)
    return (tokenizer.to_str(pretty=True) + "\n").encode()


if __name__ == "__main__":
    data = made()
    MADE.write_bytes(data)
    print(hashlib.sha256(data).hexdigest(), MADE.relative_to(HERE))

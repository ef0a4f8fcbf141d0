"""A tokenizer file, which is read by the tokenizers library."""

import hashlib
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from corpus_assets.stages.loaded_tokenizer import load_tokenizer

IS_JSON = True
END = "<|end|>"
WORDS = (b'"type": "WordPiece"', b'"type": "Unigram"', b'"dropout": 0.1', b'"normalizer": {"type": "NFC"}', b"1e999")
TEXTS = ["", "the heron's back, again", f"{END} \x00\ud7ff 猫\n"]


@cache
def seeds() -> list[bytes]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["the heron is back again"] * 3, trainer)
    return [tokenizer.to_str().encode()]


def run(data: bytes, folder: Path) -> None:
    path = folder / "tokenizer.json"
    path.write_bytes(data)
    loaded = load_tokenizer(str(path), hashlib.sha256(data).hexdigest(), END, None)
    ids, lengths = loaded.encode(TEXTS)
    assert lengths.sum() == len(ids)
    assert lengths.min() >= 1

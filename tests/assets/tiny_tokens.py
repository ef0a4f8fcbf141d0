"""Token sets for the tiny corpus of the graph: a tokenizer trained on its tales, and configs that pin it."""

import hashlib
import json
from functools import cache
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from formats.layout import Layout
from formats.naming import TokensKey
from tests.assets import tiny

END, PAD = "<|end|>", "<|pad|>"
KEY = TokensKey(tiny.V1, "t16")
OTHER = TokensKey(tiny.V1, "t32")
NAME = "tokenizer.json"


@cache
def tokenizer_file() -> bytes:
    """A byte-level BPE of some 400 tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=[END, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(tiny.TALES, trainer)
    return tokenizer.to_str().encode()


def config(key: TokensKey = KEY, **changes: Any) -> dict[str, Any]:
    """The config of a token set, but for `changes`; a change to None takes the setting out."""
    document = {
        "tokens": key.tokens,
        "tokenizer": {"path": NAME, "sha256": hashlib.sha256(tokenizer_file()).hexdigest()},
        "end_of_document": END,
        "pad": PAD,
        "seq_len": 16,
        "shard_tokens": 100,
        **changes,
    }
    return {name: value for name, value in document.items() if value is not None}


def write(layout: Layout, key: TokensKey = KEY, **changes: Any) -> None:
    """A token set and its tokenizer below the root."""
    (layout.root / NAME).write_bytes(tokenizer_file())
    path = layout.token_config(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(config(key, **changes), indent=2), "utf-8")

"""How well a language model foresees a text: the perplexity of a word, by KenLM (Heafield 2011), an optional library.

The model is an ARPA file or a binary one of KenLM's; the wheel reads no compressed files. A text is scored sentence by
sentence, as `kernels/sentence_words.md` writes them: 10 ^ -(sum of log10 P / (words + sentences)), ends of sentences
counted, as CCNet does (Wenzek et al. 2020). Cost: some 30 MB/s a core at order 3; KenLM holds the GIL.
"""

import importlib
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpus_assets.kernels.sentence_words import sentence_words
from formats import durable
from formats.errors import ConfigError, CorruptDataError

CODE_VERSION = "1"
LIBRARIES = ("ufal.kenlm",)
SCALE = 1_000
MAX_SIGNAL = 2**31 - 1
"""A perplexity beyond it counts as it."""
_TODO = "restore the file that was pinned, or train a model with `corpus model perplexity`"


@cache
def stored_model(path: str, sha256: str) -> Any:
    """The KenLM model in a file, loaded once a process. Raises ConfigError where KenLM is not installed,
    CorruptDataError where the file is missing, not the pinned one, changes meanwhile, or is no language model.
    """
    kenlm = library()
    file = Path(path)
    if not file.is_file():
        raise CorruptDataError(file, "sha256", sha256, durable.instead_of_a_file(file), _TODO)
    before = file.stat()
    if (found := durable.sha256_of(file)) != sha256:
        raise CorruptDataError(file, "sha256", sha256, found, _TODO)
    settings = kenlm.Config()
    settings.show_progress = False
    settings.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        model = kenlm.LanguageModel(str(file), settings)
    except (OSError, RuntimeError, ValueError) as error:
        found = f"no such model (KenLM says: {_words(error)})"
        raise CorruptDataError(file, "content", "a language model of KenLM's, ARPA or binary", found, _TODO) from None
    after = file.stat()
    if (before.st_mtime_ns, before.st_size, before.st_ino) != (after.st_mtime_ns, after.st_size, after.st_ino):
        raise CorruptDataError(file, "content", sha256, "changed while it was read", _TODO)
    return model


def library() -> Any:
    """KenLM's module. Raises ConfigError where it is not installed."""
    try:
        return importlib.import_module("kenlm")
    except ImportError:
        raise ConfigError("perplexity needs KenLM: pip install 'corpus-assets[kenlm]'") from None


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def perplexities(text: pa.Array, model: Any) -> pa.Array:
    """int32 of a large_string column: thousandths; null for a text without words."""
    sentences, words = sentence_words(text)
    found = [_perplexity(model, row, n) for row, n in zip(sentences.to_pylist(), words.tolist(), strict=True)]
    return pa.array(found, pa.int32())


def _perplexity(model: Any, sentences: str, num_words: int) -> int | None:
    if not num_words:
        return None
    lines = sentences.split("\n")
    log10 = sum(model.score(line) for line in lines)
    try:
        return min(round(SCALE * 10 ** (-log10 / (num_words + len(lines)))), MAX_SIGNAL)
    except OverflowError:
        return MAX_SIGNAL

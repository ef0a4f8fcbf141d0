"""The pinned file of a tokenizer, as the tokenizers library and fastokens load it.

Special tokens that occur in a text are encoded as they are written there, as any other text: a document must not be
able to end itself.
"""

import hashlib
import json
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from corpus_assets.stages import exact_cuts, fast_tokenizer
from formats.errors import ConfigError, CorruptDataError

CACHED_WORDS = 300_000
"""Words whose ids a BPE of the library keeps, in some 50 MB. By itself it keeps the first 10,000 for good; with so many
it takes a fourteenth less time.
"""


def by_library(call: Callable[..., Any], given: Any, words: str) -> Any:
    """What the library gives. Raises ConfigError, which begins with `words`, for whatever it raises."""
    try:
        return call(given)
    except BaseException as error:  # it raises bare ones, and its panics are no Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ConfigError(f"{words} ({str(error)[:200]}); pin another tokenizer") from None


@lru_cache(maxsize=2)
def load_file(path: str, sha256: str) -> tuple[Any, bool]:
    """The pinned tokenizer, and whether it has exact cuts. Raises CorruptDataError for a file of other bytes,
    ConfigError for one that is no tokenizer, that draws at random or drops characters, and where the library is not
    installed.
    """
    require_library()
    from tokenizers import Tokenizer  # only here: the graph loads without it

    # One thread a call: the engine already has a worker a core.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    data = _verified(path, sha256)
    library = by_library(Tokenizer.from_buffer, data, f"{path}: is no tokenizer of the tokenizers library")
    document = json.loads(data)
    if document["model"].get("dropout"):
        raise ConfigError(f"{path}: has dropout, so equal texts would get different ids; pin one without")
    if lost := _bytes_lost(document):
        raise ConfigError(
            f"{path}: would drop {lost} of the 256 bytes of texts in silence, since its vocabulary has no token for "
            "them and no unknown token; pin one that was trained with the whole alphabet of bytes"
        )
    library.no_truncation()
    library.no_padding()
    if hasattr(
        library.model, "_resize_cache"
    ):  # of a BPE; another release may have no such call, and gives the same ids
        library.model._resize_cache(CACHED_WORDS)
    library.encode_special_tokens = True
    return library, exact_cuts.has_exact_cuts(document)


def _bytes_lost(tokenizer: dict[str, Any]) -> int:
    """Of how many bytes a BPE makes no token: it drops what it has none for, unless it has an unknown token."""
    from tokenizers import pre_tokenizers

    model = tokenizer["model"]
    if model.get("type", "BPE") != "BPE" or model.get("unk_token") is not None:
        return 0
    if model.get("byte_fallback"):
        return sum(f"<0x{byte:02X}>" not in model["vocab"] for byte in range(256))
    return sum(symbol not in model["vocab"] for symbol in pre_tokenizers.ByteLevel.alphabet())


@lru_cache(maxsize=2)
def load_fast(path: str, sha256: str) -> Any:
    """fastokens' form of the pinned tokenizer. Raises what `load_file` raises, and ConfigError for a file of no known
    shape, and where fastokens is not installed.
    """
    _, is_known = load_file(path, sha256)
    if not is_known:
        raise ConfigError(
            f"{path}: is no byte-level BPE with the pattern of GPT-2, Llama 3, Qwen 2 or tekken, which `fast` is for; "
            "take `fast` out of the config"
        )
    return fast_tokenizer.load(_verified(path, sha256))


def _verified(path: str, sha256: str) -> bytes:
    file = Path(path)
    data = file.read_bytes() if file.is_file() else None
    found = "missing" if data is None else hashlib.sha256(data).hexdigest()
    if data is None or found != sha256:
        raise CorruptDataError(file, "sha256", sha256, found, "restore the file, or pin the one you mean in the config")
    return data


def require_library() -> None:
    """Raises ConfigError where the tokenizers library is not installed."""
    try:
        import tokenizers  # noqa: F401  only whether it can be
    except ImportError:
        raise ConfigError(
            "the tokenizers library is not installed; install it with: pip install 'corpus-assets[tokens]'"
        ) from None

"""Where a text may be cut so that the ids of its parts, one after the other, are the ids of the whole.

The tokenizers library takes some hundred bytes of memory a byte of text, so a long document is given to it in parts. A
byte-level BPE whose pattern is a known one never joins a letter with what follows here, and the part behind a cut is
matched as it is in the whole: none of the patterns looks back. Tokenizers of another shape get whole texts.
"""

import re
from collections.abc import Iterator
from typing import Any

PART_CHARS = 256 * 1024
"""A part is cut at the first place from this length on."""

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
_TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
KNOWN_PATTERNS = frozenset({_GPT2, _LLAMA3, _QWEN, _TEKKEN})
"""Those of GPT-2, Llama 3, Qwen 2 and Mistral's tekken, letter for letter."""

_LETTER = "A-Za-z\u0410-\u044f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3"
_CUT = re.compile(f'(?<=[{_LETTER}])(?=[ \\n,.;:!?()"/+=0-9\u3001\u3002\uff0c])')
"""After a letter that has been one in every version of Unicode, before what is none, no mark and no apostrophe; and not
before what ends a name in angle brackets, which may be a token of its own.
"""


def has_exact_cuts(tokenizer: dict[str, Any]) -> bool:
    """Whether a tokenizer file, as JSON, is of the shape for which `parts` keeps the ids."""
    model, added = tokenizer.get("model") or {}, tokenizer.get("added_tokens") or []
    return (
        model.get("type", "BPE") == "BPE"
        and not model.get("byte_fallback")
        and not model.get("continuing_subword_prefix")
        and not model.get("end_of_word_suffix")
        and tokenizer.get("normalizer") in (None, {"type": "NFC"})
        and _splits_as_known(tokenizer.get("pre_tokenizer") or {})
        and not any(_reaches_over_a_cut(token) for token in added if not token.get("special"))
    )


def parts(text: str, chars: int) -> Iterator[str]:
    """The text in parts of at least `chars` characters, but for the last one; longer where there is no place to cut."""
    begin = 0
    while found := _CUT.search(text, begin + chars):
        yield text[begin : found.start()]
        begin = found.start()
    yield text[begin:]


def _splits_as_known(pre_tokenizer: dict[str, Any]) -> bool:
    """A ByteLevel alone, or a Split by a known pattern and then a ByteLevel that splits no more."""
    if pre_tokenizer.get("type") == "ByteLevel":
        return pre_tokenizer.get("use_regex", True) and not pre_tokenizer.get("add_prefix_space", True)
    steps = pre_tokenizer.get("pretokenizers", []) if pre_tokenizer.get("type") == "Sequence" else []
    if [step.get("type") for step in steps] != ["Split", "ByteLevel"]:
        return False
    split, to_bytes = steps
    return (
        split.get("pattern", {}).get("Regex") in KNOWN_PATTERNS
        and split.get("behavior") == "Isolated"
        and not split.get("invert")
        and not to_bytes.get("use_regex", True)
        and not to_bytes.get("add_prefix_space", True)
    )


def _reaches_over_a_cut(token: dict[str, Any]) -> bool:
    """Special tokens are text here; any other one is matched before the pattern is."""
    takes_more = any(token.get(name) for name in ("lstrip", "rstrip", "single_word"))
    return takes_more or bool(_CUT.search(str(token.get("content"))))

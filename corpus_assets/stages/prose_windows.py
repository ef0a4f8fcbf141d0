"""What of a text is shown to a language detector: windows of its prose, spread over the whole of it."""

import re

NUM_WINDOWS, WINDOW_CHARS = 4, 128

_FENCE = "```"
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
_URL = re.compile(r"(?:[A-Za-z][A-Za-z+.-]{1,15}://|www\.)[^\s<>()\[\]\"'`]*")
_CONTROLS = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef" + "".join(
    chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(17)
) + "]")  # fmt: skip


def prose_windows(text: str) -> str:
    """What is shown to the voices: one line, at most 4 x 128 characters, no code, tags, URLs or controls.

    Each window is cut from its own quarter of the text; what is left out is made up for by reading up to twice as far.
    """
    if _FENCE in text:
        text = _outside_fences(text)
    if len(text) <= NUM_WINDOWS * WINDOW_CHARS:
        return _clean(text)
    last = len(text) - WINDOW_CHARS
    starts = [last * i // (NUM_WINDOWS - 1) for i in range(NUM_WINDOWS)]
    starts[-1] = max(starts[-2] + WINDOW_CHARS, len(text) - 2 * WINDOW_CHARS)
    return " ".join(_clean(text[at : at + 2 * WINDOW_CHARS])[:WINDOW_CHARS] for at in starts)


def _outside_fences(text: str) -> str:
    """The lines outside Markdown's code fences; a fence that never closes hides nothing."""
    kept, at, opened = [], 0, -1
    fence = text.find(_FENCE)
    while fence >= 0:
        end = fence + len(_FENCE)
        while text.startswith("`", end):
            end += 1
        if (
            not text[max(0, fence - 16) : fence].rpartition("\n")[2].strip(" \t>-*")
        ):  # only list and quote signs before it
            if opened < 0:
                opened = fence
            else:
                kept.append(text[at:opened])
                at, opened = end, -1
        fence = text.find(_FENCE, end)
    kept.append(text[at:])
    return "\n".join(kept)


def _clean(text: str) -> str:
    if "`" in text:
        text = _INLINE_CODE.sub(" ", text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "://" in text or "www." in text:
        text = _URL.sub(" ", text)
    text = " ".join(text.split())
    return text if text.isprintable() else _CONTROLS.sub("", text)

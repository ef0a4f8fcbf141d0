"""The lines of a corpus config that pin a model, for a person to paste."""

import json


def of_quality(path: str, sha256: str) -> list[str]:
    """The section of a classifier; `safety` in the place of `quality` makes it the second one."""
    return ["quality:", f"  model: {{path: {_quoted(path)}, sha256: {sha256}}}", "  min: 0.5"]


def of_perplexity(lang: str, path: str, sha256: str, max_thousandths: int | None) -> list[str]:
    """The section of a language model, with the limit that two thirds of the held-out documents stay below."""
    limit = "" if max_thousandths is None else f", max: {max_thousandths / 1000}"
    return ["ppl:", "  models:", f"    - {{lang: {lang}, path: {_quoted(path)}, sha256: {sha256}{limit}}}"]


def _quoted(path: str) -> str:
    """The path as a text of YAML."""
    return json.dumps(path, ensure_ascii=False)

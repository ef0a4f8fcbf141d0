"""The lines of a corpus config that pin a model, for a person to paste."""

import json

MIN_DOCUMENTS = 50
"""Of fewer documents a side, held-out ones included, a model says nothing that a limit could be chosen by."""


def of_classifier(kind: str, path: str, sha256: str, lang: str | None, num_docs: tuple[int, int]) -> list[str]:
    """The section of a classifier, `quality` or `safety`, that was trained and judged on `num_docs` documents of either
    side, of one language or of all.
    """
    section = [f"{kind}:", f"  model: {{path: {_quoted(path)}, sha256: {sha256}}}"]
    if lang is not None:
        section.append(f"  langs: [{lang}]")  # of words that it never saw it says nothing
    if min(num_docs) >= MIN_DOCUMENTS:
        return [*section, "  min: 0.5"]
    found = f"{num_docs[0]:,} positive and {num_docs[1]:,} negative documents"
    return [*section, f"  # no min: {found} are too few to choose one by; train with {MIN_DOCUMENTS} of each or more"]


def of_perplexity(lang: str, path: str, sha256: str, max_thousandths: int | None, num_docs: int) -> list[str]:
    """The section of a language model, with the limit that two thirds of the held-out documents stay below."""
    model = f"lang: {lang}, path: {_quoted(path)}, sha256: {sha256}"
    if max_thousandths is not None and num_docs >= MIN_DOCUMENTS:
        return ["ppl:", "  models:", f"    - {{{model}, max: {max_thousandths / 1000}}}"]
    few = f"    # no max: {num_docs:,} documents are too few to choose one by; train with {MIN_DOCUMENTS} or more"
    return ["ppl:", "  models:", f"    - {{{model}}}", few]


def _quoted(path: str) -> str:
    """The path as a text of YAML."""
    return json.dumps(path, ensure_ascii=False)

"""What others say of texts, as a program for an interpreter that has them: JSON in, JSON out, CPU seconds told.

Told {"tool": "missing"} it answers which tools cannot be imported, and why. Spans are [kind, start, end] in code
points.
Each tool is used as its documentation has it: presidio-analyzer's own pattern recognizers without a language model,
datatrove's formatter and n-gram filter at their defaults but for the length of the n-grams, dolma's two taggers of
personal data, detect-secrets' default plugins, wordllama's model of 256 dimensions that its wheel carries.

    pip install presidio-analyzer detect-secrets wordllama 'datatrove[processing]'
    pip install --no-deps dolma==1.2.1 smart-open==7.3.0.post1
    pip install wrapt zstandard msgspec omegaconf necessary rich tqdm blingfire uniseg jsonpath-ng anyascii platformdirs
    pip install python-dotenv

dolma asks for numpy below 2 and older tokenizers, which its taggers of personal data do without.
"""

import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Spans = list[list[Any]]
_PRESIDIO = {"EMAIL_ADDRESS": "email", "PHONE_NUMBER": "phone", "CREDIT_CARD": "card", "IP_ADDRESS": "ip"}


def datatrove_pii(told: dict[str, Any]) -> Callable[[], Any]:
    from datatrove.pipeline.formatters.pii import PIIFormatter

    formatter = PIIFormatter()
    replacers = (("email", formatter.emails_replacer), ("ip", formatter.ip_replacer))

    def spans(text: str) -> Spans:
        return [
            [kind, *match.span()]
            for kind, one in replacers
            for match in one.regex.finditer(text)
            if one.validator is None or one.validator(match.group(0))
        ]

    return lambda: [spans(text) for text in told["texts"]]


def presidio(told: dict[str, Any]) -> Callable[[], Any]:
    from presidio_analyzer.predefined_recognizers import (
        CreditCardRecognizer,
        EmailRecognizer,
        IpRecognizer,
        PhoneRecognizer,
    )

    recognizers = [EmailRecognizer(), PhoneRecognizer(), CreditCardRecognizer(), IpRecognizer()]

    def spans(text: str) -> Spans:
        found = []
        for one in recognizers:
            for hit in one.analyze(text, one.supported_entities, None) or []:
                found.append([_PRESIDIO[hit.entity_type], hit.start, hit.end])
        return found

    return lambda: [spans(text) for text in told["texts"]]


def dolma_fast(told: dict[str, Any]) -> Callable[[], Any]:
    """Its tagger `pii_regex_with_counts_fast_v2`."""
    return _dolma("pii_regex_with_counts_fast_v2", told["texts"])


def dolma_regex(told: dict[str, Any]) -> Callable[[], Any]:
    """Its tagger `pii_regex_v2`, which also looks at what stands around."""
    return _dolma("pii_regex_v2", told["texts"])


def _dolma(name: str, texts: list[str]) -> Callable[[], Any]:
    import dolma.taggers.pii  # noqa: F401  which registers them
    from dolma.core.data_types import Document
    from dolma.core.registry import TaggerRegistry

    tagger = TaggerRegistry.get(name)()

    def spans(text: str) -> Spans:
        found = tagger.predict(Document(source="s", id="1", text=text)).spans
        return [[_PRESIDIO[one.type], one.start, one.end] for one in found if one.type in _PRESIDIO]

    return lambda: [spans(text) for text in texts]


def detect_secrets(told: dict[str, Any]) -> Callable[[], Any]:
    """`files`: name -> text; answers name -> lines (from 1) with a finding."""
    from detect_secrets.core.scan import scan_file
    from detect_secrets.settings import default_settings

    def lines() -> dict[str, list[int]]:
        found = {}
        with tempfile.TemporaryDirectory() as folder, default_settings():
            for name, text in told["files"].items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
                found[name] = sorted({one.line_number for one in scan_file(str(path))})
        return found

    return lines


def datatrove_ngrams(told: dict[str, Any]) -> Callable[[], Any]:
    """`items`: protected texts, each alone; `texts`: documents. Answers whether each document is contaminated."""
    from datatrove.pipeline.decont.n_grams import NGramsDecontConfig, NGramsDecontFilter
    from datatrove.utils.text import ngrams, simplify_text

    config = NGramsDecontConfig(n_grams=told["ngram"])
    one = NGramsDecontFilter(tempfile.mkdtemp(), config)

    def hashes(text: str) -> Iterable[int]:
        tokens = one.tokenizer.word_tokenize(simplify_text(text, config.norm_config))
        return map(one.hash_func, map(" ".join, ngrams(tokens, config.n_grams)))

    index = {value for item in told["items"] for value in hashes(item)}
    return lambda: [any(value in index for value in hashes(text)) for text in told["texts"]]


def datatrove_gopher(told: dict[str, Any]) -> Callable[[], Any]:
    """Whether its quality and repetition filters of Gopher keep each of `texts`."""
    from datatrove.data import Document
    from datatrove.pipeline.filters import GopherQualityFilter, GopherRepetitionFilter

    filters = (GopherQualityFilter(), GopherRepetitionFilter())

    def keeps(text: str) -> bool:
        return all(one.filter(Document(text=text, id="1")) is True for one in filters)

    return lambda: [keeps(text) for text in told["texts"]]


def datatrove_stages(told: dict[str, Any]) -> Callable[[], Any]:
    """The text stages that it has, over `texts`: Gopher's two filters, MinHash signatures, the n-gram filter for
    `items`, personal data, and lid.176 from the file `lid`. Answers the CPU seconds of each, reading and writing of
    documents, pairs and clusters left out.
    """
    from datatrove.data import Document
    from datatrove.pipeline.dedup import MinhashDedupSignature
    from datatrove.pipeline.filters import GopherQualityFilter, GopherRepetitionFilter, LanguageFilter
    from datatrove.pipeline.formatters.pii import PIIFormatter
    from fasttext.FastText import _FastText

    language, signature, formatter = LanguageFilter(), MinhashDedupSignature(tempfile.mkdtemp()), PIIFormatter()
    language.model._model = _FastText(told["lid"])  # it would download one
    quality, repetition = GopherQualityFilter(), GopherRepetitionFilter()
    stages: dict[str, Callable[[str], Any]] = {
        "language": lambda text: language.filter(Document(text=text, id="1")),
        "Gopher quality": lambda text: quality.filter(Document(text=text, id="1")),
        "Gopher repetition": lambda text: repetition.filter(Document(text=text, id="1")),
        "MinHash signatures": lambda text: signature.get_signature(signature.get_shingles(text)),
        "personal data": formatter.format,
    }

    def seconds() -> dict[str, float]:
        found = {}
        for name, stage in stages.items():
            start = time.process_time()
            for text in told["texts"]:
                stage(text)
            found[name] = time.process_time() - start
        start = time.process_time()
        datatrove_ngrams(told)()
        return {**found, "decontamination": time.process_time() - start}

    return seconds


def wordllama(told: dict[str, Any]) -> Callable[[], Any]:
    """`pairs`: two texts each; `windows`, `items`. Answers the cosine of each pair, and each window's largest one to an
    item.
    """
    import wordllama as package
    from wordllama import WordLlama

    # It looks for the tokenizer that its wheel carries in another folder than the wheel has it in.
    model = WordLlama.load(cache_dir=Path(package.__file__ or "").parent, disable_download=True)

    def cosines() -> list[list[float]]:
        left, right = (model.embed([pair[i] for pair in told["pairs"]], norm=True) for i in (0, 1))
        windows, items = (model.embed(told[name], norm=True) for name in ("windows", "items"))
        nearest = (windows @ items.T).max(axis=1)
        return [[float(value) for value in column] for column in ((left * right).sum(axis=1), nearest)]

    return cosines


TOOLS = {
    "datatrove_pii": datatrove_pii,
    "presidio": presidio,
    "dolma_fast": dolma_fast,
    "dolma_regex": dolma_regex,
    "detect_secrets": detect_secrets,
    "datatrove_ngrams": datatrove_ngrams,
    "datatrove_gopher": datatrove_gopher,
    "datatrove_stages": datatrove_stages,
    "wordllama": wordllama,
}
MODULES = {
    "datatrove_pii": "datatrove",
    "presidio": "presidio_analyzer",
    "detect_secrets": "detect_secrets",
    "datatrove_ngrams": "datatrove.utils.word_tokenizers",
    "datatrove_gopher": "datatrove.pipeline.filters",
    "datatrove_stages": "fasttext.FastText",
    "wordllama": "wordllama",
    "dolma_fast": "dolma",
    "dolma_regex": "dolma",
}


def missing() -> dict[str, str]:
    found = {}
    for tool, module in MODULES.items():
        try:
            __import__(module)
        except Exception as error:  # a library may raise anything while it is imported; what, is the answer
            found[tool] = f"{type(error).__name__}: {error}"
    return found


def main() -> None:
    told = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        if told["tool"] == "missing":
            answer: Any = missing()
        else:
            work = TOOLS[told["tool"]](told)
            start = time.process_time()
            answer = {"answer": work(), "cpu_seconds": time.process_time() - start}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()

"""What a datasheet says in words, the same for the page and for its short form: settings, limits, links of licences."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from corpus_assets.plans.datasheet_figures import Figures
from corpus_assets.plans.for_people import NONE, num_bytes, plural, rounded, share
from corpus_assets.plans.web_addresses import asks_for_sites, in_words
from formats.corpus_config import CorpusConfig, LicenseRules
from formats.languages import UNDETERMINED
from formats.reasons import FILTERS, MODEL_FILTERS

_SPDX_WORD = re.compile(r"[A-Za-z0-9.+-]+")
_OPERATORS = ("AND", "OR", "WITH")
_NOT_LISTED = ("LicenseRef-", "DocumentRef-")
_MODELS = {"ppl": "perplexity", "quality": "quality", "safety": "safety"}
_SAID_ELSEWHERE = ("dataset", "version", "sources", "licenses.allow", "config_sha256", "notes")


def headline(figures: Figures) -> str:
    """The version in one sentence."""
    languages = set(figures.total("languages")) - {UNDETERMINED}
    return (
        f"{plural(figures.num_docs, 'document')} with {rounded(figures.num_chars)} characters from "
        f"{plural(len(figures.sources), 'source')} under {plural(len(figures.licenses()), 'licence')}, in "
        f"{plural(len(languages), 'language')}."
    )


def key_figures(figures: Figures) -> list[tuple[str, str]]:
    """The numbers that stand on top, each with its name."""
    documents = sum(one.counts["documents"] for one in figures.sources)
    manifest = figures.version.manifest
    return [
        ("documents", f"{figures.num_docs:,}"),
        ("characters", rounded(figures.num_chars)),
        (f"in {plural(manifest['n_shards'], 'shard')}", num_bytes(figures.shard_bytes)),
        ("of raw documents kept", share(figures.num_docs, documents)),
        ("raw documents", f"{documents:,}"),
        ("fetched", num_bytes(sum(one.num_bytes for one in figures.sources))),
    ]


def identity(figures: Figures) -> list[tuple[str, str]]:
    """What names the version's bytes."""
    version = figures.version
    return [
        ("version", str(version.key)),
        ("manifest sha256", version.digest),
        ("config sha256", version.manifest["config_sha256"]),
        ("ledger", version.manifest["ledger_ref"]),
    ]


def license_parts(expression: str) -> Iterator[tuple[str, str | None]]:
    """The words of an SPDX expression and what stands between them, each with the address of its text, if any."""
    at = 0
    for found in _SPDX_WORD.finditer(expression):
        yield expression[at : found.start()], None
        word, at = found[0], found.end()
        listed = word not in _OPERATORS and not word.startswith(_NOT_LISTED)
        yield word, f"https://spdx.org/licenses/{word.rstrip('+')}.html" if listed else None
    yield expression[at:], None


def settings(config: CorpusConfig) -> list[tuple[str, str, str]]:
    """(setting, value, default) of every setting that is not at its default."""
    usual = CorpusConfig(config.dataset, config.version, config.sources, LicenseRules(config.licenses.allow))
    defaults = dict(_leaves(usual.as_json()))
    return [
        (name, _told(value), _told(defaults[name]) if name in defaults else NONE)
        for name, value in _leaves(config.as_json())
        if name not in _SAID_ELSEWHERE and value != defaults.get(name)
    ]


def _leaves(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        inner = f"{path}.{key}" if path else key
        if isinstance(item, Mapping) and item:
            yield from _leaves(item, inner)
        else:
            yield inner, item


def _told(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False) if value not in ((), [], {}) else "none"


def stages(figures: Figures) -> list[tuple[str, str, str]]:
    """(stage, code version, libraries) of every stage that took part, over all sources."""
    told = figures.version.stage_versions
    found: dict[str, tuple[set[str], dict[str, set[str]]]] = {}
    per_source = [stage for source in told["stages"]["sources"].values() for stage in source.values()]
    for one in (*per_source, *told["stages"]["version"].values(), told["outcomes"]):
        codes, libraries = found.setdefault(one["stage"], (set(), {}))
        codes.add(one["code_version"])
        for name, version in one["libraries"].items():
            libraries.setdefault(name, set()).add(version)
    return [
        (
            stage,
            ", ".join(sorted(codes)),
            ", ".join(f"{name} {' and '.join(sorted(versions))}" for name, versions in sorted(libraries.items())),
        )
        for stage, (codes, libraries) in sorted(found.items())
    ]


def known_limits(figures: Figures) -> Iterator[str]:
    """What a reader must not take for granted, with the figures of this version."""
    counts, config = figures.version.counts, figures.config
    yield "Licences are what the ledger states for a source as a whole; where that was read stands beside each source."
    yield "Characters are counted before personal data is replaced."
    if unused := _not_configured(config):
        yield f"Not configured, so nothing was dropped by it: {', '.join(unused)}."
    if missing := [name for name in FILTERS if name not in config.filters]:
        yield f"Filters that this version does not use: {', '.join(missing)}."
    yield from _lists_and_caps(config)
    for one in figures.sources:
        if without := figures.without_address[one.name]:
            told = in_words(asks_for_sites(config), one.row, without, one.counts["documents"])
            yield f"{told[0].upper()}{told[1:]}."
    languages = figures.total("languages")
    if unlabelled := languages[UNDETERMINED]:
        told = f"{plural(unlabelled, 'document')} ({share(unlabelled, figures.num_docs)})"
        why = "too short, in two languages" if config.lang.mixed == UNDETERMINED else "too short"
        yield f"{told} have no language label: {why}, or the two voices unsure."
    pairs, rules = figures.pairs, config.dedup.near
    if pairs["pairs_skipped"]:
        told = f"{plural(pairs['pairs_skipped'], 'meeting')} in {plural(pairs['hot_buckets'], 'hot bucket')}"
        yield f"Near duplicates: {told} were not looked at; a pair may meet in several buckets."
    yield (
        f"Near duplicates below a Jaccard of {rules.jaccard_threshold} over {rules.shingle}-{rules.shingle_unit} "
        f"shingles stay, and MinHash with {rules.bands} bands misses some of those just above it."
    )
    yield from _protected(counts["eval_sets"], config)
    yield "Personal data is found by form (addresses, numbers, keys). Names and what people tell about themselves stay."


def _not_configured(config: CorpusConfig) -> list[str]:
    """What a version has only where its config says so, in the order in which it would decide."""
    there = {
        "site lists": bool(config.sites.configured),
        "word lists": bool(config.words.lists),
        **{f"a model of {_MODELS[name]}": name in config.model_filters for name in MODEL_FILTERS},
        "a cap of domains": config.domain_cap.configured,
    }
    return [words for words, is_there in there.items() if not is_there]


def _lists_and_caps(config: CorpusConfig) -> Iterator[str]:
    """What a sample, site lists, word lists and caps do not say of themselves."""
    if config.is_sample:
        yield (
            f"The version is a sample: of a thousand documents {config.sample_permille} were looked at, drawn by their "
            f"ids (seed {config.sample_seed}). Duplicates among the others were not looked for."
        )
    if config.sites.configured:
        names = ", ".join(one.name for one in (*config.sites.opt_out, *config.sites.block))
        yield f"Sites are left out by URL (lists {names}): the same text at another site stays."
    if config.words.lists:
        names = ", ".join(f"{one.name} above {one.max_ratio:g}" for one in config.words.lists)
        yield f"Word lists ({names}) count words, not what is meant by them: quotations and counsel go, too."
    cap = config.domain_cap
    if cap.configured:
        most = [plural(cap.max_documents, "document")] if cap.max_documents else []
        most += [f"{cap.max_bytes:,} bytes"] if cap.max_bytes else []
        yield f"A registered domain has at most {' and '.join(most)}; which of its documents stay is drawn, not judged."


def _protected(eval_sets: list[dict[str, Any]], config: CorpusConfig) -> Iterator[str]:
    if not eval_sets:
        yield "No eval set was given, so nothing was looked for: this version is not decontaminated."
    for one in eval_sets:
        words = (
            f"Eval set {one['eval_set']}: of {plural(one['texts'], 'text')}, {one['cut']:,} are met by any "
            f"{config.decontaminate.ngram} words in a row and {one['whole']:,} as a whole"
        )
        weak = [f"{one['too_short']:,} are too short to be protected"] if one["too_short"] else []
        weak += [f"{one['exempt']:,} are exempt"] if one["exempt"] else []
        yield f"{words}; {' and '.join(weak)}." if weak else f"{words}."

"""How verdicts would change under other thresholds, from the signals and verdicts that are stored: nothing is run.

What site lists, the sample, word lists and models dropped stays dropped; of what comes in newly, they are not asked.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpus_assets.plans.pinned import Build, Pair, Version, row_to_pin
from corpus_assets.plans.source_stages import counted_signals, filter_settings, verdicts
from corpus_assets.plans.work import nothing_is_made
from corpus_assets.stages.filter_documents import filter_documents
from corpus_assets.validation.ledger import check_row_for_version
from formats import corpus_config, dataset, ledger
from formats.corpus_config import CorpusConfig
from formats.errors import ConfigError
from formats.json_words import did_you_mean, shown_key
from formats.reasons import PROFILES, RULE_BY_REASON, RULES, Reason, Rule

KEPT = Reason.KEPT.value
_COUNTED = {KEPT, Reason.EXACT_DUPLICATE.value, *(rule.reason for rule in RULES)}
_BEFORE_RULES = {Reason.OPT_OUT.value, Reason.BLOCKED_SITE.value, Reason.NOT_SAMPLED.value}
_LANGUAGE = re.compile("[a-z]{2}|und")
POINTS = 100
"""Values of a signal that are kept for a curve: its percentiles."""


@dataclass(frozen=True)
class Setting:
    """A limit in people's units, None where the rule does not apply; `language` None: of every language."""

    language: str | None
    profiles: Sequence[str]
    rule: Rule
    limit: float | None


Changes = Mapping[str, Mapping[str, Sequence[str] | None]]
"""Profile -> rule whose limit changes -> the languages in which it does, None for all."""


@dataclass(frozen=True)
class SourceChange:
    """One source, in documents and characters; `reasons` are (verdict before, verdict after) -> documents."""

    source: str
    profile: str
    documents: int
    kept_before: int
    kept_after: int
    chars_before: int
    chars_after: int
    moved: Mapping[tuple[str, str], int]
    percentiles: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Rule that changes -> the percentiles 0 to 100 of its signal, in people's units."""

    def dropped(self, *, after: bool) -> Counter[str]:
        """verdict -> documents, before or after, `kept` left out."""
        found: Counter[str] = Counter()
        for pair, number in self.moved.items():
            found[pair[after]] += number
        del found[KEPT]
        return found

    @property
    def come_in(self) -> int:
        return sum(n for (before, after), n in self.moved.items() if before != KEPT and after == KEPT)

    @property
    def go_out(self) -> int:
        return sum(n for (before, after), n in self.moved.items() if before == KEPT and after != KEPT)


def with_changes(version: Version, settings: Sequence[str]) -> tuple[CorpusConfig, Changes]:
    """The version's config under `[LANGUAGE.][PROFILE.]RULE=VALUE` settings, and what they change. Raises ConfigError
    for a rule, profile, language or value that is none, for a rule whose filter is not configured, and for one limit
    that is set twice.
    """
    given: set[tuple[str | None, str, str]] = set()
    changes: dict[str, dict[str, list[str] | None]] = {}
    document = version.config.as_json()
    for words in settings:
        one = _parsed(words)
        if one.rule.filter not in version.config.filters:
            raise ConfigError(f"--set {words}: filter {one.rule.filter} is not among the filters of {version}")
        limits = document["profiles"]
        if one.language:
            limits = document["languages"].setdefault(one.language, {})
        for profile in one.profiles:
            if (limit := (one.language, profile, one.rule.reason)) in given:
                raise ConfigError(
                    f"--set {words}: this limit is set before, too; set it once, or try one after the other"
                )
            given.add(limit)
            limits.setdefault(profile, {})[one.rule.reason] = one.limit
            of_rule = changes.setdefault(profile, {})
            before = of_rule.get(one.rule.reason, [])
            of_rule[one.rule.reason] = [*before, one.language] if one.language and before is not None else None
    if wrong := [
        f"{path}: {words}"
        for path, words in corpus_config.problems(document)
        if path.startswith(("profiles", "languages"))
    ]:
        raise ConfigError("--set: " + "; ".join(wrong))
    return replace(version.config, profiles=document["profiles"], languages=document["languages"]), changes


def _parsed(setting: str) -> Setting:
    name, equals, value = setting.partition("=")
    *before, reason = name.split(".")
    profile = before.pop() if before and before[-1] in PROFILES else None
    language = before.pop() if before and _LANGUAGE.fullmatch(before[-1]) else None
    rule = RULE_BY_REASON.get(reason)
    if not equals or rule is None or rule not in RULES or before:
        known = tuple(one.reason for one in RULES)
        hint = "" if reason in known else f"; {shown_key(reason)} is no rule{did_you_mean(reason, known)}"
        raise ConfigError(
            f"--set {setting}: expected [LANGUAGE.][PROFILE.]RULE=VALUE, with a language such as de and a profile of "
            f"{', '.join(PROFILES)}{hint}"
        )
    try:
        number = None if value == "null" else float(value)
    except ValueError:
        raise ConfigError(f"--set {setting}: {value!r} is no number, and not null, which turns the rule off") from None
    if number is not None and number.is_integer():
        number = int(number)
    return Setting(language, (profile,) if profile else PROFILES, rule, number)


def changed_sources(build: Build, version: Version, changed: CorpusConfig, changes: Changes) -> Iterator[SourceChange]:
    """Each source under the changed config. Raises ConfigError for one whose signals or verdicts are not made."""
    with nothing_is_made():
        for key in version.pairs:
            row = row_to_pin(build.layout, key)
            if refused := check_row_for_version(row, version.config):
                raise ConfigError("\n".join(refused))
            pair = Pair(key, version, ledger.from_json(row))
            yield _changed(build, pair, replace(version, config=changed), changes.get(pair.row.profile, {}))


def _changed(build: Build, pair: Pair, changed: Version, rules: Mapping[str, Sequence[str] | None]) -> SourceChange:
    measured, stored = counted_signals(build, pair).open(), verdicts(build, pair).open()
    settings = filter_settings(replace(pair, version=changed))
    moved: Counter[tuple[str, str]] = Counter()
    chars = np.zeros(2, np.int64)
    values: dict[str, list[np.ndarray]] = {reason: [] for reason in rules}
    for shard in measured.shards:
        signals, now = _rows(measured, shard.id), _rows(stored, shard.id)
        before, after = now["verdict"], _after(signals, now, settings)
        for one in pa.table({"a": before, "b": after}).group_by(["a", "b"]).aggregate([([], "count_all")]).to_pylist():
            moved[one["a"], one["b"]] += one["count_all"]
        sizes = signals["n_chars"]
        chars += [pc.sum(pc.filter(sizes, pc.equal(verdict, KEPT))).as_py() or 0 for verdict in (before, after)]
        for reason, found in values.items():
            found.append(_signal(signals, RULE_BY_REASON[reason], rules[reason]))
    return SourceChange(
        pair.row.source_id,
        pair.row.profile,
        measured.rows,
        sum(n for (one, _), n in moved.items() if one == KEPT),
        sum(n for (_, one), n in moved.items() if one == KEPT),
        int(chars[0]),
        int(chars[1]),
        dict(sorted(moved.items())),
        {reason: _percentiles(found, RULE_BY_REASON[reason]) for reason, found in values.items()},
    )


def _rows(whole: dataset.Dataset, shard_id: int) -> pa.RecordBatch:
    shard = whole.shard(shard_id)
    if shard is None:
        return pa.RecordBatch.from_pylist([], whole.schema)
    table = pa.Table.from_batches(dataset.read_shard(shard, columns=whole.schema.names), whole.schema)
    return table.combine_chunks().to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], whole.schema)


def _after(signals: pa.RecordBatch, now: pa.RecordBatch, settings: dict[str, Any]) -> pa.Array:
    """The verdicts under other settings. Duplicates within the source do not depend on any threshold."""
    twins = pa.Table.from_batches([now.select(["k", "keeper_k"]).filter(pc.is_valid(now["keeper_k"]))])
    judged = filter_documents(signals, twins, **settings)["verdict"]
    others = pc.invert(pc.is_in(now["verdict"], pa.array(sorted(_COUNTED), now["verdict"].type)))
    before = pc.is_in(now["verdict"], pa.array(sorted(_BEFORE_RULES), now["verdict"].type))
    stays = pc.or_(before, pc.and_(others, pc.equal(judged, KEPT)))
    return pc.if_else(stays, now["verdict"], judged)


def _signal(signals: pa.RecordBatch, rule: Rule, languages: Sequence[str] | None) -> np.ndarray:
    """The measured values, of some languages or all; of a rule that allows, and where nothing was measured, none."""
    if rule.bound == "allow":
        return np.zeros(0, np.int64)
    if languages is not None:
        signals = signals.filter(pc.is_in(signals["lang"], pa.array(languages, signals["lang"].type)))
    return pc.cast(signals[rule.signal].drop_null(), pa.int64()).to_numpy()


def _percentiles(found: Sequence[np.ndarray], rule: Rule) -> list[float]:
    values = np.concatenate(found) if found else np.zeros(0, np.int64)
    if not len(values):
        return []
    values.sort()
    at = np.arange(POINTS + 1) * (len(values) - 1) // POINTS
    return [int(value) / rule.scale for value in values[at]]

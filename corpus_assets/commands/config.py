"""`corpus config new` writes a config to begin with; `corpus config show` says each setting and where it comes from;
`corpus config try` (config_try.py) how verdicts would change under other thresholds.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from corpus_assets.commands import config_try
from corpus_assets.validation import corpus_config as validation
from corpus_assets.validation import plain_yaml, spdx, yaml_edit
from corpus_assets.validation.ledger import check_row_for_version
from formats import durable, ledger
from formats.corpus_config import CorpusConfig
from formats.dedup_rules import NearRules
from formats.errors import ConfigError
from formats.layout import Layout
from formats.naming import VersionKey
from formats.reasons import PROFILES, RULE_BY_REASON

_HEAD = """\
# What {key} is made of. A setting that is not here has its default: `corpus config show {key}` lists all.
# A published version is immutable: to change a rule, `corpus config new <next version> --from {key}`.
# sources: rows of the ledger. licenses.allow: SPDX ids, `X WITH Y` forms, LicenseRef- names whose terms were read.
"""
_SHOWN_SOURCES = 20
_EXAMPLES = """\
#
# filters: [length, lang, charset, gopher, repetition]   # their order: a document leaves by the first that fails
# lang: {allow: [en, de], mixed: und}                    # not given: every language stays, and a mixed text has a label
# profiles:                                              # thresholds other than the defaults; null: does not apply
#   prose: {too_few_words: 20, too_many_symbols: null}
# languages:                                             # thresholds of documents in one language
#   ko: {prose: {mean_word_too_short: 2}}                # `lang: {own_rules: true}` has some of twenty languages
# dedup: {near: {jaccard_threshold: 0.8}}
"""


def add_parser(subparsers: Any) -> None:
    """Add `config new` and `config show` to the command line."""
    parser = subparsers.add_parser("config", help="write the config of a new version, or show one with its defaults")
    parser.set_defaults(run=run)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    new = verbs.add_parser("new", help="write a config to begin with")
    new.add_argument("version", metavar="VERSION", help="<dataset>.<version>, such as starter.v1")
    new.add_argument(
        "--sources",
        metavar="A,B",
        help="sources of the ledger; one that it has not is noted, and stops the build until it is added",
    )
    new.add_argument("--allow", metavar="SPDX,SPDX", help="licences that may be used; with --from: these, too")
    new.add_argument("--notes", default="", help="free text; part of the config and its hash")
    new.add_argument("--from", dest="old", metavar="VERSION", help="copy this version's config, comments and all")
    new.add_argument("--add-source", default="", metavar="A,B", help="with --from: these sources, too")
    show = verbs.add_parser("show", help="every effective setting and where it comes from")
    show.add_argument("version", metavar="VERSION", help="<dataset>.<version>")
    show.add_argument("--json", action="store_true", help="print {path, config_sha256, settings, from_file} as JSON")
    config_try.add_options(verbs.add_parser("try", help="how other thresholds would change verdicts, running nothing"))


def run(args: argparse.Namespace) -> int:
    """0: done. Raises ConfigError."""
    key = VersionKey.parse(args.version)
    if args.verb == "try":
        return config_try.run(args, key)
    return _new(args, key) if args.verb == "new" else _show(args, key)


def _new(args: argparse.Namespace, key: VersionKey) -> int:
    path = args.layout.config(key)
    if path.exists():
        raise ConfigError(f"{path} is there already; edit it, or choose the next version")
    text = _copied(args, key) if args.old else _begun(args, key)
    durable.write_file(path, text.encode("utf-8"))
    try:
        config = validation.load(path, key)
    except ConfigError:
        path.unlink()
        raise
    print(f"wrote {path}")
    from corpus_assets.plans import yanking  # opens what is published, which the other verbs do without

    old = VersionKey.parse(args.old) if args.old else None
    for note in (*_notes(config, args.layout), *yanking.of_kin(args.layout, key, config.sources, old)):
        print(f"note: {note}", file=sys.stderr)
    return 0


def _begun(args: argparse.Namespace, key: VersionKey) -> str:
    """The text of a config that holds what was asked for, and examples of the rest."""
    if args.add_source or args.sources is None or args.allow is None:
        raise ConfigError("expected --sources and --allow, or --from with --add-source and --allow as they are needed")
    document: dict[str, Any] = {
        "dataset": key.dataset,
        "version": key.version,
        "sources": _items(args.sources, "--sources"),
    }
    document["licenses"] = {"allow": [spdx.normalized(item) for item in _items(args.allow, "--allow")]}
    if args.notes:
        document["notes"] = args.notes
    return _HEAD.format(key=key) + plain_yaml.write(document) + _EXAMPLES


def _copied(args: argparse.Namespace, key: VersionKey) -> str:
    """The text of another version's config under its new name, with the sources and licences that are added."""
    if args.sources is not None or args.notes:
        raise ConfigError(
            "--sources and --notes go without --from; edit the copy, or add with --add-source and --allow"
        )
    from corpus_assets.plans.published_version import CONFIG_COPY  # opens what is published, as above

    old = VersionKey.parse(args.old)
    path, published = args.layout.config(old), args.layout.evidence(old) / CONFIG_COPY
    if not path.exists() and published.exists():
        path = published
    validation.load(path, old)
    text = path.read_bytes().decode("utf-8").replace(_HEAD.format(key=old), _HEAD.format(key=key))
    for name, value in (("dataset", key.dataset), ("version", key.version)):
        text = yaml_edit.replace(text, name, value)
    for source in _items(args.add_source, "--add-source"):
        text = yaml_edit.add(text, "sources", source)
    for licence in _items(args.allow or "", "--allow"):
        text = yaml_edit.add(text, "licenses.allow", spdx.normalized(licence))
    return text


def _banding(config: CorpusConfig) -> Iterator[str]:
    """What is to be said of bands that miss the threshold."""
    if config.dedup.near != NearRules():
        from corpus_assets.plans import banding  # kernels, which few configs need

        if words := banding.advice(config.dedup.near):
            yield words


def _show(args: argparse.Namespace, key: VersionKey) -> int:
    path = args.layout.config(key)
    config = validation.load(path, key)
    document = plain_yaml.read(path)
    settings = dict(_leaves(config.as_json()))
    if args.json:
        shown = {
            "path": str(path),
            "config_sha256": config.config_sha256,
            "settings": config.as_json(),
            "from_file": [name for name in settings if name in document.lines],
            "thresholds": {profile: config.thresholds(profile) for profile in PROFILES},
            "language_thresholds": {profile: config.language_thresholds(profile) for profile in PROFILES},
            "notes": list(_banding(config)),
        }
        print(json.dumps(shown, indent=2, ensure_ascii=False))
        return 0
    print(f"{path}\nconfig_sha256 {config.config_sha256}")
    for name, value in settings.items():
        origin = f"line {document.lines[name]}" if name in document.lines else "default"
        print(f"{name:32} {json.dumps(value, ensure_ascii=False):48} {origin}")
    for name, value in _own_limits(config):
        if name not in settings:
            print(f"{name:32} {json.dumps(value):48} the language's own")
    for note in _banding(config):
        print(f"note: {note}", file=sys.stderr)
    return 0


def _own_limits(config: CorpusConfig) -> Iterator[tuple[str, float | None]]:
    """Limits of languages that stand instead of those of their profile, in people's units; by name as in the config."""
    for profile in PROFILES:
        general = config.thresholds(profile)
        for code, limits in config.language_thresholds(profile).items():
            for reason, limit in limits.items():
                if limit != general[reason]:
                    scale = RULE_BY_REASON[reason].scale
                    yield f"languages.{code}.{profile}.{reason}", None if limit is None else limit / scale


def _notes(config: CorpusConfig, layout: Layout) -> Iterator[str]:
    """What would stop a build of this version, for the person who writes its config."""
    rows = {row.source_id: row for row in ledger.read(layout.ledger)} if layout.ledger.exists() else {}
    for source in config.sources:
        if source in rows:
            yield from check_row_for_version(rows[source], config)
        else:
            there = f", which has {_some(sorted(rows))}" if rows else ""
            yield f"source {source} is not in the ledger{there}; add it with `corpus ledger add {source} …`"
    yield from _banding(config)


def _some(sources: list[str]) -> str:
    more = f" and {len(sources) - _SHOWN_SOURCES:,} more" if len(sources) > _SHOWN_SOURCES else ""
    return ", ".join(sources[:_SHOWN_SOURCES]) + more


def _items(text: str, option: str) -> list[str]:
    """The words between the commas. Raises ConfigError for one that is there twice: another may have been meant."""
    items = [item.strip() for item in text.split(",") if item.strip()]
    if repeated := [item for item, times in Counter(items).items() if times > 1]:
        raise ConfigError(f"{option} names {', '.join(repeated)} more than once; name each once")
    return items


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        inner = f"{path}.{key}" if path else key
        if isinstance(item, dict) and item:
            yield from _leaves(item, inner)
        else:
            yield inner, item

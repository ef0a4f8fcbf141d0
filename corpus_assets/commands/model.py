"""`corpus model train NAME`, `corpus model quality|perplexity VERSION`: train the models by which versions filter.

`train` runs the asset trained_models, as the UI does; the other two train by options alone, on a published version.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from corpus_assets.commands import model_train
from corpus_assets.commands.new_files import as_configs_name_it, check_place
from corpus_assets.commands.yank import tell
from corpus_assets.plans import model_sections, yanking
from corpus_assets.plans.for_people import num_bytes, plural, share
from corpus_assets.plans.published_version import PublishedVersion, open_published
from formats.languages import LANGUAGE
from formats.naming import VersionKey

_MEGA = 1_000_000
_MAX_SEED = 2**32 - 1


def add_parser(subparsers: Any) -> None:
    """Add `model` to the command line."""
    parser = subparsers.add_parser(
        "model", help="train models of quality, safety and perplexity, by which versions filter"
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    model_train.add_parser(verbs)
    quality = verbs.add_parser("quality", help="a classifier that tells documents of good sources from others")
    quality.add_argument(
        "version", metavar="VERSION", help="a published <dataset>.<version>, whose train rows are read"
    )
    quality.add_argument("--positive", required=True, type=_names, metavar="A,B", help="sources of good documents")
    quality.add_argument("--negative", required=True, type=_names, metavar="C,D", help="sources of other documents")
    _add_common(quality, 50, "of either side")
    perplexity = verbs.add_parser("perplexity", help="a language model that tells text of a language from debris")
    perplexity.add_argument(
        "version", metavar="VERSION", help="a published <dataset>.<version>, whose train rows are read"
    )
    perplexity.add_argument(
        "--language", required=True, type=_language, metavar="LANG", help="an ISO 639-1 code, such as en"
    )
    perplexity.add_argument("--sources", required=True, type=_names, metavar="A,B", help="sources of good text")
    _add_common(perplexity, 20, "to train on; 50 need some 3 GB of memory")


def _add_common(parser: argparse.ArgumentParser, megachars: int, what: str) -> None:
    parser.set_defaults(run=run)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the model goes; a new file")
    parser.add_argument(
        "--megachars",
        type=_count,
        default=megachars,
        metavar="N",
        help=f"at most so many million characters {what} (default: {megachars})",
    )
    parser.add_argument("--seed", type=_seed, default=1, help="another seed draws other documents (default: 1)")
    parser.add_argument("--json", action="store_true", help="print what was trained as JSON")


def _names(words: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name for name in words.split(",") if name))
    if not names:
        raise argparse.ArgumentTypeError("expected names of sources with commas between them")
    return names


def _language(words: str) -> str:
    for _, wrong in LANGUAGE.problems(words, ""):
        raise argparse.ArgumentTypeError(wrong)
    return words


def _count(words: str) -> int:
    if not words.isdecimal() or int(words) < 1:
        raise argparse.ArgumentTypeError(f"{words!r} is no whole number of 1 or more")
    return int(words)


def _seed(words: str) -> int:
    if not words.isdecimal() or len(words) > 10 or int(words) > _MAX_SEED:
        raise argparse.ArgumentTypeError(f"{words!r} is no whole number from 0 to {_MAX_SEED}")
    return int(words)


def run(args: argparse.Namespace) -> int:
    """0: the model is written. Raises ConfigError, CorruptDataError."""
    if args.verb == "train":
        return model_train.run(args)
    out = check_place(args.layout, args.out, is_model=True)
    version = open_published(args.layout, VersionKey.parse(args.version))
    tell(yanking.of_version(args.layout, version.key))
    train = {"quality": _quality, "perplexity": _perplexity}[args.verb]
    told, lines = train(args, version, out, as_configs_name_it(args.layout, out))
    print(json.dumps(told, indent=2) if args.json else "\n".join(lines))
    return 0


def _quality(
    args: argparse.Namespace, version: PublishedVersion, out: Path, name: str
) -> tuple[dict[str, Any], list[str]]:
    from corpus_assets.plans import train_quality  # kernels
    from corpus_assets.plans.model_texts import PublishedTexts
    from formats import quality_model

    max_chars = args.megachars * _MEGA
    trained = train_quality.train(
        PublishedTexts(version), args.positive, args.negative, max_chars=max_chars, seed=args.seed
    )
    sha256 = quality_model.write(trained.model, out)
    good, bad = map(len, trained.scores)
    auc = trained.auc_millionths
    kept = {threshold: trained.kept_by(threshold) for threshold in train_quality.THRESHOLDS}
    told = {
        "model": str(out),
        "sha256": sha256,
        "trained_on": {"positive": trained.trained[0], "negative": trained.trained[1]},
        "held_out": {"positive": good, "negative": bad},
        "auc": None if auc is None else auc / _MEGA,
        "kept_by_min": {f"{at / 1000:g}": {"positive": one, "negative": other} for at, (one, other) in kept.items()},
    }
    lines = [
        f"{out}: sha256 {sha256}, {num_bytes(out.stat().st_size)}",
        f"trained on {plural(trained.trained[0], 'positive document')} and {trained.trained[1]:,} negative ones of "
        f"{version.key}; held out: {good:,} and {bad:,}",
        f"AUC of those held out: {'not measured, one side has none' if auc is None else f'{auc / _MEGA:.4f}'}",
    ]
    if good and bad:
        lines += ["", f"{'min':>5}  {'positive kept':>14}  {'negative kept':>14}"]
        lines += [f"{at / 1000:>5}  {share(a, good):>14}  {share(b, bad):>14}" for at, (a, b) in kept.items()]
    num_docs = (trained.trained[0] + good, trained.trained[1] + bad)
    config = model_sections.of_classifier("quality", name, sha256, None, num_docs)
    return told, [*lines, "", "For the config of a new version, with a min of your choice:", "", *config]


def _perplexity(
    args: argparse.Namespace, version: PublishedVersion, out: Path, name: str
) -> tuple[dict[str, Any], list[str]]:
    from corpus_assets.plans import train_perplexity  # kernels
    from corpus_assets.plans.model_texts import PublishedTexts

    max_chars = args.megachars * _MEGA
    texts = PublishedTexts(version)
    trained = train_perplexity.train(
        texts, args.language, args.sources, lambda _: out, max_chars=max_chars, seed=args.seed
    )
    usual = {part: trained.percentile(part) for part in train_perplexity.PERCENTILES}
    head, middle = trained.percentile(100 / 3), trained.percentile(200 / 3)
    told = {
        "model": str(out),
        "sha256": trained.sha256,
        "trained_on": trained.trained,
        "ngrams": list(trained.ngrams),
        "held_out": len(trained.held_out),
        "percentiles": {str(part): _people(value) for part, value in usual.items()},
        "head_max": _people(head),
        "middle_max": _people(middle),
    }
    lines = [
        f"{out}: sha256 {trained.sha256}, {num_bytes(trained.num_bytes)}, "
        f"n-grams of 1, 2 … words: {', '.join(f'{n:,}' for n in trained.ngrams)}",
        f"trained on {plural(trained.trained, 'document')} of {version.key}; held out: {len(trained.held_out):,}",
    ]
    if head is not None and middle is not None:
        lines += ["", f"{'per cent':>9}  {'perplexity up to':>17}"]
        lines += [f"{part:>9}  {_people(value):>17}" for part, value in usual.items()]
        lines += [
            "",
            f"a third of them (head) up to {_people(head)}, two thirds (head and middle) up to {_people(middle)}",
        ]
    else:
        lines.append("no document is left to measure perplexity on: train on more of them")
    num_docs = trained.trained + len(trained.held_out)
    config = model_sections.of_perplexity(args.language, name, trained.sha256, middle, num_docs)
    return told, [*lines, "", "For the config of a new version, with a max of your choice:", "", *config]


def _people(thousandths: int | None) -> float | None:
    return None if thousandths is None else thousandths / 1000
